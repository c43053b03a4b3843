using RedKite.Net;

namespace RedKite.Bench;

/// <summary>
/// The statistics of one request type: one row of the result. Written by one loop's thread; other threads may read the
/// counts for the progress line.
/// </summary>
internal sealed class CommandStatistics(string name, bool isOpenLoop)
{
    private const int SubBits = 7; // 0.8 percent

    private long _count;

    /// <summary>SET, GET, or the upper-case name of an arbitrary command.</summary>
    internal string Name { get; } = name;

    internal long Count => Volatile.Read(ref _count);

    internal long Hits { get; private set; }

    internal long Misses { get; private set; }

    internal long Errors { get; private set; }

    internal long BytesSent { get; private set; }

    internal long BytesReceived { get; private set; }

    /// <summary>Latencies from the time a request was due: in a closed loop, the time it was sent.</summary>
    internal LatencyHistogram Latency { get; } = new(SubBits);

    /// <summary>In an open loop: latencies from the time a request was sent, which hides its waiting time.</summary>
    internal LatencyHistogram? Uncorrected { get; } = isOpenLoop ? new LatencyHistogram(SubBits) : null;

    internal void CountSent(long bytes) => BytesSent += bytes;

    internal void CountReceived(long bytes) => BytesReceived += bytes;

    internal void CountError() => Errors++;

    internal void CountLookup(bool found)
    {
        if (found) Hits++;
        else Misses++;
    }

    internal void Record(long intendedNs, long sentNs, long nowNs)
    {
        Volatile.Write(ref _count, _count + 1);
        Latency.Record(nowNs - intendedNs);
        Uncorrected?.Record(nowNs - sentNs);
    }

    internal void AddTo(CommandStatistics sum)
    {
        sum._count += Count;
        sum.Hits += Hits;
        sum.Misses += Misses;
        sum.Errors += Errors;
        sum.BytesSent += BytesSent;
        sum.BytesReceived += BytesReceived;
        Latency.AddTo(sum.Latency);
        if (sum.Uncorrected is not null) Uncorrected?.AddTo(sum.Uncorrected);
    }
}
