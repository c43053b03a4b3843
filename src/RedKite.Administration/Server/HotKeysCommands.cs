using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Diagnostics;
using RedKite.Server.Model;
using RedKite.Server.Sessions;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Server;

/// <summary>HOTKEYS as in Redis 8.6: tracks the keys on which commands spend the most time and bytes (<see cref="HotKeyTracking"/>).</summary>
internal sealed class HotKeysCommands(ServerParts parts)
{
    private const int ReportedByDefault = 10;
    private const int ReportedMax = 64;
    private const int MetricsMax = 2;
    private const long DurationSecondsMax = 1_000_000;
    private const int LastSlot = 16383;

    private static readonly string[] OfEachServer = ["request_policy:special"];

    internal CommandFamily Family => new("server", "",
    [
        new("HOTKEYS", -2, None, KeySpecs.None, Help, new("8.6.0", "Depends on subcommand.", "A container for commands that track hot keys."),
        [
            new("GET", 2, Admin | NoScript, KeySpecs.None, Get, new("8.6.0", "O(K) where K is the number of hotkeys returned.", "Returns the keys on which commands spent the most time and bytes.")) { Tips = ["nondeterministic_output", "request_policy:special", "response_policy:special"] },
            new("HELP", 2, Loading | Stale, KeySpecs.None, Help, new("8.6.1", "O(1)", "Lists the subcommands.")),
            new("RESET", 2, Admin | NoScript, KeySpecs.None, Reset, new("8.6.0", "O(1)", "Releases what was tracked.")) { Tips = OfEachServer },
            new("START", -2, Admin | NoScript, KeySpecs.None, Start, new("8.6.0", "O(1)", "Begins to track the keys on which commands spend time and bytes.", "METRICS metrics:(count [CPU] [NET]) [COUNT k:integer] [DURATION seconds] [SAMPLE ratio:integer] [SLOTS slots:(count slot [slot ...])]")) { Tips = OfEachServer },
            new("STOP", 2, Admin | NoScript, KeySpecs.None, Stop, new("8.6.0", "O(1)", "Stops tracking, and keeps what was tracked.")) { Tips = OfEachServer },
        ]),
    ]);

    // HOTKEYS START METRICS count [CPU] [NET] [COUNT k] [DURATION seconds] [SAMPLE ratio] [SLOTS count slot [slot ...]]
    private void Start(ref CommandContext cmd)
    {
        // As in Redis, the options do not matter while a session is in progress.
        HotKeyOptions? options = null;
        if (!parts.Core.HotKeys.IsInProgress && !TryOptionsOrReply(cmd, out options)) return;
        if (options is not null && parts.Core.HotKeys.TryStart(options)) cmd.Reply.Ok();
        else cmd.Reply.Error("ERR hotkey tracking session already in progress"u8);
    }

    // HOTKEYS STOP
    private void Stop(ref CommandContext cmd)
    {
        if (parts.Core.HotKeys.TryStop()) cmd.Reply.Ok();
        else cmd.Reply.Null();
    }

    // HOTKEYS RESET
    private void Reset(ref CommandContext cmd)
    {
        if (parts.Core.HotKeys.TryReset()) cmd.Reply.Ok();
        else cmd.Reply.Error("ERR hotkey tracking session in progress, stop tracking first"u8);
    }

    // HOTKEYS GET
    private void Get(ref CommandContext cmd)
    {
        if (parts.Core.HotKeys.Read() is not { } report)
        {
            cmd.Reply.Null();
            return;
        }

        ReplyWriter reply = cmd.Reply;
        HotKeyOptions options = report.Options;
        reply.Array(1);
        reply.Map(7 + (options.TracksCpu ? 3 : 0) + (options.TracksNet ? 2 : 0));
        Field(reply, "tracking-active"u8, report.IsActive ? 1 : 0);
        Field(reply, "sample-ratio"u8, options.SampleRatio);
        reply.Bulk("selected-slots"u8);
        reply.Array(1);
        reply.Array(2);
        reply.Integer(0);
        reply.Integer(LastSlot);
        Field(reply, "all-commands-all-slots-us"u8, report.CommandNs / 1000);
        Field(reply, "net-bytes-all-commands-all-slots"u8, report.NetBytes);
        Field(reply, "collection-start-time-unix-ms"u8, report.StartMs);
        Field(reply, "collection-duration-ms"u8, report.DurationMs);
        if (options.TracksCpu)
        {
            Field(reply, "total-cpu-time-user-ms"u8, (long)report.UserTime.TotalMilliseconds);
            Field(reply, "total-cpu-time-sys-ms"u8, (long)report.SystemTime.TotalMilliseconds);
        }

        if (options.TracksNet) Field(reply, "total-net-bytes"u8, report.NetBytes);
        if (options.TracksCpu) Keys(reply, "by-cpu-time-us"u8, report.ByCpu, divisor: 1000);
        if (options.TracksNet) Keys(reply, "by-net-bytes"u8, report.ByNet, divisor: 1);
    }

    private static void Field(ReplyWriter reply, ReadOnlySpan<byte> name, long value)
    {
        reply.Bulk(name);
        reply.Integer(value);
    }

    private static void Keys(ReplyWriter reply, ReadOnlySpan<byte> name, (byte[] Key, long Sum)[] keys, int divisor)
    {
        reply.Bulk(name);
        reply.Array(2 * keys.Length);
        foreach ((byte[] key, long sum) in keys)
        {
            reply.Bulk(key);
            reply.Integer(sum / divisor);
        }
    }

    private static bool TryOptionsOrReply(scoped in CommandContext cmd, out HotKeyOptions? options)
    {
        options = null;
        long count = ReportedByDefault, seconds = 0, ratio = 1;
        var reader = new OptionReader(cmd, first: 2);
        if (!TryMetricsOrReply(cmd, ref reader, out bool cpu, out bool net)) return false;
        while (reader.More)
        {
            if (reader.TakeWithValue("COUNT"u8, out int value))
            {
                if (!TryInRangeOrReply(cmd, value, "COUNT", ReportedMax, out count)) return false;
            }
            else if (reader.TakeWithValue("DURATION"u8, out value))
            {
                if (!TryInRangeOrReply(cmd, value, "DURATION", DurationSecondsMax, out seconds)) return false;
            }
            else if (reader.TakeWithValue("SAMPLE"u8, out value))
            {
                if (!RespNumber.TryParseInt64(cmd[value], out ratio) || ratio is < 1 or > int.MaxValue) return Error(cmd, "ERR SAMPLE ratio must be positive"u8);
            }
            else if (reader.Take("SLOTS"u8))
            {
                return cmd.Settings.ClusterEnabled ? Error(cmd, "ERR SLOTS parameter is not supported"u8) : Error(cmd, "ERR SLOTS parameter cannot be used in non-cluster mode"u8);
            }
            else
            {
                return SyntaxError(cmd);
            }
        }

        options = new HotKeyOptions(cpu, net, (int)count, seconds * 1000, (int)ratio);
        return true;
    }

    // METRICS count [CPU] [NET], the first option. A metric of another name counts as given and is not tracked.
    private static bool TryMetricsOrReply(scoped in CommandContext cmd, ref OptionReader reader, out bool cpu, out bool net)
    {
        cpu = net = false;
        if (!reader.TakeWithValue("METRICS"u8, out int value)) return Error(cmd, "ERR METRICS parameter is required"u8);
        if (!RespNumber.TryParseInt64(cmd[value], out long metrics) || metrics is < 1 or > MetricsMax) return Error(cmd, "ERR METRICS count must be > 0 and <= 2"u8);
        if (value + metrics >= cmd.Count) return Error(cmd, "ERR METRICS count does not match number of metric types provided"u8);
        for (int i = 1; i <= metrics; i++)
        {
            if (cmd.Is(value + i, "CPU"u8))
            {
                if (cpu) return Error(cmd, "ERR METRICS CPU defined more than once!"u8);
                cpu = true;
            }
            else if (cmd.Is(value + i, "NET"u8))
            {
                if (net) return Error(cmd, "ERR METRICS NET defined more than once!"u8);
                net = true;
            }
        }

        if (!cpu && !net) return Error(cmd, "ERR METRICS no valid metrics passed. Supported: CPU|NET"u8);
        reader = new OptionReader(cmd, value + (int)metrics + 1);
        return true;
    }

    private static bool TryInRangeOrReply(scoped in CommandContext cmd, int argument, string name, long max, out long value)
    {
        if (RespNumber.TryParseInt64(cmd[argument], out value) && value >= 1 && value <= max) return true;
        value = 0;
        cmd.Reply.Error($"ERR {name} must be between 1 and {max}");
        return false;
    }

    private static bool SyntaxError(scoped in CommandContext cmd)
    {
        cmd.ReplySyntaxError();
        return false;
    }

    private static bool Error(scoped in CommandContext cmd, ReadOnlySpan<byte> text)
    {
        cmd.Reply.Error(text);
        return false;
    }

    // HOTKEYS HELP
    private static void Help(ref CommandContext cmd) => HelpReply.Write(
        cmd,
        "GET",
        "    Return the keys on which commands spent the most time and bytes.",
        "RESET",
        "    Release what was tracked.",
        "START METRICS <count> [CPU] [NET] [COUNT <k>] [DURATION <seconds>] [SAMPLE <ratio>]",
        "    Begin to track hot keys, by the time (CPU) and the bytes (NET) of commands.",
        "STOP",
        "    Stop tracking, and keep what was tracked.");
}
