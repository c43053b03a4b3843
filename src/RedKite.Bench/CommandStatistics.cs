namespace RedKite.Bench;

/// <summary>
/// What one kind of request came to: one row of the result. Written by one loop's thread; the counts may be read by others
/// meanwhile, for the progress line.
/// </summary>
internal sealed class CommandStatistics(string name, bool isOpenLoop)
{
    private long _count;

    /// <summary>SET, GET, or an arbitrary command's name in capitals.</summary>
    internal string Name { get; } = name;

    internal long Count => Volatile.Read(ref _count);

    internal long Hits { get; set; }

    internal long Misses { get; set; }

    internal long Errors { get; set; }

    internal long BytesSent { get; set; }

    internal long BytesReceived { get; set; }

    /// <summary>From when a request should have been sent: in a closed loop, that is when it was.</summary>
    internal LatencyHistogram Latency { get; } = new();

    /// <summary>In an open loop: from when a request was really sent, which hides how long it had to wait for that.</summary>
    internal LatencyHistogram? Uncorrected { get; } = isOpenLoop ? new LatencyHistogram() : null;

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
