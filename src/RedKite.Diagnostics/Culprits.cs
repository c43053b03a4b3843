using System.Globalization;
using System.Text;
using RedKite.Server.Acl;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Server.Replication;
using RedKite.Server.Sessions;
using RedKite.Store.Keyspace;
using RedKite.Store.Values;
using static RedKite.Server.Logging.QuantityText;

namespace RedKite.Server.Diagnostics;

/// <summary>
/// Names who or what is behind a finding: the key, script, client, command or address. Each method returns a phrase, or an empty text if nothing is
/// known. The phrases hold names that clients chose: they are for the page, the log and INFO, and not for a debug package. On the
/// diagnostics thread.
/// </summary>
internal sealed class Culprits(ServerParts parts, DiagnosticsService diagnostics)
{
    private const int NamedMax = 3;
    private const int TextMax = 80; // of a key or a script's line
    private const int RecentSeconds = 60;
    private const int PresentSeconds = 10;
    private const long NoticeableInput = 1 << 20;
    private const double NoticeableShare = 0.1;
    private const int AclEntriesMax = 100;

    /// <summary>The largest key of those that the last survey saw and that still exist.</summary>
    internal string LargestKey() => LargestExisting() is { } key
        ? $"the key {Shown(key.Key)} ({SizeOf(key)}, {Bytes(key.Bytes)}{InDatabase(key.Database)})"
        : "";

    internal string HottestKey() => HotKeySketch.Hottest(parts.Core.Metrics.Executors, 1, parts.Core.Clock.NowMs).FirstOrDefault() is { } key
        ? Text($"the key {Shown(key.Key)}{InDatabase(key.Database)}, {Times(key.UsesPerSecond, "use")} a second in the last {Times(key.Seconds, "second")}")
        : "";

    /// <summary>The script that runs, or the longest of the last minute, with its first line and its caller.</summary>
    internal string LongScript()
    {
        (string name, bool isFunction, long clientId, long ns) = (parts.Core.Script.Current, parts.Core.Script.LongRun) switch
        {
            ({ } run, var ended) when ended is null || run.ElapsedNs > ended.Ns => (run.Name, run.IsFunction, run.ClientId, run.ElapsedNs),
            (_, { } ended) => (ended.Name, ended.IsFunction, ended.ClientId, ended.Ns),
            _ => ("", false, 0L, 0L),
        };
        if (name.Length == 0) return "";
        ScriptUse? use = parts.Core.Script.Uses.All.FirstOrDefault(use => use.Name == name && use.Library is not null == isFunction);
        string what = isFunction ? $"the function {name}{(use?.Library is { } library ? " of the library " + library : "")}" : $"the script {name}{FirstLine(use?.Text)}";
        return Text($"{Printable(what)}, {ns / 1_000_000} ms, run by {Client(clientId)}");
    }

    /// <summary>The longest command of the last observed seconds with its client. Waiting for a lock does not count.</summary>
    internal string LongestCall(int seconds) =>
        parts.Core.LongCalls.Longest(seconds) is { } call ? Text($"{Printable(call.Text)}, {call.Ns / 1e6:0.#} ms, of {Client(call.ClientId)}") : "";

    /// <summary>
    /// The commands that took the most time in long calls within the last ten observed seconds, or in all of those that are asked for: who
    /// has stopped is not named beside who goes on.
    /// </summary>
    internal string LongCalls(int seconds)
    {
        int period = Math.Min(seconds, PresentSeconds);
        List<LongCallSum> sums = parts.Core.LongCalls.Most(period);
        if (sums.Count == 0) sums = parts.Core.LongCalls.Most(period = seconds);
        long all = sums.Sum(sum => sum.Ns);
        var most = sums.Where(sum => sum.Ns >= all / 4).Take(NamedMax).ToList();
        return most.Count == 0 ? "" : Text($"in the last {period} seconds ") + Listed(most.Select(sum =>
        {
            string calls = sum.Calls == 1 ? Text($"{sum.Ns / 1e6:0} ms in one call") : Text($"{sum.Ns / 1e6:0} ms in {sum.Calls} calls, {sum.LongestNs / 1e6:0} ms the longest");
            return Text($"{Printable(sum.Text)} ({calls}) of {Client(sum.ClientId)}{(sum.Clients > 1 ? Text($" and {Times(sum.Clients - 1, "other client")}") : "")}");
        }));
    }

    /// <summary>Who calls a command on a whole database.</summary>
    internal string CallersOf(string command)
    {
        var calls = parts.Core.WholeDatabaseCalls.Most(RecentTally<int>.KeysMax, parts.Core.Clock.SteadyMs).Where(call => call.Key.Command == command).ToList();
        return calls.Count == 0 ? "" : "called by " + Listed(calls.Select(call => $"{Client(call.Key.ClientId)} {Occurrences(call.Count)}"));
    }

    /// <summary>The addresses that most clients connect from.</summary>
    internal string ConnectingAddresses()
    {
        var arrivals = parts.Core.Arrivals.Most(RecentTally<int>.KeysMax, parts.Core.Clock.SteadyMs);
        return arrivals.Count == 0 ? "" : "from " + Listed(arrivals.Select(arrival => Text($"{(arrival.Key.Length > 0 ? arrival.Key : "an unknown address")} ({Times(arrival.Count, "connection")} within a minute)")));
    }

    internal string ClientsNotReading() =>
        Listed(parts.Core.Clients.All.Where(session => session.Counts.IsSuspended).OrderByDescending(OutputOf).Select(session => Text($"{Client(session.Id)} with {Bytes(OutputOf(session))}")));

    /// <summary>The clients whose buffers are the largest.</summary>
    internal string LargestBuffers() =>
        Listed(parts.Core.Clients.All.Where(session => BuffersOf(session) > 0).OrderByDescending(BuffersOf).Select(session => Text($"{Client(session.Id)} with {Bytes(BuffersOf(session))}")));

    internal string LargestRequest() =>
        parts.Core.Clients.All.MaxBy(session => session.Connection?.InputBytes ?? 0) is { } session ? "from " + Client(session.Id) : "";

    /// <summary>The clients that the server has closed for a reason within the last minute.</summary>
    internal string Closed(params TimelineKind[] kinds)
    {
        long since = parts.Core.Clock.NowMs - (RecentSeconds * 1000);
        return Listed(parts.Core.Timeline.Events.Where(item => kinds.Contains(item.Kind) && item.UnixMs >= since).Reverse().Select(item => Client(item.ClientId, item.Address, item.Name) + ChannelsOf(item.ClientId)));
    }

    // What a closed subscriber was subscribed to.
    private string ChannelsOf(long id) =>
        parts.Core.Clients.Departed.Find(id) is { ChannelCount: > 0 } left
            ? Text($" subscribed to {string.Join(", ", left.Channels.Select(channel => Shown(channel)))}{(left.ChannelCount > left.Channels.Count ? Text($" and {left.ChannelCount - left.Channels.Count} more") : "")}")
            : "";

    /// <summary>The clients whose commands were refused most often within the last minute because memory is full.</summary>
    internal string RefusedByMemory()
    {
        var refused = parts.Core.MemoryRefusals.Most(RecentTally<int>.KeysMax, parts.Core.Clock.SteadyMs);
        return refused.Count == 0 ? "" : "refused within a minute: " + Listed(refused.Select(client => $"{Client(client.Key.Id, name: client.Key.Name)} {Occurrences(client.Count)}"));
    }

    /// <summary>Who wrote most within the last minute, and the largest key if it holds a noticeable share of the data.</summary>
    internal string MemoryUsers()
    {
        (long id, long bytes) = diagnostics.Input.Most(parts.Core.Clients.All.Select(session => (session.Id, session.Counts.BytesWritten)));
        long all = parts.Core.Metrics.Keyspace.Stripes.Sum(stripe => stripe.UsedBytes);
        string[] users =
        [
            bytes >= NoticeableInput ? Text($"within a minute {Client(id)} wrote most: {Bytes(bytes)}") : "",
            LargestExisting() is { } key && key.Bytes >= all * NoticeableShare ? Text($"{LargestKey()} holds {100.0 * key.Bytes / all:0} % of the data") : "",
        ];
        return string.Join(", ", users.Where(user => user.Length > 0));
    }

    /// <summary>The errors of the last ten seconds by class, and the commands that failed.</summary>
    internal string Errors()
    {
        List<(string Class, long Count)> errors = diagnostics.Errors.Most();
        if (errors.Count == 0) return "";
        long now = diagnostics.History.LatestSecond;
        RankedHistory history = diagnostics.CommandHistory;
        int failures = RankedTable.Commands.Find("command_failures");
        var failed = Enumerable.Range(0, history.Names.Count)
            .Select(id => (Name: history.Names[id], Failed: history.Seconds(id, failures, now - PresentSeconds + 1, now).Where(point => point.Value > 0).Sum(point => point.Value)))
            .Where(command => command.Failed > 0).OrderByDescending(command => command.Failed);
        return "mostly " + Listed(errors.Select(error => Text($"{Printable(error.Class)} ({error.Count})"))) + (Listed(failed.Select(command => Text($"{command.Name} ({command.Failed:0})"))) is { Length: > 0 } of ? " of " + of : "");
    }

    private SurveyedKey? LargestExisting() => diagnostics.Survey.Latest?.Largest(NamedMax).FirstOrDefault(Exists);

    // Without waiting for its stripe: a key that cannot be looked at is not named.
    private bool Exists(SurveyedKey key)
    {
        if (key.Key.Length >= KeySurvey.KeyBytesMax) return true; // its name was cut
        Keyspace keyspace = parts.Core.Metrics.Keyspace;
        ulong hash = keyspace.Hash(key.Key);
        Stripe stripe = keyspace.Stripes[keyspace.StripeOf(hash)];
        if (!stripe.TryEnterSoon()) return false;
        try
        {
            return keyspace.Databases[key.Database].Find(key.Key, hash, ExpiryClock.Never).Exists;
        }
        finally
        {
            stripe.Exit();
        }
    }

    /// <summary>The commands that took the most time of the last ten seconds.</summary>
    internal string BusiestCommands()
    {
        long now = diagnostics.History.LatestSecond;
        RankedHistory history = diagnostics.CommandHistory;
        var busiest = Enumerable.Range(0, history.Names.Count)
            .Select(id => (Name: history.Names[id], Microseconds: history.Seconds(id, 0, now - 9, now).Where(point => !float.IsNaN(point.Value)).Sum(point => point.Value)))
            .Where(command => command.Microseconds > 0).OrderByDescending(command => command.Microseconds).Take(NamedMax).ToList();
        double all = busiest.Sum(command => command.Microseconds);
        return all == 0 ? "" : "mostly by " + Listed(busiest.Where(command => command.Microseconds > all / 10).Select(command => Text($"{command.Name} ({command.Microseconds / 1e4 / 10:0} % of a CPU)")));
    }

    /// <summary>Who was denied something most recently.</summary>
    internal string Denied(bool isLogin)
    {
        AclLogEntry[] entries = [.. parts.Core.Users.Log.Newest(AclEntriesMax).Where(entry => entry.Reason == DenialReason.Authentication == isLogin)];
        return Listed(entries.Select(entry =>
        {
            string what = isLogin ? "" : $" was denied {Shown(entry.Object)}";
            return Printable($"the user {entry.UserName}{what} ({Client(IdOf(entry.Client))})");
        }).Distinct());
    }

    /// <summary>The replicas that are furthest behind.</summary>
    internal string ReplicasBehind()
    {
        long offset = parts.Replicas.Stream.Offset;
        return Listed(parts.Replicas.Replicas.Select(replica => (replica.Name, Behind: replica.State == ReplicaState.Online ? offset - replica.AcknowledgedOffset : offset - (replica.Position?.Offset ?? offset)))
            .Where(replica => replica.Behind > 0).OrderByDescending(replica => replica.Behind).Select(replica => Printable($"the replica {replica.Name} with {Bytes(replica.Behind)}")));
    }

    /// <summary>The replicas whose connections have ended within the last minute.</summary>
    internal string ReplicasLost() =>
        Listed(parts.Replicas.Counts.RecentlyLost.Most(RecentTally<int>.KeysMax, parts.Core.Clock.SteadyMs).Select(lost => Printable($"the replica {lost.Key} {Occurrences(lost.Count)} within a minute")));

    /// <summary>The last replica that had to copy everything, and why.</summary>
    internal string ReplicaRefused() => parts.Replicas.Counts.LastRefusal is { } refusal ? Printable($"the replica {refusal.Replica}: {refusal.Reason}") : "";

    /// <summary>The replicas whose synchronizations were too slow.</summary>
    internal string ReplicasTooSlow() => Listed(parts.Replicas.TooSlow.Select(slow => Printable($"the replica {slow.Name} {Occurrences(slow.Times)}")));

    /// <summary>Nodes, shards and moves of a cluster.</summary>
    internal ClusterCulprits Cluster => new(parts.Cluster()?.Picture());

    /// <summary>The primary, with what the last attempt to follow it ended with.</summary>
    internal string Primary()
    {
        if (parts.Core.Replication.Primary is not { } primary) return "";
        string failure = parts.Core.Replication.LinkCounts.LastFailure;
        return Printable(Text($"the primary {primary.Host}:{primary.Port}{(failure.Length > 0 ? $", the last failure: {failure}" : "")}"));
    }

    /// <summary>A client with what is known of it: "client 7 (worker, 10.0.0.3:4711, user alice, library 2.8)".</summary>
    internal string Client(long id, string address = "", string name = "")
    {
        if (id <= 0) return "a caller in the process";
        if (parts.Core.Clients.Find(id) is { } session) return Described(id, session.Name, session.Address, session.User.Name, session.LibraryName, session.LibraryVersion, "");
        if (parts.Core.Clients.Departed.Find(id) is { } left) return Described(id, left.Name, left.Address.ToString(), left.User, left.LibraryName, left.LibraryVersion, ", which has left");
        return Described(id, name, address, "", "", "", address.Length > 0 ? ", which has left" : "");
    }

    private static string Described(long id, string name, string address, string user, string library, string version, string left)
    {
        string[] facts = [.. ((string[])[name, address, user.Length > 0 ? "user " + user : "", $"{library} {version}".Trim()]).Where(fact => fact.Length > 0)];
        return Printable(Text($"client {id}{(facts.Length > 0 ? $" ({string.Join(", ", facts)})" : "")}{left}"));
    }

    private static string Listed(IEnumerable<string> phrases)
    {
        string[] all = [.. phrases.Take(RecentTally<int>.KeysMax)];
        return string.Join(", ", all.Take(NamedMax)) + (all.Length > NamedMax ? Text($" and {all.Length - NamedMax} more") : "");
    }

    private static long OutputOf(Session session) => session.Connection?.OutputBytes ?? 0;

    private static long BuffersOf(Session session) => session.Connection?.BufferBytes ?? 0;

    private static string Occurrences(long count) => count == 1 ? "once" : Text($"{count} times");

    private static string InDatabase(int database) => database == 0 ? "" : Text($" in database {database}");

    private static string SizeOf(SurveyedKey key)
    {
        StoredType type = StoredTypes.Of(key.Type);
        return $"{type.Noun} of {Times(key.Size, type.ElementNoun, "N0")}";
    }

    private static string FirstLine(string? text) =>
        text?.Split('\n').Select(line => line.Trim()).FirstOrDefault(line => line.Length > 0) is { } line ? $" ({Shown(Encoding.Latin1.GetBytes(line))})" : "";

    private static long IdOf(string clientLine)
    {
        string? field = clientLine.Split(' ').FirstOrDefault(word => word.StartsWith("id=", StringComparison.Ordinal));
        return field is not null && long.TryParse(field[3..], CultureInfo.InvariantCulture, out long id) ? id : 0;
    }

    // As much of a text as fits into a line, in quotes.
    private static string Shown(byte[] bytes, bool quoted = true)
    {
        string text = Encoding.UTF8.GetString(bytes.AsSpan(0, Math.Min(bytes.Length, TextMax)));
        string shown = Printable(text) + (bytes.Length > TextMax ? "..." : "");
        return quoted ? $"\"{shown}\"" : shown;
    }

    // INFO and the log have one line for a finding: what is no text is escaped.
    internal static string Printable(string text) =>
        string.Concat(text.EnumerateRunes().Select(rune => Rune.IsControl(rune) || rune.Value is 0x2028 or 0x2029 ? Text($"\\x{rune.Value:x2}") : rune.ToString()));
}
