using System.Globalization;
using RedKite.Persistence.Aof;
using RedKite.Persistence.Files;
using RedKite.Server.Changes;
using RedKite.Server.Config;
using RedKite.Server.Logging;
using RedKite.Server.Model;
using RedKite.Server.Sessions;

namespace RedKite.Server.Durability;

/// <summary>How far a backup is: the states of BACKUP STATUS.</summary>
internal enum BackupState
{
    Idle,
    Pending,
    Snapshotting,
    Incrementing,
    Sealed,
    Failed,
}

/// <summary>What BACKUP STATUS shows.</summary>
internal sealed record BackupStatus(BackupState State, string Error, long StartSeconds, long EndSeconds);

/// <summary>
/// BACKUP: a copy of the data at the moment of a command, in a folder of its own: a base that is written like any snapshot, the commands since its snapshot point,
/// and a manifest, which together are an append-only file.
/// </summary>
/// <remarks>
/// It has a log of its own, whether the server has one or not. Rejected: hard links to the server's own files, as in Redis. A rewrite, the setting
/// appendonly and a base of commands would each need rules for a backup in progress. It costs the writing of the commands a second time while a backup is
/// open. If that log fails, the backup fails, and nothing else; if it falls behind, commands wait as for the server's own.
/// </remarks>
internal sealed class BackupService(Settings settings, DurabilityService durability, ChangePublisher changes, WriteGate gate, ServerLog serverLog, ServerClock clock) : IDisposable
{
    /// <summary>The error of a backup that BACKUP ABORT has ended.</summary>
    internal const string Aborted = "aborted by user";

    private const string Outdated = "the data was replaced while the backup was in progress";

    private readonly Lock _changing = new();
    private bool _hasEnded; // the server has stopped: nothing begins
    private readonly LogTotals _totals = new();
    private volatile string[] _pinned = [];
    private int _ticks; // 1: what a tick has found due is being done
    private readonly List<string> _made = []; // the files of this backup: no others are removed
    private string _folder = ""; // its real path when the backup began, wherever settings and links point to later
    private BackupStatus _status = new(BackupState.Idle, "", 0, 0);
    private volatile AppendOnlyLog? _log; // since the snapshot point
    private bool _isWriting; // the base
    private volatile bool _isAborted; // while it is written
    private volatile bool _isOutdated; // the data became another

    private IFiles Files => durability.Files;

    /// <summary>How far it is. Waits for nothing.</summary>
    internal BackupStatus Status => Volatile.Read(ref _status);

    /// <summary>The commands that were written to increments, of all backups.</summary>
    internal LogTotals Totals => _totals;

    internal bool IsInProgress => Status.State is BackupState.Pending or BackupState.Snapshotting or BackupState.Incrementing;

    /// <summary>The files that will not change any more.</summary>
    internal string[] Pinned => _pinned;

    /// <summary>Begins a backup.</summary>
    /// <returns>The error; null: it begins, or waits for another snapshot.</returns>
    internal string? Begin()
    {
        lock (_changing)
        {
            if (_hasEnded) return "ERR the server is being stopped";
            if (IsInProgress) return "ERR A backup is already in progress, ABORT it first";
            if (Status.State == BackupState.Sealed) return "ERR A sealed backup exists, CLEANUP it first";
            try
            {
                string folder = Files.RealPath(Path.Combine(settings.DirectoryPath, settings.BackupDirectoryName));
                if (BackupFolder.UseOf(Files, folder, settings.DirectoryPath, durability.Log.Folder.FolderPath) is { } use) return "ERR the backup directory is " + use;
                if (!_isWriting && Files.FolderExists(folder) && Files.List(folder).Count > 0) return "ERR the backup directory is not empty";
                _folder = folder;
            }
            catch (FileFailure failure)
            {
                return "ERR the backup directory cannot be read: " + failure.Reason;
            }

            _pinned = [];
            _isOutdated = false;
            Set(new BackupStatus(BackupState.Pending, "", clock.NowMs / 1000, 0));
        }

        TryWrite();
        return null;
    }

    /// <summary>
    /// Starts a pending backup, and removes a sealed one when its retention has expired. Called once a second by a loop: what waits for the disk or for
    /// stripes is done elsewhere.
    /// </summary>
    internal void Tick(long nowMs)
    {
        BackupStatus status = Status;
        bool isLost = IsInProgress && (_isOutdated || _log?.Writer.Failure is not null);
        bool isOver = status.State == BackupState.Sealed && settings.BackupSealedTtlSeconds > 0 && (nowMs / 1000) - status.EndSeconds >= settings.BackupSealedTtlSeconds;
        if (!(isLost || isOver || status.State == BackupState.Pending) || Interlocked.Exchange(ref _ticks, 1) != 0) return;
        ThreadPool.QueueUserWorkItem(_ =>
        {
            if (isLost) FailIfLost();
            else if (isOver) Clean();
            else TryWrite();
            Volatile.Write(ref _ticks, 0);
        });
    }

    /// <summary>Ends the backup with what was executed so far. The caller holds no stripe.</summary>
    /// <returns>The error; null: it is sealed.</returns>
    internal string? Seal()
    {
        lock (_changing)
        {
            if (Status.State != BackupState.Incrementing || _log is not { } log) return "ERR No backup ready to seal (must be in the incrementing state)";
            changes.UnsubscribeFromEffects(log);
            if (_isOutdated) return FailLocked(Outdated); // behind the stripes: no other data comes from here on
            bool isWritten = log.Writer.Flush().Result;
            FileFailure? failure = log.Writer.Failure;
            EndLog();
            if (!isWritten || failure is not null) return FailLocked(failure?.Message ?? "the increment could not be written");
            try
            {
                var folder = new AofFolder(Files, Path.GetDirectoryName(_folder)!, Path.GetFileName(_folder), settings.AppendFileName);
                Make(folder.ManifestPath);
                folder.WriteManifest(NewManifest());
                _pinned = [.. _pinned, folder.PathOf(IncrementName), folder.ManifestPath];
            }
            catch (FileFailure failed)
            {
                return FailLocked(failed.Message);
            }

            Set(Status with { State = BackupState.Sealed, EndSeconds = clock.NowMs / 1000 });
            serverLog.Notice(LogEvents.SaveDone, $"The backup in {_folder} is sealed");
            return null;
        }
    }

    /// <summary>Gives a backup up that is not sealed.</summary>
    internal string? Abort()
    {
        lock (_changing)
        {
            if (!IsInProgress) return "ERR No backup in progress";
            _isAborted = _isWriting;
            FailLocked(Aborted);
            return null;
        }
    }

    /// <summary>Removes the files of a backup that is sealed or has failed; without one nothing is to be done.</summary>
    internal string? Clean()
    {
        lock (_changing)
        {
            if (IsInProgress) return "ERR Backup is in progress";
            RemoveFiles();
            Set(new BackupStatus(BackupState.Idle, "", 0, 0));
            return null;
        }
    }

    /// <summary>The data became another than that of the backup, which cannot go on. From any thread, with stripes locked or not.</summary>
    internal void NoteOtherData() => _isOutdated = IsInProgress;

    private void FailIfLost()
    {
        lock (_changing)
        {
            if (!IsInProgress || !(_isOutdated || _log?.Writer.Failure is not null)) return; // another one may have begun
            _isAborted = _isWriting;
            FailLocked(_isOutdated ? Outdated : _log?.Writer.Failure?.Message ?? Aborted);
        }
    }

    public void Dispose()
    {
        lock (_changing)
        {
            _hasEnded = true;
            if (!IsInProgress) return;
            _isAborted = _isWriting;
            FailLocked("the server has stopped");
        }
    }

    private string BaseName => AofManifest.BaseName(settings.AppendFileName, sequence: 1, isRdb: true);

    private string IncrementName => AofManifest.IncrementName(settings.AppendFileName, sequence: 1);

    private AofManifest NewManifest() => AofManifest.Empty.WithIncrement(settings.AppendFileName, startOffset: -1).WithBase(settings.AppendFileName, isRdb: true, firstKept: 1);

    private void TryWrite()
    {
        lock (_changing)
        {
            if (Status.State != BackupState.Pending || _isWriting || !durability.TryBegin("redkite-backup", Write)) return;
            (_isWriting, _isAborted) = (true, false);
            Set(Status with { State = BackupState.Snapshotting });
        }
    }

    // A file that is there already is another's.
    private string Make(string path)
    {
        if (Files.FileExists(path)) throw new FileFailure("create", path, FileFailure.Exists, "File exists");
        lock (_changing) _made.Add(path);
        return path;
    }

    // On a thread of its own. Another backup may wait meanwhile, in another folder.
    private void Write()
    {
        string folder = _folder;
        string? failure = null;
        try
        {
            Files.CreateFolder(folder);
            using var file = new DumpFile(Files, folder, new DumpOptions(settings.RdbCompression, settings.RdbChecksum, settings.RdbSaveIncrementalFsync), "temp-backup");
            IOpenFile increment = Files.Create(Make(Path.Combine(folder, IncrementName)));
            try
            {
                durability.WriteBase(file.Writer, () => BeginLog(increment));
            }
            finally
            {
                if (_log is null) increment.Dispose();
            }

            Make(Path.Combine(folder, BaseName));
            file.Commit(BaseName);
        }
        catch (FileFailure failed)
        {
            failure = failed.Message;
        }

        lock (_changing)
        {
            _isWriting = false;
            if (_isAborted)
            {
                EndLog();
                RemoveFiles();
            }
            else if (failure is not null || _log?.Writer.Failure is not null)
            {
                FailLocked(failure ?? _log!.Writer.Failure!.Message);
            }
            else
            {
                _pinned = [.. _pinned, Path.Combine(folder, BaseName)];
                Set(Status with { State = BackupState.Incrementing });
                serverLog.Notice(LogEvents.SaveDone, $"The base of the backup in {_folder} is written");
            }
        }
    }

    // With all stripes locked.
    private void BeginLog(IOpenFile increment)
    {
        var log = new AppendOnlyLog(gate, _totals, static () => false, isOfBackup: true);
        log.Writer.Start(increment, 0);
        changes.RequestEffects(log, isOn: true);
        changes.ApplyLocked();
        _log = log;
    }

    private string FailLocked(string reason)
    {
        if (_log is { } log) changes.UnsubscribeFromEffects(log);
        if (!_isWriting)
        {
            EndLog();
            RemoveFiles();
        }

        Set(Status with { State = BackupState.Failed, Error = reason });
        serverLog.Warning(LogEvents.SaveFailed, $"The backup failed: {reason}");
        return "ERR the backup failed: " + reason;
    }

    private void EndLog()
    {
        if (_log is not { } log) return;
        changes.UnsubscribeFromEffects(log);
        _log = null;
        log.Dispose();
    }

    private void RemoveFiles()
    {
        _pinned = [];
        try
        {
            foreach (string path in _made) Files.Delete(path);
            if (_made.Count > 0) Files.SyncFolder(Path.GetDirectoryName(_made[0])!);
        }
        catch (FileFailure failure)
        {
            serverLog.Warning(LogEvents.SaveFailed, string.Create(CultureInfo.InvariantCulture, $"Files of a backup could not be removed: {failure.Message}"));
        }

        _made.Clear();
    }

    private void Set(BackupStatus status) => Volatile.Write(ref _status, status);
}
