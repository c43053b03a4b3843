using System.Text.Json;
using RedKite.Bench;

namespace RedKite.Ladder;

/// <summary>How a load run ended.</summary>
internal enum LoadOutcome
{
    Finished,

    /// <summary>The time was over while replies still came.</summary>
    TooSlow,

    /// <summary>No more replies came.</summary>
    Hung,
}

/// <summary>The result of a load run: the columns of memtier_benchmark's table. Latencies are null if it did not finish.</summary>
internal sealed record LoadFigures(long Operations, double OpsPerSecond)
{
    public LoadOutcome Outcome { get; init; }
    public double? HitsPerSecond { get; init; }
    public double? MissesPerSecond { get; init; }
    public double? AverageMs { get; init; }
    public double? P50Ms { get; init; }
    public double? P99Ms { get; init; }
    public double? P999Ms { get; init; }
    public double? KilobytesPerSecond { get; init; }

    /// <summary>The first error reply; none is expected.</summary>
    public string? FirstError { get; init; }

    internal static LoadFigures Of(BenchResult result)
    {
        const double nsPerMs = 1e6;
        CommandStatistics totals = result.Totals;
        return new LoadFigures(totals.Count, result.PerSecond(totals.Count))
        {
            HitsPerSecond = result.PerSecond(totals.Hits),
            MissesPerSecond = result.PerSecond(totals.Misses),
            AverageMs = totals.Latency.MeanNs / nsPerMs,
            P50Ms = totals.Latency.PercentileNs(50) / nsPerMs,
            P99Ms = totals.Latency.PercentileNs(99) / nsPerMs,
            P999Ms = totals.Latency.PercentileNs(99.9) / nsPerMs,
            KilobytesPerSecond = result.KilobytesPerSecond(totals),
            FirstError = result.FirstError,
        };
    }

    internal static LoadFigures OfUnfinished(LoadOutcome outcome, long operations, TimeSpan elapsed) =>
        new(operations, operations / elapsed.TotalSeconds) { Outcome = outcome };

    internal string ToJson() => JsonSerializer.Serialize(this);

    internal static LoadFigures FromJson(string json) =>
        JsonSerializer.Deserialize<LoadFigures>(json) ?? throw new FormatException($"not the figures of a load: {json}");
}
