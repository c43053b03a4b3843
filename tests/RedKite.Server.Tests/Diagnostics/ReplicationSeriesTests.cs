using RedKite.Server.Config;
using RedKite.Server.Diagnostics;
using static RedKite.Server.Diagnostics.MetricTable;

namespace RedKite.Server.Tests.Diagnostics;

/// <summary>Rules on replication over series as servers record them: a replica that falls behind and catches up, a link that flaps, a backlog at a rate.</summary>
public class ReplicationSeriesTests
{
    private const long Now = 1_800_000_000;
    private const double MiB = 1 << 20;

    [Theory]
    [InlineData("rises", "A replica is slower than the stream")]
    [InlineData("rises with noise", "A replica is slower than the stream")]
    [InlineData("flat", null)]
    [InlineData("catches up", null)]
    [InlineData("burst a minute ago", null)]
    [InlineData("rises below a mebibyte", null)]
    public void Replica_is_slower_only_while_it_falls_behind(string series, string? title) =>
        Assert.Equal(title, Check("replica-slower", 600, ago => [(Replicas, 1), (ReplicaLag, LagAt(series, ago)), (ReplicaLagPercent, LagAt(series, ago) / (256 * MiB) * 100)])?.Title);

    [Fact]
    public void Replica_that_falls_behind_is_told_when_it_will_be_closed()
    {
        Diagnosis diagnosis = Check("replica-slower", 600, ago => [(Replicas, 1), (ReplicaLag, LagAt("rises", ago)), (ReplicaLagPercent, LagAt("rises", ago) / (256 * MiB) * 100)])!;
        Assert.Equal("64 MiB behind, growing by 102.4 KiB a second: in about 32 minutes it is closed and must copy everything", diagnosis.Evidence);
    }

    // 1 MiB/s with 40 MiB kept: 40 seconds, and 60 MiB are a minute.
    [Fact]
    public void Backlog_s_window_and_the_size_that_would_do_are_named()
    {
        Diagnosis diagnosis = Check("backlog-short", 60, _ => [(Replicas, 1), (BacklogSize, 40 * MiB), (ReplicationBytes, MiB)])!;
        Assert.Equal("a replica that is away for more than 40 s must copy everything: raise repl-backlog-size to 64mb", diagnosis.Evidence);
        Assert.Null(Check("backlog-short", 60, _ => [(Replicas, 1), (BacklogSize, 64 * MiB), (ReplicationBytes, MiB)]));
        Assert.Null(Check("backlog-short", 60, ago => [(Replicas, 1), (BacklogSize, 40 * MiB), (ReplicationBytes, ago < 20 ? 2 * MiB : 0)])); // a burst
        Assert.Null(Check("backlog-short", 60, _ => [(BacklogSize, 40 * MiB), (ReplicationBytes, MiB)])); // nobody could come back
    }

    [Theory]
    [InlineData("replicas-flap")]
    [InlineData("primary-link-flaps")]
    [InlineData("replicas-resynchronize")]
    public void Link_flaps_at_the_fifth_break_within_ten_minutes(string rule)
    {
        (Metric, double)[] broken = [(ReplicasLost, 1), (LinkBreaks, 1), (SyncsFull, 1)];
        Assert.NotNull(Check(rule, 600, ago => ago % 120 == 0 ? broken : []));
        Assert.Null(Check(rule, 600, ago => ago % 150 == 0 ? broken : [])); // four
        Assert.NotNull(Check(rule, 5, _ => broken));
        Assert.Null(Check(rule, 700, ago => ago >= 600 ? broken : []));
    }

    [Fact]
    public void Link_is_down_after_ten_seconds_and_until_it_is_back()
    {
        Assert.Null(Check("primary-link-down", 60, ago => [(LinkUp, ago < 10 ? 0 : 1), (LinkDown, Math.Max(0, 10 - ago))]));
        Diagnosis diagnosis = Check("primary-link-down", 60, ago => [(LinkUp, ago < 45 ? 0 : 1), (LinkDown, Math.Max(0, 45 - ago))])!;
        Assert.Equal(("for about 45 seconds; clients read data that is so old", FindingSeverity.Critical), (diagnosis.Evidence, diagnosis.Severity));
        Assert.Null(Check("primary-link-down", 60, ago => [(LinkUp, ago < 1 ? 1 : 0), (LinkDown, ago < 1 ? 0 : 50)]));
        Assert.Null(Check("primary-link-down", 60, _ => [(LinkUp, double.NaN), (LinkDown, double.NaN)])); // a primary
    }

    [Fact]
    public void One_failed_synchronization_is_no_loop()
    {
        Assert.Null(Check("replica-sync-loops", 60, _ => [(SyncsFailedInARow, 1)]));
        Assert.StartsWith("2 in a row", Check("replica-sync-loops", 60, _ => [(SyncsFailedInARow, 2), (ReplicationBytes, MiB)])!.Evidence, StringComparison.Ordinal);
        Assert.Null(Check("primary-sync-fails", 60, _ => [(LinkFailedSyncsInARow, 1)]));
        Assert.NotNull(Check("primary-sync-fails", 60, _ => [(LinkFailedSyncsInARow, 2)]));
    }

    [Fact]
    public void Busy_second_is_no_saturated_replica()
    {
        Assert.Null(Check("replica-saturated", 60, ago => [(LinkApplied, ago < 3 ? 1_000_000 : 200_000)]));
        Assert.Equal("executing the stream took 97 % of the last 30 seconds", Check("replica-saturated", 60, _ => [(LinkApplied, 970_000)])!.Evidence);
    }

    private static double LagAt(string series, int secondsAgo)
    {
        const double Rate = MiB / 10;
        return series switch
        {
            "rises" => (64 * MiB) - (secondsAgo * Rate),
            "rises with noise" => (64 * MiB) - (secondsAgo * Rate) + (((secondsAgo * 7919 % 13) - 6) * MiB / 16),
            "flat" => 64 * MiB,
            "catches up" => (4 * MiB) + (secondsAgo * Rate),
            "burst a minute ago" => secondsAgo > 60 ? 0 : 64 * MiB,
            "rises below a mebibyte" => (600 - secondsAgo) * 1000.0,
            _ => throw new ArgumentOutOfRangeException(nameof(series)),
        };
    }

    private static Diagnosis? Check(string rule, int seconds, Func<int, (Metric, double)[]> at)
    {
        var history = new MetricHistory(MetricTable.All.Count);
        double[] values = [];
        for (int ago = seconds - 1; ago >= 0; ago--)
        {
            values = new double[MetricTable.All.Count];
            foreach ((Metric metric, double value) in at(ago)) values[metric.Index] = value;
            history.Add(Now - ago, values);
        }

        var view = new DiagnosticsView(history, values, Now, new Configuration(new Settings()).Get);
        return FindingTable.Rules.Single(each => each.Name == rule).Check(view);
    }
}
