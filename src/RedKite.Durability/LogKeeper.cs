using System.Text;
using RedKite.Persistence.Aof;
using RedKite.Persistence.Files;
using RedKite.Persistence.Log;
using RedKite.Persistence.Rdb;
using RedKite.Server.Changes;
using RedKite.Server.Config;
using RedKite.Server.Logging;
using RedKite.Server.Sessions;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Durability;

/// <summary>
/// The append-only file of a server: its folder, the log in use, and the order in which rewriting changes them.
/// </summary>
/// <remarks>
/// The manifest is changed by one thread at a time (<see cref="_changing"/>): that of a rewrite, or the log's when it goes on in a new file.
/// Each manifest that is on the disk names files from which everything can be loaded that was synced before.
/// </remarks>
internal sealed class LogKeeper(ServerCore core, IDurabilityHost host, DurabilityEvents events, IFiles files)
{
    /// <summary>The error of WAITAOF without a log.</summary>
    internal const string NoLogToWaitFor = "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.";

    private const int FlushPollMs = 20;

    private readonly Settings _settings = core.Settings;
    private readonly Keyspace _keyspace = core.Keyspace;
    private readonly ChangePublisher _changes = core.Changes;
    private readonly WriteGate _gate = core.WriteGate;
    private readonly ServerLog _serverLog = core.Log;
    private readonly Lock _changing = new();
    private readonly Lock _ending = new();
    private readonly Lock _applying = new();
    private readonly AofFolder _folder = new(files, core.Settings.DirectoryPath, core.Settings.AppendDirectoryName, core.Settings.AppendFileName);
    private AofManifest _manifest = AofManifest.Empty;
    private volatile AppendOnlyLog? _log;
    private volatile bool _couldNotBegin; // at the start: writes are refused
    private long _closedIncrementBytes; // of the increments before the current one
    private volatile bool _isSnapshotRunning;
    private bool _beginsAnew; // what is on the disk is not continued
    private long _replaced; // how often the data became another than that of the files
    private long _covered; // how many of these a base in force has

    /// <summary>The clients that wait for the log.</summary>
    internal SyncWaits Waits { get; } = new(host);

    /// <summary>The log in use; null: there is none.</summary>
    internal AppendOnlyLog? Log => _log;

    internal AofFolder Folder => _folder;

    /// <summary>The manifest. Its getter waits for nothing.</summary>
    internal AofManifest Manifest => Volatile.Read(ref _manifest);

    /// <summary>What all logs have written and synced.</summary>
    internal LogTotals Totals { get; } = new(events);

    /// <summary>The size of the base when it was written or loaded.</summary>
    internal long BaseBytes { get; private set; }

    /// <summary>The size of all files.</summary>
    internal long TotalBytes => BaseBytes + Interlocked.Read(ref _closedIncrementBytes) + (_log?.Writer.FileLength ?? 0);

    /// <summary>The size after the last rewrite or at the start, from which growth is counted.</summary>
    internal long RewrittenBytes { get; private set; }

    /// <summary>Whether a snapshot or a base is written beside the commands: with no-appendfsync-on-rewrite the log is not synced meanwhile.</summary>
    internal bool IsSnapshotRunning
    {
        set
        {
            _isSnapshotRunning = value;
            ApplySettings();
        }
    }

    /// <summary>Reads the manifest at the start; a file of a Redis before 7 is taken over.</summary>
    /// <exception cref="AofException">It is invalid.</exception>
    internal AofManifest Open()
    {
        lock (_changing)
        {
            _manifest = _folder.ReadManifest();
            if (_folder.HasOldFile(_manifest))
            {
                _serverLog.Notice(LogEvents.LogTakenOver, $"Taking over the append-only file {_settings.AppendFileName} of an older server into the folder {_folder.FolderPath}");
                _manifest = _folder.TakeOverOldFile();
            }

            return _manifest;
        }
    }

    /// <summary>As <see cref="Open"/>, for a log that does not continue the one on the disk: its files are replaced when it starts.</summary>
    /// <exception cref="AofException">The manifest is invalid.</exception>
    internal void OpenAnew()
    {
        lock (_changing)
        {
            _manifest = _folder.ReadManifest();
            _beginsAnew = true;
        }
    }

    /// <summary>Keeps the files as they are, until the scope is disposed of: no rewrite changes them meanwhile.</summary>
    internal Lock.Scope HoldFiles() => _changing.EnterScope();

    /// <summary>The manifest of the log in use; without one, that which is on the disk.</summary>
    internal AofManifest CurrentManifest()
    {
        lock (_changing) return _log is null ? _folder.ReadManifest() : _manifest;
    }

    /// <summary>Writes everything that was executed so far to the file. The caller has locked every stripe.</summary>
    /// <exception cref="FileFailure">The log fails.</exception>
    internal void FlushLocked()
    {
        Flush();
        if (_log?.Writer.Failure is { } failure) throw failure;
    }

    /// <summary>Writes and syncs everything that was executed so far, as far as that is possible. It waits for no stripe.</summary>
    internal void Flush()
    {
        if (_log is not { } log) return;
        Task<bool> flush = log.Writer.Flush();

        // A log that begins to fail locks all stripes before it answers: a caller may hold some, and a script others.
        while (!flush.Wait(FlushPollMs) && log.Writer.Failure is null)
        {
        }
    }

    /// <summary>Whether there is to be a log: it may not have begun, or not have ended.</summary>
    internal bool IsWanted => _settings.AppendOnly;

    /// <summary>Whether files that can be loaded have everything up to a position of a log.</summary>
    /// <param name="log">The log; null: there was none, so that the base of the next one has everything.</param>
    /// <param name="position">The position.</param>
    internal bool IsSynced(ISyncedLog? log, long position) =>
        _log is { } used && (log is null ? !LacksData : log == used && position <= CertainPosition(used));

    /// <summary>Has a client wait until a position of a log is synced.</summary>
    internal void Await(SyncWait wait)
    {
        Waits.Add(wait);

        // The log may have been synced, or have ended, before it could see the wait.
        if (IsSynced(wait.Log, wait.Position)) EndSynced();
        else if (!IsWanted || (wait.Log is { } log && _log != log)) EndWaits();
        else wait.Log?.Writer.Ask(wait.Position);
    }

    /// <summary>Ends the waits for a log by an error, because there is none any more.</summary>
    internal void EndWaits() => Waits.EndAll(Encoding.ASCII.GetBytes($"-{NoLogToWaitFor}\r\n"));

    private void EndSynced() => Waits.End(wait => IsSynced(wait.Log, wait.Position));

    /// <summary>Begins to log after loading. Nothing else is executed.</summary>
    /// <param name="writeBase">Writes all data as a base; it is called if there is none, or if the log begins anew.</param>
    internal void Start(Action<DumpFile> writeBase)
    {
        lock (_changing)
        {
            _folder.Create();
            bool isOnDisk = true;
            if (_beginsAnew || (_manifest.Base is null && _manifest.Increments.IsEmpty))
            {
                WriteBase(writeBase);
                _beginsAnew = isOnDisk = false;
            }

            bool isNew = _manifest.Increments.IsEmpty;
            AofManifest next = isNew ? _manifest.WithIncrement(_settings.AppendFileName, startOffset: -1) : _manifest;
            if (!isOnDisk || !ReferenceEquals(next, _manifest)) _folder.WriteManifest(next); // one that needs no change needs no room on the disk
            _manifest = _folder.DeleteHistory(next);
            AofFile last = _manifest.Increments[^1];
            string path = _folder.PathOf(last.Name);
            IOpenFile file = isNew ? files.Create(path) : files.OpenWrite(path); // a file that no manifest names is of a base that was never written
            _folder.Files.SyncFolder(_folder.FolderPath);
            BaseBytes = SizeOf(_manifest.Base);
            _closedIncrementBytes = _manifest.Increments[..^1].Sum(SizeOf);
            Begin(file, file.Length);
            RewrittenBytes = TotalBytes;
        }

        _changes.SubscribeToEffects(_log!);
    }

    /// <summary>After <see cref="Start"/> has failed: writes are refused until the log has begun, or is not wanted any more.</summary>
    internal void RefuseWrites(FileFailure failure)
    {
        _couldNotBegin = true;
        _gate.Refuse(WriteRefusal.NoLog, failure.Reason);
        _serverLog.Warning(LogEvents.LogFailed, $"The append-only file cannot begin: {failure.Message}. Writes are refused until it can; reads are served.");
        events.OnLogChanged(LogChange.WriteFailed, failure.Reason);
    }

    private void AcceptWrites()
    {
        if (!_couldNotBegin) return;
        _couldNotBegin = false;
        _gate.Accept(WriteRefusal.NoLog);
        _serverLog.Notice(LogEvents.LogWorksAgain, "Writes are accepted again.");
        events.OnLogChanged(LogChange.Recovered, "");
    }

    private void WriteBase(Action<DumpFile> write)
    {
        using BaseFile file = NewBase();
        write(file.Dump);
        AofManifest next = _manifest.WithBase(_settings.AppendFileName, file.IsRdb, firstKept: _manifest.LastIncrementSequence + 1);
        file.Commit(next.Base!.Name);
        _manifest = next;
    }

    /// <summary>Whether the data became another than that of the files, and no base is in force that has it: then nothing is certain.</summary>
    internal bool LacksData => Interlocked.Read(ref _replaced) != Interlocked.Read(ref _covered);

    /// <summary>The data became another than that of the files. From any thread.</summary>
    internal void NoteOtherData() => Interlocked.Increment(ref _replaced);

    /// <summary>The position of a log up to which files that can be loaded have everything; -1: none do.</summary>
    internal long CertainPosition(AppendOnlyLog log) => LacksData ? -1 : log.Writer.SyncedPosition;

    /// <summary>Ends the log: everything is written and synced first.</summary>
    /// <param name="position">The position in the stream for replicas that the data belongs to, if nothing is executed any more; null: it has none, or goes on.</param>
    internal void Stop(RdbReplication? position = null)
    {
        lock (_ending)
        {
            if (_log is { } log) End(log, position);
            else AcceptWrites();
        }
    }

    private void End(AppendOnlyLog log, RdbReplication? position)
    {
        _changes.UnsubscribeFromEffects(log);
        if (position is not null && !LacksData) log.Chain.AppendUnchanged(AofReader.PositionLine(position));
        bool written = log.Writer.Flush().Result;
        if (!written) _serverLog.Warning(LogEvents.LogFailed, "The append-only file could not be completed: " + (log.Writer.Failure?.Message ?? "unknown reason"));
        _log = null;
        core.SyncedLog.Use(null);
        host.LogEnded();
        EndWaits();
        log.Dispose();
        events.OnLogChanged(LogChange.Ended, "");
    }

    /// <summary>
    /// Replaces the files by a base of all data at one moment and the log since then. On the thread of the save, from beginning to end.
    /// </summary>
    /// <param name="writeSnapshot">Writes all data to the file, and calls the action at the snapshot point, with all stripes locked.</param>
    /// <exception cref="FileFailure">The old files stay in force.</exception>
    internal void Rewrite(Action<DumpFile, Action> writeSnapshot)
    {
        _folder.Create();
        if (_log is null) ReadManifest();
        using BaseFile file = NewBase();
        if (_log is { } log) Rewrite(log, file, writeSnapshot);
        else if (_settings.AppendOnly) BeginWithBase(file, writeSnapshot);
        else WriteBaseAlone(file, writeSnapshot);
        lock (_changing)
        {
            WriteManifest(_folder.DeleteHistory(_manifest));
        }
    }

    // Without a log in use, the folder may have files of an earlier run, or of another log: they stay in force until the new base is.
    private void ReadManifest()
    {
        try
        {
            lock (_changing) _manifest = _folder.ReadManifest();
        }
        catch (AofException failure)
        {
            throw new FileFailure("read", _folder.FolderPath, FileFailure.InputOutput, failure.Message);
        }
    }

    // If it fails behind its rename, the disk may name what is not used: the manifest that was in force is written again, or what the disk has is taken over, so that no name is used twice.
    private void WriteManifest(AofManifest manifest)
    {
        try
        {
            _folder.WriteManifest(manifest);
        }
        catch (FileFailure)
        {
            RestoreManifest();
            throw;
        }

        _manifest = manifest;
    }

    private void RestoreManifest()
    {
        try
        {
            if (_manifest.Base is not null || !_manifest.Increments.IsEmpty)
            {
                _folder.WriteManifest(_manifest);
                return;
            }
        }
        catch (FileFailure)
        {
            // As above: then what the disk has counts.
        }

        try
        {
            _manifest = _folder.ReadManifest();
        }
        catch (Exception failure) when (failure is FileFailure or AofException)
        {
            _serverLog.Warning(LogEvents.LogFailed, $"The manifest of the append-only file can be neither written nor read: {failure.Message}");
        }
    }

    // The switch completes or fails before this returns, whatever fails, so that the next rewrite can ask for another one.
    private void Rewrite(AppendOnlyLog log, BaseFile file, Action<DumpFile, Action> writeSnapshot)
    {
        long snapshotPoint = 0, replaced = 0;
        Task switched = Task.CompletedTask;
        AofManifest? withIncrement = null; // if the increment must not be named before its base; set before the switch completes
        try
        {
            writeSnapshot(file.Dump, () =>
            {
                replaced = Interlocked.Read(ref _replaced);
                snapshotPoint = log.Chain.ForgetDatabase();
                switched = log.Writer.SwitchAt(snapshotPoint, lacksRecords => OpenNext(log, lacksRecords, out withIncrement));
            });
            file.End(); // the long sync: who needs the manifest does not wait for it
            log.Writer.CompleteSwitch(); // what a full disk does not take is in the base
            switched.GetAwaiter().GetResult();
            lock (_changing) Commit(file, withIncrement ?? _manifest, replaced);
        }
        finally
        {
            log.Writer.CancelSwitch();
        }

        log.Writer.BaseCommitted(snapshotPoint);
    }

    // Without a log in use, the files do not belong to the data: the new increment is named only together with the new base.
    private void BeginWithBase(BaseFile file, Action<DumpFile, Action> writeSnapshot)
    {
        AofManifest next;
        lock (_changing) next = _manifest.WithIncrement(_settings.AppendFileName, startOffset: -1);
        IOpenFile increment = files.Create(_folder.PathOf(next.Increments[^1].Name));
        AppendOnlyLog? began = null;
        long replaced = 0;
        bool commits = false;
        try
        {
            writeSnapshot(file.Dump, () =>
            {
                replaced = Interlocked.Increment(ref _replaced); // until the commit
                began = Begin(increment, 0);
                _changes.RequestEffects(began, isOn: true);
                _changes.ApplyLocked();
            });
            file.End();
            commits = true;
            lock (_changing) Commit(file, next, replaced);
        }
        catch
        {
            if (began is null) increment.Dispose();
            else Stop(); // without its base it is worth nothing
            if (!commits) files.Delete(increment.Path); // otherwise a manifest on the disk may name it
            throw;
        }

        AcceptWrites();
        began!.Writer.BaseCommitted(0);
        EndSynced(); // those that have waited since before there was a log
    }

    // As in Redis.
    private void WriteBaseAlone(BaseFile file, Action<DumpFile, Action> writeSnapshot)
    {
        long replaced = 0;
        writeSnapshot(file.Dump, () => replaced = Interlocked.Read(ref _replaced));
        file.End();
        lock (_changing) Commit(file, _manifest, replaced, keepsIncrement: false);
    }

    // When this returns the base is in force, with the last increment of the manifest.
    private void Commit(BaseFile file, AofManifest manifest, long replaced, bool keepsIncrement = true)
    {
        AofManifest next = manifest.WithBase(_settings.AppendFileName, file.IsRdb, manifest.LastIncrementSequence + (keepsIncrement ? 0 : 1));
        file.Commit(next.Base!.Name);
        WriteManifest(next);
        Interlocked.Exchange(ref _covered, replaced);
        BaseBytes = file.Bytes;
        Interlocked.Exchange(ref _closedIncrementBytes, 0);
        RewrittenBytes = TotalBytes;
    }

    // On the log's thread, when everything before the new file is on the disk, or is not needed with the base that is being written. Then the
    // manifest goes on naming the old file as the last one, whose damaged end does not stop a start, until the base is committed.
    private IOpenFile OpenNext(AppendOnlyLog log, bool lacksRecords, out AofManifest? unnamed)
    {
        lock (_changing)
        {
            AofManifest next = _manifest.WithIncrement(_settings.AppendFileName, startOffset: -1);
            unnamed = lacksRecords ? next : null;
            IOpenFile file = files.Create(_folder.PathOf(next.Increments[^1].Name));
            if (lacksRecords) return file;
            try
            {
                WriteManifest(next); // it syncs the folder, and with it the new file's name
            }
            catch
            {
                file.Dispose();
                throw;
            }

            Interlocked.Add(ref _closedIncrementBytes, log.Writer.FileLength);
            return file;
        }
    }

    private AppendOnlyLog Begin(IOpenFile file, long length)
    {
        AppendOnlyLog log = null!;
        log = new AppendOnlyLog(_gate, Totals, () => _isSnapshotRunning && _settings.NoAppendFsyncOnRewrite)
        {
            Synced = position =>
            {
                EndSynced();
                host.LogSynced(position);
            },
            Failed = (failure, isSync) => OnFailed(log, failure, isSync),
            Recovered = () =>
            {
                _serverLog.Notice(LogEvents.LogWorksAgain, "The append-only file can be written again.");
                events.OnLogChanged(LogChange.Recovered, "");
            },
        };
        Apply(log);
        log.Writer.Start(file, length);
        _log = log;
        Apply(log); // a setting that has changed meanwhile found no log
        core.SyncedLog.Use(log);
        host.LogBegan(log);
        events.OnLogChanged(LogChange.Began, "");
        return log;
    }

    // Commands that write are refused by now. Those that had begun before are executed when all stripes were locked once.
    private void OnFailed(AppendOnlyLog log, FileFailure failure, bool isSync)
    {
        _serverLog.Warning(LogEvents.LogFailed, isSync
            ? $"The append-only file could not be synced: {failure.Message}. What was written since the last sync may be lost; writes are refused until a rewrite has succeeded."
            : $"The append-only file could not be written: {failure.Message}. Writes are refused until it can be.");
        events.OnLogChanged(isSync ? LogChange.SyncFailed : LogChange.WriteFailed, failure.Reason);
        _keyspace.LockAll().Dispose();
        host.LogAbandoned(log);
    }

    /// <summary>Applies the settings that may change at run time.</summary>
    internal void ApplySettings() => ApplySettings(whenRead: null);

    /// <summary>As <see cref="ApplySettings()"/>.</summary>
    /// <param name="whenRead">Called when a setting is read and not applied yet: tests stop there.</param>
    internal void ApplySettings(Action? whenRead)
    {
        if (_log is { } log) Apply(log, whenRead);
    }

    private void Apply(AppendOnlyLog log, Action? whenRead = null)
    {
        lock (_applying) // what was read earlier is not written later
        {
            FsyncPolicy policy = _settings.AppendFsync;
            whenRead?.Invoke();
            log.Writer.Apply(policy, _settings.AofTimestampEnabled);
        }

        log.Writer.WakeSurely();
    }

    private long SizeOf(AofFile? file)
    {
        if (file is null) return 0;
        using IOpenFile open = files.OpenRead(_folder.PathOf(file.Name));
        return open.Length;
    }

    private BaseFile NewBase()
    {
        var options = new DumpOptions(_settings.RdbCompression, _settings.RdbChecksum, _settings.AofRewriteIncrementalFsync);
        long beganSeconds = _settings.AofTimestampEnabled ? core.Clock.NowMs / 1000 : 0;
        return new BaseFile(files, _folder.FolderPath, options, core.Keyless, _settings.AofUseRdbPreamble, beganSeconds);
    }
}
