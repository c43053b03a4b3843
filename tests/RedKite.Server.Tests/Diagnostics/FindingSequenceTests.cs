using System.Text;
using RedKite.Server.Config;
using RedKite.Server.Diagnostics;
using RedKite.Server.Logging;
using RedKite.Server.Metrics;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;
using static RedKite.Server.Diagnostics.MetricTable;

namespace RedKite.Server.Tests.Diagnostics;

/// <summary>Problems one after the other: each finding is of the present one, not of the one before.</summary>
public class FindingSequenceTests
{
    private const long Now = 1_800_000_000;
    private const double MiB = 1 << 20;
    private const int ProblemSeconds = 40;
    private const int MemorySeconds = 75; // the longest that one of these findings speaks of, and its quiet time

    // What clients do to a server, as its observations show it.
    private static readonly Dictionary<string, (Metric Metric, double Value)[]> Problems = new()
    {
        ["slow-commands"] = [(LatencyP99, 50_000), (LatencyMax, 60_000), (LongCallTime, 400)],
        ["long-commands"] = [(LatencyMax, 150_000), (LongCallTime, 150)],
        ["commands-wait"] = [(WaitingP99, 50_000)],
        ["lock-waits"] = [(LockWaited, 400), (LockWaits, 50)],
        ["hot-key"] = [(HottestKey, 80), (CommandsProcessed, 150_000)],
        ["command-stall"] = [(LatencyMax, 2_000_000), (LongCallTime, 500)],
        ["long-script"] = [(LongestScript, 300_000)],
        ["keys-command"] = [(KeysCalls, 2)],
        ["error-rate"] = [(ErrorReplies, 900)],
        ["loop-saturated"] = [(BusiestLoop, 99)],
        ["commands-refused-by-memory"] = [(MaxMemory, 100 * MiB), (UsedMemory, 101 * MiB), (MemoryRefusals, 20)],
        ["memory-over-limit"] = [(MaxMemory, 100 * MiB), (UsedMemory, 101 * MiB), (MemoryExceeded, 1000)],
        ["memory-near-limit"] = [(MaxMemory, 100 * MiB), (UsedMemory, 97 * MiB)],
        ["connection-storm"] = [(ConnectionsReceived, 2_000)],
        ["clients-not-reading"] = [(SuspendedClients, 2)],
        ["slow-subscriber"] = [(SubscribersClosed, 1), (OutputDisconnections, 1)],
        ["logins-refused"] = [(LoginsRefused, 3)],
    };

    [Fact]
    public void Each_pair_of_problems_one_after_the_other_ends_with_the_findings_of_the_second_alone()
    {
        FindingRule[] rules = [.. FindingTable.Rules.Where(rule => Problems.ContainsKey(rule.Name))];
        Dictionary<string, string[]> alone = Problems.Keys.ToDictionary(name => name, name => After(rules, [(name, ProblemSeconds + MemorySeconds)]));
        foreach ((string name, string[] found) in alone) Assert.Contains(name, found);
        foreach (string first in Problems.Keys)
        {
            Assert.Empty(After(rules, [(first, ProblemSeconds), ("", MemorySeconds)]));
            foreach (string second in Problems.Keys)
            {
                string[] found = After(rules, [(first, ProblemSeconds), (second, MemorySeconds)]);
                Assert.True(alone[second].SequenceEqual(found), $"{first}, then {second}: {string.Join(", ", found)}, not {string.Join(", ", alone[second])}");
            }
        }
    }

    [Theory]
    [InlineData("hot-key", 25)]
    [InlineData("memory-over-limit", 12)]
    [InlineData("error-rate", 12)]
    [InlineData("long-commands", 12)]
    [InlineData("slow-commands", 12)]
    public void Finding_comes_within_seconds(string name, int seconds) =>
        Assert.Contains(name, After([.. FindingTable.Rules.Where(rule => rule.Name == name)], [("", 60), (name, seconds)]));

    [Fact]
    public void Refusals_are_no_finding_once_memory_has_room()
    {
        FindingRule[] rules = [.. FindingTable.Rules.Where(rule => rule.Name is "commands-refused-by-memory" or "memory-over-limit")];
        Assert.NotEmpty(After(rules, [("commands-refused-by-memory", 30)]));
        Assert.Empty(After(rules, [("commands-refused-by-memory", 30), ("", 12)])); // maxmemory is none
    }

    // A script, then HGETALL: the one that goes on is named, with its seconds.
    [Fact]
    public void Long_calls_are_of_the_seconds_that_are_asked_for()
    {
        var calls = new LongCalls();
        byte[][] script = [.. ((string[])["EVAL", "while true do end", "0"]).Select(Encoding.ASCII.GetBytes)], read = [.. ((string[])["HGETALL", "big"]).Select(Encoding.ASCII.GetBytes)];
        for (int second = 0; second < 20; second++)
        {
            calls.Note("eval", script[1], script, clientId: 1, 900_000_000);
            calls.BeginSecond();
        }

        for (int second = 0; second < 11; second++)
        {
            for (int client = 2; client <= 3; client++) calls.Note("hgetall", read[1], read, client, client * 20_000_000);
            calls.BeginSecond();
        }

        LongCallSum sum = Assert.Single(calls.Most(10));
        Assert.Equal(("HGETALL big", 3, 2, 20, 60_000_000), (sum.Text, sum.ClientId, sum.Clients, sum.Calls, sum.LongestNs));
        Assert.Equal("EVAL while true do end 0", calls.Most(31)[0].Text);
        Assert.Equal("HGETALL big", calls.Longest(11)!.Value.Text);
        Assert.Equal(((20 * 900L) + (11 * 100L)) * 1_000_000, calls.TotalNs);
        for (int second = 0; second < 40; second++) calls.BeginSecond();
        Assert.Empty(calls.Most(30));
        Assert.Null(calls.Longest(30));
    }

    // GET waits for the stripe of a key that another thread holds.
    [Fact]
    public async Task Command_that_waits_for_a_lock_is_no_slow_command()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["latency-monitor-threshold"] = "100", ["slowlog-log-slower-than"] = "100000" } }, TestContext.Current.CancellationToken);
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("CLIENT SETNAME bystander").IsOk();
        foreach (string[] requests in (string[][])[["GET key"], ["MGET key other"], ["SET key 1", "GET key"]])
        {
            Keyspace keyspace = server.Engine.Keyspace;
            Stripe stripe = keyspace.Stripes[keyspace.StripeOf(keyspace.Hash("key"u8))];
            long parks = stripe.LockParks;
            stripe.Enter();
            client.Send(string.Concat(requests.Select(request => request + "\r\n")));
            Assert.True(SpinWait.SpinUntil(() => stripe.LockParked > 0, 60_000), "it waits");
            Thread.Sleep(150); // longer than what counts as slow here
            stripe.Exit();
            foreach (string _ in requests) Assert.False(client.Read().IsError);
            Assert.Equal(parks + 1, stripe.LockParks);
        }

        client.Run("PING").IsSimple("PONG");
        Assert.Empty(client.Run("SLOWLOG GET").Items);
        Assert.True(server.Engine.LongCalls.Longest(60) is null or { Ns: < 100_000_000 });
        Assert.Equal(["lock-wait"], server.Engine.LatencyMonitor.Events.Select(latency => latency.Name));
        TimelineEvent[] events = [.. server.Engine.Timeline.Events.Where(item => item.Name == "bystander")];
        Assert.True(events.Count(item => item.Kind == TimelineKind.LockWait && item.DurationMicroseconds >= 100_000) >= 2);
        Assert.DoesNotContain(events, item => item.Kind == TimelineKind.SlowCommand && item.DurationMicroseconds >= 100_000);
        Assert.Contains("Commands waited for keys that another command had locked", client.Run("LATENCY DOCTOR").Text, StringComparison.Ordinal);
    }

    // The names of the open findings at the end.
    private static string[] After(FindingRule[] rules, (string Problem, int Seconds)[] sequence)
    {
        var tracker = new FindingTracker(rules, new ServerLog(new Settings(), _ => { }));
        var history = new MetricHistory(MetricTable.All.Count);
        Func<string, string> setting = new Configuration(new Settings()).Get;
        long second = Now;
        int left = sequence.Sum(part => part.Seconds);
        foreach ((string problem, int seconds) in sequence)
        {
            var values = new double[MetricTable.All.Count];
            foreach ((Metric metric, double value) in (ReadOnlySpan<(Metric, double)>)[(CommandsProcessed, 2_000), (LatencyP99, 50), (LatencyMax, 900), (WaitingP99, 50), (Keys, 1_000_000), (UsedMemory, 90 * MiB), (BusiestLoop, 30), (LeastBusyLoop, 30)]) values[metric.Index] = value;
            if (problem.Length > 0)
            {
                foreach ((Metric metric, double value) in Problems[problem]) values[metric.Index] = value;
            }

            for (int i = 0; i < seconds; i++, second++, left--)
            {
                history.Add(second, values);
                if (i % 5 == 0 || left == 1) tracker.Evaluate(new DiagnosticsView(history, values, second, setting), second * 1000);
            }
        }

        return [.. tracker.Current.Select(finding => finding.Rule.Name).Order(StringComparer.Ordinal)];
    }
}
