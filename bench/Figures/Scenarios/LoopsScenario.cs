namespace RedKite.Figures.Scenarios;

/// <summary>
/// What a second event loop costs: loops share the keyspace's locks and cache lines, and wake up for smaller batches, so
/// an operation may cost a little more on two of them.
/// </summary>
internal static class LoopsScenario
{
    private const int Keys = 1_000_000;
    private const int ValueBytes = 256;
    private const double TwoByOneMost = 1.10;

    internal static Report Run(Options options)
    {
        // Both servers may use the same two cores, so that the number of loops is all that differs. On a machine with two
        // cores the load has to share the second one with them: it takes time from it, but the CPU that is counted is the
        // server's own.
        string serverCpus = Machine.Cores > 1 ? "0-1" : "0";
        string loadCpus = Machine.Cores > 2 ? "2" : Machine.LoadCpus;
        var load = new LoadGenerator(loadCpus);
        var report = new Report("loops", $"RedKite's CPU for each operation with two event loops against one, the median of {options.Rounds} "
            + $"rounds by turns. Both servers are pinned to cores {serverCpus}, the load ({load.Name}, {options.Clients} connections) to core "
            + $"{loadCpus}{(Machine.Cores > 2 ? "" : ", which the servers share with it")}; {options.Keys ?? Keys:N0} keys, "
            + $"{options.ValueBytes ?? ValueBytes}-byte values, SET:GET 1:10.");
        var table = new Table("one loop and two", new("pipeline"), new("loops"), new("cpu ns/op"), new("user ns/op"), new("ops/s"), new("by one loop", "F2"));
        report.Tables.Add(table);

        ServerKind kind = ServerKind.RedKite(options);
        using var servers = new ServerGroup(
            Enumerable.Range(1, 2).Select(loops => ServerUnderTest.Start(kind, $"{loops} loops", loops, serverCpus)));
        var workload = new Workload(options.Keys ?? Keys, options.ValueBytes ?? ValueBytes, options.Clients, options.Seconds);
        foreach (int pipeline in options.Pipelines)
        {
            Dictionary<ServerUnderTest, Round[]> measured = RoundsByTurns.Measure(servers, load, workload, pipeline, options.Rounds);
            double[] one = [.. measured[servers[0]].Select(round => round.CpuNs)];
            for (int i = 0; i < servers.Count; i++)
            {
                Round[] rounds = measured[servers[i]];
                table.Add(pipeline, i + 1, Median.Of(rounds.Select(round => round.CpuNs)), Median.Of(rounds.Select(round => round.UserNs)),
                    Median.Of(rounds.Select(round => round.Load.PerSecond)), Median.OfRatios(rounds.Select(round => round.CpuNs), one));
            }

            double ratio = Median.OfRatios(measured[servers[1]].Select(round => round.CpuNs), one);
            report.Targets.Add(Target.AtMost(TwoByOneMost, $"two loops / one, pipeline {pipeline}", ratio));
        }

        return report;
    }
}
