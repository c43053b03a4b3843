namespace RedKite.Server.Model;

/// <summary>
/// The 24 bits that an entry keeps of its last access. Under an LRU policy: seconds. Under an LFU policy: 16 bits of
/// minutes of the counter's last decrement, and an 8-bit counter that grows with the logarithm of the accesses.
/// </summary>
internal static class AccessClock
{
    /// <summary>The initial counter of a new key, above zero so that the key is not evicted first.</summary>
    internal const int LfuInitial = 5;

    internal static uint Lru(long nowMs) => (uint)(nowMs / 1000) & 0xFFFFFF;

    internal static uint NewLfu(long nowMs) => Lfu(nowMs, LfuInitial);

    /// <summary>The clock of an entry that was last used a number of seconds ago; half of the range if the bits cannot represent that.</summary>
    internal static uint LruBefore(long nowMs, long idleSeconds) => idleSeconds <= Lru(nowMs) ? Lru(nowMs) - (uint)idleSeconds : (Lru(nowMs) + 0x800000) & 0xFFFFFF;

    /// <summary>The clock of an entry with a counter.</summary>
    internal static uint Lfu(long nowMs, int counter) => (Minutes(nowMs) << 8) | (uint)counter;

    /// <summary>Seconds since the access.</summary>
    internal static long IdleSeconds(uint clock, long nowMs) => (Lru(nowMs) - clock) & 0xFFFFFF;

    /// <summary>Whole minutes since the access that last changed an LFU clock.</summary>
    internal static long LfuMinutes(uint clock, long nowMs) => (Minutes(nowMs) - (clock >> 8)) & 0xFFFF;

    /// <summary>The current counter: decremented for each <paramref name="decayMinutes"/> without an access.</summary>
    internal static int LfuCounter(uint clock, long nowMs, int decayMinutes)
    {
        var counter = (int)(clock & 0xFF);
        if (decayMinutes == 0) return counter;
        var elapsed = (int)((Minutes(nowMs) - (clock >> 8)) & 0xFFFF);
        return Math.Max(0, counter - (elapsed / decayMinutes));
    }

    /// <summary>The clock after one more access. The higher the counter, the less likely it grows.</summary>
    internal static uint TouchLfu(uint clock, long nowMs, int decayMinutes, int logFactor)
    {
        int counter = LfuCounter(clock, nowMs, decayMinutes);
        if (counter < 255)
        {
            int above = Math.Max(0, counter - LfuInitial);
#pragma warning disable CA5394 // Not a secret: a sample.
            if (Random.Shared.NextDouble() < 1.0 / ((above * logFactor) + 1)) counter++;
#pragma warning restore CA5394
        }

        return (Minutes(nowMs) << 8) | (uint)counter;
    }

    private static uint Minutes(long nowMs) => (uint)(nowMs / 60_000) & 0xFFFF;
}
