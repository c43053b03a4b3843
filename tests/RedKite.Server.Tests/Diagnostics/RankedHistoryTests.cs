using RedKite.Server.Diagnostics;

namespace RedKite.Server.Tests.Diagnostics;

/// <summary>The history of each command and each loop: rings, gaps, the limit of records, minutes, memory.</summary>
public class RankedHistoryTests
{
    private const long Start = 1_800_000_000; // a full minute
    private const int Rate = 0;
    private const int Peak = 1;

    private static readonly RankedSeries[] Series = [new("rate", MetricUnit.Count, IsPeak: false, ""), new("peak", MetricUnit.Count, IsPeak: true, "")];

    private readonly RankedHistory _history = new(new RankedKind("commands", RecordsMax: 3, IsIdleWhenAbsent: true, Series), ["a", "b", "c", "d", "e"]);

    [Fact]
    public void Seconds_of_the_last_hour_are_kept()
    {
        for (int i = 0; i < 4000; i++) Add(Start + i, (0, i % 256, 1));
        List<HistoryPoint> all = _history.Seconds(0, Rate, 0, long.MaxValue);
        Assert.Equal((3600, Start + 400, Start + 3999), (all.Count, all[0].UnixSeconds, all[^1].UnixSeconds));
        Assert.All(all, point => Assert.Equal((point.UnixSeconds - Start) % 256, point.Value));
        Assert.Equal([Start + 3990, Start + 3991], _history.Seconds(0, Rate, Start + 3990, Start + 3991).Select(point => point.UnixSeconds));
    }

    [Fact]
    public void Minutes_of_two_weeks_are_kept()
    {
        for (int minute = 0; minute < 25_000; minute++) Add(Start + (minute * 60L), (1, minute % 256, 2));
        List<HistoryPoint> all = _history.Minutes(1, Rate, 0, long.MaxValue);
        Assert.Equal((20_160, Start + (24_998 * 60L)), (all.Count, all[^1].UnixSeconds)); // the last one has not ended
        Assert.All(all, point => Assert.Equal((point.UnixSeconds - Start) / 60 % 256, point.Value));
    }

    [Fact]
    public void Gaps_stay_gaps()
    {
        Add(Start, (0, 1, 1));
        Add(Start + 5000, (0, 2, 2)); // more than an hour later
        Assert.Equal([Start + 5000], _history.Seconds(0, Rate, 0, long.MaxValue).Select(point => point.UnixSeconds));
        Assert.Equal([Start], _history.Minutes(0, Rate, 0, long.MaxValue).Select(point => point.UnixSeconds));
    }

    [Fact]
    public void Time_that_goes_backwards_changes_nothing()
    {
        Add(Start + 10, (0, 1, 1));
        Add(Start + 9, (0, 2, 2));
        Assert.Equal([1f], _history.Seconds(0, Rate, 0, long.MaxValue).Select(point => point.Value));
    }

    [Fact]
    public void Idle_command_did_nothing_in_an_unknown_time()
    {
        Add(Start, (0, 5, 7));
        Add(Start + 1);
        Assert.Equal([0f, 0f], _history.Seconds(1, Rate, 0, long.MaxValue).Select(point => point.Value));
        Assert.Equal([float.NaN, float.NaN], _history.Seconds(1, Peak, 0, long.MaxValue).Select(point => point.Value));
        Assert.Equal([5f, 0f], _history.Seconds(0, Rate, 0, long.MaxValue).Select(point => point.Value));
    }

    [Fact]
    public void Loop_without_a_record_was_not_there()
    {
        var loops = new RankedHistory(new RankedKind("loops", RecordsMax: 3, IsIdleWhenAbsent: false, Series), ["0", "1"]);
        loops.Add(Start, [new RankedRecord(0, [50, 1])]);
        Assert.Equal([float.NaN], loops.Seconds(1, Rate, 0, long.MaxValue).Select(point => point.Value));
    }

    [Fact]
    public void Those_with_the_most_of_the_first_series_are_kept_and_the_others_are_unknown()
    {
        Add(Start, (0, 2, 1), (1, 9, 1), (2, 1, 99), (3, 4, 1), (4, 0.5f, 1));
        Add(Start + 60);
        float[] expected = [2, 9, float.NaN, 4, float.NaN];
        Assert.Equal(expected, Enumerable.Range(0, 5).Select(id => _history.Seconds(id, Rate, Start, Start)[0].Value));
        Assert.Equal(expected, Enumerable.Range(0, 5).Select(id => float.Round(_history.Minutes(id, Rate, Start, Start)[0].Value)));
    }

    // A second keeps three; the minute is of all.
    [Fact]
    public void Minute_counts_what_its_seconds_have_left_out()
    {
        for (int i = 0; i < 60; i++) Add(Start + i, (0, 10, 1), (1, 9, 1), (i % 2 == 0 ? 2 : 3, 8, 1), (4, 7, 1));
        Add(Start + 60);
        Assert.All(_history.Seconds(4, Rate, 0, Start + 59), point => Assert.True(float.IsNaN(point.Value)));
        Assert.Equal(7, Assert.Single(_history.Minutes(4, Rate, 0, long.MaxValue)).Value); // 2 and 3 have 4 in the mean
        Assert.True(float.IsNaN(Assert.Single(_history.Minutes(3, Rate, 0, long.MaxValue)).Value));
    }

    [Fact]
    public void Minute_has_the_mean_of_rates_over_all_its_seconds_and_the_largest_peak()
    {
        for (int i = 0; i < 60; i++)
        {
            if (i < 15) Add(Start + i, (0, 8, i == 7 ? 100 : float.NaN));
            else Add(Start + i);
        }

        Add(Start + 60);
        Assert.Equal(2, Assert.Single(_history.Minutes(0, Rate, 0, long.MaxValue)).Value);
        Assert.Equal(100, Assert.Single(_history.Minutes(0, Peak, 0, long.MaxValue)).Value);
    }

    [Fact]
    public void Minute_that_was_observed_in_part_has_the_mean_of_that_part()
    {
        for (int i = 0; i < 10; i++) Add(Start + i, (0, 6, 1));
        Add(Start + 60);
        Assert.Equal(6, Assert.Single(_history.Minutes(0, Rate, 0, long.MaxValue)).Value);
    }

    [Fact]
    public void Rates_are_rounded_to_nearest_and_peaks_up()
    {
        Add(Start, (0, 1000.9f, 1000.9f));
        Assert.Equal(1000, Assert.Single(_history.Seconds(0, Rate, 0, long.MaxValue)).Value);
        Assert.Equal(1004, Assert.Single(_history.Seconds(0, Peak, 0, long.MaxValue)).Value);
    }

    [Fact]
    public void Memory_is_fixed_however_many_are_active()
    {
        var history = new RankedHistory(RankedTable.Commands, Enumerable.Range(0, RankedHistory.NamesMax).Select(i => $"{i}"));
        ushort[] ids = [.. Enumerable.Range(0, RankedHistory.NamesMax).Select(i => (ushort)i)];
        var values = new float[ids.Length * RankedTable.Commands.Series.Length];
        Array.Fill(values, 3);
        Assert.InRange(Fill(0), 4 << 20, 6 << 20);
        Assert.InRange(Fill(MetricHistory.MinutesKept), 0, 1000); // the same slots again
        Assert.True(float.IsNaN(history.Minutes(RankedTable.Commands.RecordsMax, 0, 0, long.MaxValue)[0].Value));
        Assert.Equal(3, history.Minutes(RankedTable.Commands.RecordsMax - 1, 0, 0, long.MaxValue)[0].Value);

        long Fill(int first)
        {
            long before = GC.GetAllocatedBytesForCurrentThread();
            for (int i = 0; i < MetricHistory.MinutesKept; i++) history.RestoreMinute((Start / 60) + first + i, ids, values);
            return GC.GetAllocatedBytesForCurrentThread() - before;
        }
    }

    [Fact]
    public void Names_are_limited()
    {
        var history = new RankedHistory(RankedTable.Commands, names: null);
        for (int i = 0; i < RankedHistory.NamesMax; i++) Assert.Equal(i, history.IdOf($"{i}"));
        Assert.Equal(7, history.IdOf("7"));
        Assert.Throws<InvalidDataException>(() => history.IdOf("one more"));
        Assert.Equal(-1, _history.IdOf("not known here"));
    }

    private void Add(long second, params (int Id, float Rate, float Peak)[] records) => _history.Add(second, [.. records.Select(record => new RankedRecord(record.Id, [record.Rate, record.Peak]))]);
}
