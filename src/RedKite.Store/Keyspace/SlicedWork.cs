namespace RedKite.Store.Keyspace;

/// <summary>
/// Work that takes longer than a command may hold its stripes. It is done in slices while the command's client waits: the stripes of the
/// command's keys are locked during a slice and free between slices. Then the command executes again and uses what was done.
/// </summary>
internal abstract class SlicedWork
{
    /// <summary>Whether everything is done.</summary>
    internal bool IsComplete { get; private protected set; }

    /// <summary>Whether the data has changed so that what was done is of no use: it is discarded, and the command begins again.</summary>
    internal bool IsStale { get; set; }

    /// <summary>Whether it has taken more steps than a command may: the client gets an error, and the work is discarded.</summary>
    internal bool TakesTooLong { get; private protected set; }

    /// <summary>Whether it has what other work may wait for: while a pause holds its command, it is discarded.</summary>
    internal virtual bool KeepsOthersWaiting => false;

    /// <summary>Does a part of the work.</summary>
    /// <returns>Whether everything is done.</returns>
    internal abstract bool RunSlice();

    /// <summary>Releases what the work holds, if it was not used.</summary>
    internal abstract void Discard();
}
