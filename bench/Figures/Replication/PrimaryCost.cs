namespace RedKite.Figures.Replication;

/// <summary>A primary's CPU for each SET with 0, 1 and 10 replicas, which only read and acknowledge.</summary>
internal static class PrimaryCost
{
    internal const string Name = "primary";

    private const int Keys = 100_000;
    private const int ValueBytes = 64;
    private const int Pipeline = 16;
    private const double OneByNoneMax = 1.15;
    private const double TenByNoneMax = 1.6;

    internal static void Measure(IReadOnlyList<ServerKind> kinds, Options options, Report report)
    {
        var table = new Table(FormattableString.Invariant($"SET on a primary, pipeline {Pipeline}"), new("server"), new("replicas"), new("cpu ns/op"), new("range"), new("with / without", "F2"), new("range with / without", "F2"));
        report.Tables.Add(table);
        var load = new LoadGenerator(Machine.LoadCpus);
        var workload = new Workload(Keys, options.ValueBytes ?? ValueBytes, options.Clients, options.Seconds, Sets: 1, Gets: 0, IsMixed: true);
        foreach (ServerKind kind in kinds.Where(kind => kind.Name != "valkey")) // no target names it
        {
            ServerKind primary = kind with { Command = $"{kind.Command} --repl-diskless-sync-delay 0 --repl-backlog-size 64mb" };
            using var servers = new ServerGroup(((int[])[0, 1, 10]).Select(replicas => ServerUnderTest.Start(primary, FormattableString.Invariant($"{kind.Name} with {replicas} replicas"))));
            List<ReplicaSink> sinks = [];
            try
            {
                using (CoreOfThisThread.Pin(int.Parse(Machine.LoadCpus, System.Globalization.CultureInfo.InvariantCulture)))
                {
                    sinks.Add(new ReplicaSink(servers[1]));
                    for (int i = 0; i < 10; i++) sinks.Add(new ReplicaSink(servers[2], i));
                }

                foreach (ReplicaSink sink in sinks) sink.WaitForData();
                Dictionary<ServerUnderTest, Round[]> measured = InterleavedRounds.Measure([.. servers], load, workload, Pipeline, options.Rounds, report);
                foreach (ReplicaSink sink in sinks) sink.WaitForData(); // its connection still stands
                Spread none = Spread.Of(measured[servers[0]].Select(round => round.CpuNs));
                foreach ((ServerUnderTest server, int replicas, double bound) in (ReadOnlySpan<(ServerUnderTest, int, double)>)[(servers[0], 0, 1), (servers[1], 1, OneByNoneMax), (servers[2], 10, TenByNoneMax)])
                {
                    Spread cpu = Spread.Of(measured[server].Select(round => round.CpuNs)), ratio = Spread.OfRatios(cpu.Values, none.Values);
                    table.Add(kind.Name, replicas, cpu.Median, cpu.Range, ratio.Median, ratio.Range);
                    if (kind.Name == "redkite" && replicas > 0) report.Targets.Add(Target.AtMost(bound, FormattableString.Invariant($"CPU per SET p{Pipeline} with {replicas} replicas / without"), ratio));
                }
            }
            finally
            {
                foreach (ReplicaSink sink in sinks) sink.Dispose();
            }
        }
    }
}
