namespace RedKite.Server.Changes;

/// <summary>
/// Receives the effects of every invocation and unit that has any: the log, replicas. It is called with the stripes of the record's keys
/// locked, so in the order of execution for every key. It must be quick and must not execute commands.
/// </summary>
internal interface IEffectConsumer
{
    void Published(scoped in EffectRecord record);
}
