using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Server.Sessions;
using RedKite.Server.Tracking;

namespace RedKite.Server.Commands.Connection;

/// <summary>The subcommands of CLIENT for client-side caching.</summary>
internal sealed class TrackingCommands(ClientRegistry clients, KeyTracking keys)
{
    // CLIENT CACHING YES|NO
    internal static void Caching(ref CommandContext cmd)
    {
        if (cmd.Session.Tracking is not { } tracking)
        {
            cmd.Reply.Error("ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled"u8);
            return;
        }

        bool yes = cmd.Is(2, "YES"u8);
        if (!yes && !cmd.Is(2, "NO"u8))
        {
            cmd.ReplySyntaxError();
        }
        else if (yes && !tracking.Options.OptIn)
        {
            cmd.Reply.Error("ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode."u8);
        }
        else if (!yes && !tracking.Options.OptOut)
        {
            cmd.Reply.Error("ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode."u8);
        }
        else
        {
            tracking.GiveCaching();
            cmd.Reply.Ok();
        }
    }

    // CLIENT GETREDIR
    internal static void GetRedirection(ref CommandContext cmd) => cmd.Reply.Integer(cmd.Session.Tracking?.Options.RedirectTo ?? -1);

    // CLIENT TRACKING ON|OFF [REDIRECT id] [PREFIX prefix ...] [BCAST] [OPTIN] [OPTOUT] [NOLOOP]
    internal void Tracking(ref CommandContext cmd)
    {
        Session session = cmd.Session;
        if (!TryOptionsOrReply(cmd, out TrackingOptions options)) return;
        if (cmd.Is(2, "OFF"u8))
        {
            keys.End(session);
            cmd.Reply.Ok();
            return;
        }

        if (!cmd.Is(2, "ON"u8))
        {
            cmd.ReplySyntaxError();
            return;
        }

        // A caller in the process does not read invalidations, so they would accumulate.
        if (session.Connection is null)
        {
            cmd.Reply.Error("ERR CLIENT TRACKING needs a connection"u8);
            return;
        }

        if (!IsPossibleOrReply(cmd, options, session.Tracking?.Options) || (options.Broadcasts && !TryPrefixesOrReply(cmd, options, session.Tracking?.Options))) return;
        keys.Begin(session, options);
        cmd.Reply.Ok();
    }

    // CLIENT TRACKINGINFO
    internal static void TrackingInfo(ref CommandContext cmd)
    {
        List<string> flags = [];
        ClientTracking? tracking = cmd.Session.Tracking;
        flags.Add(tracking is null ? "off" : "on");
        if (tracking is not null)
        {
            if (tracking.Broadcasts) flags.Add("bcast");
            if (tracking.Options.OptIn) flags.Add("optin");
            if (tracking.Options.OptIn && tracking.CachingGiven) flags.Add("caching-yes");
            if (tracking.Options.OptOut) flags.Add("optout");
            if (tracking.Options.OptOut && tracking.CachingGiven) flags.Add("caching-no");
            if (tracking.Options.NoLoop) flags.Add("noloop");
            if (tracking.IsRedirectBroken) flags.Add("broken_redirect");
        }

        cmd.Reply.Map(3);
        cmd.Reply.Bulk("flags"u8);
        cmd.Reply.Set(flags.Count);
        foreach (string flag in flags) cmd.Reply.Bulk(flag);
        cmd.Reply.Bulk("redirect"u8);
        cmd.Reply.Integer(tracking?.Options.RedirectTo ?? -1);
        cmd.Reply.Bulk("prefixes"u8);
        byte[][] prefixes = [.. tracking?.Options.Prefixes ?? []];
        Array.Sort(prefixes, (a, b) => a.AsSpan().SequenceCompareTo(b));
        cmd.Reply.Array(prefixes.Length);
        foreach (byte[] prefix in prefixes) cmd.Reply.Bulk(prefix);
    }

    private bool TryOptionsOrReply(scoped in CommandContext cmd, out TrackingOptions options)
    {
        options = new TrackingOptions();
        for (int i = 3; i < cmd.Count; i++)
        {
            bool hasMore = i + 1 < cmd.Count;
            if (hasMore && cmd.Is(i, "REDIRECT"u8))
            {
                i++;
                if (options.RedirectTo != 0)
                {
                    cmd.Reply.Error("ERR A client can only redirect to a single other client"u8);
                    return false;
                }

                if (!cmd.TryIntegerOrReply(i, out long id)) return false;
                if (clients.Find(id) is null)
                {
                    cmd.Reply.Error("ERR The client ID you want redirect to does not exist"u8);
                    return false;
                }

                options = options with { RedirectTo = id };
            }
            else if (hasMore && cmd.Is(i, "PREFIX"u8))
            {
                if (options.Prefixes.Count == 0 && !cmd.IsStateWithinLimitOrReply(cmd.Arguments.Bytes, 1)) return false;
                options.Prefixes.Add(cmd[++i].ToArray());
            }
            else if (cmd.Is(i, "BCAST"u8))
            {
                options = options with { Broadcasts = true };
            }
            else if (cmd.Is(i, "OPTIN"u8))
            {
                options = options with { OptIn = true };
            }
            else if (cmd.Is(i, "OPTOUT"u8))
            {
                options = options with { OptOut = true };
            }
            else if (cmd.Is(i, "NOLOOP"u8))
            {
                options = options with { NoLoop = true };
            }
            else
            {
                cmd.ReplySyntaxError();
                return false;
            }
        }

        return true;
    }

    private static bool IsPossibleOrReply(scoped in CommandContext cmd, TrackingOptions options, TrackingOptions? current)
    {
        string? error = null;
        if (!options.Broadcasts && options.Prefixes.Count > 0) error = "ERR PREFIX option requires BCAST mode to be enabled";
        else if (current is not null && current.Broadcasts != options.Broadcasts) error = "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode.";
        else if (options.Broadcasts && (options.OptIn || options.OptOut)) error = "ERR OPTIN and OPTOUT are not compatible with BCAST";
        else if (options.OptIn && options.OptOut) error = "ERR You can't specify both OPTIN mode and OPTOUT mode";
        else if (current is not null && ((options.OptIn && current.OptOut) || (options.OptOut && current.OptIn))) error = "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode.";
        if (error is null) return true;
        cmd.Reply.Error(error);
        return false;
    }

    // The prefixes of earlier calls stay.
    private static bool TryPrefixesOrReply(scoped in CommandContext cmd, TrackingOptions options, TrackingOptions? current)
    {
        if ((current?.Prefixes.Count ?? 0) + options.Prefixes.Count > cmd.Settings.TrackingPrefixesPerClientMax)
        {
            cmd.ReplyOverLimit(Limit.TrackedPrefixes, $"ERR too many prefixes, max-tracking-prefixes-per-client is {cmd.Settings.TrackingPrefixesPerClientMax}");
            return false;
        }

        if (options.Prefixes.Count > 0 && !cmd.IsStateWithinLimitOrReply(cmd.Arguments.Bytes, options.Prefixes.Count)) return false;

        int overlapping = FirstOverlapping(options.Prefixes, current?.Prefixes ?? []);
        if (overlapping >= 0) return RefuseOverlap(cmd, options.Prefixes, overlapping, current?.Prefixes ?? []);
        bool isAll = options.Prefixes.Count == 0;
        if (isAll) options.Prefixes.Add([]);
        options.Prefixes.AddRange((current?.Prefixes ?? []).Where(existing => !isAll || existing.Length > 0));
        return true;
    }

    // The first of the prefixes that overlaps with another one; -1: none does. In byte order a prefix precedes all prefixes that
    // begin with it, so ten thousand of them take a sort instead of fifty million comparisons.
    private static int FirstOverlapping(List<byte[]> added, IReadOnlyList<byte[]> existing)
    {
        (byte[] Name, int Index)[] sorted = [.. added.Select((name, index) => (name, index)), .. existing.Select(name => (name, int.MaxValue))];
        Array.Sort(sorted, static (one, other) => one.Name.AsSpan().SequenceCompareTo(other.Name));
        int first = int.MaxValue;
        var beginnings = new Stack<(byte[] Name, int Index)>(); // of the present prefix
        foreach ((byte[] Name, int Index) prefix in sorted)
        {
            while (beginnings.Count > 0 && !prefix.Name.AsSpan().StartsWith(beginnings.Peek().Name)) beginnings.Pop();
            if (beginnings.Count > 0) first = Math.Min(first, Math.Min(prefix.Index, beginnings.Peek().Index));
            beginnings.Push(prefix);
        }

        return first == int.MaxValue ? -1 : first;
    }

    private static bool RefuseOverlap(scoped in CommandContext cmd, List<byte[]> added, int index, IReadOnlyList<byte[]> existing)
    {
        byte[] prefix = added[index];
        byte[]? old = existing.Where(other => Overlap(prefix, other)).Order(Comparer<byte[]>.Create(static (a, b) => a.AsSpan().SequenceCompareTo(b))).FirstOrDefault();
        byte[] other = old ?? added.Skip(index + 1).First(other => Overlap(prefix, other));
        string which = old is null ? "another provided" : "an existing";
        cmd.Reply.Error($"ERR Prefix '{ArgumentReading.Text(prefix)}' overlaps with {which} prefix '{ArgumentReading.Text(other)}'. Prefixes for a single client must not overlap.");
        return false;

        static bool Overlap(byte[] a, byte[] b) => a.AsSpan().StartsWith(b) || b.AsSpan().StartsWith(a);
    }
}
