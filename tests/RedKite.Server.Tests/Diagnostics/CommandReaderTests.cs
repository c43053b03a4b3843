using RedKite.Server.Diagnostics;
using RedKite.Server.Metrics;

namespace RedKite.Server.Tests.Diagnostics;

/// <summary>What is read of each command every second.</summary>
public class CommandReaderTests
{
    private const int Get = 1;
    private const int Set = 2;

    private readonly CommandReader _reader = new(commands: 3);
    private readonly ExecutorMetrics[] _executors = [new(3), new(3)];

    [Fact]
    public void Values_are_of_all_loops_and_per_second()
    {
        Call(_executors[0], Get, calls: 10, ns: 1000);
        Call(_executors[1], Get, calls: 30, ns: 3000);
        RankedRecord record = Assert.Single(_reader.Read(_executors, seconds: 2));
        Assert.Equal(Get, record.Id);
        Assert.Equal([50, 20, 0], record.Values[..3]); // 100 microseconds in two seconds
        Assert.All(record.Values[3..], us => Assert.InRange(us, 3, 3.1));
    }

    [Fact]
    public void Idle_command_has_no_record_and_quantiles_are_of_the_last_second_alone()
    {
        Call(_executors[0], Get, calls: 1000, ns: 500_000);
        Call(_executors[0], Set, calls: 1, ns: 1000);
        Assert.Equal([Get, Set], Ids(1));
        Assert.Empty(_reader.Read(_executors, 1));
        Call(_executors[0], Get, calls: 1, ns: 2000);
        RankedRecord record = Assert.Single(_reader.Read(_executors, 1));
        Assert.Equal(1, record.Values[1]);
        Assert.All(record.Values[3..], us => Assert.InRange(us, 2, 2.1));
    }

    [Fact]
    public void Failed_and_refused_calls_are_failures_and_a_refused_one_has_no_time()
    {
        for (int i = 0; i < 2; i++) _executors[0].Of(Get).CountFailed();
        for (int i = 0; i < 3; i++) _executors[1].Of(Get).CountRejected("ERR");
        RankedRecord record = Assert.Single(_reader.Read(_executors, 1));
        Assert.Equal([0, 0, 5, float.NaN, float.NaN], record.Values);
    }

    [Fact]
    public void Reset_of_the_counts_is_no_activity_and_the_next_second_is_whole()
    {
        Call(_executors[0], Get, calls: 1000, ns: 1000);
        Assert.Equal([Get], Ids(1));
        _executors[0].Reset();
        Assert.Empty(_reader.Read(_executors, 1));
        Call(_executors[0], Get, calls: 5, ns: 7000);
        RankedRecord record = Assert.Single(_reader.Read(_executors, 1));
        Assert.Equal([35, 5, 0], record.Values[..3]);
        Assert.All(record.Values[3..], us => Assert.InRange(us, 7, 7.3));
    }

    private int[] Ids(double seconds) => [.. _reader.Read(_executors, seconds).Select(record => record.Id)];

    private static void Call(ExecutorMetrics executor, int command, int calls, long ns)
    {
        CommandMetrics metrics = executor.Of(command);
        metrics.CountCalls(calls * ns, calls);
        metrics.Latency.Record(ns, calls);
    }
}
