using System.Text;
using RedKite.Server.Config;
using RedKite.Server.Diagnostics;
using RedKite.Server.Logging;
using RedKite.Server.Metrics;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Diagnostics;

/// <summary>Problems one after the other: each finding is of the present one, not of the one before.</summary>
public class FindingSequenceTests
{
    // A finding ends when its rule has been silent for ten seconds.
    private const int QuietSeconds = 12;

    // How often is looked once a problem is over.
    private const int OverEverySeconds = 7;

    // In the gate every problem is followed by some others, for --long by all.
    private static readonly int Stride = TestScale.Of(gate: 8, full: 1);

    private readonly MetricHistory _history = new(MetricTable.All.Count);
    private readonly double[] _values = new double[MetricTable.All.Count];
    private readonly List<string> _openedLate = []; // once the problem was over
    private long _second = FindingCause.Now;

    [Fact]
    public void Each_pair_of_problems_one_after_the_other_ends_with_the_findings_of_the_second_alone()
    {
        FindingRule[] rules = [.. FindingTable.Rules];
        var alone = rules.ToDictionary(rule => rule.Name, rule => After(rules, rule.Name));
        List<string> wrong = [];
        for (int i = 0; i < rules.Length; i++)
        {
            string first = rules[i].Name;
            if (!alone[first].Contains(first)) wrong.Add($"{first} is not found");
            for (int j = i % Stride; j < rules.Length; j += Stride)
            {
                string second = rules[j].Name;
                string[] found = After([.. rules.Where(rule => alone[first].Contains(rule.Name) || alone[second].Contains(rule.Name))], first, second);
                if (!alone[second].SequenceEqual(found)) wrong.Add($"{first}, then {second}: {string.Join(", ", found)}, not {string.Join(", ", alone[second])}");
            }
        }

        Assert.Equal("", string.Join("\n", wrong.Take(10)));
    }

    // Nor does one open that gave way to another: while commands are slow, long ones are no finding of their own.
    [Fact]
    public void Each_problem_that_is_over_leaves_no_finding()
    {
        FindingRule[] rules = [.. FindingTable.Rules];
        List<string> wrong = [];
        foreach (string problem in rules.Select(rule => rule.Name))
        {
            string[] left = After(rules, problem, "");
            wrong.AddRange(left.Concat(_openedLate).Select(name => $"{problem}, then nothing: {name}"));
        }

        Assert.Equal("", string.Join("\n", wrong.Take(10)));
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

    // The names of the open findings at the end of problems, each of which lasts until it is found and what was before is forgotten. "": none.
    private string[] After(FindingRule[] rules, params string[] problems) => After(rules, [.. problems.Select((problem, i) => (problem, Math.Max(CauseOf(problem).Seconds, i == 0 ? 0 : CauseOf(problems[i - 1]).Seconds)))]);

    private string[] After(FindingRule[] rules, params (string Problem, int Seconds)[] sequence)
    {
        var tracker = new FindingTracker(rules, new ServerLog(new Settings(), _ => { }));
        _second += MetricHistory.SecondsKept; // what was before is out of sight
        _openedLate.Clear();
        foreach ((string problem, int seconds) in sequence)
        {
            FindingCause cause = CauseOf(problem);
            if (problem.Length == 0) tracker.Opened += finding => _openedLate.Add(finding.Rule.Name);
            for (int i = 1; i <= seconds; i++, _second++)
            {
                cause.Fill(_values, i);
                _history.Add(_second, _values);
                if (i == seconds || i == seconds - QuietSeconds || (problem.Length == 0 && i % OverEverySeconds == 0)) tracker.Evaluate(cause.View(_history, _values, _second), _second * 1000);
            }
        }

        return [.. tracker.Current.Select(finding => finding.Rule.Name).Order(StringComparer.Ordinal)];
    }

    private static FindingCause CauseOf(string problem) => problem.Length > 0 ? FindingCauses.All[problem] : new FindingCause(FindingSeverity.Notice);
}
