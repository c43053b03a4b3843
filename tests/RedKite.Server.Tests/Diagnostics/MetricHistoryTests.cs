using RedKite.Server.Diagnostics;

namespace RedKite.Server.Tests.Diagnostics;

public sealed class MetricHistoryTests : IDisposable
{
    private const long Start = 1_800_000_000; // a full minute

    private static readonly Metric[] Two =
    [
        new(0, "a", MetricKind.Gauge, MetricUnit.Count, "", _ => 0),
        new(1, "b", MetricKind.Gauge, MetricUnit.Count, "", _ => 0),
    ];

    private readonly string _folder = Directory.CreateTempSubdirectory("redkite-history-").FullName;
    private readonly MetricHistory _history = new(metrics: 2);

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public void Seconds_of_the_last_hour_are_kept()
    {
        for (int i = 0; i < 4000; i++) Add(Start + i, i);
        List<HistoryPoint> all = _history.Seconds(0, 0, long.MaxValue);
        Assert.Equal((3600, 400f, 3999f), (all.Count, all[0].Value, all[^1].Value));
        Assert.Equal([(Start + 3990, 3990f), (Start + 3991, 3991f)], _history.Seconds(0, Start + 3990, Start + 3991).Select(point => (point.UnixSeconds, point.Value)));
    }

    [Fact]
    public void Empty_history_has_no_points()
    {
        Assert.Empty(_history.Seconds(0, 0, long.MaxValue));
        Assert.Empty(_history.Minutes(0, 0, long.MaxValue));
    }

    [Fact]
    public void Gaps_stay_gaps()
    {
        Add(Start, 1);
        Add(Start + 5000, 2); // more than an hour later, in slots that older seconds had
        Assert.Equal([Start + 5000], _history.Seconds(0, 0, long.MaxValue).Select(point => point.UnixSeconds));
        Assert.Equal([Start], _history.Minutes(0, 0, long.MaxValue).Select(point => point.UnixSeconds));
    }

    [Fact]
    public void Minutes_have_mean_and_maximum()
    {
        for (int i = 0; i < 61; i++) Add(Start + i, i);
        HistoryPoint minute = Assert.Single(_history.Minutes(0, 0, long.MaxValue));
        Assert.Equal((Start, 29.5f, 59f), (minute.UnixSeconds, minute.Value, minute.Max));
    }

    [Fact]
    public void Unknown_values_do_not_count()
    {
        for (int i = 0; i < 60; i++) _history.Add(Start + i, [i < 30 ? double.NaN : 2, double.NaN]);
        Add(Start + 60, 0);
        Assert.Equal(2, Assert.Single(_history.Minutes(0, 0, long.MaxValue)).Value);
        Assert.True(float.IsNaN(Assert.Single(_history.Minutes(1, 0, long.MaxValue)).Value));
    }

    [Fact]
    public void Minutes_of_two_weeks_are_kept()
    {
        for (int minute = 0; minute < 25_000; minute++) Add(Start + (minute * 60L), minute);
        List<HistoryPoint> all = _history.Minutes(0, 0, long.MaxValue);
        Assert.Equal((20_160, (Start + (24_998 * 60L))), (all.Count, all[^1].UnixSeconds)); // the last one has not ended
        Assert.InRange(all[^1].Value, 24_998 * 0.996f, 24_998 * 1.004f);
    }

    [Fact]
    public void Time_that_goes_backwards_changes_nothing()
    {
        Add(Start + 10, 1);
        Add(Start + 9, 2);
        Assert.Equal([1f], _history.Seconds(0, 0, long.MaxValue).Select(point => point.Value));
    }

    // The limit of the histories of metrics, commands and loops together.
    [Fact]
    public void Memory_is_bounded()
    {
        const long Limit = 42 << 20;
        double[] values = new double[MetricTable.All.Count];
        long before = GC.GetAllocatedBytesForCurrentThread(); // other tests collect and allocate at the same time
        var history = new MetricHistory(MetricTable.All.Count);
        var commands = new RankedHistory(RankedTable.Commands, []);
        var loops = new RankedHistory(RankedTable.Loops, []);
        for (int second = 0; second < MetricHistory.SecondsKept; second++) history.Add(Start + second, values);
        for (int minute = 60; minute < MetricHistory.MinutesKept + 100; minute++) history.Add(Start + (minute * 60L), values);
        foreach (RankedHistory ranked in (RankedHistory[])[commands, loops])
        {
            for (int second = 0; second < MetricHistory.SecondsKept; second += SlotRing<object>.BlockSlots) ranked.Add(Start + second, []); // one for each block
            for (int minute = 0; minute < MetricHistory.MinutesKept; minute++) ranked.RestoreMinute((Start / 60) + minute, [], []);
        }

        long bytes = GC.GetAllocatedBytesForCurrentThread() - before;
        TestContext.Current.SendDiagnosticMessage($"two weeks of history take {bytes / 1024} KiB");
        Assert.InRange(bytes, 20 << 20, Limit);
    }

    [Fact]
    public void File_keeps_minutes_over_a_restart()
    {
        for (int i = 0; i < 3600; i++) Add(Start + i, i);
        HistoryFile.Save(Path, _history, Two);
        var next = new MetricHistory(metrics: 2);
        Assert.Null(HistoryFile.Load(Path, next, Two));
        Assert.Equal(_history.Minutes(0, 0, long.MaxValue), next.Minutes(0, 0, long.MaxValue));
        Assert.Equal(59, next.Minutes(1, 0, long.MaxValue).Count);
    }

    [Fact]
    public void File_of_other_metrics_is_read_by_their_names()
    {
        for (int i = 0; i < 120; i++) _history.Add(Start + i, [1, 2]);
        HistoryFile.Save(Path, _history, Two);
        Metric[] later = [new(0, "new", MetricKind.Gauge, MetricUnit.Count, "", _ => 0), new(1, "a", MetricKind.Gauge, MetricUnit.Count, "", _ => 0)];
        var next = new MetricHistory(metrics: 2);
        Assert.Null(HistoryFile.Load(Path, next, later));
        Assert.Equal(1, next.Minutes(1, 0, long.MaxValue)[0].Value);
        Assert.True(float.IsNaN(next.Minutes(0, 0, long.MaxValue)[0].Value));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(9)]
    [InlineData(60)]
    public void Damaged_file_is_set_aside_and_reported(int damagedByte)
    {
        for (int i = 0; i < 600; i++) Add(Start + i, i);
        HistoryFile.Save(Path, _history, Two);
        byte[] bytes = File.ReadAllBytes(Path);
        bytes[damagedByte] ^= 1;
        File.WriteAllBytes(Path, bytes);
        var next = new MetricHistory(metrics: 2);
        Assert.Contains("is damaged", HistoryFile.Load(Path, next, Two), StringComparison.Ordinal);
        Assert.Empty(next.Minutes(0, 0, long.MaxValue));
        Assert.Equal((false, true), (File.Exists(Path), File.Exists(Path + ".damaged")));
    }

    [Fact]
    public void Truncated_file_is_set_aside()
    {
        for (int i = 0; i < 600; i++) Add(Start + i, i);
        HistoryFile.Save(Path, _history, Two);
        File.WriteAllBytes(Path, File.ReadAllBytes(Path)[..20]);
        Assert.NotNull(HistoryFile.Load(Path, new MetricHistory(metrics: 2), Two));
        Assert.True(File.Exists(Path + ".damaged"));
    }

    private string Path => System.IO.Path.Combine(_folder, "metrics.history");

    private void Add(long second, double value) => _history.Add(second, [value, -value]);
}
