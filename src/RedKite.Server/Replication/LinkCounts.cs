namespace RedKite.Server.Replication;

/// <summary>What a replica's links to its primaries have done so far. The link's thread counts; any thread reads.</summary>
internal sealed class LinkCounts
{
    private long _appliedTicks;
    private volatile string _lastFailure = "";

    /// <summary>Full synchronizations that were loaded.</summary>
    internal long FullSyncs { get; private set; }

    /// <summary>Times that the stream went on where it was.</summary>
    internal long PartialSyncs { get; private set; }

    /// <summary>Connected links that broke.</summary>
    internal long Breaks { get; private set; }

    /// <summary>Full synchronizations that began and were not loaded.</summary>
    internal long FailedSyncs { get; private set; }

    /// <summary>The same since the last one that was loaded.</summary>
    internal long FailedSyncsInARow { get; private set; }

    /// <summary>Errors of the stream's commands since the last full synchronization: the data may differ from the primary's.</summary>
    internal long ErrorsSinceSync { get; private set; }

    /// <summary>Why the last link or attempt failed; empty: none has.</summary>
    internal string LastFailure => _lastFailure;

    /// <summary>The time that executing the stream has taken.</summary>
    internal TimeSpan Applied => System.Diagnostics.Stopwatch.GetElapsedTime(0, Volatile.Read(ref _appliedTicks));

    internal void NoteFull()
    {
        FullSyncs++;
        FailedSyncsInARow = ErrorsSinceSync = 0;
    }

    internal void NotePartial() => PartialSyncs++;

    internal void NoteBreak() => Breaks++;

    internal void NoteFailedSync()
    {
        FailedSyncs++;
        FailedSyncsInARow++;
    }

    internal void NoteFailure(string reason) => _lastFailure = reason;

    internal void NoteErrors(long errors) => ErrorsSinceSync += errors;

    internal void NoteApplied(long ticks) => Volatile.Write(ref _appliedTicks, _appliedTicks + ticks);
}
