namespace RedKite.Store.Keyspace;

/// <summary>What becomes of keys and fields that a caller finds expired.</summary>
internal enum ExpiryPolicy : byte
{
    /// <summary>They are removed and reported: on a primary.</summary>
    Remove,

    /// <summary>
    /// They appear absent, and nothing is changed: for readers of a replica, whose primary reports what has expired, and for readers
    /// while CLIENT PAUSE freezes the data. A command that writes must not run so: it would add a key that it does not see a second time.
    /// </summary>
    Hide,

    /// <summary>Nothing expires: the replay of a log and a primary's stream, in which removals are commands of their own.</summary>
    Keep,
}

/// <summary>
/// The time and the policy by which a caller finds keys and fields expired. The caller supplies both with every call, so replays,
/// replicas and tests go by clocks of their own. Keys without an expiry never look at it.
/// </summary>
internal readonly struct ExpiryClock(long nowMs, ExpiryPolicy policy)
{
    /// <summary>Nothing has expired.</summary>
    internal static readonly ExpiryClock Never = new(0, ExpiryPolicy.Keep);

    /// <summary>What expires at this time or before has expired, in Unix milliseconds.</summary>
    internal long PassedMs { get; } = policy == ExpiryPolicy.Keep ? long.MinValue : nowMs;

    internal ExpiryPolicy Policy { get; } = policy;

    /// <summary>
    /// Whether reads may change the data for all servers that have it: removing what has expired, or propagating that PFCOUNT has stored its
    /// result in the value. In a replay, too: such a read is part of it.
    /// </summary>
    internal bool ReadsMayModify => Policy != ExpiryPolicy.Hide;

    /// <summary>The same for a caller that writes: it removes the expired keys that it finds, unless nothing expires.</summary>
    internal ExpiryClock ToWrite => Policy == ExpiryPolicy.Hide ? new ExpiryClock(PassedMs, ExpiryPolicy.Remove) : this;

    /// <summary>Whether an expiry has passed.</summary>
    internal bool HasPassed(long expiryMs) => expiryMs <= PassedMs;

    /// <summary>What expires at a time or before is removed.</summary>
    internal static ExpiryClock RemovingAt(long nowMs) => new(nowMs, ExpiryPolicy.Remove);
}
