namespace RedKite.Server.Diagnostics;

/// <summary>One value of a series: of a second, or of a minute with its largest second. NaN: nothing was observed then.</summary>
internal readonly record struct HistoryPoint(long UnixSeconds, float Value, float Max);

/// <summary>
/// The values of all metrics for every second of the last hour and every minute of the last two weeks, in a fixed amount of memory.
/// Gauges have their value, counters their growth per second.
/// </summary>
/// <remarks>
/// Memory: a metric takes 14 KiB for the seconds and 118 KiB for the minutes (a mean of four bytes and a maximum of two): 248 metrics take
/// 32 MiB. Minutes are allocated in blocks when their time comes, so that a server that runs for a short time takes little.
/// </remarks>
internal sealed class MetricHistory
{
    internal const int SecondsKept = 3600;
    internal const int MinutesKept = 14 * 24 * 60;

    private const int BlockMinutes = 240;

    private readonly Lock _lock = new();
    private readonly int _metrics;
    private readonly float[] _seconds;
    private readonly long[] _secondTimes = new long[SecondsKept];
    private readonly MinuteBlock?[] _blocks = new MinuteBlock?[MinutesKept / BlockMinutes];
    private readonly double[] _minuteSums;
    private readonly float[] _minuteMaxima;
    private readonly int[] _minuteCounts;
    private long _minute = -1;

    internal MetricHistory(int metrics)
    {
        _metrics = metrics;
        _seconds = new float[SecondsKept * metrics];
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
            int slot = (int)(unixSeconds % SecondsKept);
            _secondTimes[slot] = unixSeconds;
            Span<float> row = _seconds.AsSpan(slot * _metrics, _metrics);
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
            for (long second = Math.Max(Math.Max(fromUnixSeconds, 1), LatestSecond - SecondsKept + 1); second <= Math.Min(toUnixSeconds, LatestSecond); second++)
            {
                int slot = (int)(second % SecondsKept);
                if (_secondTimes[slot] != second) continue;
                float value = _seconds[(slot * _metrics) + metric];
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
            long last = LatestSecond / 60;
            for (long minute = Math.Max(Math.Max(fromUnixSeconds / 60, 1), last - MinutesKept + 1); minute <= Math.Min(toUnixSeconds / 60, last); minute++)
            {
                (int block, int slot) = PlaceOf(minute);
                if (_blocks[block] is not { } minutes || minutes.Times[slot] != minute) continue;
                int at = (slot * _metrics) + metric;
                points.Add(new HistoryPoint(minute * 60, minutes.Means[at], minutes.Maxima[at].Value));
            }
        }

        return points;
    }

    /// <summary>Copies every finished minute, oldest first: its number since 1970, means, maxima.</summary>
    internal void ForEachMinute(Action<long, ReadOnlySpan<float>, ReadOnlySpan<float>> visit)
    {
        var maxima = new float[_metrics];
        lock (_lock)
        {
            long last = LatestSecond / 60;
            for (long minute = last - MinutesKept + 1; minute <= last; minute++)
            {
                if (minute < 1) continue;
                (int block, int slot) = PlaceOf(minute);
                if (_blocks[block] is not { } minutes || minutes.Times[slot] != minute) continue;
                for (int i = 0; i < _metrics; i++) maxima[i] = minutes.Maxima[(slot * _metrics) + i].Value;
                visit(minute, minutes.Means.AsSpan(slot * _metrics, _metrics), maxima);
            }
        }
    }

    /// <summary>Adds a minute of an earlier run.</summary>
    internal void RestoreMinute(long minute, ReadOnlySpan<float> means, ReadOnlySpan<float> maxima)
    {
        lock (_lock)
        {
            (int slot, MinuteBlock block) = Open(minute);
            means.CopyTo(block.Means.AsSpan(slot * _metrics));
            for (int i = 0; i < _metrics; i++) block.Maxima[(slot * _metrics) + i] = RoundedUp.From(maxima[i]);
            LatestSecond = Math.Max(LatestSecond, minute * 60);
        }
    }

    private void EndMinute()
    {
        if (_minute >= 0)
        {
            (int slot, MinuteBlock block) = Open(_minute);
            for (int i = 0; i < _metrics; i++)
            {
                block.Means[(slot * _metrics) + i] = _minuteCounts[i] == 0 ? float.NaN : (float)(_minuteSums[i] / _minuteCounts[i]);
                block.Maxima[(slot * _metrics) + i] = RoundedUp.From(_minuteCounts[i] == 0 ? float.NaN : _minuteMaxima[i]);
            }
        }

        Array.Clear(_minuteSums);
        Array.Clear(_minuteCounts);
    }

    private (int Slot, MinuteBlock Block) Open(long minute)
    {
        (int block, int slot) = PlaceOf(minute);
        MinuteBlock minutes = _blocks[block] ??= new MinuteBlock(_metrics);
        minutes.Times[slot] = minute;
        return (slot, minutes);
    }

    private static (int Block, int Slot) PlaceOf(long minute)
    {
        int at = (int)(minute % MinutesKept);
        return (at / BlockMinutes, at % BlockMinutes);
    }

    private sealed class MinuteBlock(int metrics)
    {
        internal long[] Times { get; } = new long[BlockMinutes];

        internal float[] Means { get; } = new float[BlockMinutes * metrics];

        internal RoundedUp[] Maxima { get; } = new RoundedUp[BlockMinutes * metrics];
    }

    /// <summary>A maximum in two bytes: the upper half of a number of four, up to 0.8 % above what it was.</summary>
    private readonly struct RoundedUp
    {
        private readonly ushort _upper;

        private RoundedUp(ushort upper) => _upper = upper;

        internal float Value => BitConverter.UInt32BitsToSingle((uint)_upper << 16);

        internal static RoundedUp From(float value)
        {
            uint bits = BitConverter.SingleToUInt32Bits(value);
            bool isExact = (ushort)bits == 0 || !float.IsFinite(value) || value < 0;
            return new RoundedUp((ushort)((bits >> 16) + (isExact ? 0u : 1u)));
        }
    }
}
