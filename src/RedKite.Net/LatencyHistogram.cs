using System.Numerics;

namespace RedKite.Net;

/// <summary>
/// Durations in nanoseconds up to 18 minutes at least; longer ones count in the last bucket. One thread records; others may read meanwhile, and miss
/// at most a few records. Shared by the server's metrics and the load generator, which needs a finer scale.
/// </summary>
/// <param name="subBits">The precision: 2 to its power buckets for each doubling. 5 is 3 percent in 9 KiB, 7 is 0.8 percent in 36 KiB.</param>
internal sealed class LatencyHistogram(int subBits = 5)
{
    private const int Doublings = 36;

    private readonly long[] _counts = new long[Doublings << subBits];
    private long _minNs = long.MaxValue;

    internal long Count { get; private set; }

    internal long SumNs { get; private set; }

    internal long MinNs => Count == 0 ? 0 : _minNs;

    internal long MaxNs { get; private set; }

    internal double MeanNs => Count == 0 ? 0 : (double)SumNs / Count;

    internal void Record(long ns, long count = 1)
    {
        if (ns > MaxNs) MaxNs = ns;
        if (ns < _minNs) _minNs = Math.Max(ns, 0);
        _counts[BucketOf(ns)] += count;
        Count += count;
        SumNs += ns * count;
    }

    internal void AddTo(LatencyHistogram sum)
    {
        for (int i = 0; i < _counts.Length; i++) sum._counts[i] += _counts[i];
        sum.Count += Count;
        sum.SumNs += SumNs;
        sum.MaxNs = Math.Max(sum.MaxNs, MaxNs);
        sum._minNs = Math.Min(sum._minNs, _minNs);
    }

    /// <summary>Stores in a histogram the values that were recorded here since an earlier copy. Its least and its largest value are those of its buckets.</summary>
    internal void CopySince(LatencyHistogram earlier, LatencyHistogram difference)
    {
        difference.Clear();
        for (int i = 0; i < _counts.Length; i++)
        {
            long count = Math.Max(0, _counts[i] - earlier._counts[i]);
            if (count == 0) continue;
            difference._counts[i] = count;
            difference.Count += count;
            difference.MaxNs = Math.Min(UpperEnd(i), MaxNs);
            difference._minNs = Math.Min(difference._minNs, difference.MaxNs);
        }

        difference.SumNs = SumNs - earlier.SumNs;
    }

    internal void Clear()
    {
        Array.Clear(_counts);
        Count = SumNs = MaxNs = 0;
        _minNs = long.MaxValue;
    }

    /// <summary>Returns the upper end of a percentile's bucket, at most the largest recorded value.</summary>
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

    /// <summary>The buckets that are not empty, by rising values: the largest value of each, and its count.</summary>
    internal IEnumerable<(long UpperNs, long Count)> Buckets()
    {
        for (int i = 0; i < _counts.Length; i++)
        {
            if (_counts[i] > 0) yield return (UpperEnd(i), _counts[i]);
        }
    }

    /// <summary>Counts the values up to <paramref name="ns"/>, to the precision of a bucket.</summary>
    internal long CountUpTo(long ns)
    {
        long seen = 0;
        for (int i = 0; i < _counts.Length && UpperEnd(i) <= ns; i++) seen += _counts[i];
        return seen;
    }

    private int BucketOf(long ns)
    {
        if (ns < 1 << subBits) return (int)Math.Max(ns, 0);
        int doubling = 63 - BitOperations.LeadingZeroCount((ulong)ns) - subBits;
        int bucket = (doubling << subBits) + (int)(ns >> doubling);
        return Math.Min(bucket, _counts.Length - 1);
    }

    private long UpperEnd(int bucket)
    {
        if (bucket < 1 << subBits) return bucket;
        int doubling = (bucket >> subBits) - 1;
        return ((long)(bucket - (doubling << subBits) + 1) << doubling) - 1;
    }
}
