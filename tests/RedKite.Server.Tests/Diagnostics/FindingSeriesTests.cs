using RedKite.Server.Config;
using RedKite.Server.Diagnostics;
using static RedKite.Server.Diagnostics.MetricTable;

namespace RedKite.Server.Tests.Diagnostics;

/// <summary>Rules on series that rise, stop, jump, swing and are noisy: they claim what was observed, and predict only what goes on.</summary>
public class FindingSeriesTests
{
    private const long Now = 1_800_000_000;
    private const double MiB = 1 << 20;
    private const double Limit = 1000 * MiB;

    public static TheoryData<string, string?> MemorySeries => new()
    {
        { "rising", "Memory will reach its limit in about 25 minutes" },
        { "rising with noise", "Memory will reach its limit in about * minutes" },
        { "flat", null },
        { "flat with noise", null },
        { "flat after rising", null },
        { "flat for twenty seconds after rising", null },
        { "step three seconds ago", null },
        { "step a minute ago", null },
        { "sawtooth", null },
        { "falling", null },
        { "rising for a minute after hours of nothing", null },
    };

    [Theory]
    [MemberData(nameof(MemorySeries))]
    public void Memory_is_predicted_to_run_out_while_it_grows(string series, string? title)
    {
        Diagnosis? diagnosis = Check("memory-near-limit", 600, secondsAgo => [(MaxMemory, Limit), (UsedMemory, MemoryAt(series, secondsAgo))]);
        if (title is null) Assert.Null(diagnosis);
        else Assert.Matches("^" + title.Replace("*", "[0-9]+", StringComparison.Ordinal) + "$", diagnosis!.Title);
    }

    // What is said of the last 30 seconds was observed for 30 seconds.
    [Theory]
    [InlineData("cpu-saturated", 30)]
    [InlineData("cpu-pressure", 30)]
    [InlineData("io-pressure", 30)]
    [InlineData("loop-saturated", 10)]
    [InlineData("stripe-hot", 30)]
    [InlineData("hot-key", 10)]
    [InlineData("connection-storm", 10)]
    [InlineData("writes-held", 60)]
    public void Claim_about_a_time_needs_that_time(string rule, int seconds)
    {
        Assert.Null(Check(rule, seconds / 2, _ => Sick));
        Assert.NotNull(Check(rule, seconds, _ => Sick));
        Assert.Null(Check(rule, 600, secondsAgo => secondsAgo < seconds ? [] : Sick)); // it has ended
    }

    [Theory]
    [InlineData("clients-refused")]
    [InlineData("commands-refused-by-memory")]
    [InlineData("clients-evicted")]
    [InlineData("output-limit")]
    [InlineData("slow-subscriber")]
    [InlineData("query-limit")]
    [InlineData("logins-refused")]
    public void Event_is_a_finding_at_once_and_for_a_minute(string rule)
    {
        (Metric, double)[] full = [(MaxMemory, 100 * MiB), (UsedMemory, 101 * MiB)];
        Diagnosis one = Check(rule, 1, _ => Sick)!;
        Assert.Matches("(^|[^0-9])1 (client|connection|command|subscriber|login)( |$|,)", one.Evidence);
        Assert.NotNull(Check(rule, 600, secondsAgo => secondsAgo == 59 ? Sick : full));
        Assert.Null(Check(rule, 600, secondsAgo => secondsAgo == 60 ? Sick : full));
    }

    // One cause, one finding.
    [Fact]
    public void Closed_subscriber_is_no_finding_about_other_clients()
    {
        (Metric, double)[] closed = [(OutputDisconnections, 1), (SubscribersClosed, 1)];
        Assert.Null(Check("output-limit", 600, secondsAgo => secondsAgo == 5 ? closed : []));
        Assert.NotNull(Check("slow-subscriber", 600, secondsAgo => secondsAgo == 5 ? closed : []));
    }

    [Theory]
    [InlineData("slow-commands")]
    [InlineData("commands-wait")]
    public void One_slow_second_is_no_slow_half_minute(string rule)
    {
        (Metric, double)[] normal = [(CommandsProcessed, 1_000), (LatencyP99, 100), (WaitingP99, 100)], slow = [(CommandsProcessed, 1_000), (LatencyP99, 900_000), (WaitingP99, 900_000)];
        Assert.Null(Check(rule, 600, secondsAgo => secondsAgo == 3 ? slow : normal));
        Assert.NotNull(Check(rule, 600, secondsAgo => secondsAgo < 10 ? slow : normal));
    }

    // While commands are slow, long ones are no finding of their own; nor are they one when those seconds are less than ten.
    [Fact]
    public void Long_commands_that_have_ended_are_no_finding()
    {
        (Metric, double)[] normal = [(CommandsProcessed, 1_000)], slow = [(CommandsProcessed, 1_000), (LatencyP99, 50_000), (LongCallTime, 400)], longer = [(CommandsProcessed, 1_000), (LongCallTime, 400)];
        Assert.Null(Check("long-commands", 600, secondsAgo => secondsAgo < 12 ? normal : secondsAgo % 2 == 0 ? slow : longer));
        Assert.Null(Check("slow-commands", 600, secondsAgo => secondsAgo < 12 ? normal : secondsAgo % 2 == 0 ? slow : longer));
        Assert.NotNull(Check("long-commands", 600, secondsAgo => secondsAgo < 12 ? longer : normal));
    }

    [Fact]
    public void Percentile_of_few_commands_is_no_claim()
    {
        Assert.Null(Check("slow-commands", 600, _ => [(LatencyP99, 50_000), (CommandsProcessed, 20)]));
        Assert.NotNull(Check("slow-commands", 600, _ => [(LatencyP99, 50_000), (CommandsProcessed, 40)]));
    }

    [Fact]
    public void Hit_ratio_of_a_load_that_has_ended_is_no_finding()
    {
        (Metric, double)[] load = [(KeyspaceHits, 100), (KeyspaceMisses, 5_000)];
        Assert.NotNull(Check("low-hit-ratio", 600, _ => load));
        Assert.Null(Check("low-hit-ratio", 600, secondsAgo => secondsAgo > 60 ? load : []));
    }

    // An idle server on a machine that works on something else.
    [Fact]
    public void Busy_machine_is_told_from_a_busy_server()
    {
        Diagnosis other = Check("cpu-saturated", 60, _ => [(MachineCpu, 97), (CpuUser, 0.03), (CpuSystem, 0.01)])!;
        Assert.Equal(("Other programs keep the machine's CPUs busy", "other programs use 96 % of the machine's CPUs, the server 1 %, for 30 seconds", FindingSeverity.Notice), (other.Title, other.Evidence, other.Severity));
        Diagnosis own = Check("cpu-saturated", 60, _ => [(MachineCpu, 97), (CpuUser, 3), (CpuSystem, 0.6)])!;
        Assert.Equal(("The machine's CPUs are saturated", "the server uses 90 % of the machine's CPUs, other programs 7 %, for 30 seconds", FindingSeverity.Warning), (own.Title, own.Evidence, own.Severity));
    }

    [Fact]
    public void Stall_on_a_machine_that_others_keep_busy_is_told_with_that()
    {
        (Metric, double)[] busy = [(MachineCpu, 97), (CpuUser, 0.03), (CpuSystem, 0.01)];
        Assert.Null(Check("process-stalled", 60, secondsAgo => secondsAgo == 20 ? [.. busy, (Stall, 431)] : busy));
        Assert.EndsWith("; once the server got none for 431 ms", Check("cpu-saturated", 60, secondsAgo => secondsAgo == 20 ? [.. busy, (Stall, 431)] : busy)!.Evidence, StringComparison.Ordinal);
        Assert.Equal("for 1100 ms", Check("process-stalled", 60, secondsAgo => secondsAgo == 20 ? [.. busy, (Stall, 1100)] : busy)!.Evidence);
        Assert.Equal("for 431 ms", Check("process-stalled", 60, secondsAgo => secondsAgo == 20 ? [(MachineCpu, 40), (Stall, 431)] : [(MachineCpu, 40)])!.Evidence);
        Assert.Equal("for 431 ms", Check("process-stalled", 60, secondsAgo => [(MachineCpu, 97), (CpuUser, 3), (CpuSystem, 0.6), (Stall, 431)])!.Evidence);
    }

    [Fact]
    public void Busy_machine_is_one_finding_with_pauses_and_all()
    {
        FindingRule rule = FindingTable.Rules.Single(rule => rule.Name == "cpu-saturated");
        var tracker = new FindingTracker([rule], new RedKite.Server.Logging.ServerLog(new Settings(), _ => { }));
        int opened = 0, ended = 0;
        tracker.Opened += _ => opened++;
        tracker.HasEnded += _ => ended++;
        var history = new MetricHistory(MetricTable.All.Count);
        for (int second = 0; second < 5_400; second++)
        {
            double busy = second < 5_000 ? (second % 60 < 40 ? 99 : 85) : 20;
            double[] values = Values([(MachineCpu, busy), (CpuUser, 0.03)]);
            history.Add(Now + second, values);
            tracker.Evaluate(ViewOf(history, values, Now + second), (Now + second) * 1000);
        }

        Assert.Equal((1, 1), (opened, ended));
    }

    [Fact]
    public void Finding_keeps_its_worst_severity_until_it_ends()
    {
        var severity = FindingSeverity.Critical;
        var rule = new FindingRule("r", "m", "d", "memory", _ => new Diagnosis("t", $"{severity}", severity));
        var tracker = new FindingTracker([rule], new RedKite.Server.Logging.ServerLog(new Settings(), _ => { }));
        tracker.Evaluate(null!, 1000);
        severity = FindingSeverity.Notice;
        tracker.Evaluate(null!, 2000);
        Assert.Equal((FindingSeverity.Critical, "Notice"), (tracker.Current[0].Diagnosis.Severity, tracker.Current[0].Diagnosis.Evidence));
    }

    private static (Metric, double)[] Sick =>
    [
        (MachineCpu, 99), (CpuUser, 3), (CpuPressure, 90), (IoPressure, 90), (BusiestLoop, 99), (HottestStripe, 90), (LockWaited, 900), (HottestKey, 90), (CommandsProcessed, 90_000),
        (LatencyP99, 90_000), (WaitingP99, 90_000), (ConnectionsReceived, 9_000), (WritesHeld, 900), (SnapshotSideBytes, MiB), (LogPending, MiB),
        (ConnectionsRejected, 1), (MaxMemory, 100 * MiB), (UsedMemory, 101 * MiB), (MemoryRefusals, 1), (EvictedClients, 1), (OutputDisconnections, 2), (SubscribersClosed, 1), (QueryDisconnections, 1), (LoginsRefused, 1), (MessagesPublished, 1),
    ];

    private static double MemoryAt(string series, int secondsAgo)
    {
        const double Rate = MiB / 5; // the last 300 MiB in 25 minutes
        double noise = ((secondsAgo * 7919 % 13) - 6) * MiB / 8;
        return series switch
        {
            "rising" => (700 * MiB) - (secondsAgo * Rate),
            "rising with noise" => (700 * MiB) - (secondsAgo * Rate) + noise,
            "flat" => 700 * MiB,
            "flat with noise" => (700 * MiB) + noise,
            "flat after rising" => (700 * MiB) - (Math.Max(0, secondsAgo - 120) * Rate),
            "flat for twenty seconds after rising" => (700 * MiB) - (Math.Max(0, secondsAgo - 20) * Rate) - (secondsAgo > 20 ? 0 : 1),
            "step three seconds ago" => secondsAgo > 3 ? 300 * MiB : 900 * MiB,
            "step a minute ago" => secondsAgo > 60 ? 300 * MiB : 900 * MiB,
            "sawtooth" => (700 + (100 - (secondsAgo % 100))) * MiB,
            "falling" => (700 * MiB) + (secondsAgo * Rate),
            "rising for a minute after hours of nothing" => (700 * MiB) - (Math.Min(60, secondsAgo) * Rate / 100),
            _ => throw new ArgumentOutOfRangeException(nameof(series)),
        };
    }

    private static Diagnosis? Check(string rule, int seconds, Func<int, (Metric, double)[]> at)
    {
        var history = new MetricHistory(MetricTable.All.Count);
        double[] values = [];
        for (int ago = seconds - 1; ago >= 0; ago--)
        {
            values = Values(at(ago));
            history.Add(Now - ago, values);
        }

        return FindingTable.Rules.Single(each => each.Name == rule).Check(ViewOf(history, values, Now));
    }

    private static double[] Values((Metric Metric, double Value)[] known)
    {
        var values = new double[MetricTable.All.Count];
        foreach ((Metric metric, double value) in known) values[metric.Index] = value;
        return values;
    }

    private static DiagnosticsView ViewOf(MetricHistory history, double[] values, long now) =>
        new(history, values, now, new Configuration(new Settings()).Get) { Facts = new Dictionary<string, string> { ["cpus"] = "4" } };
}
