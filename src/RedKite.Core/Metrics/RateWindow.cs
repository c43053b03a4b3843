namespace RedKite.Server.Metrics;

/// <summary>The rate at which a total grows, per second or per unit of another count: the mean of the last samples.</summary>
internal sealed class RateWindow
{
    private const int Samples = 16;

    private readonly double[] _samples = new double[Samples];
    private int _next;
    private long _lastTotal;
    private double _lastAt;
    private bool _began;

    internal double Mean
    {
        get
        {
            double sum = 0;
            foreach (double sample in _samples) sum += sample;
            return sum / Samples;
        }
    }

    /// <summary>Samples the total.</summary>
    /// <param name="total">The total.</param>
    /// <param name="at">The time in seconds, or another count.</param>
    internal void Add(long total, double at)
    {
        if (_began)
        {
            double elapsed = at - _lastAt;
            _samples[_next] = elapsed > 0 ? Math.Max(0, total - _lastTotal) / elapsed : 0;
            _next = (_next + 1) % Samples;
        }

        (_lastTotal, _lastAt, _began) = (total, at, true);
    }

    internal void Clear() => Array.Clear(_samples);
}
