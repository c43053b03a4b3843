using RedKite.TestSupport;

namespace RedKite.Differential.Tests;

/// <summary>
/// COMMANDLOG against the server that has it: Valkey 8.1. Transactions and calls of scripts are left out: there, these commands have the
/// request of the surrounding one, and the reply of all commands before them, too.
/// </summary>
public sealed class CommandLogTests
{
    private const string Types = "slow large-request large-reply LARGE-REPLY nosuch";

    private static readonly string[] Settings = ["--slowlog-log-slower-than", "-1", "--commandlog-request-larger-than", "150", "--commandlog-reply-larger-than", "100"];

    private static readonly string Value = new('x', 200);

    // A line in braces is for each type.
    private static readonly string[] Commands =
    [
        "COMMANDLOG", "COMMANDLOG nosuch", "COMMANDLOG GET", "COMMANDLOG GET 1", "COMMANDLOG LEN", "COMMANDLOG RESET", "COMMANDLOG RESET slow large-request",
        "{COMMANDLOG GET 1 type extra}", "{COMMANDLOG LEN type extra}", "{COMMANDLOG LEN type}", "{COMMANDLOG GET -1 type}", "{COMMANDLOG GET 0 type}", "{COMMANDLOG GET -2 type}",
        "{COMMANDLOG GET x type}", "{COMMANDLOG GET 1.5 type}", "{COMMANDLOG GET '' type}", "{COMMANDLOG GET 9223372036854775807 type}", "{COMMANDLOG GET 9223372036854775808 type}",
        $"SET key {Value}", "CLIENT SETNAME me", $"SET other {Value}", "GET key", "MGET key other", "ECHO small", "{COMMANDLOG LEN type}", "{COMMANDLOG GET -1 type}", "{COMMANDLOG GET 1 type}",
        $"MSET {string.Join(' ', Enumerable.Range(0, 40).Select(i => $"key{i} value{i}"))}", $"LPUSH key {Value}", $"nosuch {Value}", $"GET {Value} {Value}", $"APPEND key {Value}{Value}", "GETRANGE key 0 88", "GETRANGE key 0 89",
        "{COMMANDLOG GET 3 type}", "{COMMANDLOG LEN type}", $"EVAL \"return ARGV[1] .. ARGV[1]\" 1 key {Value}", "{COMMANDLOG GET -1 type}", "EVAL \"return redis.call('COMMANDLOG', 'LEN', 'slow')\" 0", "HELLO 3", "COMMANDLOG RESET large-reply", "GET key", "{COMMANDLOG GET 2 type}", // HELLO says the server's name
        "COMMANDLOG RESET large-request", "{COMMANDLOG LEN type}", $"SET key {Value}", "COMMANDLOG GET -1 large-request", "CONFIG SET commandlog-large-request-max-len 2", $"SET a {Value}", $"SET b {Value}", $"SET c {Value}",
        "{COMMANDLOG GET -1 type}", "CONFIG SET slowlog-log-slower-than 0", "SET k v", "GET k", "CONFIG SET slowlog-log-slower-than -1", "COMMANDLOG GET -1 slow", "SLOWLOG GET -1", "SLOWLOG LEN", "COMMANDLOG RESET slow", "SLOWLOG LEN",
        "CONFIG SET commandlog-request-larger-than 0 commandlog-reply-larger-than -1", "PING", "COMMANDLOG GET 1 large-request", "COMMANDLOG LEN large-reply", "CONFIG SET commandlog-request-larger-than -2", "{COMMANDLOG RESET type}",
    ];

    [Fact]
    public void Replies_are_those_of_Valkey()
    {
        Assert.SkipWhen(OracleProgram.Valkey8 is null, "COMMANDLOG is not compared: './dev test' has not set up Valkey 8");
        Assert.Equal(Replies(OracleProgram.Valkey8!), Replies(ServerProgram.UnderTest));
    }

    private static string[] Replies(ServerProgram program)
    {
        using ServerProcess server = ServerProcess.Start(program, Settings);
        using RespConnection client = server.Connect();
        var replies = new List<string>();
        foreach (string line in Commands)
        {
            bool isForEachType = line[0] == '{';
            foreach (string command in isForEachType ? Types.Split(' ').Select(type => line[1..^1].Replace("type", type, StringComparison.Ordinal)) : [line])
            {
                RespValue reply = client.Run(command);
                bool isLog = command.Contains(" GET ", StringComparison.Ordinal) && command.Contains("LOG", StringComparison.Ordinal) && reply is { IsAggregate: true };
                string text = isLog ? string.Join(' ', reply.Items.Select(entry => Shown(entry, command, client))) : command.StartsWith("HELLO", StringComparison.Ordinal) ? "" : reply.ToString();
                replies.Add($"{(command.Length > 80 ? command[..80] : command)} -> {text}");
            }
        }

        return [.. replies];
    }

    // An entry without its time, and a slow command's without its duration. The address is that of the client.
    private static string Shown(RespValue entry, string command, RespConnection client)
    {
        Assert.Equal(6, Math.Min(6, entry.Items.Count)); // SLOWLOG has the number of arguments, too, as in Redis 8.10
        Assert.InRange(entry.Items[1].Number, DateTimeOffset.UtcNow.ToUnixTimeSeconds() - 600, DateTimeOffset.UtcNow.ToUnixTimeSeconds());
        Assert.Equal(client.LocalEndPoint.ToString(), entry.Items[4].Text);
        bool isSlow = command.Contains("slow", StringComparison.Ordinal) || command.StartsWith("SLOWLOG", StringComparison.Ordinal);
        return $"[{entry.Items[0]} {(isSlow ? "-" : entry.Items[2].ToString())} {entry.Items[3]} {entry.Items[5]}]";
    }
}
