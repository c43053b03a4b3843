namespace RedKite.Server.Changes;

/// <summary>
/// Receives the changes of every invocation that changed something: notifications, tracking. It is called with the invocation's stripes
/// still locked, so in the order of execution for every key; it must be quick and must not execute commands. The commands of a
/// unit are invocations of their own here.
/// </summary>
internal interface IChangeConsumer
{
    /// <param name="changes">The changes, in the order of their notifications. Valid during the call.</param>
    void Published(ChangeList changes);
}
