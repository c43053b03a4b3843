namespace RedKite.Server.Durability;

/// <summary>What threads hold while they save.</summary>
#pragma warning disable CA1001 // The semaphores have nothing to release, and threads may still come to them after the end.
internal sealed class SavingLocks
#pragma warning restore CA1001
{
    /// <summary>Held while a snapshot is written in the background, whatever it is for: one at a time.</summary>
    internal SemaphoreSlim Saving { get; } = new(1, 1);

    /// <summary>Held by what writes the dump file: a snapshot, or SAVE, which also works while the append-only file is rewritten. Taken inside the other.</summary>
    internal SemaphoreSlim Dumping { get; } = new(1, 1);

    /// <summary>Whether something is saved.</summary>
    internal bool AreHeld => Saving.CurrentCount == 0 || Dumping.CurrentCount == 0;
}
