using System.Text.RegularExpressions;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests;

/// <summary>The replies of LATENCY after real events, against Redis 8: the same except for times and durations.</summary>
public sealed partial class LatencyTests
{
    private static readonly string[] Commands =
    [
        "LATENCY LATEST", "LATENCY HISTORY command", "CONFIG SET latency-monitor-threshold 100",
        "DEBUG SLEEP 0.2", "LATENCY LATEST", "LATENCY HISTORY command", "LATENCY HISTORY fast-command",
        "DEBUG SLEEP 1.01", "LATENCY LATEST", "LATENCY HISTORY command", "LATENCY HISTORY COMMAND", "LATENCY GRAPH command",
        "HELLO 3", "LATENCY LATEST", "LATENCY HISTORY command", "LATENCY GRAPH command", "LATENCY GRAPH fast-command",
        "LATENCY RESET fast-command", "LATENCY RESET nosuch command", "LATENCY LATEST", "LATENCY HISTORY command", "LATENCY RESET",
    ];

    [Fact]
    public void Replies_are_the_same()
    {
        Assert.SkipWhen(OracleProgram.Redis8 is null, "LATENCY: " + OracleProgram.Redis8Missing);
        string[] expected = Replies(OracleProgram.Redis8!);
        Assert.Contains("LATENCY LATEST -> *[*[$command :time :duration :duration]]", expected);
        Assert.Equal(expected, Replies(ServerProgram.UnderTest));
    }

    private static string[] Replies(ServerProgram program)
    {
        using ServerProcess server = ServerProcess.Start(program, "--enable-debug-command", "local");
        using RespConnection client = server.Connect();
        return [.. Commands.Select(command => (command, client.Run(command))).Where(pair => pair.command != "HELLO 3").Select(pair => $"{pair.command} -> {Shown(pair.Item2, pair.command)}")];
    }

    // Times are of now; durations are those of the sleeps. A graph's columns depend on durations: its first line and its width are compared.
    private static string Shown(RespValue reply, string command)
    {
        if (command.StartsWith("LATENCY GRAPH", StringComparison.Ordinal) && !reply.IsError)
        {
            string[] lines = reply.Text.Split('\n');
            return $"{reply.Marker} {Number().Replace(lines[0], "#")} {lines[1]} {lines[2].Length}";
        }

        bool isReset = command.StartsWith("LATENCY RESET", StringComparison.Ordinal);
        return isReset ? reply.ToString() : Number().Replace(reply.ToString(), number => Meaning(long.Parse(number.ValueSpan, System.Globalization.CultureInfo.InvariantCulture)));
    }

    private static string Meaning(long number)
    {
        if (number >= 200 && number < 60_000) return "duration";
        Assert.InRange(number, DateTimeOffset.UtcNow.ToUnixTimeSeconds() - 60, DateTimeOffset.UtcNow.ToUnixTimeSeconds());
        return "time";
    }

    [GeneratedRegex("[0-9]+")]
    private static partial Regex Number();
}
