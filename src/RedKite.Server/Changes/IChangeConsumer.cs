namespace RedKite.Server.Changes;

/// <summary>
/// Receives every invocation that changed something: notifications, tracking, WATCH, the log, replicas. It is called with the
/// invocation's stripes still locked, so in the order of execution for every key; it must be quick and must not execute
/// commands.
/// </summary>
internal interface IChangeConsumer
{
    void Published(scoped in Invocation invocation);
}

/// <summary>The changes of one invocation. Valid during the call.</summary>
internal readonly ref struct Invocation(ChangeList changes, EffectWriter expiries, EffectWriter effects)
{
    /// <summary>The changes, in the order of their notifications.</summary>
    internal ChangeList Changes => changes;

    /// <summary>The number of commands that replace the invocation on a replica or in the log.</summary>
    internal int EffectCount => expiries.Count + effects.Count;

    /// <summary>The database of one of those commands.</summary>
    internal int EffectDatabase(int index) => index < expiries.Count ? expiries.DatabaseOf(index) : effects.DatabaseOf(index - expiries.Count);

    /// <summary>One of those commands, in the protocol's form.</summary>
    internal ReadOnlySpan<byte> Effect(int index) => index < expiries.Count ? expiries.RequestOf(index) : effects.RequestOf(index - expiries.Count);
}
