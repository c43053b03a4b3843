using System.Numerics;

namespace RedKite.Server.Metrics;

/// <summary>
/// Durations in nanoseconds up to about 70 seconds, to three percent: 32 buckets for each doubling. One thread records;
/// others may read meanwhile, and miss at most a few records.
/// </summary>
internal sealed class LatencyHistogram
{
    private const int SubBits = 5;
    private const int SubCount = 1 << SubBits;
    private const int Doublings = 32;

    private readonly long[] _counts = new long[SubCount * Doublings];

    internal long Count { get; private set; }

    internal long MaxNs { get; private set; }

    internal void Record(long ns, long count)
    {
        if (ns > MaxNs) MaxNs = ns;
        _counts[BucketOf(ns)] += count;
        Count += count;
    }

    internal void AddTo(LatencyHistogram sum)
    {
        for (int i = 0; i < _counts.Length; i++) sum._counts[i] += _counts[i];
        sum.Count += Count;
        if (MaxNs > sum.MaxNs) sum.MaxNs = MaxNs;
    }

    /// <summary>Stores in a histogram the values that were recorded here since an earlier copy. Its maximum is that of the highest bucket.</summary>
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
        }
    }

    internal void Clear()
    {
        Array.Clear(_counts);
        Count = MaxNs = 0;
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
