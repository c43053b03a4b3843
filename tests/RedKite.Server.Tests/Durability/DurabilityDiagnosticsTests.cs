using System.Text.Json;
using RedKite.Persistence.Log;
using RedKite.Server.Diagnostics;
using RedKite.Server.Diagnostics.Package;
using RedKite.Server.Durability;
using RedKite.Server.Metrics;
using RedKite.Server.Tests.Diagnostics.Package;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Durability;

/// <summary>What a server says about its own durability when the disk fails: findings, metrics, timeline, report, LATENCY.</summary>
public class DurabilityDiagnosticsTests
{
    [Fact]
    public async Task Failed_save_is_found_and_explained()
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", "3600 1", "diagnostics", "yes");
        disk.Run("SET a 1");
        disk.Files.Plan = call => call.Operation == "write" ? new FileFault(FileFault.NoSpace) : null;
        disk.Run("BGSAVE");
        disk.WaitFor(() => disk.Server.Engine.WriteGate.Refusal is not null && !disk.Server.Parts.Durability.IsSaving, "the failure");
        Assert.StartsWith("MISCONF", disk.Run("SET b 1").Text, StringComparison.Ordinal);
        Diagnosis refused = await FoundAsync(disk, "writes-refused"), failed = await FoundAsync(disk, "save-failed");
        Assert.Matches("^the last save failed: .*: No space left on device; 1 command refused so far$", refused.Evidence);
        Assert.Matches("^1 save failed: .*: No space left on device; 1 change unsaved$", failed.Evidence);
        Assert.Equal((FindingSeverity.Critical, FindingSeverity.Critical), (refused.Severity, failed.Severity));
        PackageReader package = PackageReader.Open(new MemoryStream(DebugPackageTests.Build(disk.Server, PackageOptions.WithoutWatching)));
        Assert.Contains(PackageVerdict.Of(package).Found, found => found.Rule.Name == "save-failed" && found.Diagnosis.Evidence.EndsWith("No space left on device; 1 change unsaved", StringComparison.Ordinal)); // without the path
        disk.Files.Plan = null;
        disk.Run("SAVE");
        TimelineKind[] kinds = [.. Kinds(disk).Where(static kind => kind != TimelineKind.SnapshotPoint)]; // on a busy machine a cut takes noticeably long
        Assert.Equal([TimelineKind.SaveBegan, TimelineKind.SaveFailed, TimelineKind.WritesRefused], kinds[..3].Order());
        Assert.Equal([TimelineKind.SaveBegan, TimelineKind.Saved, TimelineKind.WritesAccepted], kinds[3..].Order());
        using JsonDocument report = Report(disk);
        JsonElement[] recent = [.. report.RootElement.GetProperty("recent").EnumerateArray()];
        Assert.Equal(JsonValueKind.Null, recent[0].GetProperty("failure").ValueKind);
        Assert.Contains("No space left on device", recent[1].GetProperty("failure").GetString(), StringComparison.Ordinal);
        JsonElement file = Assert.Single(report.RootElement.GetProperty("files").EnumerateArray());
        Assert.Equal(("dump.rdb", recent[0].GetProperty("bytes").GetInt64()), (file.GetProperty("name").GetString(), file.GetProperty("bytes").GetInt64()));
    }

    [Fact]
    public async Task Failed_sync_is_found_until_a_rewrite_succeeds()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "diagnostics", "yes");
        disk.Files.Plan = call => call.Operation == "sync" ? new FileFault(FileFault.InputOutput) : null;
        disk.Run("SET a 1");
        disk.WaitFor(() => disk.Run("SET b 1").IsError, "the refusal");
        Diagnosis refused = await FoundAsync(disk, "writes-refused");
        Assert.Matches("^the append-only file: .*: Input/output error", refused.Evidence);
        await FoundAsync(disk, "rewrite-fails");
        using (JsonDocument report = Report(disk)) Assert.Equal("a sync failed", report.RootElement.GetProperty("append_only_file").GetProperty("state").GetString());
        disk.Files.Plan = null;
        disk.Run("BGREWRITEAOF");
        disk.WaitFor(() => Kinds(disk).Contains(TimelineKind.Rewritten), "the rewrite");
        TimelineKind[] kinds = Kinds(disk);
        Assert.Contains(TimelineKind.RewriteFailed, kinds);
        Assert.True(Array.IndexOf(kinds, TimelineKind.LogFailed) < Array.IndexOf(kinds, TimelineKind.LogRecovered));
        Assert.True(Array.IndexOf(kinds, TimelineKind.WritesRefused) < Array.IndexOf(kinds, TimelineKind.WritesAccepted));
        using (JsonDocument report = Report(disk)) Assert.Equal("in use", report.RootElement.GetProperty("append_only_file").GetProperty("state").GetString());
    }

    [Fact]
    public async Task Backup_is_shown_and_its_failure_is_found_until_it_is_cleaned_up()
    {
        await using DiskServer disk = await DiskServer.StartAsync("diagnostics", "yes");
        disk.Run("SET a 1");
        disk.Run("BACKUP START");
        disk.WaitFor(() => disk.Server.Parts.Backup.Status.State == BackupState.Incrementing, "the base");
        disk.Run("SET b 2");
        using var reader = new ObservationReader(disk.Server.Parts);
        disk.WaitFor(() => reader.Read().Durability.BackupIncrementBytes > 0, "the increment");
        Assert.Equal(BackupState.Incrementing, reader.Read().Durability.Backup);
        Assert.InRange(reader.Read().Durability.BackupSeconds, 0, 60);
        disk.Run("BACKUP SEAL");
        using (JsonDocument report = Report(disk))
        {
            Assert.Equal("sealed", report.RootElement.GetProperty("backup").GetProperty("state").GetString());
            string?[] names = [.. report.RootElement.GetProperty("files").EnumerateArray().Where(file => file.GetProperty("kind").GetString() == "backup").Select(file => file.GetProperty("name").GetString())];
            Assert.Equal(["backupdir/appendonly.aof.1.base.rdb", "backupdir/appendonly.aof.1.incr.aof", "backupdir/appendonly.aof.manifest"], names.Order(StringComparer.Ordinal));
        }

        disk.Run("BACKUP CLEANUP");
        disk.Files.Plan = call => call.Operation == "create" ? new FileFault(FileFault.NoSpace) : null;
        disk.Run("BACKUP START");
        Diagnosis failed = await FoundAsync(disk, "backup-failed");
        Assert.EndsWith("create failed: No space left on device", failed.Evidence, StringComparison.Ordinal);
        using (JsonDocument report = Report(disk)) Assert.Equal(failed.Evidence, report.RootElement.GetProperty("backup").GetProperty("failure").GetString());
        disk.Files.Plan = null;
        disk.Run("BACKUP CLEANUP");
        Assert.Equal(BackupState.Idle, reader.Read().Durability.Backup);
    }

    // What a log reports of a sync, without the wait.
    [Fact]
    public async Task Slow_sync_is_found_and_on_the_timeline()
    {
        await using DiskServer disk = await DiskServer.StartAsync("diagnostics", "yes");
        LogTotals totals = disk.Server.Parts.Durability.Log.Totals;
        totals.NoteSync(TimeSpan.FromSeconds(0.9));
        Assert.Empty(Kinds(disk));
        totals.NoteSync(TimeSpan.FromSeconds(2.5));
        Assert.Equal([TimelineKind.SlowSync], Kinds(disk));
        Assert.Matches("^2[.][0-9] s within the last minute$", (await FoundAsync(disk, "fsync-slow")).Evidence);
    }

    [Fact]
    public async Task Resetstat_forgets_delayed_syncs_and_memory_includes_the_log()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes");
        disk.Run("SET key value");
        disk.Server.Parts.Durability.Log.Totals.NoteDelayedSync();
        Assert.Equal("1", disk.Info("aof_delayed_fsync"));
        disk.Run("CONFIG RESETSTAT");
        Assert.Equal("0", disk.Info("aof_delayed_fsync"));
        Assert.Contains($"mem_aof_buffer:{LogChain.SegmentBytes}", disk.Run("INFO memory").Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Metrics_count_what_the_log_and_saves_do()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "appendfsync", "always", "save", "");
        using var reader = new ObservationReader(disk.Server.Parts);
        reader.Read();
        for (int i = 0; i < 3; i++) disk.Run("SET key value");
        string path = Path.Combine(disk.Folder, "appendonlydir", "appendonly.aof.1.incr.aof");
        DurabilityFigures log = reader.Read().Durability;
        Assert.Equal(disk.Files.Content(path).Length, log.LogBytes);
        Assert.Equal(disk.Files.History.Count(call => call.Operation == "sync" && call.Path == path), log.LogSyncs);
        Assert.Equal(3, log.LogWrites);
        Assert.False(double.IsNaN(log.LogSync.P99));
        Assert.Equal((3, 0, 0), (log.ChangesSinceSave, log.LogPendingBytes, log.SnapshotKeysLeft));
        Assert.True(double.IsNaN(log.SnapshotPointMicroseconds));

        disk.Run("BGSAVE");
        disk.WaitFor(() => disk.Info("rdb_saves") == "1" && !disk.Server.Parts.Durability.IsSaving, "the save");
        DurabilityFigures save = reader.Read().Durability;
        Assert.Equal((1, 0, 0), (save.Saves, save.SaveFailuresInARow, save.ChangesSinceSave));
        Assert.Equal(disk.Files.Content(Path.Combine(disk.Folder, "dump.rdb")).Length, save.SaveBytes);
        Assert.True(save.SnapshotPointMicroseconds > 0);
        Assert.True(double.IsNaN(save.LogSync.P99)); // nothing was synced meanwhile
        await disk.RestartAsync();
        using var second = new ObservationReader(disk.Server.Parts);
        DurabilityFigures loaded = second.Read().Durability;
        Assert.True(loaded.LoadBytes > 0);
        Assert.Equal(loaded.LogBaseBytes, loaded.LogSizeBytes);
    }

    [Fact]
    public async Task Latency_has_what_the_disk_took_long_for()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "appendfsync", "always", "latency-monitor-threshold", "1");
        disk.Files.Plan = call =>
        {
            if (call.Operation is "write" or "sync") Thread.Sleep(2);
            return null;
        };
        disk.Run("SET a 1");
        disk.Server.Parts.Durability.SnapshotPointReached += () => Thread.Sleep(2);
        disk.Run("BGSAVE");
        disk.WaitFor(() => disk.Info("rdb_saves") == "1", "the save");
        string[] names = [.. disk.Run("LATENCY LATEST").Items.Select(item => item.Items[0].Text!)];
        Assert.All(["aof-fsync-always", "aof-write", "aof-write-alone", "fork"], name => Assert.Contains(name, names));
    }

    private static async Task<Diagnosis> FoundAsync(DiskServer disk, string rule)
    {
        for (int i = 0; i < 1200; i++)
        {
            FindingTracker findings = disk.Server.Diagnostics!.Findings;
            if (findings.Current.FirstOrDefault(finding => finding.Rule.Name == rule) is { } found) return found.Diagnosis;
            await Task.Delay(50, TestContext.Current.CancellationToken);
        }

        throw new TimeoutException($"{rule} is not found");
    }

    // Those of durability, oldest first.
    private static TimelineKind[] Kinds(DiskServer disk) =>
        [.. disk.Server.Engine.Timeline.Events.Select(item => item.Kind).Where(kind => kind >= TimelineKind.SaveBegan && kind != TimelineKind.LogBegan)];

    private static JsonDocument Report(DiskServer disk) => JsonDocument.Parse(disk.Server.Reports!.Read("durability", TestContext.Current.CancellationToken)!);
}
