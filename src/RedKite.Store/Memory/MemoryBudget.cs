namespace RedKite.Store.Memory;

/// <summary>
/// The memory limit and usage of a keyspace, shared by all threads: checking the limit is one read. Arenas report their usage in
/// steps of <see cref="StepBytes"/>, so the sum may be off by that per arena.
/// </summary>
internal sealed class MemoryBudget
{
    /// <summary>An arena reports when its usage has changed by this much: for small values, every few thousand blocks.</summary>
    internal const long StepBytes = 256 << 10;

    // Far enough from the end of the range that usage never reaches it.
    private const long Unlimited = long.MaxValue / 2;

    private long _limit = Unlimited;
    private long _left = Unlimited;

    /// <summary>Whether usage exceeds the limit.</summary>
    internal bool IsExceeded => Volatile.Read(ref _left) < 0;

    /// <summary>The reported bytes in use.</summary>
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

    /// <summary>Reports a change of usage.</summary>
    internal void Add(long bytes) => Interlocked.Add(ref _left, -bytes);
}
