namespace RedKite.Server.Metrics;

/// <summary>
/// Returns what the managed heap no longer needs to the system, for MEMORY PURGE. What large states of clients have left there (subscriptions, watched and tracked keys, users, logs)
/// would stay until a collection of the oldest generation, which a server that allocates nothing does not make for hours.
/// </summary>
/// <remarks>All threads stop meanwhile: for some 10 ms and a few more for each 10 MB that is in use there. So the command alone causes it, and in the server's own program alone.</remarks>
internal static class ManagedHeap
{
    /// <summary>One collection is made in so long: a client that asks again and again would stop all threads for most of the time.</summary>
    internal const long IntervalMs = 1000;

    /// <summary>Whether a collection is due at a time, which is noted then. From any thread: one of several gets it.</summary>
    /// <param name="lastMs">When the last one was made; 0: none was.</param>
    /// <param name="nowMs">The time of the command that asks, which may be a little behind that of another thread's; a clock that was set back begins anew.</param>
    internal static bool IsDue(ref long lastMs, long nowMs)
    {
        long last = Volatile.Read(ref lastMs);
        return (last == 0 || Math.Abs(nowMs - last) >= IntervalMs) && Interlocked.CompareExchange(ref lastMs, nowMs, last) == last;
    }

    internal static void Release() => GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
}
