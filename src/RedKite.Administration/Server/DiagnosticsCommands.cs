using System.Text;
using RedKite.Net;
using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Commands.Debug;
using RedKite.Server.Diagnostics;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Server;

/// <summary>Diagnostics commands. The table is their single declaration; DEBUG's handler is in DebugCommand.</summary>
internal sealed class DiagnosticsCommands(RequestLog slowLog, LatencyMonitor latencyMonitor, Func<MetricsRegistry> metrics, Func<IReadOnlyList<Finding>> findings, DebugCommand debug)
{
    private const CommandFlags Administration = Admin | NoScript | Loading | Stale;
    private const int SlowLogShownByDefault = 10;

    // The first step of a reported histogram; each further step doubles it.
    private const int FirstStepBits = 10;
    private const int StepPrecisionBits = 7;

    internal CommandFamily Family => new("server", "",
    [
        new("DEBUG", -2, Administration | Protected | WalksStripes, KeySpecs.None, debug.Execute, new("1.0.0", "Depends on subcommand.", "A container for commands for tests of the server.") { IsSystemCommand = true }) { Gate = settings => settings.EnableDebugCommand, UnprotectedArgument = "PACKAGE"u8.ToArray(), NeedsAllStripes = DebugReload.IsNamed, ExcludesScripts = DebugReload.IsNamed },
        new("LATENCY", -2, None, KeySpecs.None, LatencyHelp, new("2.8.13", "Depends on subcommand.", "A container for commands on latency."),
        [
            new("DOCTOR", 2, Administration, KeySpecs.None, LatencyDoctor, new("2.8.13", "O(1)", "Returns a report on latency events, with advice.")) { Tips = ["nondeterministic_output", "request_policy:all_nodes", "response_policy:special"] },
            new("GRAPH", 3, Administration, KeySpecs.None, LatencyGraph, new("2.8.13", "O(1)", "Returns a text chart of the latency samples of an event.", "event")) { Tips = ["nondeterministic_output", "request_policy:all_nodes", "response_policy:special"] },
            new("HELP", 2, Loading | Stale, KeySpecs.None, LatencyHelp, new("2.8.13", "O(1)", "Lists the subcommands.")),
            new("HISTOGRAM", -2, Administration, KeySpecs.None, LatencyHistogram, new("7.0.0", "O(N) where N is the number of commands with latency information being retrieved.", "Returns the cumulative latency distribution of commands.", "[command ...]")) { Tips = ["nondeterministic_output", "request_policy:all_nodes", "response_policy:special"] },
            new("HISTORY", 3, Administration, KeySpecs.None, LatencyHistory, new("2.8.13", "O(1)", "Returns the latency samples of an event.", "event")) { Tips = ["nondeterministic_output", "request_policy:all_nodes", "response_policy:special"] },
            new("LATEST", 2, Administration, KeySpecs.None, LatencyLatest, new("2.8.13", "O(1)", "Returns the latest latency sample of every event.")) { Tips = ["nondeterministic_output", "request_policy:all_nodes", "response_policy:special"] },
            new("RESET", -2, Administration, KeySpecs.None, LatencyReset, new("2.8.13", "O(1)", "Deletes the latency samples of events.", "[event ...]")) { Tips = ["request_policy:all_nodes", "response_policy:agg_sum"] },
        ]),
        new("SLOWLOG", -2, None, KeySpecs.None, SlowLogHelp, new("2.2.12", "Depends on subcommand.", "A container for commands on the slow log."),
        [
            new("GET", -2, Admin | Loading | Stale, KeySpecs.None, SlowLogGet, new("2.2.12", "O(N) where N is the number of entries returned", "Returns the newest entries of the slow log.", "[count]") { History = [("4.0.0", "Also returns the client's address and name.")] }) { Tips = ["request_policy:all_nodes", "nondeterministic_output"] },
            new("HELP", 2, Loading | Stale, KeySpecs.None, SlowLogHelp, new("6.2.0", "O(1)", "Lists the subcommands.")),
            new("LEN", 2, Admin | Loading | Stale, KeySpecs.None, SlowLogLen, new("2.2.12", "O(1)", "Returns the number of entries in the slow log.")) { Tips = ["request_policy:all_nodes", "response_policy:agg_sum", "nondeterministic_output"] },
            new("RESET", 2, Admin | Loading | Stale, KeySpecs.None, SlowLogReset, new("2.2.12", "O(N) where N is the number of entries in the slowlog", "Removes all entries from the slow log.")) { Tips = ["request_policy:all_nodes", "response_policy:all_succeeded"] },
        ]),
    ]);

    // SLOWLOG GET [count]
    private void SlowLogGet(ref CommandContext cmd)
    {
        long count = SlowLogShownByDefault;
        if (cmd.Count > 3)
        {
            cmd.Reply.Error($"ERR unknown subcommand or wrong number of arguments for '{cmd.ShownText(1)}'. Try {cmd.ContainerText()} HELP.");
            return;
        }

        if (cmd.Count == 3 && (!RespNumber.TryParseInt64(cmd[2], out count) || count < -1))
        {
            cmd.Reply.Error("ERR count should be greater than or equal to -1"u8);
            return;
        }

        RequestLogReplies.Write(cmd.Reply, slowLog.Newest(count), withCount: true);
    }

    // SLOWLOG LEN
    private void SlowLogLen(ref CommandContext cmd) => cmd.Reply.Integer(slowLog.Length);

    // SLOWLOG RESET
    private void SlowLogReset(ref CommandContext cmd)
    {
        slowLog.Clear();
        cmd.Reply.Ok();
    }

    // SLOWLOG HELP
    private static void SlowLogHelp(ref CommandContext cmd) => HelpReply.Write(
        cmd,
        "GET [<count>]",
        "    Return the newest <count> entries (default: 10, -1: all). Each has an id,",
        "    time, microseconds, arguments, client address and client name.",
        "LEN",
        "    Return the number of entries.",
        "RESET",
        "    Remove all entries.");

    // LATENCY HISTOGRAM [command [command ...]]
    private void LatencyHistogram(ref CommandContext cmd)
    {
        if (!IntrospectionCommands.HasFewNamesOrReply(cmd)) return;

        // The map's length precedes its entries, so commands with calls are collected first.
        var called = new List<Command>();
        var latency = new LatencyHistogram();
        if (cmd.Count == 2)
        {
            foreach (Command command in cmd.Environment.Commands.All) AddIfCalled(metrics(), command, latency, called);
        }

        for (int i = 2; i < cmd.Count; i++)
        {
            if (FindByFullName(cmd.Environment.Commands, cmd[i]) is not { } command) continue;
            AddIfCalled(metrics(), command, latency, called);
            foreach (Command subcommand in command.Subcommands) AddIfCalled(metrics(), subcommand, latency, called);
        }

        cmd.Reply.Map(called.Count);
        foreach (Command command in called)
        {
            CommandStatistics.TryLatencyOf(metrics(), command, latency);
            cmd.Reply.Bulk(command.FullName);
            ReplyHistogram(cmd.Reply, latency);
        }
    }

    private static void AddIfCalled(MetricsRegistry registry, Command command, LatencyHistogram scratch, List<Command> called)
    {
        if (CommandStatistics.TryLatencyOf(registry, command, scratch)) called.Add(command);
    }

    // "get", or "config|get" for a subcommand.
    private static Command? FindByFullName(CommandTable commands, ReadOnlySpan<byte> name)
    {
        int bar = name.IndexOf((byte)'|');
        if (bar < 0) return commands.Find(name);
        return commands.Find(name[..bar]) is { } container ? CommandTable.FindSubcommand(container, name[(bar + 1)..]) : null;
    }

    // The number of calls that took at most 1, 2, 4, ... units of 1.024 microseconds; steps without further calls are left out.
    // A step is named after the largest value that a histogram of Redis's precision, 7 bits, counts in it: 33 for 32.768.
    private static void ReplyHistogram(ReplyWriter reply, LatencyHistogram latency)
    {
        Span<long> steps = stackalloc long[64];
        Span<long> counts = stackalloc long[64];
        int length = 0;
        long seen = 0;
        for (int bits = FirstStepBits; seen < latency.Count && bits < 62; bits++)
        {
            long upTo = (1L << bits) + (1L << (bits - StepPrecisionBits)) - 1;
            long count = upTo >= latency.MaxNs ? latency.Count : latency.CountUpTo(upTo);
            if (count == seen) continue;
            steps[length] = upTo / 1000;
            counts[length++] = seen = count;
        }

        reply.Map(2);
        reply.Bulk("calls"u8);
        reply.Integer(latency.Count);
        reply.Bulk("histogram_usec"u8);
        reply.Map(length);
        for (int i = 0; i < length; i++)
        {
            reply.Integer(steps[i]);
            reply.Integer(counts[i]);
        }
    }

    // LATENCY LATEST
    private void LatencyLatest(ref CommandContext cmd)
    {
        LatencyEvent[] events = latencyMonitor.Events;
        cmd.Reply.Array(events.Length);
        foreach (LatencyEvent latency in events)
        {
            cmd.Reply.Array(4);
            cmd.Reply.Bulk(latency.Name);
            cmd.Reply.Integer(latency.Latest.UnixSeconds);
            cmd.Reply.Integer(latency.Latest.Ms);
            cmd.Reply.Integer(latency.WorstMs);
        }
    }

    // LATENCY HISTORY event
    private void LatencyHistory(ref CommandContext cmd)
    {
        LatencySample[] samples = latencyMonitor.Find(cmd.Text(2))?.Samples ?? [];
        cmd.Reply.Array(samples.Length);
        foreach (LatencySample sample in samples)
        {
            cmd.Reply.Array(2);
            cmd.Reply.Integer(sample.UnixSeconds);
            cmd.Reply.Integer(sample.Ms);
        }
    }

    // LATENCY RESET [event [event ...]]
    private void LatencyReset(ref CommandContext cmd)
    {
        int count = cmd.Count == 2 ? latencyMonitor.ResetAll() : 0;
        for (int i = 2; i < cmd.Count; i++) count += latencyMonitor.Reset(cmd.Text(i)) ? 1 : 0;
        cmd.Reply.Integer(count);
    }

    // LATENCY GRAPH event
    private void LatencyGraph(ref CommandContext cmd)
    {
        if (latencyMonitor.Find(cmd.Text(2)) is not { } latency)
        {
            cmd.Reply.Error($"ERR No samples available for event '{cmd.ShownText(2)}'");
            return;
        }

        cmd.Reply.Verbatim("txt"u8, Encoding.Latin1.GetBytes(LatencyReport.Graph(latency, cmd.NowMs)));
    }

    // LATENCY DOCTOR
    private void LatencyDoctor(ref CommandContext cmd)
    {
        string found = FindingsText.Of(findings(), "commands", "loops", "slow");
        string report = LatencyReport.Diagnose(latencyMonitor, slowLogIsOff: cmd.Settings.SlowLogSlowerThanMicroseconds < 0, hasFindings: found.Length > 0);
        cmd.Reply.Verbatim("txt"u8, Encoding.UTF8.GetBytes(report + found));
    }

    // LATENCY HELP
    private static void LatencyHelp(ref CommandContext cmd) => HelpReply.Write(
        cmd,
        "DOCTOR",
        "    Return a report on latency events, with advice.",
        "GRAPH <event>",
        "    Return a text chart of the samples of <event>.",
        "HISTOGRAM [COMMAND ...]",
        "    Return the cumulative latency distribution of the given commands in powers",
        "    of two of microseconds (default: all commands that were called).",
        "HISTORY <event>",
        "    Return the samples of <event>, each with its time and milliseconds.",
        "LATEST",
        "    Return the latest sample of every event.",
        "RESET [<event> ...]",
        "    Delete the samples of the given events (default: all).");
}
