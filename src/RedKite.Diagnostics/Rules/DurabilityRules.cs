using System.Globalization;
using RedKite.Server.Config;
using RedKite.Server.Durability;
using static RedKite.Server.Diagnostics.FindingSeverity;
using static RedKite.Server.Logging.QuantityText;
using static RedKite.Server.Diagnostics.MetricTable;

namespace RedKite.Server.Diagnostics.Rules;

/// <summary>Rules on what is kept on the disk. A server that keeps nothing, as a cache does, has none of these findings.</summary>
internal static class DurabilityRules
{
    private const double Gibibyte = 1 << 30;
    private const double Tangible = 64 << 20; // smaller files need no room that matters
    private const double SlowSyncMicroseconds = 1_000_000;
    private const double SlowAlwaysSyncMicroseconds = 20_000;
    private const int RecentSeconds = 60;
    private const int LongSeconds = 600;
    private const int OpenBackupSeconds = 3600;

    internal static FindingRule[] All =>
    [
        new("writes-refused", "Commands that write are refused with MISCONF, because the last save failed or the append-only file cannot be written. Reads go on.",
            "Mend what the evidence names: free space on the disk, or give the server the right to write. The server tries again by itself, at least once a minute, and accepts writes when that succeeds. After a failed save, CONFIG SET stop-writes-on-bgsave-error no accepts writes at once.", "durability", WritesAreRefused),
        new("save-failed", "The last save of the data to the dump file failed. The file before it is still there. Critical if nothing else keeps the data.",
            "Mend what the evidence names, then wait for the next save or use BGSAVE.", "durability", SaveHasFailed),
        new("dump-not-loaded", "The server began empty although the data folder had a dump file with keys: with appendonly yes it loads the append-only file, and there was none. A save does not replace that file but renames it.",
            "If its keys are wanted: SHUTDOWN NOSAVE, give the file its name back if it was renamed, start with appendonly no, then CONFIG SET appendonly yes. Otherwise move the file away and restart.", "durability",
            static view => view.Facts.GetValueOrDefault("unloaded_dump") is { Length: > 0 } path ? new("A dump file with keys was not loaded", path, Warning) : null),
        new("save-old", "A save point has been reached for more than ten minutes, for longer than its own time again, and no save has succeeded or is in progress.",
            "The log says why. BGSAVE saves now; a rewrite that is in progress goes first.", "durability", SaveIsOld),
        new("fsync-slow", "A sync of the append-only file took more than a second within the last minute. With appendfsync everysec, commands that write wait for one that takes more than two. Critical if they waited three times or more.",
            "Find what else uses the disk, or move `dir` to a faster one. Many clouds limit the syncs of small disks.", "durability", SyncIsSlow),
        new("fsync-always-slow", "With appendfsync always every reply waits for a sync, and the slowest of them took more than 20 ms in at least 15 seconds of the last minute.",
            "Use a disk that syncs faster (an SSD with power-loss protection takes less than a millisecond), or appendfsync everysec, which may lose a second or two at a power loss.", "durability", AlwaysIsSlow),
        new("writes-held", "Commands that write waited for the disk for more than 5 % of the last minute: a sync took long, or more was in memory than may wait there.",
            "Find what else uses the disk, or move `dir` to a faster one; or let clients write less while a snapshot is written.", "durability", WritesArePaused),
        new("rewrite-fails", "The last rewrite of the append-only file failed. The old files stay in force and keep growing; the rewrite is tried again.",
            "Mend what the evidence names. A rewrite needs room for a second base.", "durability",
            view => view[RewriteFailuresInARow] > 0
                ? new("The append-only file cannot be rewritten", Text($"{Times(view[RewriteFailuresInARow], "rewrite")} failed: {Reason(view, "rewrite_failure")}"), Warning) : null),
        new("rewrite-loops", "The append-only file was being rewritten for more than half of the last ten minutes, at least three times. Each rewrite writes all data.",
            "Raise auto-aof-rewrite-percentage or auto-aof-rewrite-min-size, so that the file grows for longer before it is rewritten.", "durability", RewriteLoops),
        new("log-outgrows-rewrites", "The append-only file is more than twice as large as the size from which it is rewritten by itself; or that is switched off, and it is larger than 1 GiB and four times its size after the last rewrite. The next start takes longer, and the disk fills.",
            "Use BGREWRITEAOF, at a quiet time if the disk is the limit; or set auto-aof-rewrite-percentage to 100 again.", "durability", LogOutgrows),
        new("disk-short-for-snapshot", "The data folder's disk has less room than the next snapshot or base of the append-only file is likely to take: the old file is deleted only when the new one is whole.",
            "Free space on the disk, or set `dir` to another one.", "durability", DiskIsShort),
        new("data-folder-in-memory", "The data folder is on a file system that is in the machine's memory (tmpfs), although settings ask to keep data (appendonly yes, or save points other than the program's own): it is lost when the machine or the container stops.",
            "Set `dir` to a folder on a disk.", "durability", FolderIsInMemory),
        new("backup-failed", "The backup that BACKUP START began has failed, or was given up because the data became another. Its files are removed; there is no backup until one is sealed.",
            "Mend what the evidence names, then BACKUP CLEANUP and BACKUP START.", "durability",
            view => view[Backup] == (int)BackupState.Failed && Reason(view, "backup_failure") is var reason && reason != BackupService.Aborted
                ? new("The backup failed", reason, Warning) : null),
        new("backup-open", "A backup has been in progress for more than an hour. Every command that changes data is written to it as well, and its folder grows without an end.",
            "BACKUP SEAL ends it with the data of that moment; BACKUP ABORT gives it up.", "durability",
            view => view[BackupSeconds] > OpenBackupSeconds
                ? new("A backup is still open", Text($"it began {About(view[BackupSeconds])} ago; {Bytes(view.Growth(BackupWritten, LongSeconds))} were written to it in the last ten minutes"), Notice) : null),
        new("load-slow", "Loading the data at the start took more than a minute. Clients were answered LOADING meanwhile. The finding ends an hour after the start.",
            "A rewritten log loads faster: BGREWRITEAOF before a planned restart. RDB data is loaded on all cores.", "durability",
            view => view[LoadSeconds] > 60 && view[Uptime] < 3600
                ? new("The start took long", Text($"loading {Bytes(view[LoadBytes])} took {About(view[LoadSeconds])}"), Notice) : null),
    ];

    private static Diagnosis? WritesAreRefused(DiagnosticsView view)
    {
        if (!(view[WritesRefused] > 0)) return null;
        string why = view[WritesRefused] == 1 ? "the last save failed: " + Reason(view, "save_failure") : "the append-only file: " + Reason(view, "log_failure");
        string refused = view[WriteRefusals] > 0 ? Text($"; {Times(view[WriteRefusals], "command")} refused so far") : "";
        return new("Commands that write are refused", why + refused, Critical);
    }

    private static Diagnosis? SaveHasFailed(DiagnosticsView view)
    {
        if (!(view[SaveFailuresInARow] > 0)) return null;
        bool isOnlyCopy = view.Setting("appendonly") != "yes" && SavePoints(view).Count > 0;
        return new(
            "The data cannot be saved",
            Text($"{Times(view[SaveFailuresInARow], "save")} failed: {Reason(view, "save_failure")}; {Times(view[ChangesSinceSave], "change")} unsaved"),
            isOnlyCopy ? Critical : Warning);
    }

    private static Diagnosis? SaveIsOld(DiagnosticsView view)
    {
        if (view[SnapshotRuns] == (int)SnapshotKind.Save || view[SaveFailuresInARow] > 0) return null; // a failed one is a finding of its own
        double age = view[SaveAge];
        foreach ((long seconds, long changes) in SavePoints(view))
        {
            bool isOverdue = age > seconds + Math.Max(LongSeconds, seconds) && view.Min(ChangesSinceSave, LongSeconds) >= Math.Max(1, changes);
            if (isOverdue) return new("The last save is old", Text($"it was {About(age)} ago, {Times(view[ChangesSinceSave], "change")} unsaved; save {seconds} {changes} has been reached"), Warning);
        }

        return null;
    }

    private static Diagnosis? SyncIsSlow(DiagnosticsView view)
    {
        double longest = view.Max(LogSyncMax, RecentSeconds);
        double delayed = view.Growth(LogDelayedSyncs, RecentSeconds);
        if (delayed > 0) return new("Commands that write waited for slow syncs", Text($"{Times(delayed, "time")} in the last minute; the longest sync took {Duration(longest)}"), delayed >= 3 ? Critical : Warning);
        return longest > SlowSyncMicroseconds ? new("A sync of the append-only file took long", Text($"{Duration(longest)} within the last minute"), Warning) : null;
    }

    private static Diagnosis? AlwaysIsSlow(DiagnosticsView view) =>
        view.Setting("appendfsync") == "always" && view.SecondsOver(LogSyncP99, RecentSeconds, SlowAlwaysSyncMicroseconds) >= 15
            ? new("Each reply waits for a slow disk", Text($"the 99th percentile of the syncs is {Duration(view.Mean(LogSyncP99, RecentSeconds))}"), Warning)
            : null;

    private static Diagnosis? WritesArePaused(DiagnosticsView view) =>
        view.Mean(WritesHeld, RecentSeconds) is > 50 and var held
            ? new(
                "Commands that write wait for the disk",
                Text($"{held / 10:0} % of the last minute; up to {Bytes(view.Max(SnapshotSideBytes, RecentSeconds))} of a snapshot and {Bytes(view.Max(LogPending, RecentSeconds))} of the append-only file waited in memory"),
                Warning)
            : null;

    private static Diagnosis? RewriteLoops(DiagnosticsView view)
    {
        int seconds = view.SecondsOver(SnapshotRuns, LongSeconds, (int)SnapshotKind.Save);
        int rewrites = view.SecondsOver(Rewrites, LongSeconds, 0);
        return seconds > LongSeconds / 2 && rewrites >= 3
            ? new("The append-only file is rewritten again and again", Text($"{Times(rewrites, "rewrite")} in the last ten minutes, {seconds * 100 / LongSeconds} % of the time"), Warning)
            : null;
    }

    private static Diagnosis? LogOutgrows(DiagnosticsView view)
    {
        double size = view.Min(LogSize, RecentSeconds), before = view[LogBase], percentage = view.Number("auto-aof-rewrite-percentage");
        if (percentage == 0)
        {
            return size > Gibibyte && size > 4 * before
                ? new("The append-only file is not rewritten", Text($"{Bytes(size)}, {Bytes(before)} after the last rewrite or at the start; auto-aof-rewrite-percentage is 0"), Notice)
                : null;
        }

        double due = Math.Max(Math.Max(view.Number("auto-aof-rewrite-min-size"), before * (1 + (percentage / 100))), Tangible);
        return size > 2 * due
            ? new("The append-only file grows faster than it is rewritten", Text($"{Bytes(size)}; it is rewritten from {Bytes(due)} on"), Warning)
            : null;
    }

    private static Diagnosis? DiskIsShort(DiagnosticsView view)
    {
        double log = view.Setting("appendonly") == "yes" ? view[LogBase] : 0;
        double dump = SavePoints(view).Count > 0 ? view[SaveBytes] : 0;
        double needed = Math.Max(log, dump);
        return needed > Tangible && view[DiskFree] < needed * 1.1
            ? new(log >= dump ? "The next rewrite may not fit on the disk" : "The next save may not fit on the disk", Text($"{Bytes(view[DiskFree])} are free, the last one took {Bytes(needed)}"), Warning)
            : null;
    }

    private static Diagnosis? FolderIsInMemory(DiagnosticsView view)
    {
        if (view.Facts.GetValueOrDefault("data_file_system") is not ("tmpfs" or "ramfs")) return null;
        bool logs = view.Setting("appendonly") == "yes";
        return logs || (SavePoints(view).Count > 0 && view.Setting("save") != SavePoint.ProgramDefault)
            ? new("The data folder is in memory", Text($"dir {view.Setting("dir")} is on {view.Facts["data_file_system"]}; {(logs ? "appendonly yes" : "save " + view.Setting("save"))}"), logs ? Warning : Notice)
            : null;
    }

    private static List<(long Seconds, long Changes)> SavePoints(DiagnosticsView view)
    {
        long[] numbers = [.. view.Setting("save").Split(' ', StringSplitOptions.RemoveEmptyEntries).Select(word => long.TryParse(word, CultureInfo.InvariantCulture, out long number) ? number : long.MaxValue)];
        return [.. numbers.Chunk(2).Where(pair => pair.Length == 2).Select(pair => (pair[0], pair[1]))];
    }

    private static string Reason(DiagnosticsView view, string fact) => view.Facts.GetValueOrDefault(fact) is { Length: > 0 } reason ? reason : "the log has the reason";

    private static string Duration(double microseconds) => microseconds >= 1e6 ? Text($"{microseconds / 1e6:0.#} s") : Text($"{microseconds / 1000:0.#} ms");
}
