using System.Globalization;

namespace RedKite.Figures.Guards;

/// <summary>CPU per SET of a full server, each of which evicts a key.</summary>
internal static class EvictionCost
{
    internal const string Name = "eviction";

    private const long LimitBytes = 100 << 20;
    private const int ValueBytes = 200;
    private const int Keys = 1_000_000_000; // hardly any request hits an existing key
    private const int Pipeline = 16;
    private const int FillingSets = 500_000;
    private const double EvictionsPerSetMin = 0.9;
    private const double ByRedisMax = 0.6;

    internal static void Measure(IReadOnlyList<ServerKind> kinds, Options options, Report report)
    {
        var table = new Table(FormattableString.Invariant($"SET with constant eviction, allkeys-lru, maxmemory {LimitBytes >> 20} MiB, pipeline {Pipeline}"), new("server"),
            new("cpu ns/op"), new("range ns/op"), new("evictions/SET", "F2"), new("this / redis", "F2"), new("range this / redis", "F2"), new("RSS MiB"));
        report.Tables.Add(table);
        int valueBytes = options.ValueBytes ?? ValueBytes;
        long sets = LoadGenerator.CountOperations(options.Seconds, Pipeline);
        var load = new LoadGenerator(Machine.LoadCpus);
        using var servers = new ServerGroup(kinds.Select(kind => ServerUnderTest.Start(kind)));
        foreach (ServerUnderTest server in servers)
        {
            using SetupConnection connection = server.Connect();
            connection.Run("CONFIG", "SET", "maxmemory", LimitBytes.ToString(CultureInfo.InvariantCulture), "maxmemory-policy", "allkeys-lru");
            load.RunSets(server.Port, Keys, valueBytes, options.Clients, Pipeline, FillingSets);
        }

        Dictionary<ServerUnderTest, Cost[]> measured = servers.ToDictionary(server => server, _ => new Cost[options.Rounds]);
        for (int round = 0; round < options.Rounds; round++)
        {
            Console.Error.WriteLine($"eviction: round {round + 1} of {options.Rounds}");
            foreach (ServerUnderTest server in round % 2 == 0 ? servers : servers.Reverse()) measured[server][round] = MeasureRound(server, load, sets, valueBytes, options, report);
        }

        double[]? redis = servers.FirstOrDefault(server => server.Name == "redis") is { } peer ? [.. measured[peer].Select(cost => cost.CpuNs)] : null;
        foreach (ServerUnderTest server in servers)
        {
            Spread cpu = Spread.Of(measured[server].Select(cost => cost.CpuNs));
            Spread? byRedis = redis is null ? null : Spread.OfRatios(cpu.Values, redis);
            table.Add(server.Name, cpu.Median, cpu.Range, Median.Of(measured[server].Select(cost => cost.EvictionsPerSet)), byRedis?.Median, byRedis?.Range, server.ResidentBytes / (1024.0 * 1024));
            if (server.Name == "redkite" && byRedis is not null) report.Targets.Add(Target.AtMost(ByRedisMax, $"RedKite / Redis, SET p{Pipeline} with constant eviction", byRedis));
        }
    }

    private readonly record struct Cost(double CpuNs, double EvictionsPerSet);

    private static Cost MeasureRound(ServerUnderTest server, LoadGenerator load, long sets, int valueBytes, Options options, Report report)
    {
        using SetupConnection connection = server.Connect();
        long evictedBefore = connection.ReadInfo("stats", "evicted_keys") ?? 0;
        double before = server.Cpu.TotalSeconds;
        load.RunSets(server.Port, Keys, valueBytes, options.Clients, Pipeline, sets);
        double used = server.Cpu.TotalSeconds - before;
        LaterWork later = IdleWait.Run(server, IdleWait.AfterRound);
        if (!later.BecameIdle) report.AddNote($"{server.Name} was still busy after a round: CPU that it used even later is not counted");
        double evictions = ((connection.ReadInfo("stats", "evicted_keys") ?? 0) - evictedBefore) / (double)sets;
        if (evictions < EvictionsPerSetMin) report.AddNote($"{server.Name} evicted fewer keys than were set: it was not full");
        return new Cost(1e9 * (used + later.CpuSeconds) / sets, evictions);
    }
}
