using System.Text.RegularExpressions;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests;

/// <summary>MONITOR against Redis 8: the same lines except for times and ports.</summary>
public sealed class MonitorTests
{
    private static readonly Regex TimeAndPort = new(@"^[0-9]{10}\.[0-9]{6} \[([0-9]+) (lua|127\.0\.0\.1)(?::[0-9]+)?\]");

    private static readonly string[] Commands =
    [
        "PING", "set k \"a\\\"b\\x00\\n\\xff\\\\\"", "GET k", "CONFIG GET port", "AUTH secret", "HELLO 3 AUTH default secret", "NOSUCH 1", "GET", "LPUSH k 1",
        "SELECT 3", "MSET a 1 b 2", "CLIENT SETNAME me", "CLIENT LIST", "SLOWLOG GET", "BLPOP q 0.05", "ECHO x", "CLIENT REPLY SKIP", "COMMAND COUNT",
        "EVAL \"return redis.call('get', 'b')\" 0", "EVAL x 0", "EVALSHA x 0", "FCALL f 0", "MULTI", "EVAL \"return redis.call('get', 'b')\" 0", "GET a", "EXEC", "SCRIPT LOAD \"return 1\"",
        "EVAL \"redis.call('select', 5) return redis.call('get', 'b')\" 0", "EVAL_RO \"return redis.pcall('set', 'b', 'c')\" 0", "OBJECT ENCODING a", "DEBUG SLEEP 0", "WAIT 0 0", "TIME", "QUIT",
    ];

    [Fact]
    public void Lines_are_the_same()
    {
        Assert.SkipWhen(OracleProgram.Redis8 is null, "MONITOR: " + OracleProgram.Redis8Missing);
        string[] expected = Lines(OracleProgram.Redis8!);
        Assert.InRange(expected.Length, 15, Commands.Length + 8);
        Assert.Equal(expected, Lines(ServerProgram.UnderTest));
    }

    // A client that monitors is still answered, but may use no keys.
    [Fact]
    public void Replies_of_the_monitoring_client_are_the_same()
    {
        Assert.SkipWhen(OracleProgram.Redis8 is null, "MONITOR: " + OracleProgram.Redis8Missing);
        Assert.Equal(Replies(OracleProgram.Redis8!), Replies(ServerProgram.UnderTest));

        static string[] Replies(ServerProgram program)
        {
            using ServerProcess server = ServerProcess.Start(program);
            using RespConnection monitor = server.Connect();
            var replies = new List<string> { monitor.Run("MONITOR").ToString() };
            foreach (string command in (string[])["PING", "GET k", "SET k v", "PUBLISH a b", "CLIENT INFO"])
            {
                string reply = monitor.Run(command).ToString();
                replies.Add(command == "CLIENT INFO" ? Regex.Match(reply, "flags=[A-Za-z]+").Value : reply);
                if (command is "PING" or "CLIENT INFO") replies.Add(Shown(monitor.Read().Text));
            }

            using RespConnection other = server.Connect();
            other.Run("GET a");
            replies.Add(Shown(monitor.Read().Text));
            replies.Add(monitor.Run("RESET").ToString());
            other.Run("GET b");
            replies.Add(monitor.Run("PING").ToString());
            monitor.Run("MONITOR").IsOk();
            replies.Add(monitor.Run("QUIT").ToString());
            replies.Add(monitor.Read().ToString());
            return [.. replies];
        }
    }

    private static string[] Lines(ServerProgram program)
    {
        using ServerProcess server = ServerProcess.Start(program);
        using RespConnection monitor = server.Connect();
        monitor.Run("MONITOR").IsOk();
        using (RespConnection client = server.Connect())
        {
            foreach (string command in Commands)
            {
                client.SendCommand(command);
                if (command != "CLIENT REPLY SKIP" && command != "COMMAND COUNT") client.Read();
            }
        }

        var lines = new List<string>();
        using RespConnection last = server.Connect();
        last.Run("ECHO the-end");
        while (lines.Count == 0 || !lines[^1].EndsWith("the-end\"", StringComparison.Ordinal)) lines.Add(Shown(monitor.Read().Text));
        return [.. lines];
    }

    private static string Shown(string line)
    {
        Assert.Matches(TimeAndPort, line);
        return TimeAndPort.Replace(line, "[$1 $2]");
    }
}
