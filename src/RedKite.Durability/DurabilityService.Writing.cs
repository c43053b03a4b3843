using System.Diagnostics;
using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.Server.Logging;
using RedKite.Server.Sessions;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Durability;

/// <content>What writes all data for others: for replicas, for backups, and as the base of an append-only file.</content>
internal sealed partial class DurabilityService
{
    private long _flushes; // all data was removed this often; changed with all stripes and _committing locked
    private long _reloads; // DEBUG RELOAD wrote the file this often; the same

    /// <summary>Begins work that writes a snapshot on another thread, unless one is being written.</summary>
    /// <param name="thread">The thread's name.</param>
    /// <param name="work">The work.</param>
    internal bool TryBegin(string thread, Action work)
    {
        if (!TryTakeSaving(SavingUse.Other, out _, waitMsMax: 0)) return false;
        _cancelsSave = false;
        Run(thread, work);
        return true;
    }

    /// <summary>Writes all data as the base of an append-only file, on the thread of <see cref="TryBegin(string, Action)"/>. The caller ends it.</summary>
    /// <param name="writer">Receives the data.</param>
    /// <param name="atSnapshotPoint">Called with all stripes locked.</param>
    internal void WriteBase(RdbFileWriter writer, Action atSnapshotPoint)
    {
        writer.Begin(NewInfo(isLogBase: true));
        WriteInBackground(writer, atSnapshotPoint);
    }

    /// <summary>Writes some of the data of one moment, on the thread of <see cref="TryBegin(string, Action)"/>. The caller ends it.</summary>
    /// <param name="writer">Receives the data.</param>
    /// <param name="range">What of the data; what is no key is written in any case.</param>
    /// <param name="atSnapshotPoint">Called with all stripes locked.</param>
    internal void WriteRange(RdbFileWriter writer, SnapshotRange range, Action atSnapshotPoint)
    {
        writer.Begin(NewInfo(isLogBase: false));
        WriteInBackground(writer, atSnapshotPoint, range: range);
    }

    /// <inheritdoc/>
    public void WriteSlots(RdbFileWriter writer, SlotSet slots, Action atSnapshotPoint) =>
        WriteRange(writer, new SnapshotRange { Keys = key => slots.Contains(KeySlot.Of(key)) }, atSnapshotPoint);

    /// <inheritdoc/>
    public bool TryBarrier(Func<bool> givesUp)
    {
        // Threads that sleep at a lock look at a flag alone.
        var isOver = new WaitFlag();
        using var watch = new Timer(
            _ =>
            {
                if (isOver.IsUp || !givesUp()) return;
                isOver.Raise();
                _keyspace.Scripts.WakeAll();
            },
            state: null,
            ScriptPollMs,
            ScriptPollMs);
        if (!TryEnterWhole(givesUp, out ScriptMutexHold hold, isOver: isOver)) return false;
        bool hasPassed = true;
        foreach (Stripe stripe in _keyspace.Stripes)
        {
            // One at a time: a command that holds one for long keeps no other one from clients.
            hasPassed = stripe.EnterOrGiveWay(isOver);
            if (!hasPassed) break;
            stripe.Exit();
        }

        ExitWhole(hold);
        return hasPassed;
    }

    /// <summary>Begins to write all data to replicas on another thread, unless a snapshot is being written.</summary>
    public bool TryBeginSynchronization(Action work)
    {
        if (!TryTakeSaving(SavingUse.Synchronization, out _, waitMsMax: 0)) return false;
        _cancelsSave = false;
        Run("redkite-sync", work);
        return true;
    }

    /// <summary>Writes all data to replicas, on the thread of <see cref="TryBeginSynchronization"/>. The caller ends it.</summary>
    /// <param name="writer">Receives the data.</param>
    /// <param name="atSnapshotPoint">Called with all stripes locked; returns the position in the stream that the data belongs to.</param>
    public void WriteForReplicas(RdbFileWriter writer, Func<RdbReplication> atSnapshotPoint, int version) => WriteInBackground(writer, () => Begin(writer, atSnapshotPoint, version), version);

    /// <summary>As <see cref="WriteForReplicas"/>, without keys.</summary>
    public void WriteKeylessForReplicas(RdbFileWriter writer, bool withRecords, Func<RdbReplication> atSnapshotPoint, int version)
    {
        List<KeylessRecord> keyless = [];
        WithAllLocked(() =>
        {
            Begin(writer, atSnapshotPoint, version);
            if (withRecords) keyless = _keyless.Records;
        });
        KeylessData.Write(writer, keyless);
    }

    private void Begin(RdbFileWriter writer, Func<RdbReplication> atSnapshotPoint, int version) => writer.Begin(NewInfo(isLogBase: false) with { Replication = atSnapshotPoint(), Version = version });

    private void WriteLocked(DumpFile file, Action atSnapshotPoint)
    {
        ScriptMutexHold hold = EnterWhole();
        try
        {
            WriteWhole(file, atSnapshotPoint);
        }
        finally
        {
            ExitWhole(hold);
        }
    }

    private void WriteWhole(DumpFile file, Action atSnapshotPoint)
    {
        using var values = new EntryWriter(_settings, () => _clock.NowMs);
        using LockScope locked = _keyspace.LockAll();
        atSnapshotPoint();
        BlockingSnapshot.Write(file.Writer, _keyspace, values, _keyless.Records);
    }

    private TimeSpan WithAllLocked(Action action)
    {
        ScriptMutexHold hold = EnterWhole();
        try
        {
            long start = Stopwatch.GetTimestamp();
            using (_keyspace.LockAll()) action();
            return Stopwatch.GetElapsedTime(start);
        }
        finally
        {
            ExitWhole(hold);
        }
    }

    // A stop does not wait for a script that a snapshot waits for.
    private ScriptMutexHold EnterWhole() =>
        TryEnterWhole(() => _stops || _hasEnded, out ScriptMutexHold hold) ? hold : throw new FileFailure("save", "the data", FileFailure.Canceled);

    // Takes what precedes all stripes: nothing of a primary's stream is half executed, and no script runs, whose mutex also guards what is no key. One that runs
    // for long is waited for, unless the caller gives up; one that no threshold makes busy, only by polls or a flag.
    private bool TryEnterWhole(Func<bool> givesUp, out ScriptMutexHold hold, bool polls = false, WaitFlag? isOver = null)
    {
        hold = new ScriptMutexHold(_keyspace.Scripts);
        while (!_replication.Applying.TryEnter(ScriptPollMs))
        {
            if (givesUp()) return false;
        }

        while (!(polls ? hold.TryBegin(Stopwatch.GetTimestamp()) : hold.Begin(Stopwatch.GetTimestamp(), isOver)))
        {
            if (givesUp())
            {
                _replication.Applying.Exit();
                return false;
            }

            Thread.Sleep(ScriptPollMs);
        }

        return true;
    }

    private void ExitWhole(ScriptMutexHold hold)
    {
        hold.End();
        _replication.Applying.Exit();
    }

    /// <summary>
    /// Notes that FLUSHALL has removed all data: a save in progress ends without a file, and with save points the dump file becomes one without keys, so
    /// that a crash does not bring them back. The caller holds the script mutex and every stripe, also while the disk syncs, as a reply must not precede the file.
    /// </summary>
    internal void NoteFlushed()
    {
        if (_isReceiving || Loading.IsRunning) return; // what is loaded is saved afterwards
        if (_dumpsInBackground)
        {
            _cancelsSave = true;
            _running?.Abort();
        }

        lock (_committing)
        {
            _flushes++;
            if (_settings.SavePoints.Length == 0) return;
            try
            {
                using var file = new DumpFile(Files, _settings.DirectoryPath, Options, "temp-flush");
                file.Writer.Begin(NewInfo(isLogBase: false)); // without a position in the stream: FLUSHALL has none yet, and a replica at the position before it has its keys
                KeylessData.Write(file.Writer, _keyless.Records);
                Unloaded.Keep(keys: 0);
                file.Commit(_settings.DumpFileName);
            }
            catch (FileFailure failure)
            {
                _log.Warning(LogEvents.SaveFailed, $"The dump file still has the data that FLUSHALL has removed: {failure.Message}");
                return;
            }
        }

        Saves.NoteFlushed(_clock.NowMs, _host.Changes);
        _gate.Accept(WriteRefusal.Snapshot);
    }

    // As in Redis, FLUSHALL ends a save in the background. SAVE precedes it: with save points the file is already the newer one of the flush; without any,
    // what was flushed stays in the file that SAVE has promised.
    // DEBUG RELOAD has loaded its file, and counts as saved what is in that: an older one does not replace it.
    private void Commit(DumpFile file, long flushes, long reloads, long keys, bool isInBackground)
    {
        file.End();
        lock (_committing)
        {
            if (reloads != _reloads || (flushes != _flushes && (isInBackground || _settings.SavePoints.Length > 0))) throw new FileFailure("write", "the snapshot", FileFailure.Canceled);
            Unloaded.Keep(keys);
            file.Commit(_settings.DumpFileName);
        }
    }

    /// <summary>Begins or ends the append-only file, as the setting says now.</summary>
    /// <returns>The thread that ends it; null: none does.</returns>
    internal Thread? ApplyAppendOnly()
    {
        if (_settings.AppendOnly)
        {
            if (Log.Log is null) BeginRewrite();
            return null;
        }

        Log.EndWaits(); // as in Redis, although the log that ends is synced
        var thread = new Thread(EndLog) { Name = "redkite-log-end", IsBackground = true };
        thread.Start();
        return thread;
    }
}
