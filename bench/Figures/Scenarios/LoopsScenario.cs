namespace RedKite.Figures.Scenarios;

/// <summary>
/// The cost of a second event loop: loops share the keyspace's locks and cache lines and wake up for smaller batches, so
/// an operation may take a little more CPU with two of them.
/// </summary>
internal static class LoopsScenario
{
    private const int Keys = 1_000_000;
    private const int ValueBytes = 256;
    private const double TwoByOneMax = 1.05;

    internal static Report Run(Options options)
    {
        var report = new Report("loops", $"RedKite's CPU per operation with two event loops against one, until it is idle again, median of {options.Rounds} "
            + $"interleaved rounds: redis-benchmark with {options.Clients} connections, {options.Keys ?? Keys:N0} keys, all loaded first, "
            + $"{options.ValueBytes ?? ValueBytes}-byte values, SET:GET 1:10. \"One core\" pins either server to a single core, so that only the number of "
            + "loops differs. With a core for each loop there are more cores to wake, and on a machine with two "
            + "the load shares the second one.");
        if (!options.Servers.Contains("redkite"))
        {
            report.Notes.Add("not measured: it compares RedKite with itself");
            return report;
        }

        Measure(report, options, Machine.ServerCpus, Machine.LoadCpus, "one core");
        if (Machine.Cores > 1) Measure(report, options, "0-1", Machine.Cores > 2 ? "2" : Machine.LoadCpus, Machine.Cores > 2 ? "a core for each loop" : "a core for each loop, one shared with the load");
        return report;
    }

    private static void Measure(Report report, Options options, string serverCpus, string loadCpus, string placement)
    {
        var table = new Table(placement, new("pipeline"), new("loops"), new("cpu ns/op"), new("range ns/op"), new("later ns/op"), new("ops/s"),
            new("by one loop", "F2"), new("range by one loop", "F2"));
        report.Tables.Add(table);
        var load = new LoadGenerator(loadCpus);
        ServerKind kind = ServerKind.RedKite(options);
        using var servers = new ServerGroup(
            Enumerable.Range(1, 2).Select(loops => ServerUnderTest.Start(kind, $"{loops} loops", loops, serverCpus)));
        var workload = new Workload(options.Keys ?? Keys, options.ValueBytes ?? ValueBytes, options.Clients, options.Seconds);
        foreach (ServerUnderTest server in servers) KeyLoader.Load(server, workload.KeyForm, workload.Keys, workload.ValueBytes);
        foreach (int pipeline in options.Pipelines)
        {
            Dictionary<ServerUnderTest, Round[]> measured = InterleavedRounds.Measure(servers, load, workload, pipeline, options.Rounds, report);
            double[] one = [.. measured[servers[0]].Select(round => round.CpuNs)];
            for (int i = 0; i < servers.Count; i++)
            {
                Round[] rounds = measured[servers[i]];
                Spread own = Spread.Of(rounds.Select(round => round.CpuNs));
                Spread byOne = Spread.OfRatios(own.Values, one);
                table.Add(pipeline, i + 1, own.Median, own.Range, Median.Of(rounds.Select(round => round.LaterNs)), Median.Of(rounds.Select(round => round.Load.PerSecond)),
                    byOne.Median, byOne.Range);
            }

            Spread ratio = Spread.OfRatios(measured[servers[1]].Select(round => round.CpuNs), one);
            report.Targets.Add(Target.AtMost(TwoByOneMax, $"two loops / one, {placement}, pipeline {pipeline}", ratio));
        }
    }
}
