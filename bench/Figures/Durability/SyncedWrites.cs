using System.Globalization;
using System.Text.Json;

namespace RedKite.Figures.Durability;

/// <summary>
/// SETs that are on the disk before they are acknowledged (appendfsync always): how many a second with many connections and their CPU, and
/// the latency of one connection.
/// </summary>
internal static class SyncedWrites
{
    internal const string Name = "always";

    private const int Connections = 1000;
    private const int Keys = 100_000;
    private const double RateByRedisMin = 3;
    private const double CpuByRedisMax = 0.5;
    private const double LatencyByRedisMax = 1.2;

    internal static void Measure(IReadOnlyList<ServerKind> kinds, Options options, Report report)
    {
        using var servers = new ServerGroup(kinds.Select(kind => ServerUnderTest.Start(kind with { Command = $"{kind.Command} --appendonly yes --appendfsync always" }, descriptorsMax: 10 * Connections)));
        foreach (ServerUnderTest server in servers) Settle(server);
        Dictionary<ServerUnderTest, Measured> measured = servers.ToDictionary(server => server, _ => new Measured([], [], []));
        foreach (ServerUnderTest server in servers) Load(server, Connections, options);
        for (int round = 0; round < options.Rounds; round++)
        {
            Console.Error.WriteLine($"appendfsync always: round {round + 1} of {options.Rounds}");
            foreach (ServerUnderTest server in round % 2 == 0 ? servers : servers.Reverse())
            {
                double before = server.Cpu.TotalSeconds;
                JsonElement many = Load(server, Connections, options);
                double used = server.Cpu.TotalSeconds - before;
                double rate = many.GetProperty("Ops/sec").GetDouble();
                measured[server].Rates.Add(rate);
                measured[server].CpuNs.Add(1e9 * used / many.GetProperty("Count").GetDouble());
                measured[server].LatencyMs.Add(Load(server, 1, options).GetProperty("Percentile Latencies").GetProperty("p50.00").GetDouble());
            }
        }

        var table = new Table(FormattableString.Invariant($"SET with appendfsync always, pipeline 1"), new("server"), new(FormattableString.Invariant($"SETs/s of {Connections:N0} connections")),
            new("range SETs/s"), new("cpu ns/op"), new("range cpu"), new("p50 ms of one connection", "F3"), new("range p50", "F3"));
        report.Tables.Add(table);
        foreach ((ServerUnderTest server, Measured figures) in measured)
        {
            Spread rate = Spread.Of(figures.Rates), cpu = Spread.Of(figures.CpuNs), latency = Spread.Of(figures.LatencyMs);
            table.Add(server.Name, rate.Median, rate.Range, cpu.Median, cpu.Range, latency.Median, latency.Range);
        }

        if (servers.FirstOrDefault(server => server.Name == "redkite") is not { } ours || servers.FirstOrDefault(server => server.Name == "redis") is not { } redis) return;
        report.Targets.Add(Target.AtLeast(RateByRedisMin, "RedKite / Redis, synced SETs a second (or half the CPU)", Spread.OfRatios(measured[ours].Rates, measured[redis].Rates)));
        report.Targets.Add(Target.AtMost(CpuByRedisMax, "RedKite / Redis, CPU per synced SET (or three times as many)", Spread.OfRatios(measured[ours].CpuNs, measured[redis].CpuNs)));
        report.Targets.Add(Target.AtMost(LatencyByRedisMax, "RedKite / Redis, p50 of one connection's synced SETs", Spread.OfRatios(measured[ours].LatencyMs, measured[redis].LatencyMs)));
    }

    private sealed record Measured(List<double> Rates, List<double> CpuNs, List<double> LatencyMs);

    private static JsonElement Load(ServerUnderTest server, int connections, Options options) => OpenLoop.Run(server.Port, string.Create(
        CultureInfo.InvariantCulture, $"-t 1 -c {connections} --ratio 1:0 -d 64 --key-maximum {Keys} --hide-histogram --print-percentiles 50,99 --test-time {options.Seconds}"));

    // The measurement is of the log alone, not of its rewriting.
    private static void Settle(ServerUnderTest server)
    {
        using SetupConnection connection = server.Connect();
        connection.Run("CONFIG", "SET", "auto-aof-rewrite-percentage", "0");
    }
}
