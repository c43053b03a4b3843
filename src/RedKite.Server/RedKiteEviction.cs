namespace RedKite;

/// <summary>Which keys are evicted when the data takes more than <see cref="RedKiteOptions.MaxMemory"/>: the setting <c>maxmemory-policy</c>.</summary>
public enum RedKiteEviction
{
    /// <summary>None: commands that need memory are answered with an OOM error.</summary>
    None,

    /// <summary>The least recently used: <c>allkeys-lru</c>.</summary>
    LeastRecentlyUsed,

    /// <summary>The least frequently used: <c>allkeys-lfu</c>.</summary>
    LeastFrequentlyUsed,

    /// <summary>The least recently modified, however often they are read: <c>allkeys-lrm</c>.</summary>
    LeastRecentlyModified,

    /// <summary>Any: <c>allkeys-random</c>.</summary>
    Random,

    /// <summary>Of those that expire, the least recently used: <c>volatile-lru</c>.</summary>
    ExpiringLeastRecentlyUsed,

    /// <summary>Of those that expire, the least frequently used: <c>volatile-lfu</c>.</summary>
    ExpiringLeastFrequentlyUsed,

    /// <summary>Of those that expire, the least recently modified: <c>volatile-lrm</c>.</summary>
    ExpiringLeastRecentlyModified,

    /// <summary>Of those that expire, any: <c>volatile-random</c>.</summary>
    ExpiringRandom,

    /// <summary>Those that expire soonest: <c>volatile-ttl</c>.</summary>
    ExpiringSoonest,
}
