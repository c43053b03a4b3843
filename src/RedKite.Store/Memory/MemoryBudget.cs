namespace RedKite.Store.Memory;

/// <summary>
/// The memory limit and usage of a keyspace, shared by all threads: checking the limit is one read. Arenas report their usage in
/// steps of <see cref="StepBytes"/>, so the sum may be off by that per arena.
/// </summary>
internal sealed class MemoryBudget
{
    /// <summary>The largest step, and that without a limit: for small values, every few thousand blocks.</summary>
    internal const long StepBytesMax = 256 << 10;

    // A step is this fraction of the limit, so that 64 arenas together are off by less than half a percent.
    private const long StepsPerLimit = 16 << 10;
    private const long StepBytesMin = 1 << 10;

    // Far enough from the end of the range that usage never reaches it.
    private const long Unlimited = long.MaxValue / 2;

    private long _limit = Unlimited;
    private long _left = Unlimited;
    private long _step = StepBytesMax;

    /// <summary>Whether usage exceeds the limit.</summary>
    internal bool IsExceeded => Volatile.Read(ref _left) < 0;

    /// <summary>Whether usage is below the limit by at least some steps, so that the limit is not exceeded again at once.</summary>
    internal bool HasRoom(int steps) => Volatile.Read(ref _left) >= steps * StepBytes;

    /// <summary>The reported bytes in use.</summary>
    internal long UsedBytes => Volatile.Read(ref _limit) - Volatile.Read(ref _left);

    /// <summary>An arena reports when its usage has changed by this much.</summary>
    internal long StepBytes => Volatile.Read(ref _step);

    /// <summary>The limit in bytes; null: none. A negative limit is always exceeded. One thread at a time changes it.</summary>
    internal long? LimitBytes
    {
        get => _limit == Unlimited ? null : _limit;
        set
        {
            long limit = value ?? Unlimited;
            Volatile.Write(ref _step, value is null ? StepBytesMax : Math.Clamp(limit / StepsPerLimit, StepBytesMin, StepBytesMax));
            Interlocked.Add(ref _left, limit - _limit);
            Volatile.Write(ref _limit, limit);
        }
    }

    /// <summary>Reports a change of usage.</summary>
    internal void Add(long bytes) => Interlocked.Add(ref _left, -bytes);
}
