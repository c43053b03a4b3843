using RedKite.Server.Durability;
using RedKite.Server.Sessions;

namespace RedKite.Server.Diagnostics;

/// <summary>The append-only file, snapshots, and commands that write and must wait or are refused.</summary>
internal sealed record DurabilityFigures
{
    internal required long LogBytes { get; init; }

    internal required long LogWrites { get; init; }

    internal required long LogSyncs { get; init; }

    internal required LatencyFigures LogSync { get; init; }

    internal required long LogPendingBytes { get; init; }

    internal required long LogDelayedSyncs { get; init; }

    internal required long LogSizeBytes { get; init; }

    internal required long LogBaseBytes { get; init; }

    internal required long Rewrites { get; init; }

    internal required long RewriteFailuresInARow { get; init; }

    internal required SnapshotKind Running { get; init; }

    internal required long Saves { get; init; }

    internal required long SaveFailuresInARow { get; init; }

    internal required double SaveAgeSeconds { get; init; }

    internal required long SaveBytes { get; init; }

    internal required long ChangesSinceSave { get; init; }

    internal required double SnapshotSeconds { get; init; }

    internal required long SnapshotKeysLeft { get; init; }

    internal required long SnapshotSideBytes { get; init; }

    /// <summary>NaN: there was no cut.</summary>
    internal required double SnapshotPointMicroseconds { get; init; }

    internal required double WritesPausedMs { get; init; }

    internal required int ClientsPaused { get; init; }

    internal required WriteRefusal Refusal { get; init; }

    internal required long CommandsRefused { get; init; }

    internal required BackupState Backup { get; init; }

    /// <summary>Since the backup that is not sealed began; 0: there is none.</summary>
    internal required double BackupSeconds { get; init; }

    internal required long BackupIncrementBytes { get; init; }

    internal required double LoadSeconds { get; init; }

    internal required long LoadKeys { get; init; }

    internal required long LoadBytes { get; init; }
}

/// <summary>What a snapshot in progress is for.</summary>
internal enum SnapshotKind
{
    None,
    Save,
    Rewrite,
}

/// <summary>Reads <see cref="DurabilityFigures"/>. On the diagnostics thread.</summary>
internal sealed class DurabilityReader(ServerParts parts, LatencyInterval.Scratch scratch)
{
    private readonly LatencyInterval _syncs = new(scratch);

    internal DurabilityFigures Read()
    {
        DurabilityService durability = parts.Durability;
        LogTotals totals = durability.Log.Totals;
        AppendOnlyLog? log = durability.Log.Log;
        SaveHistory saves = durability.Saves, rewrites = durability.Rewrites;
        LoadProgress loading = durability.Loading;
        long nowMs = parts.Core.Clock.NowMs;
        long beganMs = Math.Max(saves.BeganMs, rewrites.BeganMs);
        (long written, long all) = durability.Progress;
        BackupStatus backup = parts.Backup.Status;
        return new DurabilityFigures
        {
            LogBytes = totals.Bytes,
            LogWrites = totals.Writes,
            LogSyncs = totals.Syncs.Count,
            LogSync = ReadSyncs(totals, log?.Writer.Syncs.Current ?? TimeSpan.Zero),
            LogPendingBytes = log?.Writer.PendingBytes ?? 0,
            LogDelayedSyncs = totals.DelayedSyncs,
            LogSizeBytes = log is null ? 0 : durability.Log.TotalBytes,
            LogBaseBytes = log is null ? 0 : durability.Log.RewrittenBytes,
            Rewrites = rewrites.Count,
            RewriteFailuresInARow = rewrites.ConsecutiveFailures,
            Running = saves.BeganMs != 0 ? SnapshotKind.Save : rewrites.BeganMs != 0 ? SnapshotKind.Rewrite : SnapshotKind.None,
            Saves = saves.Count,
            SaveFailuresInARow = saves.ConsecutiveFailures,
            SaveAgeSeconds = Math.Max(0, nowMs - saves.LastSavedMs) / 1000.0,
            SaveBytes = saves.LastBytes,
            ChangesSinceSave = durability.ChangesSinceSave,
            SnapshotSeconds = beganMs == 0 ? 0 : Math.Max(0, nowMs - beganMs) / 1000.0,
            SnapshotKeysLeft = Math.Max(0, all - written),
            SnapshotSideBytes = durability.SideBytes,
            SnapshotPointMicroseconds = durability.SnapshotPoints == 0 ? double.NaN : durability.LastSnapshotPoint.TotalMicroseconds,
            WritesPausedMs = parts.Core.WriteGate.PausedTime.TotalMilliseconds,
            ClientsPaused = parts.Core.WriteGate.Waits ? parts.Core.Clients.All.Count(session => session.IsPaused) : 0,
            Refusal = parts.Core.WriteGate.Cause,
            CommandsRefused = parts.Core.Metrics.ErrorsOf("MISCONF"),
            Backup = backup.State,
            BackupSeconds = parts.Backup.IsInProgress ? Math.Max(0, (nowMs / 1000) - backup.StartSeconds) : 0,
            BackupIncrementBytes = parts.Backup.Totals.Bytes,
            LoadSeconds = loading.StartedMs == 0 ? 0 : Math.Max(0, loading.Elapsed(nowMs).TotalSeconds),
            LoadKeys = loading.Keys,
            LoadBytes = loading.LoadedBytes,
        };
    }

    // A sync that hangs has no end that could be counted.
    private LatencyFigures ReadSyncs(LogTotals totals, TimeSpan current)
    {
        LatencyFigures ended = _syncs.Read(totals.Syncs.AddTo);
        return current.TotalMicroseconds > (double.IsNaN(ended.Max) ? 0 : ended.Max) ? ended with { Max = current.TotalMicroseconds } : ended;
    }
}
