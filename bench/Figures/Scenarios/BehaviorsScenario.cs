using RedKite.Figures.Behaviors;

namespace RedKite.Figures.Scenarios;

/// <summary>The cost of a host's behaviors for every command, by their number, compared with none.</summary>
internal static class BehaviorsScenario
{
    private const int Keys = 1_000_000;
    private const int ValueBytes = 256;
    private const double OneBehaviorMax = 1.15;

    private static readonly int[] Depths = [0, 1, 10, 20, 40];

    internal static Report Run(Options options)
    {
        var report = new Report("behaviors", $"Server CPU per GET with behaviors of a class each, which count the command after the next one has returned, by none; over sockets, "
            + $"until the server is idle again: median of {options.Rounds} interleaved rounds with the range, redis-benchmark with {options.Clients} connections on core {Machine.LoadCpus}, "
            + $"servers with one loop on core {Machine.ServerCpus}, {options.Keys ?? Keys:N0} keys, all loaded first, {options.ValueBytes ?? ValueBytes}-byte values.");
        var table = new Table("behaviors", new("pipeline"), new("behaviors"), new("cpu ns/op"), new("range ns/op"), new("more ns/op"), new("by none", "F2"), new("range by none", "F2"));
        report.Tables.Add(table);

        var load = new LoadGenerator(Machine.LoadCpus);
        var workload = new Workload(options.Keys ?? Keys, options.ValueBytes ?? ValueBytes, options.Clients, options.Seconds, Sets: 0);
        using var servers = new ServerGroup(Depths.Select(depth => ServerUnderTest.Start(BehaviorServer.Kind(depth == 0 ? "none" : $"{depth}", depth))));
        foreach (ServerUnderTest server in servers) KeyLoader.Load(server, workload.KeyForm, workload.Keys, workload.ValueBytes);
        foreach (int pipeline in options.Pipelines)
        {
            Dictionary<ServerUnderTest, Round[]> measured = InterleavedRounds.Measure(servers, load, workload, pipeline, options.Rounds, report);
            double[] none = [.. measured[servers[0]].Select(round => round.CpuNs)];
            foreach (ServerUnderTest server in servers)
            {
                Spread own = Spread.Of(measured[server].Select(round => round.CpuNs)), byNone = Spread.OfRatios(own.Values, none);
                table.Add(pipeline, server.Name, own.Median, own.Range, Median.Of(own.Values.Zip(none, (with, without) => with - without)), byNone.Median, byNone.Range);
                if (server.Name == "1") report.Targets.Add(Target.AtMost(OneBehaviorMax, $"GET with one behavior / none, pipeline {pipeline}", byNone));
            }
        }

        return report;
    }
}
