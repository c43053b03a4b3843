using RedKite.Server.Metrics;

namespace RedKite.Server.Diagnostics;

/// <summary>The times of some commands, interval by interval. On one thread.</summary>
internal sealed class LatencyInterval
{
    private LatencyHistogram _sum = new();
    private LatencyHistogram _before = new();
    private readonly LatencyHistogram _interval = new();

    /// <summary>The quantiles since the last call.</summary>
    /// <param name="addAll">Adds everything that was recorded so far to an empty histogram.</param>
    internal LatencyFigures Read(Action<LatencyHistogram> addAll)
    {
        _sum.Clear();
        addAll(_sum);
        _sum.CopySince(_before, _interval);
        (_sum, _before) = (_before, _sum);
        if (_interval.Count == 0) return LatencyFigures.None;
        return new LatencyFigures(Microseconds(50), Microseconds(99), Microseconds(99.9), Microseconds(100));

        double Microseconds(double percentile) => _interval.PercentileNs(percentile) / 1000.0;
    }
}
