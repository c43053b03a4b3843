using RedKite.Server.Config;
using RedKite.Server.Diagnostics;
using static RedKite.Server.Diagnostics.FindingSeverity;
using static RedKite.Server.Diagnostics.MetricTable;

namespace RedKite.Server.Tests.Diagnostics;

/// <summary>The rules on durability over time: values that rise, step, hold or fluctuate.</summary>
public class DurabilityRulesTests
{
    private const long Now = 1_800_000_000;
    private const int Seconds = 700;
    private const double MiB = 1 << 20;
    private const double GiB = 1 << 30;

    // What commands have changed within the last second does not make a save overdue: it begins within the next.
    [Fact]
    public void Save_is_old_when_its_point_was_reached_all_the_time()
    {
        Assert.Null(Check("save-old", [("save", "60 10000")], (SaveAge, i => 90_000 + i), (ChangesSinceSave, i => i < Seconds - 1 ? 3 : 20_000)));
        Assert.Null(Check("save-old", [("save", "60 10000")], (SaveAge, i => i), (ChangesSinceSave, _ => 20_000), (SnapshotRuns, _ => 1)));
        Diagnosis old = Check("save-old", [("save", "60 10000")], (SaveAge, i => 900 + i), (ChangesSinceSave, i => 20_000 + (10 * i)))!;
        Assert.Equal("it was about 27 minutes ago, 26990 changes unsaved; save 60 10000 has been reached", old.Evidence);
    }

    [Fact]
    public void Cache_that_keeps_nothing_has_no_finding() => Assert.All(
        FindingTable.Rules.Where(rule => rule.View == "durability"),
        rule => Assert.Null(Check(rule.Name, [("save", "")], (SaveAge, i => 1_000_000 + i), (ChangesSinceSave, i => 1e9 + (1e6 * i)), (DiskFree, _ => 300 * MiB), (Uptime, i => i))));

    [Fact]
    public void Failed_save_is_critical_where_it_is_the_only_copy()
    {
        Diagnosis only = Check("save-failed", [("save", "3600 1")], (SaveFailuresInARow, _ => 1), (ChangesSinceSave, _ => 1))!;
        Assert.Equal((Critical, "1 save failed: the log has the reason; 1 change unsaved"), (only.Severity, only.Evidence));
        Assert.Equal(Warning, Check("save-failed", [("save", "3600 1"), ("appendonly", "yes")], (SaveFailuresInARow, _ => 2))!.Severity);
        Assert.Equal(Warning, Check("save-failed", [("save", "")], (SaveFailuresInARow, _ => 2))!.Severity);
    }

    [Fact]
    public void Slow_sync_is_found_for_a_minute()
    {
        Assert.Equal("1.5 s within the last minute", Check("fsync-slow", [], (LogSyncMax, i => i == Seconds - 30 ? 1_500_000 : 4_000))!.Evidence);
        Assert.Null(Check("fsync-slow", [], (LogSyncMax, i => i == Seconds - 90 ? 1_500_000 : 4_000)));
        Assert.Null(Check("fsync-slow", [], (LogSyncMax, i => i % 7 * 100_000)));
        Diagnosis once = Check("fsync-slow", [], (LogDelayedSyncs, i => i == Seconds - 30 ? 1 : 0), (LogSyncMax, i => i == Seconds - 30 ? 2_500_000 : 4_000))!;
        Assert.Equal((Warning, "1 time in the last minute; the longest sync took 2.5 s"), (once.Severity, once.Evidence));
        Assert.Equal(Critical, Check("fsync-slow", [], (LogDelayedSyncs, i => i >= Seconds - 4 ? 1 : 0), (LogSyncMax, _ => 2_500_000))!.Severity);
    }

    // With everysec nothing waits for a sync of 30 ms. A disk that is slow now and then is not slow.
    [Fact]
    public void Always_needs_a_disk_that_syncs_fast()
    {
        Assert.Null(Check("fsync-always-slow", [("appendfsync", "everysec")], (LogSyncP99, _ => 30_000)));
        Assert.Null(Check("fsync-always-slow", [("appendfsync", "always")], (LogSyncP99, i => i % 5 == 0 ? 30_000 : 800)));
        Assert.Equal("the 99th percentile of the syncs is 15 ms", Check("fsync-always-slow", [("appendfsync", "always")], (LogSyncP99, i => i % 2 == 0 ? 29_000 : 1_000))!.Evidence);
        Assert.Null(Check("fsync-always-slow", [("appendfsync", "always")], (LogSyncP99, _ => double.NaN)));
    }

    [Fact]
    public void Rewrites_loop_when_they_take_most_of_the_time()
    {
        Assert.Null(Check("rewrite-loops", [], (SnapshotRuns, i => i % 100 < 30 ? 2 : 0), (Rewrites, i => i % 100 == 30 ? 1 : 0)));
        Assert.Null(Check("rewrite-loops", [], (SnapshotRuns, _ => 2), (Rewrites, _ => 0))); // a single long one
        Diagnosis loop = Check("rewrite-loops", [], (SnapshotRuns, i => i % 100 < 80 ? 2 : 1), (Rewrites, i => i % 100 == 80 ? 1 : 0))!;
        Assert.Equal("6 rewrites in the last ten minutes, 80 % of the time", loop.Evidence);
    }

    [Fact]
    public void Log_outgrows_its_rewrites()
    {
        Assert.Null(Check("log-outgrows-rewrites", [], (LogSize, i => GiB + (3 * MiB * i)), (LogBase, _ => GiB))); // is due, and not twice as large
        Assert.Null(Check("log-outgrows-rewrites", [], (LogSize, i => i > Seconds - 30 ? 9 * GiB : GiB), (LogBase, _ => GiB))); // for half a minute
        Assert.Equal("4.86 GiB; it is rewritten from 2 GiB on", Check("log-outgrows-rewrites", [], (LogSize, i => GiB + (6.176 * MiB * i)), (LogBase, _ => GiB))!.Evidence);
        Assert.Null(Check("log-outgrows-rewrites", [], (LogSize, _ => 100 * MiB), (LogBase, _ => 85))); // a rewrite is due from 64 MiB on
        Diagnosis off = Check("log-outgrows-rewrites", [("auto-aof-rewrite-percentage", "0")], (LogSize, _ => 9 * GiB), (LogBase, _ => GiB))!;
        Assert.Equal((Notice, "The append-only file is not rewritten"), (off.Severity, off.Title));
    }

    [Fact]
    public void Disk_needs_room_for_what_is_used()
    {
        Assert.Null(Check("disk-short-for-snapshot", [("save", "")], (SaveBytes, _ => 9 * GiB), (DiskFree, _ => GiB)));
        Assert.Equal("The next save may not fit on the disk", Check("disk-short-for-snapshot", [("save", "3600 1")], (SaveBytes, _ => 9 * GiB), (DiskFree, _ => 9 * GiB))!.Title);
        Assert.Null(Check("disk-short-for-snapshot", [("save", "3600 1")], (SaveBytes, _ => 9 * GiB), (DiskFree, _ => 10 * GiB)));
        Assert.Null(Check("disk-short-for-snapshot", [("save", "3600 1")], (SaveBytes, _ => MiB), (DiskFree, _ => 0)));
    }

    // The program's own save points do not say that the data matters.
    [Fact]
    public void Folder_in_memory_is_no_place_for_what_is_to_be_kept()
    {
        Assert.Null(Check("data-folder-in-memory", [("save", "")]));
        Assert.Null(Check("data-folder-in-memory", [("save", SavePoint.ProgramDefault)]));
        Assert.Equal(Notice, Check("data-folder-in-memory", [("save", "60 1")])!.Severity);
        Diagnosis logged = Check("data-folder-in-memory", [("appendonly", "yes"), ("dir", "/dev/shm")])!;
        Assert.Equal((Warning, "dir /dev/shm is on tmpfs; appendonly yes"), (logged.Severity, logged.Evidence));
    }

    [Fact]
    public void Slow_load_is_no_news_after_an_hour()
    {
        Assert.Equal("loading 2 GiB took about 2 minutes", Check("load-slow", [], (LoadSeconds, _ => 110), (LoadBytes, _ => 2 * GiB), (Uptime, i => i))!.Evidence);
        Assert.Null(Check("load-slow", [], (LoadSeconds, _ => 110), (Uptime, i => 3600 + i)));
    }

    // The values of each metric by the second, of which the last one is now; of the others, 0.
    private static Diagnosis? Check(string rule, (string Name, string Value)[] settings, params (Metric Metric, Func<int, double> At)[] series)
    {
        var history = new MetricHistory(MetricTable.All.Count);
        var values = new double[MetricTable.All.Count];
        for (int i = 0; i < Seconds; i++)
        {
            foreach ((Metric metric, Func<int, double> at) in series) values[metric.Index] = at(i);
            history.Add(Now - Seconds + 1 + i, values);
        }

        Configuration configuration = new(new Settings());
        var view = new DiagnosticsView(history, values, Now, name => Array.Find(settings, setting => setting.Name == name).Value ?? configuration.Get(name))
        {
            Facts = new Dictionary<string, string> { ["data_file_system"] = "tmpfs" },
        };
        return FindingTable.Rules.Single(each => each.Name == rule).Check(view);
    }
}
