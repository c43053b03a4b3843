namespace RedKite.Server.Durability;

/// <summary>The append-only file, as those see it who must wait until what was executed is on the disk.</summary>
internal interface ISyncedLog
{
    /// <summary>The end of what was executed so far.</summary>
    long End { get; }

    /// <summary>How often writing or syncing began to fail.</summary>
    long Failures { get; }

    /// <summary>Since which of its <see cref="Failures"/> it has been failing, so that commands that write are refused; 0: it works.</summary>
    long Refusing { get; }

    /// <summary>Why it fails; null: it works.</summary>
    string? FailureText { get; }

    /// <summary>The position that output of now must wait for; 0: it may leave. The log has to be asked for it. From any thread.</summary>
    long AwaitedPosition();

    /// <summary>Asks for everything up to a position to be synced.</summary>
    void Ask(long position);

    /// <summary>Waits until everything that was executed so far is on the disk, if the policy requires it.</summary>
    /// <param name="failures">The count of <see cref="Failures"/> before the caller's command began.</param>
    /// <returns>False if the log has failed since then.</returns>
    bool WaitUntilSynced(long failures);

    /// <summary>As <see cref="WaitUntilSynced"/>, without a thread that waits.</summary>
    /// <param name="failures">As there; null: for what others have executed, too, so false while the log fails.</param>
    /// <param name="cancellation">Ends the wait.</param>
    ValueTask<bool> WhenSyncedAsync(long? failures, CancellationToken cancellation);
}

/// <summary>The append-only file in use. What keeps it sets it; any thread reads it.</summary>
internal sealed class CurrentLog
{
    private volatile ISyncedLog? _log;

    /// <summary>Null: there is none.</summary>
    internal ISyncedLog? Log => _log;

    internal void Use(ISyncedLog? log) => _log = log;
}
