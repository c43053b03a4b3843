using RedKite.Server.Metrics;

namespace RedKite.Server.Diagnostics;

/// <summary>One part of the time of all commands, interval by interval. On one thread.</summary>
internal sealed class LatencyInterval(Func<CommandMetrics, LatencyHistogram> part)
{
    private readonly LatencyHistogram _sum = new();
    private readonly LatencyHistogram _before = new();

    /// <summary>The quantiles since the last call.</summary>
    internal LatencyFigures Read(MetricsRegistry registry)
    {
        _sum.Clear();
        foreach (ExecutorMetrics executor in registry.Executors) executor.AddLatenciesTo(_sum, part);
        LatencyHistogram interval = _sum.Since(_before);
        _before.Clear();
        _sum.AddTo(_before);
        if (interval.Count == 0) return new LatencyFigures(double.NaN, double.NaN, double.NaN, double.NaN);
        return new LatencyFigures(Microseconds(50), Microseconds(99), Microseconds(99.9), Microseconds(100));

        double Microseconds(double percentile) => interval.PercentileNs(percentile) / 1000.0;
    }
}
