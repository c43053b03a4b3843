using RedKite.Net;

namespace RedKite.Server.Diagnostics;

/// <summary>The times of some commands, interval by interval. On one thread. It takes the memory of one histogram.</summary>
/// <param name="scratch">What all intervals of a thread share while one is read.</param>
internal sealed class LatencyInterval(LatencyInterval.Scratch scratch)
{
    private LatencyHistogram _before = new();

    /// <summary>The quantiles since the last call.</summary>
    /// <param name="addAll">Adds everything that was recorded so far to an empty histogram.</param>
    internal LatencyFigures Read(Action<LatencyHistogram> addAll)
    {
        LatencyHistogram sum = scratch.Sum, interval = scratch.Interval;
        sum.Clear();
        addAll(sum);
        sum.CopySince(_before, interval);
        (scratch.Sum, _before) = (_before, sum);
        if (interval.Count == 0) return LatencyFigures.None;
        return new LatencyFigures(Microseconds(50), Microseconds(99), Microseconds(99.9), Microseconds(100));

        double Microseconds(double percentile) => interval.PercentileNs(percentile) / 1000.0;
    }

    internal sealed class Scratch
    {
        internal LatencyHistogram Sum { get; set; } = new();

        internal LatencyHistogram Interval { get; } = new();
    }
}
