namespace RedKite.Server.Replication;

/// <summary>What a replica's links to its primaries have done so far. The link's thread counts; any thread reads.</summary>
internal sealed class LinkCounts
{
    private long _appliedTicks;
    private volatile string _lastFailure = "";
    private long _upSinceMs = -1; // of the steady clock; -1: the link is down
    private long _downSinceMs = -1; // -1: it never was up, or the server became a primary meanwhile
    private long _downMs; // in all, without the time since the last break

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

    /// <summary>Attempts to connect to the present primary, and those since a link was connected last.</summary>
    internal long Attempts { get; private set; }

    internal long AttemptsSinceBreak { get; private set; }

    /// <summary>How long the connected link has been up; negative: it is down.</summary>
    internal long UpMs(long nowMs) => Volatile.Read(ref _upSinceMs) is >= 0 and long since ? Math.Max(0, nowMs - since) : -1;

    /// <summary>How long the link has been down; negative: it is up, or never was.</summary>
    internal long DownMs(long nowMs) => Volatile.Read(ref _downSinceMs) is >= 0 and long since ? Math.Max(0, nowMs - since) : -1;

    /// <summary>How long links were down after they had been up.</summary>
    internal long DisconnectedMs(long nowMs) => Volatile.Read(ref _downMs) + (Volatile.Read(ref _downSinceMs) is >= 0 and long since ? Math.Max(0, nowMs - since) : 0);

    /// <summary>Called before the link to another primary begins, or the server becomes a primary.</summary>
    /// <param name="becomesPrimary">Whether it becomes one.</param>
    /// <param name="wasUp">Whether the last link was up until now: as in Redis the time as a primary counts then, and else what came before it does not.</param>
    internal void NoteChange(bool becomesPrimary, bool wasUp)
    {
        Attempts = AttemptsSinceBreak = 0;
        if (becomesPrimary && !wasUp) Volatile.Write(ref _downSinceMs, -1);
    }

    internal void NoteAttempt()
    {
        Attempts++;
        AttemptsSinceBreak++;
    }

    internal void NoteUp(long nowMs)
    {
        long downSince = Volatile.Read(ref _downSinceMs);
        Volatile.Write(ref _downSinceMs, -1);
        if (downSince >= 0) Volatile.Write(ref _downMs, _downMs + Math.Max(0, nowMs - downSince));
        Volatile.Write(ref _upSinceMs, nowMs);
    }

    internal void NoteDown(long nowMs)
    {
        Volatile.Write(ref _upSinceMs, -1);
        Volatile.Write(ref _downSinceMs, nowMs);
        AttemptsSinceBreak = 0;
    }

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
