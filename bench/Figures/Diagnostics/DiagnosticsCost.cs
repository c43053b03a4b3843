namespace RedKite.Figures.Diagnostics;

/// <summary>
/// The cost of the diagnostics that are always on: RedKite with its defaults against `diagnostics no`, which starts neither the
/// observing threads nor the loops' work for them.
/// </summary>
internal static class DiagnosticsCost
{
    internal const string Name = "cost";
    internal const int Keys = 1_000_000;
    internal const int ValueBytes = 256;

    private static readonly Dictionary<int, double> OnByOffMax = new() { [1] = 1.02, [16] = 1.02, [64] = 1.04 };

    internal static void Measure(ServerKind kind, Options options, Report report)
    {
        var table = new Table("one loop", new("pipeline"), new("diagnostics"), new("cpu ns/op"), new("range ns/op"), new("later ns/op"), new("ops/s"),
            new("by off", "F3"), new("range by off", "F3"));
        report.Tables.Add(table);
        var load = new LoadGenerator(Machine.LoadCpus);
        string[] values = ["no", "yes"];
        using var servers = new ServerGroup(values.Select(value => ServerUnderTest.Start(kind with { Command = $"{kind.Command} --diagnostics {value}" }, $"diagnostics {value}")));
        var workload = new Workload(options.Keys ?? Keys, options.ValueBytes ?? ValueBytes, options.Clients, options.Seconds);
        foreach (ServerUnderTest server in servers) KeyLoader.Load(server, workload.KeyForm, workload.Keys, workload.ValueBytes);
        foreach (int pipeline in options.Pipelines)
        {
            Dictionary<ServerUnderTest, Round[]> measured = InterleavedRounds.Measure(servers, load, workload, pipeline, options.Rounds, report);
            double[] off = [.. measured[servers[0]].Select(round => round.CpuNs)];
            for (int i = 0; i < servers.Count; i++)
            {
                Round[] rounds = measured[servers[i]];
                Spread own = Spread.Of(rounds.Select(round => round.CpuNs));
                Spread byOff = Spread.OfRatios(own.Values, off);
                table.Add(pipeline, values[i], own.Median, own.Range, Median.Of(rounds.Select(round => round.LaterNs)), Median.Of(rounds.Select(round => round.Load.PerSecond)),
                    byOff.Median, byOff.Range);
                if (i == 1 && OnByOffMax.TryGetValue(pipeline, out double max)) report.Targets.Add(Target.AtMost(max, $"diagnostics on / off, pipeline {pipeline}", byOff));
            }
        }
    }
}
