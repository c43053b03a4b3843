using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Diagnostics;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Server;

/// <summary>COMMANDLOG as in Valkey 8.1: the logs of slow commands, large requests and large replies. Redis has only the first, as SLOWLOG.</summary>
internal sealed class CommandLogCommands(ServerParts parts)
{
    private const string Type = "type:<slow | large-request | large-reply>";

    internal CommandFamily Family => new("server", "",
    [
        new("COMMANDLOG", -2, None, KeySpecs.None, Help, new("8.1.0", "Depends on subcommand.", "A container for commands on the logs of slow and large requests.") { IsOfValkey = true },
        [
            new("GET", 4, Admin | Loading | Stale, KeySpecs.None, Get, new("8.1.0", "O(N) where N is the number of entries returned", "Returns the newest entries of a log.", "count " + Type) { IsOfValkey = true }) { Tips = ["request_policy:all_nodes", "nondeterministic_output"] },
            new("HELP", 2, Loading | Stale, KeySpecs.None, Help, new("8.1.0", "O(1)", "Lists the subcommands.") { IsOfValkey = true }),
            new("LEN", 3, Admin | Loading | Stale, KeySpecs.None, Length, new("8.1.0", "O(1)", "Returns the number of entries in a log.", Type) { IsOfValkey = true }) { Tips = ["request_policy:all_nodes", "response_policy:agg_sum", "nondeterministic_output"] },
            new("RESET", 3, Admin | Loading | Stale, KeySpecs.None, Reset, new("8.1.0", "O(N) where N is the number of entries in the log", "Removes all entries from a log.", Type) { IsOfValkey = true }) { Tips = ["request_policy:all_nodes", "response_policy:all_succeeded"] },
        ]),
    ]);

    // COMMANDLOG GET count type
    private void Get(ref CommandContext cmd)
    {
        if (!RespNumber.TryParseInt64(cmd[2], out long count) || count < -1)
        {
            cmd.Reply.Error("ERR count should be greater than or equal to -1"u8);
            return;
        }

        if (LogOrReply(cmd, 3) is { } log) RequestLogReplies.Write(cmd.Reply, log.Newest(count), withCount: false);
    }

    // COMMANDLOG LEN type
    private void Length(ref CommandContext cmd)
    {
        if (LogOrReply(cmd, 2) is { } log) cmd.Reply.Integer(log.Length);
    }

    // COMMANDLOG RESET type
    private void Reset(ref CommandContext cmd)
    {
        if (LogOrReply(cmd, 2) is not { } log) return;
        log.Clear();
        cmd.Reply.Ok();
    }

    private RequestLog? LogOrReply(scoped in CommandContext cmd, int argument)
    {
        if (cmd.Is(argument, "SLOW"u8)) return parts.Core.SlowLog;
        if (cmd.Is(argument, "LARGE-REQUEST"u8)) return parts.Core.LargeRequests;
        if (cmd.Is(argument, "LARGE-REPLY"u8)) return parts.Core.LargeReplies;
        cmd.Reply.Error("ERR type should be one of the following: slow, large-request, large-reply"u8);
        return null;
    }

    // COMMANDLOG HELP
    private static void Help(ref CommandContext cmd) => HelpReply.Write(
        cmd,
        "GET <count> <type>",
        "    Return the newest <count> entries of a log (-1: all). An entry has an id, the time,",
        "    the microseconds (slow) or bytes (large-request, large-reply), the arguments,",
        "    the client's address and name.",
        "LEN <type>",
        "    Return the number of entries in a log.",
        "RESET <type>",
        "    Remove all entries from a log.");
}
