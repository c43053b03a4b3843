namespace RedKite.Store.Memory;

/// <summary>
/// What a keyspace may use and what it has used, for all threads: whether it is over its limit is one read. Arenas report what they
/// use in steps of <see cref="StepBytes"/>, so the sum may be off by that for each arena.
/// </summary>
internal sealed class MemoryBudget
{
    /// <summary>An arena reports when what it uses has changed by this much: for small values every few thousand blocks.</summary>
    internal const long StepBytes = 256 << 10;

    // Far enough from the end of the range that what is used does not reach it.
    private const long Unlimited = long.MaxValue / 2;

    private long _limit = Unlimited;
    private long _left = Unlimited;

    /// <summary>Whether more is used than the limit allows.</summary>
    internal bool IsExceeded => Volatile.Read(ref _left) < 0;

    /// <summary>Bytes in use, as far as they have been reported.</summary>
    internal long UsedBytes => Volatile.Read(ref _limit) - Volatile.Read(ref _left);

    /// <summary>The limit in bytes; 0: none. One thread at a time changes it.</summary>
    internal long LimitBytes
    {
        get => _limit == Unlimited ? 0 : _limit;
        set
        {
            long limit = value == 0 ? Unlimited : value;
            Interlocked.Add(ref _left, limit - _limit);
            Volatile.Write(ref _limit, limit);
        }
    }

    /// <summary>Reports that more is used, or less.</summary>
    internal void Add(long bytes) => Interlocked.Add(ref _left, -bytes);
}
