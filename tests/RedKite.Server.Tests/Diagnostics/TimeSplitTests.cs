using System.Text;
using System.Text.Json;
using RedKite.Server.Diagnostics;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Server.Tests.Commands;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Diagnostics;

/// <summary>Where the time of commands goes: waiting, executing, sending. And what delayed whom.</summary>
public class TimeSplitTests
{
    private const int PatienceMs = 60_000;

    [Fact]
    public async Task Every_command_has_its_three_parts_and_its_errors_by_class()
    {
        await using LiveServer server = await LiveServer.StartAsync("loops", "1");
        for (int i = 0; i < 100; i++) server.Run("SET key value").IsOk();
        server.Run("LPUSH key value");
        server.Run("LPUSH key");
        JsonElement set = Command(server, "set");
        Assert.Equal(100, set.GetProperty("executing").GetProperty("count").GetInt64());
        Assert.Equal(100, set.GetProperty("waiting").GetProperty("count").GetInt64()); // sampled only where there are more
        Assert.Equal(100, set.GetProperty("sending").GetProperty("count").GetInt64());
        Assert.True(set.GetProperty("sending").GetProperty("max_us").GetDouble() > 0);

        JsonElement errors = Command(server, "lpush").GetProperty("errors");
        Assert.Equal(["ERR:1", "WRONGTYPE:1"], errors.EnumerateObject().Select(error => $"{error.Name}:{error.Value.GetInt64()}").Order());
        server.Run("CONFIG RESETSTAT").IsOk();
        Assert.DoesNotContain("\"set\"", Encoding.UTF8.GetString(Report(server, "commands")), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Family_has_the_sum_of_its_commands()
    {
        await using LiveServer server = await LiveServer.StartAsync("loops", "1");
        for (int i = 0; i < 30; i++) server.Run("SET key value").IsOk();
        for (int i = 0; i < 20; i++) server.Run("GET key");
        server.Run("GET");
        server.Run("LPUSH key value");
        server.Run("HSET hash field value");
        JsonElement[] families = [.. JsonDocument.Parse(Report(server, "families")).RootElement.EnumerateArray()];
        JsonElement strings = families.Single(family => family.GetProperty("family").GetString() == "string");
        Assert.Equal(50, strings.GetProperty("calls").GetInt64());
        Assert.Equal(1, strings.GetProperty("rejected").GetInt64());
        Assert.Equal(1, strings.GetProperty("errors").GetProperty("ERR").GetInt64());
        foreach (string part in (string[])["waiting", "executing", "sending"]) Assert.Equal(50, strings.GetProperty(part).GetProperty("count").GetInt64());
        Assert.Equal(1, families.Single(family => family.GetProperty("family").GetString() == "list").GetProperty("errors").GetProperty("WRONGTYPE").GetInt64());
        Assert.Contains(families, family => family.GetProperty("family").GetString() == "hash");
        Assert.DoesNotContain(families, family => family.GetProperty("family").GetString() == "stream");
    }

    [Fact]
    public async Task Family_has_metrics_with_a_history()
    {
        await using LiveServer server = await LiveServer.StartAsync("enable-debug-command", "yes");
        DiagnosticsService diagnostics = server.Server.Diagnostics!;
        Assert.True(SpinWait.SpinUntil(() => diagnostics.Latest is not null, PatienceMs), "a first second was observed");
        for (int i = 0; i < 30; i++) server.Run("LPUSH list value");
        server.Run("SET string value").IsOk();
        server.Run("LPUSH string value");
        server.Run("DEBUG SLEEP 0.05").IsOk();
        Assert.True(SpinWait.SpinUntil(() => diagnostics.Latest!.Families[IndexOf("server")].Milliseconds >= 50, PatienceMs), "the slow command was observed");
        FamilyFigures lists = diagnostics.Latest!.Families[IndexOf("list")];
        Assert.Equal((31, 1), (lists.Calls, lists.Errors));
        Assert.True(SpinWait.SpinUntil(() => Values("server", family => family.P99).Any(p99 => p99 >= 50_000), PatienceMs), "the slow command's family shows it");
        Assert.Contains(Values("list", family => family.Calls), calls => calls > 0);
        Assert.Contains(Values("list", family => family.Errors), errors => errors > 0);
        Assert.Contains(Values("server", family => family.Milliseconds), milliseconds => milliseconds > 1);
        Assert.DoesNotContain(Values("stream", family => family.Calls), calls => calls > 0);

        static int IndexOf(string group) => Array.IndexOf(CommandFamily.Groups, group);
        IEnumerable<float> Values(string group, Func<FamilyMetrics, Metric> metric) =>
            diagnostics.History.Seconds(metric(MetricTable.Families[IndexOf(group)]).Index, 0, long.MaxValue).Select(point => point.Value);
    }

    [Fact]
    public async Task Every_command_belongs_to_a_family_with_metrics()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        Assert.Equal(CommandFamily.Groups.Order(), server.Server.Engine.Commands.All.Select(command => command.Group).Distinct().Order());
    }

    // A caller in the process waits for no other client.
    [Fact]
    public async Task Caller_in_the_process_does_not_wait()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        for (int i = 0; i < 100; i++) server.Server.Execute("GET", "key");
        Assert.Equal(0, Command(server, "get").GetProperty("waiting").GetProperty("p50_us").GetDouble());
    }

    // The second client's command is ready together with a slow one of the first, on the same loop.
    [Fact]
    public async Task Wait_behind_another_clients_command_counts_as_waiting_not_execution()
    {
        await using LiveServer server = await LiveServer.StartAsync("loops", "1", "enable-debug-command", "yes", "slowlog-log-slower-than", "0");
        using RespConnection other = RespConnection.Connect(server.Server.Port);
        other.Run("CLIENT SETNAME patient").IsOk();
        JsonElement set = default;
        for (int attempt = 0; attempt < 20; attempt++)
        {
            // The first sleep keeps the loop busy until both others have arrived.
            server.Run("SLOWLOG RESET").IsOk();
            server.Client.Send("*3\r\n$5\r\nDEBUG\r\n$5\r\nSLEEP\r\n$3\r\n0.2\r\n");
            Thread.Sleep(50);
            server.Client.Send("*3\r\n$5\r\nDEBUG\r\n$5\r\nSLEEP\r\n$3\r\n0.1\r\n");
            other.Send("*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n");
            other.Read().IsOk();
            server.Client.Read();
            server.Client.Read();
            Assert.True(SpinWait.SpinUntil(() => (set = SlowSet()).GetProperty("sending_microseconds").GetInt64() >= 0, PatienceMs), "the loop has noted that it sent the reply, after the client had it");
            if (set.GetProperty("waiting_microseconds").GetInt64() > 80_000) break; // which of the two the loop serves first is the system's choice
        }

        Assert.InRange(set.GetProperty("waiting_microseconds").GetInt64(), 80_000, 60_000_000);
        Assert.True(set.GetProperty("microseconds").GetInt64() < set.GetProperty("waiting_microseconds").GetInt64());

        TimelineEvent[] events = server.Server.Engine.Timeline.Events;
        TimelineEvent wait = events.Last(item => item.Kind == TimelineKind.LongWait);
        Assert.Equal("patient", wait.Name);
        Assert.InRange(wait.DurationMicroseconds, 80_000, 60_000_000);
        Assert.Contains(events, item => item.Kind == TimelineKind.SlowCommand && item.Detail == "debug");
        Assert.Contains(events, item => item.Kind == TimelineKind.Started);

        JsonElement SlowSet() => JsonDocument.Parse(Report(server, "slow-log")).RootElement.EnumerateArray().First(entry => entry.GetProperty("command").GetString() == "SET");
    }

    // The short commands of a pipeline share two readings of the clock; the slow one is found all the same, the first time and from idle.
    [Fact]
    [Alone]
    public async Task Slow_short_command_within_a_pipeline_of_fast_ones_is_in_the_slow_log()
    {
        await using LiveServer server = await LiveServer.StartAsync("loops", "1", "proto-max-bulk-len", "536870912");
        server.Run("SETRANGE bits 400000000 x");
        string get = "*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n";
        string fast = string.Concat(Enumerable.Repeat(get, 20));
        for (int i = 0; i < 100; i++) server.Run("GET key"); // nothing of it is slow, and the client is timed one by one no more
        Thread.Sleep(500); // idle
        server.Run("SLOWLOG RESET").IsOk();
        server.Client.Send(fast + "*2\r\n$8\r\nBITCOUNT\r\n$4\r\nbits\r\n" + fast);
        for (int i = 0; i < 41; i++) server.Client.Read();
        JsonElement[] entries = [.. JsonDocument.Parse(Report(server, "slow-log")).RootElement.EnumerateArray()];
        Assert.DoesNotContain(entries, entry => entry.GetProperty("command").GetString() == "GET");
        JsonElement bitCount = Assert.Single(entries, entry => entry.GetProperty("command").GetString() == "BITCOUNT");
        Assert.InRange(bitCount.GetProperty("microseconds").GetInt64(), 10_000, 60_000_000);
    }

    [Fact]
    public void Position_that_is_seen_twice_is_the_slowest_of_its_run()
    {
        var progress = new RunProgress();
        Run(length: 5, seen: [1, 3, 3, 4]);
        Assert.Equal(3, progress.SlowestOf(5));
        Run(length: 5, seen: [0, 1, 2, 3, 4]);
        Assert.Equal(-1, progress.SlowestOf(5)); // what an earlier run has seen is not this one's
        progress.Look();
        progress.Look(); // between runs
        Run(length: 64, seen: [0, 0, 7, 7, 7, 7, 9, 9]);
        Assert.Equal(7, progress.SlowestOf(64));

        void Run(int length, int[] seen)
        {
            progress.Begin();
            for (int i = 0; i < length; i++)
            {
                foreach (int _ in seen.Where(position => position == i)) progress.Look();
                progress.Advance();
            }

            progress.End();
        }
    }

    [Fact]
    public void Executor_that_lingers_is_looked_at_again_soon()
    {
        var progress = new RunProgress();
        Assert.False(progress.Look()); // between runs
        progress.Begin();
        Assert.True(progress.Look());
        Assert.False(progress.Look()); // seen twice: known
        progress.Advance();
        Assert.True(progress.Look());
        progress.End();
        Assert.False(progress.Look());
    }

    // A command that is alone in its run has its own time, and no look is needed.
    [Fact]
    public async Task Executors_are_watched_while_they_execute_pipelines_only()
    {
        await using LiveServer server = await LiveServer.StartAsync("loops", "1");
        RunWatch runs = server.Server.Engine.Metrics.Runs;
        Assert.True(SpinWait.SpinUntil(() => { server.Run("GET key"); return runs.Sleeps; }, PatienceMs));
        for (int i = 0; i < 300; i++)
        {
            server.Run("GET key");
            Assert.True(runs.Sleeps);
        }

        string get = "*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n";
        Assert.True(SpinWait.SpinUntil(IsWatchedAfterPipeline, PatienceMs));
        Assert.True(SpinWait.SpinUntil(() => runs.Sleeps, PatienceMs), "the pipelines have ended");

        bool IsWatchedAfterPipeline()
        {
            server.Client.Send(get + get);
            server.Client.Read();
            server.Client.Read();
            return !runs.Sleeps;
        }
    }

    [Fact]
    public async Task Client_that_does_not_read_or_is_paused_is_on_the_timeline()
    {
        await using LiveServer server = await LiveServer.StartAsync("client-output-buffer-limit", "normal 80mb 0 0");
        using (RespConnection greedy = RespConnection.Connect(server.Server.Port))
        {
            greedy.Run("CLIENT SETNAME greedy").IsOk();
            greedy.Run($"SET big {new string('x', 1_000_000)}").IsOk();
            greedy.Send(string.Concat(Enumerable.Repeat("*2\r\n$3\r\nGET\r\n$3\r\nbig\r\n", 60)));
            Assert.True(SpinWait.SpinUntil(() => Kinds("greedy").Contains(TimelineKind.NotReading), PatienceMs), "it is suspended");
        }

        using (RespConnection paused = RespConnection.Connect(server.Server.Port))
        {
            paused.Run("CLIENT SETNAME paused").IsOk();
            server.Run("CLIENT PAUSE 200 ALL").IsOk();
            paused.Run("PING");
            Assert.Contains(TimelineKind.Paused, Kinds("paused"));
        }

        TimelineKind[] Kinds(string name) => [.. server.Server.Engine.Timeline.Events.Where(item => item.Name == name).Select(item => item.Kind)];
    }

    [Fact]
    public async Task Client_that_leaves_too_many_replies_unread_is_on_the_timeline()
    {
        await using LiveServer server = await LiveServer.StartAsync("client-output-buffer-limit", "normal 20mb 0 0");
        using var greedy = new NamedClient(server, "greedy");
        greedy.Connection.Run($"SET big {new string('x', 1_000_000)}").IsOk();
        greedy.Connection.Send("*61\r\n$4\r\nMGET\r\n" + string.Concat(Enumerable.Repeat("$3\r\nbig\r\n", 60)));
        AssertOnTimeline(server, "overlimit", greedy);
    }

    [Fact]
    public async Task Client_with_a_request_that_is_too_large_is_on_the_timeline()
    {
        await using LiveServer server = await LiveServer.StartAsync("client-query-buffer-limit", "1mb", "proto-max-bulk-len", "1gb");
        using var wordy = new NamedClient(server, "wordy");
        wordy.Connection.Send("*2\r\n$4\r\nECHO\r\n$4000000\r\n" + new string('x', 3_000_000));
        Assert.True(wordy.Connection.Read().IsClosed);
        AssertOnTimeline(server, "querytoolarge", wordy);
    }

    // One is closed because its own request is over the limit, the other because all clients together are.
    [Fact]
    public async Task Clients_evicted_for_their_memory_are_on_the_timeline()
    {
        await using LiveServer server = await LiveServer.StartAsync("maxmemory-clients", "4mb");
        using var large = new NamedClient(server, "large");
        large.Connection.Send("*2\r\n$4\r\nECHO\r\n$8000000\r\n" + new string('x', 7_000_000));
        AssertOnTimeline(server, "evicted", large);
        using var one = new NamedClient(server, "one");
        using var larger = new NamedClient(server, "larger");
        one.Connection.Send("*2\r\n$4\r\nECHO\r\n$8000000\r\n" + new string('x', 2_000_000));
        larger.Connection.Send("*2\r\n$4\r\nECHO\r\n$8000000\r\n" + new string('x', 3_000_000));
        AssertOnTimeline(server, "evicted", larger);
    }

    [Fact]
    public async Task Client_that_is_idle_is_on_the_timeline()
    {
        await using LiveServer server = await LiveServer.StartAsync("timeout", "1");
        using var idle = new NamedClient(server, "idle");
        AssertOnTimeline(server, "idle", idle);
    }

    [Fact]
    public async Task Client_that_is_killed_is_on_the_timeline()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        using var victim = new NamedClient(server, "victim");
        using var other = new NamedClient(server, "other");
        server.Run($"CLIENT KILL ID {victim.Id}").IsInteger(1);
        AssertOnTimeline(server, "killed", victim);
        server.Run($"CLIENT KILL {other.Connection.LocalEndPoint}").IsOk();
        AssertOnTimeline(server, "killed", other);
        Assert.Equal(2, OnTimeline(server, "killed").Length);
    }

    // The client that deletes its own user gets its reply first; the others are closed at once, whatever loop they are on.
    [Fact]
    public async Task Clients_of_a_user_that_is_deleted_are_on_the_timeline()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run("ACL SETUSER guest on nopass ~* &* +@all").IsOk();
        using var caller = new NamedClient(server, "caller");
        using var other = new NamedClient(server, "other");
        using var blocked = new NamedClient(server, "blocked");
        foreach (NamedClient client in (NamedClient[])[caller, other, blocked]) client.Connection.Run("AUTH guest x").IsOk();
        blocked.Connection.Send("*3\r\n$5\r\nBLPOP\r\n$4\r\nlist\r\n$1\r\n0\r\n");
        Assert.True(SpinWait.SpinUntil(() => server.Run("CLIENT LIST").Text.Contains("cmd=blpop", StringComparison.Ordinal), PatienceMs));
        caller.Connection.Run("ACL DELUSER guest").IsInteger(1);
        foreach (NamedClient client in (NamedClient[])[caller, other, blocked])
        {
            Assert.True(client.Connection.Read().IsClosed);
            AssertOnTimeline(server, "userdeleted", client);
        }
    }

    [Fact]
    public async Task Clients_of_a_user_that_a_loaded_file_lacks_are_on_the_timeline()
    {
        string file = Path.GetTempFileName();
        try
        {
            await using LiveServer server = await LiveServer.StartAsync("aclfile", file);
            server.Run("ACL SETUSER guest on nopass ~* &* +@all").IsOk();
            using var guest = new NamedClient(server, "guest");
            guest.Connection.Run("AUTH guest x").IsOk();
            server.Run("ACL LOAD").IsOk();
            Assert.True(guest.Connection.Read().IsClosed);
            AssertOnTimeline(server, "userdeleted", guest);
        }
        finally
        {
            File.Delete(file);
        }
    }

    [Fact]
    public async Task Subscriber_whose_user_loses_the_channel_is_on_the_timeline()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run("ACL SETUSER guest on nopass ~* &news* +@all").IsOk();
        using var subscriber = new NamedClient(server, "subscriber");
        subscriber.Connection.Run("AUTH guest x").IsOk();
        subscriber.Connection.Run("SUBSCRIBE news");
        server.Run("ACL SETUSER guest resetchannels &weather").IsOk();
        Assert.True(subscriber.Connection.Read().IsClosed);
        AssertOnTimeline(server, "channeldenied", subscriber);
    }

    [Theory]
    [InlineData("*x\r\n")]
    [InlineData("*1\r\n!4\r\nPING\r\n")]
    [InlineData("POST / HTTP/1.1\r\n")]
    public async Task Client_that_does_not_speak_the_protocol_is_on_the_timeline(string request)
    {
        await using LiveServer server = await LiveServer.StartAsync();
        using var stranger = new NamedClient(server, "stranger");
        stranger.Connection.Send(request);
        AssertOnTimeline(server, "protocolerror", stranger);
    }

    // A stall of the whole process is provoked in the end-to-end tests: it would stop other tests here.
    [Fact]
    public async Task Garbage_collection_that_stops_the_process_is_on_the_timeline()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        object[][] graph = [.. Enumerable.Range(0, 1_000_000).Select(i => new object[] { i })];
        JsonElement[] found = [];
        bool isFound = SpinWait.SpinUntil(
            () =>
            {
                GC.Collect();
                Thread.Sleep(50); // otherwise no other thread runs for long
                return (found = OnTimeline(server, "garbagecollection")).Length > 0;
            },
            PatienceMs);
        Assert.True(isFound, "a collection of 10 ms is noted");
        Assert.Equal((0, ""), (found[0].GetProperty("client_id").GetInt64(), found[0].GetProperty("name").GetString()));
        Assert.InRange(found[0].GetProperty("microseconds").GetInt64(), 10_000, 60_000_000);
        GC.KeepAlive(graph);
    }

    [Fact]
    public void Timeline_keeps_the_newest_events()
    {
        var timeline = new Timeline();
        for (int i = 0; i < Timeline.EventsMax + 10; i++) timeline.Add(TimelineKind.Stall, i, 0, "");
        TimelineEvent[] events = timeline.Events;
        Assert.Equal((Timeline.EventsMax, 10, Timeline.EventsMax + 9), (events.Length, events[0].UnixMs, events[^1].UnixMs));
    }

    // The event is the client's, in the report that the page and the debug package have.
    private static void AssertOnTimeline(LiveServer server, string kind, NamedClient client)
    {
        JsonElement[] found = [];
        Assert.True(SpinWait.SpinUntil(() => (found = [.. OnTimeline(server, kind).Where(item => item.GetProperty("client_id").GetInt64() == client.Id)]).Length > 0, PatienceMs), $"{client.Name}: {kind}");
        JsonElement item = Assert.Single(found);
        Assert.Equal((client.Name, client.Address), (item.GetProperty("name").GetString(), item.GetProperty("address").GetString()));
        Assert.InRange(item.GetProperty("unix_ms").GetInt64(), DateTimeOffset.UtcNow.ToUnixTimeMilliseconds() - 60_000, DateTimeOffset.UtcNow.ToUnixTimeMilliseconds() + 1000);
    }

    private static JsonElement[] OnTimeline(LiveServer server, string kind) =>
        [.. JsonDocument.Parse(Report(server, "timeline")).RootElement.EnumerateArray().Where(item => item.GetProperty("kind").GetString() == kind)];

    private static byte[] Report(LiveServer server, string name) => server.Server.Reports!.Read(name, TestContext.Current.CancellationToken)!;

    private static JsonElement Command(LiveServer server, string name) =>
        JsonDocument.Parse(Report(server, "commands")).RootElement.EnumerateArray().Single(command => command.GetProperty("name").GetString() == name);

    private sealed class NamedClient : IDisposable
    {
        internal NamedClient(LiveServer server, string name)
        {
            Connection = RespConnection.Connect(server.Server.Port);
            Connection.Run($"CLIENT SETNAME {name}").IsOk();
            Name = name;
            Id = Connection.Run("CLIENT ID").Number;
            Address = Connection.LocalEndPoint.ToString()!;
        }

        internal RespConnection Connection { get; }

        internal string Name { get; }

        internal long Id { get; }

        internal string Address { get; }

        public void Dispose() => Connection.Dispose();
    }
}
