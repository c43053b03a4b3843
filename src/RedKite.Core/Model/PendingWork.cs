using RedKite.Store.Keyspace;

namespace RedKite.Server.Model;

/// <summary>
/// Work that waits for something outside of the data, such as a transfer to another server. Until that has ended no slice is run, so no stripe is
/// locked and no loop is busy with it.
/// </summary>
internal abstract class PendingWork : SlicedWork
{
    /// <summary>Completes when a slice can be run. It never fails.</summary>
    internal abstract Task Pending { get; }

    /// <summary>Called when the client's wait has ended: <see cref="Pending"/> completes soon. From any thread, with or without the stripes.</summary>
    internal abstract void Abandon();
}
