namespace RedKite.Figures.Scenarios;

/// <summary>
/// Server CPU per operation: hits, with every key loaded first, against Redis and Valkey; and misses against the floor, which
/// stores nothing and is therefore only comparable where there is no value to reply with. Both with a phase of SETs and one of
/// GETs, and with both mixed in each pipeline.
/// </summary>
internal static class CpuScenario
{
    private const int HitKeys = 1_000_000;
    private const int MissKeys = 100_000_000;
    private const int ValueBytes = 256;

    private static readonly Dictionary<int, double> RedisByRedKiteMin = new() { [1] = 1.05, [16] = 2.0, [64] = 3.5 };
    private static readonly Dictionary<int, double> RedKiteByFloorMax = new() { [1] = 1.04, [16] = 1.2, [64] = 1.4 };

    internal static Report Run(Options options)
    {
        var report = new Report("cpu", $"Server CPU per operation, median of {options.Rounds} interleaved rounds, with the range: {options.Clients} connections on core "
            + $"{Machine.LoadCpus}, servers (RedKite with one loop) on core {Machine.ServerCpus}, {options.ValueBytes ?? ValueBytes}-byte values, SET:GET 1:10, random keys; "
            + $"{LoadGenerator.Description}. CPU counts until the server is idle again; \"later\" is the part after the last reply. "
            + "Ratios are medians of the ratios of adjacent rounds, with their range; hits are the share of GETs that found their key.");
        List<ServerKind> kinds = ServerKind.Available(options, report, withFloor: true);
        int hitKeys = options.Keys ?? HitKeys;
        foreach (bool isMixed in (bool[])[false, true])
        {
            var hits = new Workload(hitKeys, options.ValueBytes ?? ValueBytes, options.Clients, options.Seconds, IsMixed: isMixed);
            Measure(report, options, [.. kinds.Where(kind => kind.Name != "floor")], hits, preload: true);
            Measure(report, options, kinds, hits with { Keys = MissKeys }, preload: false);
        }

        return report;
    }

    private static void Measure(Report report, Options options, List<ServerKind> kinds, Workload workload, bool preload)
    {
        string form = workload.IsMixed ? "mixed" : "in phases";
        var table = new Table($"{(preload ? $"hits, {workload.Keys:N0} keys, all loaded first" : $"misses, {workload.Keys:N0} keys")}, {form}",
            new("pipeline"), new("server"), new("cpu ns/op"), new("range ns/op"), new("later ns/op"), new("ops/s"),
            new("redis / this", "F2"), new("range redis / this", "F2"), new("this / floor", "F2"), new("range this / floor", "F2"), new("hits", "P0"), new("RSS MiB"));
        report.Tables.Add(table);

        var load = new LoadGenerator(Machine.LoadCpus);
        using var servers = new ServerGroup(kinds.Select(kind => ServerUnderTest.Start(kind)));
        foreach (ServerUnderTest server in servers.Where(_ => preload)) KeyLoader.Load(server, workload.KeyForm, workload.Keys, workload.ValueBytes);
        foreach (int pipeline in options.Pipelines)
        {
            // There is nothing to mix in a pipeline of one request.
            if (workload.IsMixed && pipeline == 1) continue;
            Dictionary<ServerUnderTest, Round[]> measured = InterleavedRounds.Measure(servers, load, workload, pipeline, options.Rounds, report);
            Dictionary<string, double[]> cpuNs = measured.ToDictionary(pair => pair.Key.Name, pair => pair.Value.Select(round => round.CpuNs).ToArray());
            foreach ((ServerUnderTest server, Round[] rounds) in measured) AddRow(table, pipeline, server, rounds, cpuNs);
            Judge(report, pipeline, $"pipeline {pipeline}, {form}", preload, cpuNs);
        }
    }

    private static void AddRow(Table table, int pipeline, ServerUnderTest server, Round[] rounds, Dictionary<string, double[]> all)
    {
        Spread own = Spread.Of(all[server.Name]);
        Spread? byRedis = all.TryGetValue("redis", out double[]? redis) ? Spread.OfRatios(redis, own.Values) : null;
        Spread? byFloor = all.TryGetValue("floor", out double[]? floor) ? Spread.OfRatios(own.Values, floor) : null;
        table.Add(
            pipeline, server.Name, own.Median, own.Range, Median.Of(rounds.Select(round => round.LaterNs)), Median.Of(rounds.Select(round => round.Load.PerSecond)),
            byRedis?.Median, byRedis?.Range, byFloor?.Median, byFloor?.Range, Median.OfKnown(rounds.Select(round => round.HitShare)),
            server.ResidentBytes / (1024.0 * 1024));
    }

    // Hits are judged against Redis, misses against the floor.
    private static void Judge(Report report, int pipeline, string load, bool preload, Dictionary<string, double[]> cpuNs)
    {
        if (!cpuNs.TryGetValue("redkite", out double[]? redKite)) return;
        if (preload && cpuNs.TryGetValue("redis", out double[]? redis) && RedisByRedKiteMin.TryGetValue(pipeline, out double min))
        {
            report.Targets.Add(Target.AtLeast(min, $"Redis / RedKite, hits, {load}", Spread.OfRatios(redis, redKite)));
        }

        if (!preload && cpuNs.TryGetValue("floor", out double[]? floor) && RedKiteByFloorMax.TryGetValue(pipeline, out double max))
        {
            report.Targets.Add(Target.AtMost(max, $"RedKite / floor, misses, {load}", Spread.OfRatios(redKite, floor)));
        }
    }
}
