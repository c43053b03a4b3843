namespace RedKite.Server.Changes;

/// <summary>
/// Receives the effects of every invocation and unit that has any: the log, replicas. It is called with the stripes of the record's keys
/// locked, so in the order of execution for every key. It must be quick and must not execute commands.
/// </summary>
internal interface IEffectConsumer
{
    void Published(scoped in EffectRecord record);

    /// <summary>
    /// Whether the consumer takes requests that are effects as they were received (<see cref="PublishedRequests"/>), instead of in records.
    /// </summary>
    bool TakesRequests => false;

    /// <summary>Receives requests in the protocol's form, one behind the other, all of one slot if the keyspace has slots; each is the only effect of its command.</summary>
    void PublishedRequests(int database, int slot, ReadOnlySpan<byte> requests) => throw new NotSupportedException();
}
