using System.Diagnostics;
using System.Globalization;
using System.Text.Json;

namespace RedKite.Figures.Scenarios;

/// <summary>
/// Tail latency at half of a server's capacity in an open loop: each latency counts from the moment the request was due,
/// however many are waiting. Also the time from a server's start to its first reply.
/// </summary>
internal static class TailScenario
{
    private const int Keys = 100_000;
    private const int Starts = 7;
    private const double P999ByRedisMax = 1.3;
    private const double StartMsMax = 150;

    internal static Report Run(Options options)
    {
        int keys = options.Keys ?? Keys;
        var report = new Report("tail", $"`redkite bench` on core {Machine.LoadCpus} offers each server (core {Machine.ServerCpus}, RedKite with one loop) "
            + $"half of the rate that the slowest one reached in a closed loop, with {options.Clients} connections and random gaps; a latency counts from when "
            + $"the request was due. Medians of {options.Rounds} interleaved rounds, with their range, {keys:N0} keys, {options.ValueBytes ?? 256}-byte values, SET:GET 1:10. "
            + $"Starts: from creating the process to the reply to a PING, median of {Starts} interleaved starts.");
        List<ServerKind> kinds = [.. ServerKind.Available(options, report).Where(kind => kind.Name != "floor")];
        MeasureStarts(kinds, report);

        var table = new Table("open loop", new("server"), new("offered/s"), new("p50 ms", "F3"), new("range p50", "F3"),
            new("p99 ms", "F3"), new("range p99", "F3"), new("p99.9 ms", "F3"), new("range p99.9", "F3"));
        report.Tables.Add(table);
        using var servers = new ServerGroup(kinds.Select(kind => ServerUnderTest.Start(kind)));
        string load = Text($"-t 1 -c {options.Clients} --ratio 1:10 -d {options.ValueBytes ?? 256} --key-maximum {keys} --hide-histogram --print-percentiles 50,99,99.9");
        foreach (ServerUnderTest server in servers) OpenLoop.Run(server.Port, Text($"{load} --test-time {options.Seconds}")); // warms up and writes keys
        double rate = Math.Floor(servers.Min(server => OpenLoop.Run(server.Port, Text($"{load} --test-time {options.Seconds}")).GetProperty("Ops/sec").GetDouble()) / 2);

        Dictionary<ServerUnderTest, List<JsonElement>> measured = servers.ToDictionary(server => server, _ => new List<JsonElement>());
        for (int round = 0; round < options.Rounds; round++)
        {
            Console.Error.WriteLine($"open loop: round {round + 1} of {options.Rounds}");
            foreach (ServerUnderTest server in round % 2 == 0 ? servers : servers.Reverse())
            {
                measured[server].Add(OpenLoop.Run(server.Port, Text($"{load} --test-time {options.Seconds} --target-rate {rate} --arrival poisson")));
            }
        }

        foreach (ServerUnderTest server in servers)
        {
            Spread p50 = OpenLoop.Percentiles(measured[server], "p50.00"), p99 = OpenLoop.Percentiles(measured[server], "p99.00"), p999 = OpenLoop.Percentiles(measured[server], "p99.90");
            table.Add(server.Name, rate, p50.Median, p50.Range, p99.Median, p99.Range, p999.Median, p999.Range);
        }

        if (servers.FirstOrDefault(server => server.Name == "redkite") is { } redKite && servers.FirstOrDefault(server => server.Name == "redis") is { } redis)
        {
            Spread ratio = Spread.OfRatios(OpenLoop.Percentiles(measured[redKite], "p99.90").Values, OpenLoop.Percentiles(measured[redis], "p99.90").Values);
            report.Targets.Add(Target.AtMost(P999ByRedisMax, "p99.9 of RedKite / Redis", ratio));
        }

        return report;
    }

    private static void MeasureStarts(List<ServerKind> kinds, Report report)
    {
        var table = new Table("start to the first reply", new("server"), new("ms", "F1"), new("range ms", "F1"));
        report.Tables.Add(table);
        Dictionary<ServerKind, List<double>> starts = kinds.ToDictionary(kind => kind, _ => new List<double>());
        for (int i = 0; i < Starts; i++)
        {
            foreach (ServerKind kind in i % 2 == 0 ? kinds : kinds.AsEnumerable().Reverse())
            {
                var clock = Stopwatch.StartNew();
                using ServerUnderTest server = ServerUnderTest.Start(kind);
                starts[kind].Add(clock.Elapsed.TotalMilliseconds);
            }
        }

        foreach (ServerKind kind in kinds)
        {
            Spread ms = Spread.Of(starts[kind]);
            table.Add(kind.Name, ms.Median, ms.Range);
            if (kind.Name == "redkite") report.Targets.Add(Target.AtMost(StartMsMax, "ms from RedKite's start to its first reply", ms));
        }
    }

    private static string Text(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);
}
