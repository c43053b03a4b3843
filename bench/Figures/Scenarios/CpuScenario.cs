namespace RedKite.Figures.Scenarios;

/// <summary>
/// Server CPU per operation: hits, with every key loaded first, against Redis; and misses against the floor, which stores
/// nothing and is therefore only comparable where there is no value to reply with.
/// </summary>
internal static class CpuScenario
{
    private const int HitKeys = 1_000_000;
    private const int MissKeys = 100_000_000;
    private const int ValueBytes = 256;

    private static readonly Dictionary<int, double> RedisByRedKiteMin = new() { [1] = 1.0, [16] = 1.8, [64] = 2.8 };
    private static readonly Dictionary<int, double> RedKiteByFloorMax = new() { [1] = 1.08, [16] = 1.4, [64] = 1.8 };

    internal static Report Run(Options options)
    {
        var load = new LoadGenerator(Machine.LoadCpus);
        var report = new Report("cpu", $"Server CPU per operation, median of {options.Rounds} interleaved rounds: {load.Name} with "
            + $"{options.Clients} connections on core {Machine.LoadCpus}, servers (RedKite with one loop) on core {Machine.ServerCpus}, "
            + $"{options.ValueBytes ?? ValueBytes}-byte values, SET:GET 1:10, random keys. "
            + "Ratios are medians of the ratios of adjacent rounds; hits are the share of GETs that found their key.");
        List<ServerKind> kinds = ServerKind.Available(options, report, withFloor: true);

        int hitKeys = options.Keys ?? HitKeys;
        Measure(kinds, hitKeys, preload: true, (pipeline, redKite, others) =>
        {
            if (others.TryGetValue("redis", out Round[]? redis) && RedisByRedKiteMin.TryGetValue(pipeline, out double min))
            {
                double ratio = Median.OfRatios(redis.Select(round => round.CpuNs), redKite.Select(round => round.CpuNs));
                report.Targets.Add(Target.AtLeast(min, $"Redis / RedKite, {hitKeys:N0} keys, pipeline {pipeline}", ratio));
            }
        });
        Measure(kinds, MissKeys, preload: false, (pipeline, redKite, others) =>
        {
            if (others.TryGetValue("floor", out Round[]? floor) && RedKiteByFloorMax.TryGetValue(pipeline, out double max))
            {
                double ratio = Median.OfRatios(redKite.Select(round => round.CpuNs), floor.Select(round => round.CpuNs));
                report.Targets.Add(Target.AtMost(max, $"RedKite / floor, {MissKeys:N0} keys, pipeline {pipeline}", ratio));
            }
        });
        return report;

        void Measure(List<ServerKind> kinds, int keys, bool preload, Action<int, Round[], Dictionary<string, Round[]>> judge)
        {
            var workload = new Workload(keys, options.ValueBytes ?? ValueBytes, options.Clients, options.Seconds);
            string title = $"{keys:N0} keys{(preload ? ", all loaded first" : "")}";
            var table = new Table(title, new("pipeline"), new("server"), new("cpu ns/op"), new("user ns/op"), new("ops/s"),
                new("redis / this", "F2"), new("this / floor", "F2"), new("hits", "P0"), new("p99 ms", "F2"), new("p99.9 ms", "F2"), new("RSS MiB"));
            report.Tables.Add(table);

            using var servers = new ServerGroup(kinds.Select(kind => ServerUnderTest.Start(kind)));
            foreach (ServerUnderTest server in servers.Where(server => preload && server.Name != "floor"))
            {
                KeyLoader.Load(server, load.KeyForm, keys, workload.ValueBytes);
            }

            foreach (int pipeline in options.Pipelines)
            {
                Dictionary<ServerUnderTest, Round[]> measured = InterleavedRounds.Measure(servers, load, workload, pipeline, options.Rounds);
                Dictionary<string, Round[]> byName = measured.ToDictionary(pair => pair.Key.Name, pair => pair.Value);
                foreach ((ServerUnderTest server, Round[] rounds) in measured) AddRow(table, pipeline, server, rounds, byName);
                if (byName.TryGetValue("redkite", out Round[]? redKite)) judge(pipeline, redKite, byName);
            }
        }
    }

    private static void AddRow(Table table, int pipeline, ServerUnderTest server, Round[] rounds, Dictionary<string, Round[]> all) =>
        table.Add(
            pipeline, server.Name,
            Median.Of(rounds.Select(round => round.CpuNs)), Median.Of(rounds.Select(round => round.UserNs)),
            Median.Of(rounds.Select(round => round.Load.PerSecond)),
            all.TryGetValue("redis", out Round[]? redis)
                ? Median.OfRatios(redis.Select(round => round.CpuNs), rounds.Select(round => round.CpuNs)) : null,
            all.TryGetValue("floor", out Round[]? floor)
                ? Median.OfRatios(rounds.Select(round => round.CpuNs), floor.Select(round => round.CpuNs)) : null,
            Median.OfKnown(rounds.Select(round => round.HitShare)),
            Median.OfKnown(rounds.Select(round => round.Load.P99Ms)), Median.OfKnown(rounds.Select(round => round.Load.P999Ms)),
            server.ResidentBytes / (1024.0 * 1024));
}
