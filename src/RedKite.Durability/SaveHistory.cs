namespace RedKite.Server.Durability;

/// <summary>What is known of saves to the dump file, or of rewrites of the append-only file. Written by the thread that saves, read by any.</summary>
/// <param name="startedMs">When the server started.</param>
/// <param name="events">Notes beginnings and ends.</param>
/// <param name="isRewrite">Whether it is that of rewrites.</param>
internal sealed class SaveHistory(long startedMs, DurabilityEvents events, bool isRewrite)
{
    private const int RecentMax = 50;

    private long _lastSavedMs = startedMs; // as in Redis: without a save, the start
    private long _beganMs;
    private long _lastEndedMs;
    private long _lastDurationMs = -1;
    private long _changesSaved;
    private long _count;
    private long _consecutiveFailures;
    private volatile string? _failure;
    private volatile string? _backgroundFailure;
    private volatile IReadOnlyList<SaveRecord> _recent = [];

    /// <summary>When the data was last saved; without a save, when the server started.</summary>
    internal long LastSavedMs => Volatile.Read(ref _lastSavedMs);

    /// <summary>How long the last save took; -1: there was none.</summary>
    internal long LastDurationMs => Volatile.Read(ref _lastDurationMs);

    /// <summary>When the last save ended; 0: there was none.</summary>
    internal long LastEndedMs => Volatile.Read(ref _lastEndedMs);

    /// <summary>When the save in progress began; 0: none is in progress.</summary>
    internal long BeganMs => Volatile.Read(ref _beganMs);

    /// <summary>The server's count of changes at the last save's moment.</summary>
    internal long ChangesSaved => Volatile.Read(ref _changesSaved);

    /// <summary>Saves that succeeded.</summary>
    internal long Count => Volatile.Read(ref _count);

    /// <summary>Saves that have failed since the last one that succeeded.</summary>
    internal long ConsecutiveFailures => Volatile.Read(ref _consecutiveFailures);

    /// <summary>Saves in the background that have failed since the last one that succeeded, or since CONFIG RESETSTAT; others change nothing.</summary>
    internal long BackgroundFailuresInARow { get; private set; }

    /// <summary>Why the last save failed; null: it succeeded, or there was none.</summary>
    internal string? Failure => _failure;

    /// <summary>Why the last save in the background failed, if none has succeeded since; null otherwise.</summary>
    internal string? BackgroundFailure => _backgroundFailure;

    /// <summary>Saves that failed.</summary>
    internal long Failures { get; private set; }

    /// <summary>Keys of the last save.</summary>
    internal long LastKeys { get; private set; }

    /// <summary>Bytes of the last save.</summary>
    internal long LastBytes { get; private set; }

    /// <summary>The last saves, the newest first.</summary>
    internal IReadOnlyList<SaveRecord> Recent => _recent;

    /// <summary>Notes that the data was loaded, which is as good as saved.</summary>
    internal void NoteLoaded(long nowMs, long changes)
    {
        Volatile.Write(ref _changesSaved, changes);
        Volatile.Write(ref _lastSavedMs, nowMs);
    }

    /// <summary>Notes that all data was removed and a file without keys written: as in Redis, that is no save that counts.</summary>
    internal void NoteFlushed(long nowMs, long changes)
    {
        NoteLoaded(nowMs, changes);
        _failure = null;
        Volatile.Write(ref _consecutiveFailures, 0);
        LastKeys = 0;
    }

    /// <summary>CONFIG RESETSTAT.</summary>
    internal void ResetFailuresInARow() => BackgroundFailuresInARow = 0;

    /// <summary>A save's file is in place, with so many keys.</summary>
    internal void NoteCommitted(long keys) => LastKeys = keys;

    internal void Begin(long nowMs)
    {
        bool isNew = _beganMs == 0;
        Volatile.Write(ref _beganMs, nowMs);
        if (isNew) events.OnBegan(isRewrite);
    }

    internal void Succeed(long nowMs, long changes, long bytes, bool isInBackground = true)
    {
        if (isInBackground) BackgroundFailuresInARow = 0;
        LastBytes = bytes;
        Volatile.Write(ref _changesSaved, Math.Max(_changesSaved, changes)); // FLUSHALL may have been noted since the save's snapshot point
        Volatile.Write(ref _lastSavedMs, nowMs);
        Volatile.Write(ref _count, _count + 1);
        _failure = _backgroundFailure = null;
        Volatile.Write(ref _consecutiveFailures, 0);
        End(nowMs, bytes, failure: null);
    }

    internal void Fail(long nowMs, string failure, bool isInBackground = true)
    {
        _failure = failure;
        if (isInBackground)
        {
            _backgroundFailure = failure;
            BackgroundFailuresInARow++;
        }

        Failures++;
        Volatile.Write(ref _consecutiveFailures, _consecutiveFailures + 1);
        End(nowMs, bytes: 0, failure);
    }

    /// <summary>Notes that the save was canceled: it is no failure.</summary>
    internal void Cancel(long nowMs) => End(nowMs, bytes: 0, "canceled");

    private void End(long nowMs, long bytes, string? failure)
    {
        var record = new SaveRecord(_beganMs, nowMs, bytes, failure);
        _recent = [record, .. _recent.Take(RecentMax - 1)];
        Volatile.Write(ref _lastDurationMs, nowMs - _beganMs);
        Volatile.Write(ref _lastEndedMs, nowMs);
        Volatile.Write(ref _beganMs, 0);
        events.OnEnded(record, isRewrite);
    }
}

/// <summary>A save that has ended.</summary>
/// <param name="BeganMs">When it began.</param>
/// <param name="EndedMs">When it ended.</param>
/// <param name="Bytes">The size of the file; 0: it failed.</param>
/// <param name="Failure">Why it failed; null: it succeeded.</param>
internal readonly record struct SaveRecord(long BeganMs, long EndedMs, long Bytes, string? Failure);
