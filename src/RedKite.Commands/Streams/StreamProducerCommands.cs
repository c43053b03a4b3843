using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Values.Streams;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Streams;

/// <summary>
/// Commands on what a stream remembers of its producers (<see cref="StreamProducers"/>), which XADD's options IDMP and IDMPAUTO use. A
/// stream takes the settings' numbers over when it is first asked to remember; its effects say them, so that all servers forget alike.
/// </summary>
internal static class StreamProducerCommands
{
    internal static readonly CommandFamily Family = new("stream", "stream",
    [
        new("XCFGSET", -2, Write | Fast, KeySpecs.One(1, ReadWrite | Update), XCfgSet,
            new("8.6.0", "O(1)", "Sets for how long, and how many, ids of each producer a stream remembers.", "key idmp-duration-block:[<idmp-duration-token:IDMP-DURATION> duration:integer] idmp-maxsize-block:[<idmp-maxsize-token:IDMP-MAXSIZE> maxsize:integer]")),
        new("XIDMPRECORD", 5, Write | DenyOom | Fast, KeySpecs.One(1, ReadWrite | Update), XIdmpRecord,
            new("8.6.2", "O(1)", "Lets a stream remember the id that a producer has given to an entry. Used by replication.", "key pid iid stream-id")),
    ]);

    /// <summary>Makes a stream remember ids, if it does not yet, as the settings say.</summary>
    internal static void Configure(scoped in CommandContext cmd, int key, StreamValue stream)
    {
        if (stream.Producers.Exist) return;
        stream.ConfigureProducers(cmd.Settings.StreamIdmpDurationSeconds, cmd.Settings.StreamIdmpMaxSize);
        ReportConfiguration(cmd, key, stream);
    }

    // XCFGSET key [IDMP-DURATION idmp-duration] [IDMP-MAXSIZE idmp-maxsize]
    private static void XCfgSet(ref CommandContext cmd)
    {
        // As in Redis, the key comes before the arguments.
        if (!TryOpenOrReply(cmd, out StreamValue stream)) return;
        if (cmd.Count == 2)
        {
            cmd.Reply.Error("ERR At least one parameter must be specified"u8);
            return;
        }

        long duration = 0, size = 0;
        var options = new OptionReader(cmd, first: 2);
        while (options.More)
        {
            if (options.TakeWithValue("IDMP-DURATION"u8, out int argument))
            {
                if (!TryNumberOrReply(cmd, argument, StreamProducers.DurationSecondsMax, "IDMP-DURATION", "seconds", ref duration)) return;
            }
            else if (options.TakeWithValue("IDMP-MAXSIZE"u8, out argument))
            {
                if (!TryNumberOrReply(cmd, argument, StreamProducers.IdsPerProducerMax, "IDMP-MAXSIZE", "entries", ref size)) return;
            }
            else
            {
                cmd.ReplySyntaxError();
                return;
            }
        }

        bool exist = stream.Producers.Exist;
        if (duration == 0) duration = exist ? stream.Producers.DurationSeconds : cmd.Settings.StreamIdmpDurationSeconds;
        if (size == 0) size = exist ? stream.Producers.IdsMax : cmd.Settings.StreamIdmpMaxSize;
        if (stream.Producers.DurationSeconds != duration || stream.Producers.IdsMax != size)
        {
            stream.ConfigureProducers((int)duration, (int)size);
            cmd.ReplaceEffect();
            ReportConfiguration(cmd, 1, stream);
            cmd.Changed(1, KeyEvent.Bookkeeping);
        }

        cmd.Reply.Ok();
    }

    // XIDMPRECORD key pid iid stream-id
    private static void XIdmpRecord(ref CommandContext cmd)
    {
        if (!StreamIdArgument.TryReadOrReply(cmd, 4, out StreamId id) || !AreTextsOrReply(cmd) || !TryOpenOrReply(cmd, out StreamValue stream)) return;
        if (!stream.Contains(id))
        {
            cmd.Reply.Error("ERR No such message in stream"u8);
            return;
        }

        // By the entry's time, not by the clock: a log may be replayed at any time.
        long addedMs = (long)Math.Min(id.Ms, long.MaxValue);
        if (!stream.TryFindAdded(cmd[2], cmd[3], addedMs, out StreamId known))
        {
            Configure(cmd, 1, stream);
            stream.Remember(cmd[2], cmd[3], id);
            StreamEffects.Remember(cmd, 1, cmd[2], cmd[3], id);
            cmd.Changed(1, KeyEvent.Bookkeeping);
        }
        else if (known != id)
        {
            cmd.Reply.Error("ERR IID already exists for this producer with a different stream ID"u8);
            return;
        }

        cmd.Reply.Ok();
    }

    private static bool TryOpenOrReply(scoped in CommandContext cmd, out StreamValue stream)
    {
        if (!cmd.OpenToWriteStreamOrReply(1, out stream)) return false;
        if (stream.Exists) return true;
        cmd.Reply.Error("ERR no such key"u8);
        return false;
    }

    private static bool AreTextsOrReply(scoped in CommandContext cmd)
    {
        if (cmd[2].IsEmpty) cmd.Reply.Error("ERR producer ID must be non-empty"u8);
        else if (cmd[3].IsEmpty) cmd.Reply.Error("ERR idempotent ID must be non-empty"u8);
        else return true;
        return false;
    }

    // A number of 0 has not been read yet.
    private static bool TryNumberOrReply(scoped in CommandContext cmd, int argument, long max, string option, string unit, ref long number)
    {
        if (number > 0)
        {
            cmd.Reply.Error($"ERR {option} specified multiple times");
            return false;
        }

        if (!cmd.TryIntegerOrReply(argument, out number)) return false;
        if (number >= 1 && number <= max) return true;
        cmd.Reply.Error($"ERR {option} must be between 1 and {max} {unit}");
        return false;
    }

    private static void ReportConfiguration(scoped in CommandContext cmd, int key, StreamValue stream) =>
        StreamEffects.Configure(cmd, key, stream.Producers.DurationSeconds, stream.Producers.IdsMax);
}
