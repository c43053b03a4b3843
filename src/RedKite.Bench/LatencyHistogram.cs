using System.Numerics;

namespace RedKite.Bench;

/// <summary>
/// Durations in nanoseconds up to an hour, with a precision of 0.8 percent: 128 buckets per doubling, one array. One thread records.
/// </summary>
internal sealed class LatencyHistogram
{
    private const int SubBits = 7;
    private const int SubCount = 1 << SubBits;
    private const int Doublings = 36;

    private readonly long[] _counts = new long[SubCount * Doublings];
    private long _minNs = long.MaxValue;

    internal long Count { get; private set; }

    internal long SumNs { get; private set; }

    internal long MaxNs { get; private set; }

    internal long MinNs => Count == 0 ? 0 : _minNs;

    internal double MeanNs => Count == 0 ? 0 : (double)SumNs / Count;

    internal void Record(long ns)
    {
        if (ns > MaxNs) MaxNs = ns;
        if (ns < _minNs) _minNs = Math.Max(ns, 0);
        _counts[BucketOf(ns)]++;
        Count++;
        SumNs += ns;
    }

    internal void AddTo(LatencyHistogram sum)
    {
        for (int i = 0; i < _counts.Length; i++) sum._counts[i] += _counts[i];
        sum.Count += Count;
        sum.SumNs += SumNs;
        sum.MaxNs = Math.Max(sum.MaxNs, MaxNs);
        sum._minNs = Math.Min(sum._minNs, _minNs);
    }

    /// <summary>The upper end of the bucket that contains a percentile, at most the largest recorded value.</summary>
    internal long PercentileNs(double percentile)
    {
        long wanted = Math.Max(1, (long)Math.Ceiling(Count * percentile / 100));
        long seen = 0;
        for (int i = 0; i < _counts.Length; i++)
        {
            seen += _counts[i];
            if (seen >= wanted) return Math.Min(UpperEnd(i), MaxNs);
        }

        return MaxNs;
    }

    /// <summary>The non-empty buckets: upper end, and percentage of values up to it.</summary>
    internal IEnumerable<(long UpToNs, double Percent)> Distribution()
    {
        long seen = 0;
        for (int i = 0; i < _counts.Length; i++)
        {
            if (_counts[i] == 0) continue;
            seen += _counts[i];
            yield return (Math.Min(UpperEnd(i), MaxNs), 100.0 * seen / Count);
        }
    }

    private static int BucketOf(long ns)
    {
        if (ns < SubCount) return (int)Math.Max(ns, 0);
        int doubling = 63 - BitOperations.LeadingZeroCount((ulong)ns) - SubBits;
        int bucket = ((doubling + 1) << SubBits) + (int)(ns >> doubling) - SubCount;
        return Math.Min(bucket, (SubCount * Doublings) - 1);
    }

    private static long UpperEnd(int bucket)
    {
        if (bucket < SubCount) return bucket;
        int doubling = (bucket >> SubBits) - 1;
        return ((long)((bucket & (SubCount - 1)) + SubCount + 1) << doubling) - 1;
    }
}
