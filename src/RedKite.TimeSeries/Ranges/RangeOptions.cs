namespace RedKite.TimeSeries.Ranges;

/// <summary>Which time of a bucket is reported.</summary>
internal enum BucketTime : byte
{
    Start,
    Middle,
    End,
}

/// <summary>What a range asks of each series.</summary>
internal sealed partial class RangeOptions
{
    /// <summary>The timestamps of FILTER_BY_TS.</summary>
    internal const int TimesMax = 128;

    internal long From { get; init; }

    internal long To { get; init; } = long.MaxValue;

    internal bool IsReverse { get; init; }

    internal bool Latest { get; private set; }

    /// <summary>In ascending order; empty: all.</summary>
    internal long[] Times { get; private set; } = [];

    internal double Min { get; private set; } = double.NegativeInfinity;

    internal double Max { get; private set; } = double.PositiveInfinity;

    internal bool FiltersValues { get; private set; }

    internal long Count { get; private set; } = long.MaxValue;

    internal Aggregator Aggregator { get; private set; }

    internal long Duration { get; private set; } = 1;

    internal long Align { get; private set; }

    internal BucketTime BucketTime { get; private set; }

    internal bool Empty { get; private set; }

    /// <summary>The start of a time's bucket, which may be negative.</summary>
    internal long StartOf(long time) => StartOf(time, Duration, Align);

    internal static long StartOf(long time, long duration, long align)
    {
        long rest = unchecked(time - align) % duration;
        return time - (rest < 0 ? rest + duration : rest);
    }

    internal bool Passes(long time, double value)
    {
        if (FiltersValues && !(value >= Min && value <= Max)) return false;
        return Times.Length == 0 || Array.BinarySearch(Times, time) >= 0;
    }
}
