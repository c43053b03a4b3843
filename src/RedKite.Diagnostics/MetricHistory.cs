namespace RedKite.Server.Diagnostics;

/// <summary>One value of a series: of a second, or of a minute with its largest second. NaN: nothing was observed then.</summary>
internal readonly record struct HistoryPoint(long UnixSeconds, float Value, float Max);

/// <summary>
/// The values of all metrics for every second of the last hour and every minute of the last two weeks, in a fixed amount of memory.
/// Gauges have their value, counters their growth per second.
/// </summary>
/// <remarks>
/// Memory: a metric takes 14 KiB for the seconds, in four bytes because rules look for slopes, and 79 KiB for the minutes (a mean and a
/// maximum of two bytes each). 280 metrics take 26 MiB. With the histories of commands and loops (<see cref="RankedHistory"/>) that is
/// less than 38 MiB.
/// </remarks>
internal sealed class MetricHistory
{
    internal const int SecondsKept = 3600;
    internal const int MinutesKept = 14 * 24 * 60;

    private readonly Lock _lock = new();
    private readonly int _metrics;
    private readonly SlotRing<float[]> _seconds;
    private readonly SlotRing<MinuteBlock> _minutes;
    private readonly double[] _minuteSums;
    private readonly float[] _minuteMaxima;
    private readonly int[] _minuteCounts;
    private long _minute = -1;

    internal MetricHistory(int metrics)
    {
        _metrics = metrics;
        _seconds = new SlotRing<float[]>(SecondsKept, () => new float[SlotRing<float[]>.BlockSlots * metrics]);
        _minutes = new SlotRing<MinuteBlock>(MinutesKept, () => new MinuteBlock(metrics));
        _minuteSums = new double[metrics];
        _minuteMaxima = new float[metrics];
        _minuteCounts = new int[metrics];
    }

    internal int MetricCount => _metrics;

    /// <summary>The time of the latest values, in Unix seconds; 0: there are none.</summary>
    internal long LatestSecond { get; private set; }

    /// <summary>Adds the values of a second. A second that is not later than the last one is left out.</summary>
    internal void Add(long unixSeconds, ReadOnlySpan<double> values)
    {
        lock (_lock)
        {
            if (unixSeconds <= LatestSecond && LatestSecond - unixSeconds < SecondsKept) return;
            LatestSecond = unixSeconds;
            (float[] seconds, int slot) = _seconds.Open(unixSeconds);
            Span<float> row = seconds.AsSpan(slot * _metrics, _metrics);
            for (int i = 0; i < _metrics; i++) row[i] = (float)values[i];
            if (unixSeconds / 60 != _minute) EndMinute();
            _minute = unixSeconds / 60;
            for (int i = 0; i < _metrics; i++)
            {
                if (double.IsNaN(values[i])) continue;
                _minuteSums[i] += values[i];
                _minuteMaxima[i] = _minuteCounts[i]++ == 0 ? (float)values[i] : Math.Max(_minuteMaxima[i], (float)values[i]);
            }
        }
    }

    /// <summary>The seconds of a time range, oldest first; those that were not observed are left out.</summary>
    internal List<HistoryPoint> Seconds(int metric, long fromUnixSeconds, long toUnixSeconds)
    {
        var points = new List<HistoryPoint>();
        lock (_lock)
        {
            foreach ((long second, float[] seconds, int slot) in _seconds.Range(fromUnixSeconds, toUnixSeconds))
            {
                float value = seconds[(slot * _metrics) + metric];
                points.Add(new HistoryPoint(second, value, value));
            }
        }

        return points;
    }

    /// <summary>The minutes of a time range, oldest first; those that were not observed are left out.</summary>
    internal List<HistoryPoint> Minutes(int metric, long fromUnixSeconds, long toUnixSeconds)
    {
        var points = new List<HistoryPoint>();
        lock (_lock)
        {
            foreach ((long minute, MinuteBlock minutes, int slot) in _minutes.Range(fromUnixSeconds / 60, toUnixSeconds / 60))
            {
                int at = (slot * _metrics) + metric;
                points.Add(new HistoryPoint(minute * 60, minutes.Means[at].Value, minutes.Maxima[at].Value));
            }
        }

        return points;
    }

    /// <summary>Copies every finished minute, oldest first: its number since 1970, means, maxima.</summary>
    internal void ForEachMinute(Action<long, ReadOnlySpan<float>, ReadOnlySpan<float>> visit)
    {
        var means = new float[_metrics];
        var maxima = new float[_metrics];
        lock (_lock)
        {
            foreach ((long minute, MinuteBlock minutes, int slot) in _minutes.Range(0, long.MaxValue))
            {
                for (int i = 0; i < _metrics; i++)
                {
                    means[i] = minutes.Means[(slot * _metrics) + i].Value;
                    maxima[i] = minutes.Maxima[(slot * _metrics) + i].Value;
                }

                visit(minute, means, maxima);
            }
        }
    }

    /// <summary>Adds a minute of an earlier run. Minutes come oldest first.</summary>
    internal void RestoreMinute(long minute, ReadOnlySpan<float> means, ReadOnlySpan<float> maxima)
    {
        lock (_lock)
        {
            (MinuteBlock minutes, int slot) = _minutes.Open(minute);
            for (int i = 0; i < _metrics; i++) minutes.Set((slot * _metrics) + i, means[i], maxima[i]);
            LatestSecond = Math.Max(LatestSecond, minute * 60);
        }
    }

    private void EndMinute()
    {
        if (_minute >= 0)
        {
            (MinuteBlock minutes, int slot) = _minutes.Open(_minute);
            for (int i = 0; i < _metrics; i++)
            {
                bool isKnown = _minuteCounts[i] > 0;
                minutes.Set((slot * _metrics) + i, isKnown ? (float)(_minuteSums[i] / _minuteCounts[i]) : float.NaN, isKnown ? _minuteMaxima[i] : float.NaN);
            }
        }

        Array.Clear(_minuteSums);
        Array.Clear(_minuteCounts);
    }

    private sealed class MinuteBlock(int metrics)
    {
        internal ShortFloat[] Means { get; } = new ShortFloat[SlotRing<MinuteBlock>.BlockSlots * metrics];

        internal ShortFloat[] Maxima { get; } = new ShortFloat[SlotRing<MinuteBlock>.BlockSlots * metrics];

        internal void Set(int at, float mean, float max)
        {
            Means[at] = ShortFloat.Nearest(mean);
            Maxima[at] = ShortFloat.Up(max);
        }
    }
}
