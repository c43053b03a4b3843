using System.Text.Json;
using RedKite.Persistence.Aof;
using RedKite.Persistence.Files;
using RedKite.Persistence.Log;
using RedKite.Server.Config;
using RedKite.Server.Durability;
using RedKite.Server.Model;
using RedKite.Server.Sessions;

namespace RedKite.Server.Diagnostics.Reports;

/// <summary>The report on what is kept on the disk. It takes no lock of the data.</summary>
internal static class DurabilityReports
{
    private const int RecentMax = 50;

    internal static void Durability(ReportContext report)
    {
        Utf8JsonWriter json = report.Json;
        ServerParts parts = report.Parts;
        DurabilityService durability = parts.Durability;
        long nowMs = parts.Core.Clock.NowMs;
        bool isLoading = (parts.Core.Attention.Flags & ServerAttention.Loading) != 0; // also just before and behind it
        json.WriteStartObject();
        json.WriteString("promise", isLoading ? "The data is being loaded." : Promise(durability, parts.Core.Settings));
        WriteLoading(json, durability.Loading, isLoading, nowMs);
        WriteSnapshot(json, durability, nowMs);
        WriteLog(json, durability);
        json.WriteStartObject("dump_file");
        json.WriteNumber("saved_unix_ms", durability.Saves.LastSavedMs);
        json.WriteNumber("saves", durability.Saves.Count);
        json.WriteNumber("failures", durability.Saves.Failures);
        json.WriteNumber("failures_in_a_row", durability.Saves.ConsecutiveFailures);
        json.WriteNumber("changes_since", durability.ChangesSinceSave);
        json.WriteEndObject();
        json.WriteStartObject("writes");
        json.WriteString("refused_because", parts.Core.WriteGate.Cause switch
        {
            WriteRefusal.Snapshot => "the last save failed",
            WriteRefusal.Log or WriteRefusal.NoLog => "the append-only file cannot be written",
            _ => null,
        });
        json.WriteBoolean("held", parts.Core.WriteGate.Waits);
        json.WriteNumber("held_milliseconds", (long)parts.Core.WriteGate.PausedTime.TotalMilliseconds);
        json.WriteEndObject();
        WriteKeyless(json, parts.Core.Keyless);
        WriteBackup(json, parts.Backup);
        WriteFiles(json, durability, parts.Backup.Pinned);
        WriteRecent(json, durability);
        json.WriteStartObject("facts");
        foreach ((string name, string text) in report.Diagnostics.DurabilityFacts) json.WriteString(name, text);
        json.WriteEndObject();
        json.WriteEndObject();
    }

    // What is no key, and is kept with the keys.
    private static void WriteKeyless(Utf8JsonWriter json, KeylessData keyless)
    {
        json.WriteStartObject("beside_keys");
        foreach (IKeylessData kind in keyless.Kinds)
        {
            json.WriteStartObject(kind.Name);
            json.WriteNumber("records", kind.Count);
            json.WriteNumber("bytes", kind.Bytes);
            json.WriteEndObject();
        }

        json.WriteEndObject();
    }

    // One sentence for people, as of now.
    private static string Promise(DurabilityService durability, Settings settings)
    {
        if (!settings.AppendOnly)
        {
            return settings.SavePoints.Length > 0
                ? "A crash or a power loss loses what has changed since the last save."
                : "Nothing is kept by itself: the data is gone when the process ends, except for what SAVE or BGSAVE has written.";
        }

        if (durability.Log.Log is not { } log) return "The append-only file is not in use yet: it begins when its first base is written. Until then only saves keep the data.";
        if (log.Writer.Failure is not null) return "The append-only file cannot be written, so commands that write are refused until it can.";
        return settings.AppendFsync switch
        {
            FsyncPolicy.Always => "Nothing that was acknowledged is lost, neither by a crash nor by a power loss, if the disk keeps what it has synced.",
            FsyncPolicy.EverySecond => "A crash of the process usually loses the last milliseconds, a power loss the last one or two seconds.",
            _ => "A crash of the process usually loses the last milliseconds, a power loss what the system has not written yet: often 30 seconds.",
        };
    }

    private static void WriteLoading(Utf8JsonWriter json, LoadProgress loading, bool isLoading, long nowMs)
    {
        json.WriteStartObject("loading");
        json.WriteBoolean("in_progress", isLoading);
        json.WriteString("from", Path.GetFileName(loading.Path));
        json.WriteBoolean("of_replication", loading.IsOfReplication);
        json.WriteNumber("bytes", loading.LoadedBytes);
        json.WriteNumber("total_bytes", loading.TotalBytes);
        json.WriteNumber("keys", loading.Keys);
        json.WriteNumber("keys_expired", loading.Expired);
        json.WriteNumber("seconds", loading.StartedMs == 0 ? 0 : loading.Elapsed(nowMs).TotalSeconds);
        json.WriteNumber("seconds_left", loading.IsRunning ? loading.SecondsLeft(nowMs) : 0);
        json.WriteEndObject();
    }

    private static void WriteSnapshot(Utf8JsonWriter json, DurabilityService durability, long nowMs)
    {
        (long written, long all) = durability.Progress;
        bool isSave = durability.Saves.BeganMs != 0;
        long beganMs = isSave ? durability.Saves.BeganMs : durability.Rewrites.BeganMs;
        json.WriteStartObject("snapshot");
        json.WriteString("in_progress", beganMs == 0 ? null : isSave ? "save" : "rewrite");
        json.WriteNumber("seconds", beganMs == 0 ? 0 : Math.Max(0, nowMs - beganMs) / 1000.0);
        json.WriteNumber("keys", all);
        json.WriteNumber("keys_written", written);
        json.WriteNumber("side_bytes", durability.SideBytes);
        json.WriteNumber("side_bytes_max", SnapshotState.SideBytesMax);
        json.WriteNumber("last_cut_microseconds", (long)durability.LastSnapshotPoint.TotalMicroseconds);
        json.WriteEndObject();
    }

    private static void WriteLog(Utf8JsonWriter json, DurabilityService durability)
    {
        AppendOnlyLog? log = durability.Log.Log;
        LogTotals totals = durability.Log.Totals;
        json.WriteStartObject("append_only_file");
        json.WriteString("state", log is null ? "off" : log.Writer.LacksRecords ? "a sync failed" : log.Writer.Failure is not null ? "a write failed" : "in use");
        json.WriteNumber("bytes", log is null ? 0 : durability.Log.TotalBytes);
        json.WriteNumber("bytes_after_rewrite", log is null ? 0 : durability.Log.RewrittenBytes);
        json.WriteNumber("pending_bytes", log?.Writer.PendingBytes ?? 0);
        json.WriteNumber("pending_bytes_max", AppendOnlyLog.PendingBytesMax);
        json.WriteNumber("written_bytes", totals.Bytes);
        json.WriteNumber("writes", totals.Writes);
        json.WriteNumber("syncs", totals.Syncs.Count);
        json.WriteNumber("sync_p99_us", totals.Syncs.PercentileNs(99) / 1000.0);
        json.WriteNumber("sync_max_us", totals.Syncs.MaxNs / 1000.0);
        json.WriteNumber("sync_in_progress_us", (long)(log?.Writer.Syncs.Current.TotalMicroseconds ?? 0));
        json.WriteNumber("delayed_syncs", totals.DelayedSyncs);
        json.WriteNumber("rewrites", durability.Rewrites.Count);
        json.WriteNumber("rewrite_failures", durability.Rewrites.Failures);
        json.WriteEndObject();
    }

    private static void WriteBackup(Utf8JsonWriter json, BackupService backup)
    {
        BackupStatus status = backup.Status;
        json.WriteStartObject("backup");
        json.WriteString("state", status.State.ToString().ToLowerInvariant());
        json.WriteString("failure", status.Error.Length == 0 ? null : status.Error);
        json.WriteNumber("began_unix_ms", status.StartSeconds * 1000);
        json.WriteNumber("ended_unix_ms", status.EndSeconds * 1000);
        json.WriteNumber("written_bytes", backup.Totals.Bytes);
        json.WriteEndObject();
    }

    // Names within the folder. The manifest's history is being deleted.
    private static void WriteFiles(Utf8JsonWriter json, DurabilityService durability, string[] ofBackup)
    {
        json.WriteStartArray("files");
        Write("dump", durability.DumpPath);
        foreach (AofFile file in durability.Log.Manifest.Files) Write(file.Type == AofFileType.Base ? "base" : "increment", durability.Log.Folder.PathOf(file.Name));
        foreach (string path in ofBackup) Write("backup", path);
        json.WriteEndArray();

        void Write(string kind, string path)
        {
            if (SizeOf(durability.Files, path) is not { } bytes) return;
            json.WriteStartObject();
            json.WriteString("name", kind == "backup" ? Path.Combine(Path.GetFileName(Path.GetDirectoryName(path)!), Path.GetFileName(path)) : Path.GetFileName(path));
            json.WriteString("kind", kind);
            json.WriteNumber("bytes", bytes);
            json.WriteEndObject();
        }
    }

    // Null: there is no such file, or it cannot be read.
    private static long? SizeOf(IFiles files, string path)
    {
        if (!files.FileExists(path)) return null;
        try
        {
            using IOpenFile file = files.OpenRead(path);
            return file.Length;
        }
        catch (FileFailure)
        {
            return null;
        }
    }

    private static void WriteRecent(Utf8JsonWriter json, DurabilityService durability)
    {
        json.WriteStartArray("recent");
        IEnumerable<(string Kind, SaveRecord Record)> all =
            [.. durability.Saves.Recent.Select(record => ("save", record)), .. durability.Rewrites.Recent.Select(record => ("rewrite", record))];
        foreach ((string kind, SaveRecord record) in all.OrderByDescending(item => item.Record.EndedMs).Take(RecentMax))
        {
            json.WriteStartObject();
            json.WriteString("kind", kind);
            json.WriteNumber("began_unix_ms", record.BeganMs);
            json.WriteNumber("milliseconds", record.EndedMs - record.BeganMs);
            json.WriteNumber("bytes", record.Bytes);
            json.WriteString("failure", record.Failure);
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }
}
