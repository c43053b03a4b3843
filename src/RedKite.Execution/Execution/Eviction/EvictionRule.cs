using RedKite.Server.Config;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution.Eviction;

/// <summary>How a maxmemory-policy judges a key: whether it may be evicted, and how soon.</summary>
internal readonly record struct EvictionRule(MaxMemoryPolicy Policy, int LfuDecayMinutes)
{
    private const int CounterMax = 255;

    /// <summary>Whether only keys with an expiry may be evicted.</summary>
    internal bool OnlyExpiring => Policy is MaxMemoryPolicy.VolatileLru or MaxMemoryPolicy.VolatileLrm or MaxMemoryPolicy.VolatileLfu or MaxMemoryPolicy.VolatileRandom or MaxMemoryPolicy.VolatileTtl;

    internal bool IsRandom => Policy is MaxMemoryPolicy.AllKeysRandom or MaxMemoryPolicy.VolatileRandom;

    private bool IsLfu => Policy is MaxMemoryPolicy.AllKeysLfu or MaxMemoryPolicy.VolatileLfu;

    /// <summary>The higher, the sooner the key is evicted. It does not change with the time alone, except as LFU counters decay.</summary>
    internal long Score(scoped in Entry entry, long nowMs)
    {
        if (IsRandom) return 0;
        if (Policy == MaxMemoryPolicy.VolatileTtl) return -entry.ExpiryMs;
        if (!IsLfu) return AccessClock.IdleSeconds(entry.AccessClock, nowMs) - (nowMs / 1000);

        // Among keys that are used equally often, the one that has not been used for longest goes first.
        long unused = AccessClock.LfuMinutes(entry.AccessClock, nowMs);
        return ((CounterMax - (long)AccessClock.LfuCounter(entry.AccessClock, nowMs, LfuDecayMinutes)) << 16) | unused;
    }

    /// <summary>Whether the key was used within the last minute.</summary>
    internal bool IsYoung(scoped in Entry entry, long nowMs) =>
        IsLfu ? AccessClock.LfuMinutes(entry.AccessClock, nowMs) == 0 : AccessClock.IdleSeconds(entry.AccessClock, nowMs) < 60;
}
