namespace RedKite.Figures.Cluster;

/// <summary>CPU per GET and SET of a node that has all slots, over that of the same server without cluster mode.</summary>
internal static class ClusterCpu
{
    internal const string Name = "cpu";

    private const int Keys = 100_000;
    private const int ValueBytes = 64;
    private const double ByPlainMax = 1.05;

    internal static void Measure(Options options, Report report)
    {
        var table = new Table("CPU per operation", new("command"), new("pipeline"), new("server"), new("cpu ns/op without cluster"), new("range"), new("cpu ns/op in cluster mode"), new("its range"), new("cluster / without", "F3"), new("range cluster / without", "F3"));
        var byRedis = new Table("RedKite / Redis", new("command"), new("pipeline"), new("without cluster", "F2"), new("range", "F2"), new("both in cluster mode", "F2"), new("its range", "F2"));
        report.Tables.AddRange([table, byRedis]);
        ServerKind[] kinds = ClusterNodes.Compared(options, report);
        var load = new LoadGenerator(Machine.LoadCpus);
        var workload = new Workload(options.Keys ?? Keys, options.ValueBytes ?? ValueBytes, options.Clients, options.Seconds, IsMixed: true);
        using var servers = new ServerGroup(kinds.SelectMany(kind => (Func<ServerUnderTest>[])[() => ServerUnderTest.Start(kind), () => ClusterNodes.StartAlone(kind)]).Select(static start => start()));
        foreach (ServerUnderTest server in servers) KeyLoader.Load(server, workload.KeyForm, workload.Keys, workload.ValueBytes);
        foreach ((string command, int sets) in (ReadOnlySpan<(string, int)>)[("GET", 0), ("SET", 1)])
        {
            foreach (int pipeline in options.Pipelines)
            {
                Dictionary<ServerUnderTest, Round[]> measured = InterleavedRounds.Measure(servers, load, workload with { Sets = sets, Gets = 1 - sets }, pipeline, options.Rounds, report);
                double[][] cpu = [.. servers.Select(server => measured[server].Select(static round => round.CpuNs).ToArray())]; // of each kind first without, then in cluster mode
                for (int i = 0; i < kinds.Length; i++)
                {
                    Spread plain = Spread.Of(cpu[2 * i]), cluster = Spread.Of(cpu[(2 * i) + 1]), ratio = Spread.OfRatios(cluster.Values, plain.Values);
                    table.Add(command, pipeline, kinds[i].Name, plain.Median, plain.Range, cluster.Median, cluster.Range, ratio.Median, ratio.Range);
                    if (kinds[i].Name == "redkite") report.Targets.Add(Target.AtMost(ByPlainMax, $"CPU per {command} p{pipeline}, cluster mode / without", ratio));
                }

                if (kinds is not [{ Name: "redkite" }, { Name: "redis" }]) continue;
                Spread plainByRedis = Spread.OfRatios(cpu[0], cpu[2]), clusterByRedis = Spread.OfRatios(cpu[1], cpu[3]);
                byRedis.Add(command, pipeline, plainByRedis.Median, plainByRedis.Range, clusterByRedis.Median, clusterByRedis.Range);
            }
        }
    }
}
