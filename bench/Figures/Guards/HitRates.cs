using System.Diagnostics;

namespace RedKite.Figures.Guards;

/// <summary>
/// The share of reads that find their key in a cache of a tenth of the keys. Every server gets the same requests in the same order and at
/// the same rate, because the servers count seconds; each round has a trace of its own.
/// </summary>
internal static class HitRates
{
    internal const string Name = "hitrates";

    private const int Keys = 100_000;
    private const int FittingPart = 10;
    private const int RequestsPerKey = 8; // the first half fills the cache and is not counted
    private const int RequestsPerSecond = 40_000;
    private const int Batch = 50;
    private const int Samples = 10;
    private const double Exponent = 0.99;

    internal static void Measure(IReadOnlyList<ServerKind> kinds, Options options, Report report)
    {
        int keys = options.Keys ?? Keys;
        var table = new Table(FormattableString.Invariant($"hit rates, {keys:N0} keys by Zipf ({Exponent}), a tenth of them fitting, {Samples} samples"), new("policy"), new("server"),
            new("hit rate", "F4"), new("range", "F4"), new("keys at the end"), new("more than redis", "F4"), new("range more", "F4"));
        report.Tables.Add(table);
        foreach (string policy in (string[])["allkeys-lru", "allkeys-lfu"])
        {
            Dictionary<string, double[]> rates = kinds.ToDictionary(kind => kind.Name, _ => new double[options.Rounds]);
            Dictionary<string, double[]> held = kinds.ToDictionary(kind => kind.Name, _ => new double[options.Rounds]);
            for (int round = 0; round < options.Rounds; round++)
            {
                Console.Error.WriteLine($"{policy}: round {round + 1} of {options.Rounds}");
                MeasureRound(kinds, policy, keys, round, rates, held);
            }

            double[]? redis = rates.GetValueOrDefault("redis");
            foreach (ServerKind kind in kinds)
            {
                Spread rate = Spread.Of(rates[kind.Name]);
                Spread? more = redis is null ? null : Spread.Of(rate.Values.Zip(redis, (own, other) => own - other));
                table.Add(policy, kind.Name, rate.Median, rate.Range, Median.Of(held[kind.Name]), more?.Median, more?.Range);
                if (kind.Name == "redkite" && redis is not null) report.Targets.Add(Target.AtLeast(1, $"hit rate under {policy}, RedKite / Redis", Spread.OfRatios(rate.Values, redis)));
            }
        }
    }

    private static void MeasureRound(
        IReadOnlyList<ServerKind> kinds, string policy, int keys, int round, Dictionary<string, double[]> rates, Dictionary<string, double[]> held)
    {
        int[] trace = CacheTrace.Create(keys, keys * RequestsPerKey, Exponent, seed: round);
        using var servers = new ServerGroup(kinds.Select(kind => ServerUnderTest.Start(kind)));
        List<TracedCache> caches = [];
        try
        {
            foreach (ServerUnderTest server in servers) caches.Add(new TracedCache(server, policy, Samples, keys / FittingPart));

            // Interleaved, so that a busy machine slows all of them.
            long start = Stopwatch.GetTimestamp();
            for (int i = 0; i + Batch <= trace.Length; i += Batch)
            {
                foreach (TracedCache cache in caches) cache.Use(trace.AsSpan(i, Batch), isCounted: i >= trace.Length / 2);
                TimeSpan ahead = TimeSpan.FromSeconds((i + Batch) / (double)RequestsPerSecond) - Stopwatch.GetElapsedTime(start);
                if (ahead > TimeSpan.FromMilliseconds(2)) Thread.Sleep(ahead);
            }

            for (int i = 0; i < caches.Count; i++)
            {
                rates[servers[i].Name][round] = caches[i].HitRate;
                held[servers[i].Name][round] = caches[i].CountKeys();
            }
        }
        finally
        {
            foreach (TracedCache cache in caches) cache.Dispose();
        }
    }
}
