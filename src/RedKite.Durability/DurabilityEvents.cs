using RedKite.Persistence.Log;
using RedKite.Server.Config;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Server.Sessions;

namespace RedKite.Server.Durability;

/// <summary>
/// Puts what durability does on the timeline, and what took long into LATENCY's record: saves, rewrites, the append-only file, and
/// commands that write and must wait or are refused. On the threads that do it.
/// </summary>
internal sealed class DurabilityEvents
{
    // Shorter ones say nothing about the disk, and would push other events off the timeline.
    private const int SlowSyncMs = 1000;
    private const int SlowAlwaysSyncMs = 100; // every reply waits for it

    private readonly SavingLocks _locks;
    private readonly Settings _settings;
    private readonly Timeline _timeline;
    private readonly LatencyMonitor _latency;
    private readonly ServerClock _clock;

    internal DurabilityEvents(ServerCore core, SavingLocks locks)
    {
        _locks = locks;
        _settings = core.Settings;
        _timeline = core.Timeline;
        _latency = core.LatencyMonitor;
        _clock = core.Clock;
        core.WriteGate.RefusalChanged += OnRefusalChanged;
        core.WriteGate.Paused += OnWritesPaused;
    }

    internal void OnBegan(bool isRewrite) => Add(isRewrite ? TimelineKind.RewriteBegan : TimelineKind.SaveBegan);

    internal void OnEnded(SaveRecord record, bool isRewrite)
    {
        if (isRewrite) AddEnd(record, TimelineKind.Rewritten, TimelineKind.RewriteFailed);
        else AddEnd(record, TimelineKind.Saved, TimelineKind.SaveFailed);
    }

    private void Add(TimelineKind kind, TimeSpan elapsed = default, string detail = "") =>
        _timeline.Add(kind, _clock.NowMs, (long)elapsed.TotalMicroseconds, detail);

    private void AddEnd(SaveRecord record, TimelineKind succeeded, TimelineKind failed) =>
        Add(record.Failure is null ? succeeded : failed, TimeSpan.FromMilliseconds(record.EndedMs - record.BeganMs), record.Failure ?? $"{record.Bytes} bytes");

    internal void OnLogChanged(LogChange change, string detail) => Add(
        change switch
        {
            LogChange.Began => TimelineKind.LogBegan,
            LogChange.Ended => TimelineKind.LogEnded,
            LogChange.Recovered => TimelineKind.LogRecovered,
            _ => TimelineKind.LogFailed,
        },
        detail: detail);

    private void OnRefusalChanged(WriteRefusal cause) =>
        Add(cause == WriteRefusal.None ? TimelineKind.WritesAccepted : TimelineKind.WritesRefused, detail: cause switch
        {
            WriteRefusal.Snapshot => "the last save failed",
            WriteRefusal.Log or WriteRefusal.NoLog => "the append-only file cannot be written",
            _ => "",
        });

    private void OnWritesPaused(TimeSpan elapsed)
    {
        if (elapsed.TotalNanoseconds >= Timeline.NoticeableNs) Add(TimelineKind.WritesHeld, elapsed);
    }

    // LATENCY's name is Redis's: there, forking is what stops all commands when a snapshot begins.
    internal void OnSnapshotPoint(TimeSpan elapsed)
    {
        AddLatency("fork", elapsed);
        if (elapsed.TotalNanoseconds >= Timeline.NoticeableNs) Add(TimelineKind.SnapshotPoint, elapsed);
    }

    internal void OnWritten(TimeSpan elapsed, LogSyncFigures syncs)
    {
        if (elapsed.TotalNanoseconds < _latency.ThresholdNs) return;
        bool isSyncing = syncs.Current > TimeSpan.Zero;
        AddLatency(isSyncing ? "aof-write-pending-fsync" : _locks.AreHeld ? "aof-write-active-child" : "aof-write-alone", elapsed);
        AddLatency("aof-write", elapsed);
    }

    internal void OnSynced(TimeSpan elapsed)
    {
        bool isAlways = _settings.AppendFsync == FsyncPolicy.Always;
        if (isAlways) AddLatency("aof-fsync-always", elapsed);
        if (elapsed.TotalMilliseconds >= (isAlways ? SlowAlwaysSyncMs : SlowSyncMs)) Add(TimelineKind.SlowSync, elapsed);
    }

    private void AddLatency(string name, TimeSpan elapsed)
    {
        long ns = (long)elapsed.TotalNanoseconds;
        if (ns >= _latency.ThresholdNs) _latency.Add(name, _clock.NowMs, ns);
    }
}
