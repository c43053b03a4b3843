using System.Globalization;
using RedKite.Protocol;
using RedKite.Server.Cluster;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Diagnostics;
using RedKite.Server.Model;
using RedKite.Server.Sessions;
using RedKite.Store.Keyspace;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Server;

/// <summary>HOTKEYS as in Redis 8.6: tracks the keys on which commands spend the most time and bytes (<see cref="HotKeyTracking"/>).</summary>
internal sealed class HotKeysCommands(ServerParts parts)
{
    private const int ReportedByDefault = 10;
    private const int ReportedMax = 64;
    private const int MetricsMax = 2;
    private const long DurationSecondsMax = 1_000_000;

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
        bool isSampled = options.Slots is not null && options.SampleRatio > 1;
        reply.Map(7 + (isSampled ? 2 : 0) + (options.Slots is not null ? 2 : 0) + (options.TracksCpu ? 3 : 0) + (options.TracksNet ? 2 : 0));
        Field(reply, "tracking-active"u8, report.IsActive ? 1 : 0);
        Field(reply, "sample-ratio"u8, options.SampleRatio);
        reply.Bulk("selected-slots"u8);
        ReplyRanges(reply, options.Slots ?? OwnSlots());
        if (isSampled) Field(reply, "sampled-commands-selected-slots-us"u8, report.Sampled.Ns / 1000);
        if (options.Slots is not null) Field(reply, "all-commands-selected-slots-us"u8, report.Selected.Ns / 1000);
        Field(reply, "all-commands-all-slots-us"u8, report.All.Ns / 1000);
        if (isSampled) Field(reply, "net-bytes-sampled-commands-selected-slots"u8, report.Sampled.Bytes);
        if (options.Slots is not null) Field(reply, "net-bytes-all-commands-selected-slots"u8, report.Selected.Bytes);
        Field(reply, "net-bytes-all-commands-all-slots"u8, report.All.Bytes);
        Field(reply, "collection-start-time-unix-ms"u8, report.StartMs);
        Field(reply, "collection-duration-ms"u8, report.DurationMs);
        if (options.TracksCpu)
        {
            Field(reply, "total-cpu-time-user-ms"u8, (long)report.UserTime.TotalMilliseconds);
            Field(reply, "total-cpu-time-sys-ms"u8, (long)report.SystemTime.TotalMilliseconds);
        }

        if (options.TracksNet) Field(reply, "total-net-bytes"u8, options.SampleRatio > 1 ? report.Sampled.Bytes : report.Selected.Bytes);
        if (options.TracksCpu) Keys(reply, "by-cpu-time-us"u8, report.ByCpu, divisor: 1000);
        if (options.TracksNet) Keys(reply, "by-net-bytes"u8, report.ByNet, divisor: 1);
    }

    // Without a cluster, all.
    private SlotSet OwnSlots() => SlotSet.Of(slot => parts.Core.Routing.Value is not { } routing || IsOwn(routing, slot));

    private static bool IsOwn(SlotRouting routing, int slot) => routing.OwnerOf(slot) is var owner && owner != SlotRouting.NoNode && owner == routing.Self;

    private static void ReplyRanges(ReplyWriter reply, SlotSet slots)
    {
        List<SlotRange> ranges = slots.Ranges();
        reply.Array(ranges.Count);
        foreach (SlotRange range in ranges)
        {
            reply.Array(range.First == range.Last ? 1 : 2);
            reply.Integer(range.First);
            if (range.First < range.Last) reply.Integer(range.Last);
        }
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

    private bool TryOptionsOrReply(scoped in CommandContext cmd, out HotKeyOptions? options)
    {
        options = null;
        long count = ReportedByDefault, seconds = 0, ratio = 1;
        SlotSet? slots = null;
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
            else if (parts.Core.Routing.Value is not { } routing)
            {
                return reader.Take("SLOTS"u8) ? Error(cmd, "ERR SLOTS parameter cannot be used in non-cluster mode"u8) : SyntaxError(cmd);
            }
            else if (reader.TakeWithValue("SLOTS"u8, out value))
            {
                if (slots is not null) return Error(cmd, "ERR SLOTS parameter already specified"u8);
                if (!TrySlotsOrReply(cmd, routing, ref reader, value, out slots)) return false;
            }
            else
            {
                return SyntaxError(cmd);
            }
        }

        options = new HotKeyOptions(cpu, net, (int)count, seconds * 1000, (int)ratio, slots);
        return true;
    }

    // SLOTS count slot [slot ...]
    private static bool TrySlotsOrReply(scoped in CommandContext cmd, SlotRouting routing, ref OptionReader reader, int countAt, out SlotSet? slots)
    {
        slots = null;
        if (!RespNumber.TryParseInt64(cmd[countAt], out long count) || count is < 1 or > KeySlot.Count) return Error(cmd, "ERR SLOTS count must be between 1 and 16384"u8);
        if (countAt + count >= cmd.Count) return Error(cmd, "ERR not enough slot numbers provided"u8);
        var named = new HashSet<int>();
        for (int i = 1; i <= count; i++)
        {
            if (!RespNumber.TryParseInt64(cmd[countAt + i], out long slot) || slot is < 0 or >= KeySlot.Count) return Error(cmd, "ERR Invalid or out of range slot"u8);
            if (!IsOwn(routing, (int)slot))
            {
                cmd.Reply.Error(string.Create(CultureInfo.InvariantCulture, $"ERR slot {slot} not handled by this node"));
                return false;
            }

            if (!named.Add((int)slot)) return Error(cmd, "ERR duplicate slot number"u8);
        }

        slots = SlotSet.Of(named.Contains);
        reader = new OptionReader(cmd, countAt + (int)count + 1);
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
        "START METRICS <count> [CPU] [NET] [COUNT <k>] [DURATION <seconds>] [SAMPLE <ratio>] [SLOTS <count> <slot> [<slot> ...]]",
        "    Begin to track hot keys, by the time (CPU) and the bytes (NET) of commands.",
        "STOP",
        "    Stop tracking, and keep what was tracked.");
}
