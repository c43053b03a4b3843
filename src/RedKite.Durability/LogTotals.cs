using RedKite.Net;
using RedKite.Persistence.Log;

namespace RedKite.Server.Durability;

/// <summary>What the append-only file has written and synced since the server started. A thread of the log writes, any thread reads.</summary>
/// <param name="events">Notes what takes long; null: nothing does.</param>
internal sealed class LogTotals(DurabilityEvents? events = null)
{
    private long _bytes;
    private long _writes;
    private long _delayedSyncs;

    /// <summary>Bytes that were written.</summary>
    internal long Bytes => Volatile.Read(ref _bytes);

    /// <summary>Writes, each of everything that was complete.</summary>
    internal long Writes => Volatile.Read(ref _writes);

    /// <summary>The durations of syncs.</summary>
    internal LatencyHistogram Syncs { get; } = new();

    /// <summary>How often commands that write waited because a sync took long: aof_delayed_fsync.</summary>
    internal long DelayedSyncs => Volatile.Read(ref _delayedSyncs);

    /// <param name="bytes">What was written.</param>
    /// <param name="elapsed">How long it took.</param>
    /// <param name="syncs">The syncs of the same file.</param>
    internal void NoteWrite(long bytes, TimeSpan elapsed, LogSyncFigures syncs)
    {
        Volatile.Write(ref _bytes, _bytes + bytes);
        Volatile.Write(ref _writes, _writes + 1);
        events?.OnWritten(elapsed, syncs);
    }

    internal void NoteSync(TimeSpan elapsed)
    {
        Syncs.Record((long)elapsed.TotalNanoseconds, count: 1);
        events?.OnSynced(elapsed);
    }

    /// <summary>Counts delayed syncs from zero: CONFIG RESETSTAT.</summary>
    internal void ResetDelayedSyncs() => Interlocked.Exchange(ref _delayedSyncs, 0);

    internal void NoteDelayedSync() => Interlocked.Increment(ref _delayedSyncs);
}

/// <summary>What may happen to the append-only file.</summary>
internal enum LogChange
{
    /// <summary>A log is in use from now on.</summary>
    Began,

    /// <summary>The log was completed and is not used any more.</summary>
    Ended,

    /// <summary>A write failed: it is repeated.</summary>
    WriteFailed,

    /// <summary>A sync failed: a rewrite has to follow.</summary>
    SyncFailed,

    /// <summary>It works again.</summary>
    Recovered,
}
