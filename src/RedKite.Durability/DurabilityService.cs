using System.Globalization;
using RedKite.Persistence.Aof;
using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.Server.Config;
using RedKite.Server.Logging;
using RedKite.Server.Model;
using RedKite.Server.Replication;
using RedKite.Server.Sessions;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Durability;

/// <summary>
/// What a server keeps on the disk: it loads the data at the start, saves it to the dump file, and owns the append-only file.
/// </summary>
/// <remarks>
/// One snapshot in the background at a time (<see cref="SavingLocks"/>). Files change in an order that leaves a loadable state at each moment
/// (<see cref="FileReplacement"/>, <see cref="AofFolder"/>).
/// </remarks>
internal sealed partial class DurabilityService : IReplicatedData
{
    internal const int ScriptPollMs = 20;
    private const int SavePollMs = 1;
    private const int ReleaseMsMax = 1000;
    private const long RepairPauseMs = 1000;
    private const long RepairPauseMsMax = 60_000;
    private const int RetryMs = 5000; // after a failed save, as in Redis

    private readonly IDurabilityHost _host;
    private readonly DurabilityEvents _events;
    private readonly ReplicationState _replication; // its lock Applying is held at the snapshot point, outside of everything else: nothing of a primary's stream is half executed then
    private readonly Settings _settings;
    private readonly Keyspace _keyspace;
    private readonly ServerClock _clock;
    private readonly ServerLog _log;
    private readonly WriteGate _gate;
    private readonly KeylessData _keyless;
    private readonly DataLoader _loader;
    private readonly SavingLocks _locks = new();
    private volatile SavingUse _use; // what holds the lock Saving
    private string? _dumpToLoad; // at the start; null: none
    private volatile bool _isReceiving; // the data is replaced by a primary's
    private readonly Lock _committing = new();
    private volatile bool _dumpsInBackground;
    private volatile BackgroundSnapshot? _running;
    private long _snapshotPointsAtReset;
    private long _savesAtReset;
    private volatile bool _saveIsScheduled;
    private volatile bool _cancelsSave;
    private volatile bool _rewriteIsScheduled;
    private volatile bool _stops;
    private volatile bool _hasEnded; // a thread that enters a semaphore afterwards releases it and does nothing

    /// <param name="core">The server.</param>
    /// <param name="host">What durability asks of it.</param>
    /// <param name="files">The file system; null: the disk.</param>
    /// <param name="loadAdvanced">Receives the progress of loading at the start; null: nothing does.</param>
    internal DurabilityService(ServerCore core, IDurabilityHost host, IFiles? files = null, Action<long, long, long>? loadAdvanced = null)
    {
        _host = host;
        _gate = core.WriteGate;
        _settings = core.Settings;
        _keyspace = core.Keyspace;
        _clock = core.Clock;
        _log = core.Log;
        _replication = core.Replication;
        _events = new DurabilityEvents(core, _locks);
        _keyless = core.Keyless;
        Files = files ?? DiskFiles.Instance;
        Log = new LogKeeper(core, host, _events, Files);
        Unloaded = new UnloadedDump(Files, _log, _keyless, () => DumpPath);
        Saves = new SaveHistory(_clock.NowMs, _events, isRewrite: false);
        Rewrites = new SaveHistory(_clock.NowMs, _events, isRewrite: true);
        Loading = new LoadProgress(loadAdvanced);
        _loader = new DataLoader(core, Files, Log.Folder, Loading);
    }

    /// <summary>The file system.</summary>
    public IFiles Files { get; }

    /// <summary>The append-only file.</summary>
    internal LogKeeper Log { get; }

    /// <summary>A dump file that is not this server's.</summary>
    internal UnloadedDump Unloaded { get; }

    /// <summary>Rewrites of the append-only file so far.</summary>
    internal SaveHistory Rewrites { get; }

    public bool LogLacksData => Log.LacksData;

    public bool IsSynced(ISyncedLog? log, long position) => Log.IsSynced(log, position);

    /// <summary>The position in a stream that the files had which were loaded at the start; null: none.</summary>
    internal RdbReplication? LoadedPosition { get; private set; }

    /// <summary>Saves so far.</summary>
    internal SaveHistory Saves { get; }

    /// <summary>What was loaded at the start, and the progress while it is.</summary>
    internal LoadProgress Loading { get; }

    /// <summary>Changes that the dump file does not have yet.</summary>
    internal long ChangesSinceSave => Math.Max(0, _host.Changes - Saves.ChangesSaved);

    internal string DumpPath => Path.Combine(_settings.DirectoryPath, _settings.DumpFileName);

    /// <summary>Checks that what the settings promise can be kept: the folder can be written to.</summary>
    /// <exception cref="RedKiteConfigException">It cannot.</exception>
    internal void CheckAtStart()
    {
        CheckBackupFolder();
        if (_settings.SavePoints.Length == 0 && !_settings.AppendOnly) return;
        string probe = Path.Combine(_settings.DirectoryPath, $"temp-{Environment.ProcessId}.probe");
        try
        {
            Files.Create(probe).Dispose();
            Files.Delete(probe);
        }
        catch (FileFailure failure) when (failure.IsFull)
        {
            _log.Warning(LogEvents.SaveFailed, $"The disk of '{_settings.DirectoryPath}' (setting dir) is full: {failure.Message}. The server starts nevertheless; what cannot be kept on the disk will be refused.");
        }
        catch (FileFailure failure)
        {
            throw new RedKiteConfigException($"The data cannot be saved in '{_settings.DirectoryPath}' (setting dir): {failure.Reason}. Choose another folder, or switch saving off with --save \"\" --appendonly no.");
        }
    }

    private void CheckBackupFolder()
    {
        try
        {
            string backup = Files.RealPath(Path.Combine(_settings.DirectoryPath, _settings.BackupDirectoryName));
            if (BackupFolder.UseOf(Files, backup, _settings.DirectoryPath, Log.Folder.FolderPath) is not { } use) return;
            throw new RedKiteConfigException($"The folder '{_settings.BackupDirectoryName}' (setting backupdirname) is {use}. Choose another name for one of them.");
        }
        catch (FileFailure)
        {
            // A path that cannot be followed is an error when a backup begins.
        }
    }

    /// <summary>
    /// Decides by the settings of now what the start loads, and whether it begins a log. Called once, before there are clients: they may change the settings and
    /// write files while the server starts, which concerns what follows.
    /// </summary>
    /// <returns>Whether there is something to load, or a log to begin: no client may use keys before.</returns>
    internal bool PlanStart()
    {
        BeginsLog = _settings.AppendOnly;
        _dumpToLoad = !BeginsLog && Files.FileExists(DumpPath) ? DumpPath : null;
        return BeginsLog || _dumpToLoad is not null;
    }

    /// <summary>Whether the start begins a log.</summary>
    internal bool BeginsLog { get; private set; }

    /// <summary>Loads the data that the settings name: the append-only file if it is in use, otherwise the dump file.</summary>
    /// <param name="replay">Executes the log's commands.</param>
    /// <param name="loadKeyless">Loads what is no key, and returns what is wrong with it.</param>
    /// <param name="commands">The commands that there are.</param>
    /// <param name="cancellation">Ends loading early.</param>
    /// <exception cref="IOException">A file is damaged.</exception>
    /// <exception cref="FileFailure">A file cannot be read.</exception>
    internal void Load(RequestReplay replay, Func<KeylessRecord, string?> loadKeyless, CommandTable commands, CancellationToken cancellation)
    {
        LoadedData data = _loader.Begin(loadKeyless);
        if (BeginsLog)
        {
            AofManifest manifest = Log.Open();
            if (!manifest.Files.Any()) Unloaded.NoteIgnored();
            else LoadedPosition = _loader.LoadLog(manifest, data, new LogReplay(replay, commands), cancellation);
        }
        else if (_dumpToLoad is { } path)
        {
            using IOpenFile file = Files.OpenRead(path);
            _loader.LoadDump(file, data, () => ExpiryOf(LoadedPosition = RdbReplication.In(file)), cancellation);
            Unloaded.NoteKnown();
        }
    }

    // What has expired is removed by the primary that this server follows; or, if replicas have it too, by this one, so that they hear of it.
    private ExpiryClock ExpiryOf(RdbReplication? position) =>
        _settings.ReplicaOf.Length > 0 || position is not null ? ExpiryClock.Never : ExpiryClock.RemovingAt(_clock.NowMs);

    /// <summary>Leaves what is on the disk alone instead of loading it; a log begins anew.</summary>
    /// <exception cref="FileFailure">The log's folder cannot be read.</exception>
    internal void LeaveData()
    {
        Unloaded.NoteKnown();
        if (BeginsLog) Log.OpenAnew();
        if (BeginsLog ? Log.Manifest.Files.Any() : _dumpToLoad is not null) _log.Warning(LogEvents.DataNotLoaded, $"The data in '{_settings.DirectoryPath}' is not loaded, because the host wants an empty server; what is saved replaces it.");
    }

    /// <summary>After the data became another than that of the append-only file: has a base written, if there is one.</summary>
    internal void NoteOtherData()
    {
        Log.NoteOtherData();
        _rewriteIsScheduled |= Log.Log is not null;
        _host.DataReplaced();
    }

    /// <summary>After loading: begins the append-only file, if that was planned. What the setting says now is applied by <see cref="ApplyAppendOnly"/>.</summary>
    internal void Begin()
    {
        if (BeginsLog || _dumpToLoad is not null) Saves.NoteLoaded(_clock.NowMs, _host.Changes); // otherwise clients may have written already
        if (!BeginsLog) return;
        try
        {
            Log.Start(file =>
            {
                file.Writer.Begin(NewInfo(isLogBase: true));
                WriteLocked(file, () => { });
            });
        }
        catch (FileFailure failure) when (failure.IsFull)
        {
            Log.RefuseWrites(failure); // reads are served; Tick begins the log when there is room
        }
    }

    private long CountKeys()
    {
        long keys = 0;
        foreach (Database database in _keyspace.Databases) keys += database.Count;
        return keys;
    }

    // The keys, and how long they take at the speed of the last save or of loading.
    private string Estimate()
    {
        long keys = CountKeys();
        (long known, double ms) = Saves.LastKeys > 0 ? (Saves.LastKeys, Saves.LastDurationMs) : (Loading.Keys, Loading.Elapsed(_clock.NowMs).TotalMilliseconds);
        string time = known == 0 ? "" : string.Create(CultureInfo.InvariantCulture, $", about {Math.Ceiling(Math.Max(1, ms) * keys / known / 1000):0} s at the speed of the last {(Saves.LastKeys > 0 ? "save" : "load")}");
        return string.Create(CultureInfo.InvariantCulture, $" {keys} keys{time}.");
    }

    /// <summary>
    /// Saves all data to the dump file, while nothing else is executed. The current thread holds neither the script mutex nor a stripe. It
    /// waits for another thread that does the same.
    /// </summary>
    /// <param name="givesUp">Whether the save is given up, asked for while it waits for other threads' scripts and saves.</param>
    /// <param name="failure">What failed; null: nothing, or it was given up.</param>
    /// <returns>False: the data is being saved in the background, or sent to replicas.</returns>
    internal bool TrySave(Func<bool> givesUp, out FileFailure? failure)
    {
        failure = null;
        if (_use == SavingUse.Synchronization) return false; // as in Redis, whose child writes an RDB file for the replicas
        while (!_locks.Dumping.Wait(SavePollMs))
        {
            if (_dumpsInBackground && Saves.BeganMs != 0) return false; // if INFO already shows the end, the lock is about to be released
            if (givesUp()) return true;
        }

        try
        {
            if (_hasEnded) return false;
            if (!TryEnterWhole(givesUp, out ScriptMutexHold hold)) return true;
            failure = SaveEntered(hold);
            return true;
        }
        finally
        {
            _locks.Dumping.Release();
        }
    }

    // Ends what TryEnterWhole has begun when the snapshot is written: scripts do not wait for the disk.
    private FileFailure? SaveEntered(ScriptMutexHold hold)
    {
        bool isEntered = true;
        try
        {
            return Save((file, atSnapshotPoint) =>
            {
                WriteWhole(file, atSnapshotPoint);
                isEntered = false;
                ExitWhole(hold);
            });
        }
        finally
        {
            if (isEntered) ExitWhole(hold);
        }
    }

    // As in Redis, only a save in the background that failed refuses writes; any that succeeds ends that.
    private FileFailure? Save(Action<DumpFile, Action> writeSnapshot, bool isInBackground = false)
    {
        Saves.Begin(_clock.NowMs);
        try
        {
            long changes = 0, keys = 0, flushes = 0, reloads = 0;
            using var file = new DumpFile(Files, _settings.DirectoryPath, Options);
            writeSnapshot(file, () =>
            {
                (changes, keys, flushes, reloads) = (_host.Changes, CountKeys(), _flushes, _reloads);
                file.Writer.Begin(NewInfo(isLogBase: false) with { Replication = _host.Position });
            });
            Commit(file, flushes, reloads, keys, isInBackground);
            Saves.NoteCommitted(keys);
            if (isInBackground) NoteEnding();
            Saves.Succeed(_clock.NowMs, changes, file.Bytes, isInBackground);
            _gate.Accept(WriteRefusal.Snapshot);
            _log.Notice(LogEvents.SaveDone, FormattableString.Invariant($"DB saved on disk: {file.Bytes} bytes in {Saves.LastDurationMs / 1000.0:0.000} seconds"));
            return null;
        }
        catch (FileFailure failure) when (failure.Error == FileFailure.Canceled)
        {
            if (isInBackground) NoteEnding();
            Saves.Cancel(_clock.NowMs);
            _log.Notice(LogEvents.SaveAborted, "Background saving was aborted");
            return null; // of a save that is waited for: FLUSHALL came right behind it
        }
        catch (FileFailure failure)
        {
            if (isInBackground && _settings.StopWritesOnBgsaveError && _settings.SavePoints.Length > 0) _gate.Refuse(WriteRefusal.Snapshot); // before INFO shows the failure
            if (isInBackground) NoteEnding();
            Saves.Fail(_clock.NowMs, failure.Message, isInBackground);
            _log.Warning(LogEvents.SaveFailed, $"The data could not be saved: {failure.Message}");
            return failure;
        }
    }

    /// <summary>Applies the settings by which a failed save in the background refuses writes.</summary>
    internal void ApplySaveSettings()
    {
        if (_settings.StopWritesOnBgsaveError && _settings.SavePoints.Length > 0 && Saves.BackgroundFailure is not null) _gate.Refuse(WriteRefusal.Snapshot);
        else _gate.Accept(WriteRefusal.Snapshot);
    }

    /// <summary>Begins to save to the dump file on another thread.</summary>
    /// <param name="schedules">Whether it is saved later if the append-only file is being rewritten.</param>
    internal BackgroundStart BeginSave(bool schedules)
    {
        if (!TryTakeSaving(SavingUse.Save, out SavingUse other))
        {
            if (other is SavingUse.Save or SavingUse.Synchronization || Saves.BeganMs != 0) return BackgroundStart.SaveInProgress;
            if (!schedules) return BackgroundStart.RewriteInProgress;
            _saveIsScheduled = true;
            return BackgroundStart.Scheduled;
        }

        if (!_locks.Dumping.Wait(0))
        {
            ReleaseSaving();
            return BackgroundStart.SaveInProgress;
        }

        _cancelsSave = false;
        _dumpsInBackground = true; // from here on it can be cancelled
        Saves.Begin(_clock.NowMs);
        Run("redkite-save", () =>
        {
            Save((file, atSnapshotPoint) => WriteInBackground(file.Writer, atSnapshotPoint), isInBackground: true);
            _dumpsInBackground = false;
            _locks.Dumping.Release();
        });
        return BackgroundStart.Started;
    }

    /// <summary>Ends the save in progress in the background without a file, or forgets the one that is scheduled.</summary>
    internal SaveCancellation CancelSave()
    {
        if (_dumpsInBackground)
        {
            _log.Notice(LogEvents.SaveAborted, "Background saving will be aborted due to user request");
            _cancelsSave = true;
            _running?.Abort();
            return SaveCancellation.Canceled;
        }

        if (!_saveIsScheduled) return SaveCancellation.Nothing;
        _saveIsScheduled = false;
        return SaveCancellation.Unscheduled;
    }

    /// <summary>Whether the snapshot in progress ends without a file. For tests.</summary>
    internal bool AbortsSave => _running is { IsAborted: true };

    /// <summary>Begins to rewrite the append-only file on another thread; without one in use, to begin one if the settings want it.</summary>
    internal BackgroundStart BeginRewrite()
    {
        if (!TryTakeSaving(SavingUse.Rewrite, out SavingUse other))
        {
            if (other == SavingUse.Rewrite) return BackgroundStart.RewriteInProgress;
            _rewriteIsScheduled = true;
            return BackgroundStart.Scheduled;
        }

        _cancelsSave = false;
        Rewrites.Begin(_clock.NowMs);
        Run("redkite-rewrite", Rewrite);
        return BackgroundStart.Started;
    }

    // A loop comes here: it waits for nothing but a holder that is about to name itself, or whose end INFO shows already.
    private bool TryTakeSaving(SavingUse use, out SavingUse other, int waitMsMax = ReleaseMsMax)
    {
        other = SavingUse.Other;
        for (int waitedMs = 0; !_locks.Saving.Wait(0); waitedMs += SavePollMs)
        {
            other = _use;
            if (other != SavingUse.Changing || waitedMs >= waitMsMax) return false;
            SavingPolls++;
            if (_locks.Saving.Wait(SavePollMs)) break;
        }

        _use = use;
        if (!_hasEnded) return true;
        ReleaseSaving();
        return false;
    }

    // Not on a loop's thread: waits for whatever holds it.
    private void EnterSaving(CancellationToken cancellation)
    {
        _locks.Saving.Wait(cancellation);
        _use = SavingUse.Other;
    }

    // The caller has the semaphore.
    private void ReleaseSaving()
    {
        _use = SavingUse.Changing;
        _locks.Saving.Release();
    }

    // Before INFO shows the end of what holds the semaphore: what is asked for behind that is not refused because of it.
    private void NoteEnding() => _use = SavingUse.Changing;

    /// <inheritdoc/>
    public long ExecutedCommands => _host.Commands;

    /// <summary>Whether commands wait for the snapshot that is being written.</summary>
    public bool SnapshotIsAwaited => _running is { IsAwaited: true };

    /// <summary>Whether the snapshot ends without having been written.</summary>
    public bool SnapshotEnds => _stops || _running is { Fails: true };

    // A rewrite in progress ends first: it may be about to begin the log.
    private void EndLog()
    {
        EnterSaving(CancellationToken.None);
        try
        {
            if (!_settings.AppendOnly && !_hasEnded) Log.Stop();
        }
        finally
        {
            ReleaseSaving();
        }

        // Switched on again while the log ended: ApplyAppendOnly still saw that log.
        if (_settings.AppendOnly && Log.Log is null) BeginRewrite();
    }

    private void Rewrite()
    {
        try
        {
            Log.Rewrite((file, atSnapshotPoint) => WriteBase(file.Writer, atSnapshotPoint));
            NoteEnding();
            Rewrites.Succeed(_clock.NowMs, changes: 0, Log.BaseBytes);
            _log.Notice(LogEvents.RewriteDone, FormattableString.Invariant($"Background AOF rewrite finished successfully: {Log.BaseBytes} bytes in {Rewrites.LastDurationMs / 1000.0:0.000} seconds"));
        }
        catch (FileFailure failure)
        {
            NoteEnding();
            Rewrites.Fail(_clock.NowMs, failure.Message);
            _log.Warning(LogEvents.RewriteFailed, $"The append-only file could not be rewritten: {failure.Message}");
        }
    }

    private void Run(string name, Action work)
    {
        var thread = new Thread(() =>
        {
            Log.IsSnapshotRunning = true;
            try
            {
                work();
            }
            finally
            {
                Log.IsSnapshotRunning = false;
                ReleaseSaving();
            }
        })
        { Name = name, IsBackground = true };
        thread.Start();
    }

    private void WriteInBackground(RdbFileWriter writer, Action atSnapshotPoint, int version = RdbFormat.Version, SnapshotRange? range = null)
    {
        using var snapshot = new BackgroundSnapshot(_keyspace, _settings, _gate, () => _clock.NowMs, Bounds, version) { Range = range ?? SnapshotRange.All };
        LastSnapshotPoint = WithAllLocked(() =>
        {
            atSnapshotPoint();
            snapshot.Capture(_keyless.Records);
            SnapshotPointReached?.Invoke();
        });
        SnapshotPoints++;
        _events.OnSnapshotPoint(LastSnapshotPoint);
        _running = snapshot;
        try
        {
            Interlocked.MemoryBarrier(); // who cancels sets its flag, and then looks at the field
            if (_cancelsSave || _stops || _hasEnded) snapshot.Abort();
            snapshot.Write(writer, () => ExecutedCommands);
        }
        finally
        {
            _running = null;
        }
    }

    /// <summary>The bounds of background snapshots, for tests.</summary>
    internal SnapshotBounds Bounds { get; set; } = SnapshotBounds.Default;

    /// <summary>How long all stripes were locked at the last cut of a snapshot in the background, waiting for them included.</summary>
    internal TimeSpan LastSnapshotPoint { get; private set; }

    /// <summary>Cuts of snapshots that were written while commands went on.</summary>
    internal long SnapshotPoints { get; private set; }

    /// <summary>The same since the last CONFIG RESETSTAT.</summary>
    internal long SnapshotPointsSinceReset => SnapshotPoints - Volatile.Read(ref _snapshotPointsAtReset);

    /// <summary>Saves since then; as in Redis, those that failed count.</summary>
    internal long SavesSinceReset => Saves.Count + Saves.Failures - Volatile.Read(ref _savesAtReset);

    /// <summary>CONFIG RESETSTAT.</summary>
    internal void ResetCounts()
    {
        Volatile.Write(ref _snapshotPointsAtReset, SnapshotPoints);
        Volatile.Write(ref _savesAtReset, Saves.Count + Saves.Failures);
        Saves.ResetFailuresInARow();
        Log.Totals.ResetDelayedSyncs();
    }

    /// <summary>How often a request for a snapshot has waited for the end of another one that INFO did not show any more. For tests, of one thread.</summary>
    internal long SavingPolls { get; private set; }

    /// <summary>Called at a snapshot's point, with all stripes locked. For tests.</summary>
    internal event Action? SnapshotPointReached;

    /// <summary>The keys that the snapshot in progress has written, and all of its keys; 0: none is in progress.</summary>
    internal (long Written, long All) Progress => _running is { } snapshot ? (snapshot.WrittenKeys, snapshot.Keys) : default;

    /// <summary>Bytes of old values that wait to be written to the snapshot in progress.</summary>
    internal long SideBytes => _running?.SideBytes ?? 0;

    /// <summary>Begins what is due: saves of save points and scheduled ones, and rewrites because of growth. Once a second.</summary>
    internal void Tick(long nowMs)
    {
        if (IsSaving || Loading.IsRunning) return;
        if (_rewriteIsScheduled)
        {
            _rewriteIsScheduled = false;
            BeginRewrite();
            return;
        }

        if (_saveIsScheduled || IsSaveDue(nowMs))
        {
            _saveIsScheduled = false;
            if (BeginSave(schedules: true) != BackgroundStart.Started) _saveIsScheduled = true; // another loop may have begun a synchronization
            return;
        }

        if (IsRewriteDue(nowMs) || IsRepairDue(nowMs)) BeginRewrite();
    }

    private bool IsSaveDue(long nowMs)
    {
        if (Saves.BackgroundFailure is not null && nowMs - Saves.LastEndedMs < RetryMs) return false;
        long changes = ChangesSinceSave;
        foreach (SavePoint point in _settings.SavePoints)
        {
            if (changes < Math.Max(1, point.Changes) || nowMs - Saves.LastSavedMs <= point.Seconds * 1000) continue;
            _log.Notice(LogEvents.SaveBegun, FormattableString.Invariant($"{point.Changes} changes in {point.Seconds} seconds. Saving..."));
            return true;
        }

        return false;
    }

    // After a failed sync, or if the data became another, only a new base makes the log whole again; a log that could not begin needs one, too. The pauses grow with each attempt.
    private bool IsRepairDue(long nowMs) =>
        (Log.Log is { } log ? log.Writer.LacksRecords || Log.LacksData : _settings.AppendOnly)
        && (Rewrites.ConsecutiveFailures == 0 || nowMs - Rewrites.LastEndedMs >= Math.Min(RepairPauseMs << (int)Math.Min(Rewrites.ConsecutiveFailures - 1, 10), RepairPauseMsMax));

    private bool IsRewriteDue(long nowMs)
    {
        if (Log.Log is null || _settings.AutoAofRewritePercentage == 0) return false;
        if (Rewrites.Failure is not null && nowMs - Rewrites.LastEndedMs < RetryMs) return false;
        long total = Log.TotalBytes, before = Math.Max(1, Log.RewrittenBytes);
        if ((ulong)total < _settings.AutoAofRewriteMinBytes) return false;
        long growth = (long)(((Int128)total * 100 / before) - 100);
        if (growth < _settings.AutoAofRewritePercentage) return false;
        _log.Notice(LogEvents.RewriteBegun, $"Starting automatic rewriting of AOF on {growth}% growth");
        return true;
    }

    /// <summary>Whether the append-only file will be rewritten when the save in progress has ended.</summary>
    internal bool RewriteIsScheduled => _rewriteIsScheduled;

    /// <summary>Whether a snapshot is being written.</summary>
    internal bool IsSaving => _locks.AreHeld;

    private DumpOptions Options => new(_settings.RdbCompression, _settings.RdbChecksum, _settings.RdbSaveIncrementalFsync);

    private RdbFileInfo NewInfo(bool isLogBase) => new()
    {
        RedisVersion = ServerVersion.DataFiles,
        CreatedSeconds = _clock.NowMs / 1000,
        UsedMemoryBytes = _keyspace.Budget.UsedBytes,
        IsLogBase = isLogBase,
    };
}
