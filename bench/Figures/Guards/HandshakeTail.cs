using System.Diagnostics;
using System.Globalization;
using System.Text.Json;

namespace RedKite.Figures.Guards;

/// <summary>
/// Latency of plain requests at a steady rate while a thousand TLS connections are made on the same core, against the latency without
/// them. The connections' own work has the lowest priority on the load's core, so that it does not delay the steady load.
/// </summary>
internal static class HandshakeTail
{
    internal const string Name = "handshakes";

    private const int Handshakes = 1000;
    private const int AtATime = 20;
    private const int RequestsPerSecond = 10_000;
    private const int SecondsMin = 10; // of 424 handshakes per second (docs/reference/figures.md), which may halve beside other work, all fall into the load
    private const int BeginMs = 1000; // after the steady load's start
    private const double WithByWithoutMax = 2;

    internal static void Measure(IReadOnlyList<ServerKind> kinds, Options options, Report report)
    {
        var table = new Table(FormattableString.Invariant($"{Handshakes:N0} TLS handshakes beside {RequestsPerSecond:N0} requests per second"), new("server"),
            new("p99.9 without ms", "F3"), new("range without", "F3"), new("p99.9 with ms", "F3"), new("range with", "F3"), new("with / without", "F2"),
            new("range with / without", "F2"), new("handshakes/s"));
        report.Tables.Add(table);
        int seconds = Math.Max(SecondsMin, options.Seconds);
        string load = string.Create(CultureInfo.InvariantCulture, $"-t 1 -c {options.Clients} --ratio 1:10 -d 256 --key-maximum 100000 --hide-histogram --print-percentiles 50,99,99.9");
        string steady = string.Create(CultureInfo.InvariantCulture, $"{load} --test-time {seconds} --target-rate {RequestsPerSecond} --arrival poisson");
        using var servers = new TlsServers(kinds);
        foreach (ServerUnderTest server in servers)
        {
            OpenLoop.Run(server.Port, FormattableString.Invariant($"{load} --test-time {options.Seconds}"));
            Connect(servers, server);
        }

        Dictionary<ServerUnderTest, Measured> measured = servers.ToDictionary(server => server, _ => new Measured([], [], []));
        for (int round = 0; round < options.Rounds; round++)
        {
            Console.Error.WriteLine($"handshakes: round {round + 1} of {options.Rounds}");
            foreach (ServerUnderTest server in round % 2 == 0 ? servers : servers.Reverse())
            {
                measured[server].Without.Add(OpenLoop.Run(server.Port, steady));
                Task<double> connecting = Task.Run(() =>
                {
                    Thread.Sleep(BeginMs);
                    return Connect(servers, server);
                });
                measured[server].With.Add(OpenLoop.Run(server.Port, steady));
                if (!connecting.IsCompleted) report.AddNote($"{server.Name}: the handshakes took longer than the steady load");
                measured[server].PerSecond.Add(connecting.GetAwaiter().GetResult());
            }
        }

        foreach (ServerUnderTest server in servers)
        {
            Spread without = OpenLoop.Percentiles(measured[server].Without, "p99.90"), with = OpenLoop.Percentiles(measured[server].With, "p99.90");
            Spread ratio = Spread.OfRatios(with.Values, without.Values);
            table.Add(server.Name, without.Median, without.Range, with.Median, with.Range, ratio.Median, ratio.Range, Median.Of(measured[server].PerSecond));
            if (server.Name == "redkite") report.Targets.Add(Target.AtMost(WithByWithoutMax, "RedKite's p99.9 with TLS handshakes / without", ratio));
        }
    }

    private sealed record Measured(List<JsonElement> Without, List<JsonElement> With, List<double> PerSecond);

    // Each request has a connection of its own. Returns handshakes per second.
    private static double Connect(TlsServers servers, ServerUnderTest server)
    {
        long start = Stopwatch.GetTimestamp();
        ExternalProgram.Run("nice", ["-n", "19", "taskset", "-c", Machine.LoadCpus, PeerProgram.RequireRedisBenchmark(), "-h", "127.0.0.1", "-p", Text(servers.TlsPortOf(server)),
            "-t", "get", "-k", "0", "-n", Text(Handshakes), "-c", Text(AtATime), "-q", .. servers.ClientArguments]);
        return Handshakes / Stopwatch.GetElapsedTime(start).TotalSeconds;
    }

    private static string Text(int number) => number.ToString(CultureInfo.InvariantCulture);
}
