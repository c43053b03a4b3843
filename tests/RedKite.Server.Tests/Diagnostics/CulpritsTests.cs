using System.Text;
using RedKite.Server.Diagnostics;
using RedKite.Server.Metrics;
using RedKite.Server.Sessions;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Diagnostics;

/// <summary>What findings name on a running server: keys, scripts, clients, commands and addresses.</summary>
public class CulpritsTests
{
    private const int PatienceMs = 60_000;

    [Fact]
    public async Task Client_is_described_while_it_is_connected_and_after_it_has_left()
    {
        await using RedKiteServer server = await StartedAsync();
        Culprits culprits = CulpritsOf(server);
        long id;
        using (RespConnection client = RespConnection.Connect(server.Port))
        {
            foreach (string request in (string[])["CLIENT SETNAME worker", "CLIENT SETINFO LIB-NAME redis-py", "CLIENT SETINFO LIB-VER 5.1", "SET key value"]) client.Run(request).IsOk();
            id = client.Run("CLIENT ID").Number;
            Assert.Matches($@"^client {id} \(worker, 127\.0\.0\.1:\d+, user default, redis-py 5\.1\)$", culprits.Client(id));
            server.Execute("CLIENT", "KILL", "ID", $"{id}");
        }

        Assert.True(SpinWait.SpinUntil(() => server.Engine.Clients.Departed.Find(id) is not null, PatienceMs), "it has left");
        Assert.Matches($@"^client {id} \(worker, 127\.0\.0\.1:\d+, user default, redis-py 5\.1\), which has left$", culprits.Client(id));
        Assert.Contains("worker", culprits.Closed(TimelineKind.Killed), StringComparison.Ordinal);

        // The page shows it with what it did and why it left.
        string clients = Encoding.UTF8.GetString(server.Reports!.Read("clients", TestContext.Current.CancellationToken)!);
        Assert.Matches($"\"id\":{id},\"name\":\"worker\".*\"commands\":5.*\"left_unix_ms\":[1-9][0-9]+,\"closed_for\":\"killed\"", clients);
    }

    [Fact]
    public async Task Long_script_is_named_with_its_first_line_and_its_caller()
    {
        await using RedKiteServer server = await StartedAsync();
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("CLIENT SETNAME nightly").IsOk();
        Assert.False(client.Run("EVAL \"\\n-- counts for long\\nlocal n = 0 while n < 30000000 do n = n + 1 end return n\" 0").IsError);
        LongScriptRun run = server.Engine.Script.LongRun!;
        Assert.Matches($"^the script {run.Name} \\(\"-- counts for long\"\\), \\d+ ms, run by client \\d+ \\(nightly, .*\\)$", CulpritsOf(server).LongScript());
    }

    [Fact]
    public async Task Slow_command_is_named_with_its_arguments_and_its_caller()
    {
        await using RedKiteServer server = await StartedAsync();
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("CLIENT SETNAME sleeper").IsOk();
        client.Run("DEBUG SLEEP 0.05").IsOk();
        Assert.Matches(@"^DEBUG SLEEP 0\.05, [0-9.]+ ms, of client \d+ \(sleeper, .*\)$", CulpritsOf(server).LongestCall(60));
        client.Run("SLOWLOG RESET").IsOk();
        client.Run("DEBUG SLEEP 0.02").IsOk();
        Assert.Matches(@"^in the last 10 seconds DEBUG SLEEP 0\.02 \([0-9]+ ms in 2 calls, [0-9]+ ms the longest\) of client \d+ \(sleeper, .*\)$", CulpritsOf(server).LongCalls(30));
    }

    [Fact]
    public async Task Callers_of_keys_and_connecting_addresses_are_counted()
    {
        await using RedKiteServer server = await StartedAsync();
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("CLIENT SETNAME lister").IsOk();
        for (int i = 0; i < 3; i++) client.Run("KEYS *").IsArray();
        Assert.Matches(@"^called by client \d+ \(lister, .*\) 3 times$", CulpritsOf(server).CallersOf("keys"));
        Assert.Equal("from 127.0.0.1 (1 connection within a minute)", CulpritsOf(server).ConnectingAddresses());
    }

    [Fact]
    public async Task Keys_are_named_on_one_line_whatever_they_hold()
    {
        await using RedKiteServer server = await StartedAsync();
        server.Execute("SET", "large\nkey", new string('x', 1 << 20));
        server.Execute("CONFIG", "SET", "key-survey-cpu-percent", "5");
        Assert.True(SpinWait.SpinUntil(() => CulpritsOf(server).LargestKey().Length > 0, PatienceMs), "the survey has seen it");
        Assert.Equal("the key \"large\\x0akey\" (string of 1,048,576 bytes, 1.13 MiB)", CulpritsOf(server).LargestKey());
    }

    [Fact]
    public async Task Failed_logins_and_denied_commands_name_their_user_and_client()
    {
        await using RedKiteServer server = await StartedAsync();
        using RespConnection client = RespConnection.Connect(server.Port);
        Assert.True(client.Run("AUTH alice wrong").IsError);
        Assert.Matches(@"^the user alice \(client \d+ \(127\.0\.0\.1:\d+, user default\)\)$", CulpritsOf(server).Denied(isLogin: true));
        Assert.Equal("", CulpritsOf(server).Denied(isLogin: false));
        client.Run("ACL SETUSER bob on nopass ~* +auth").IsOk();
        client.Run("AUTH bob x").IsOk();
        Assert.True(client.Run("GET key").IsError);
        Assert.Matches("^the user bob was denied \"get\" ", CulpritsOf(server).Denied(isLogin: false));
    }

    [Fact]
    public async Task Closed_subscriber_is_named_with_its_channels()
    {
        await using RedKiteServer server = await StartedAsync();
        server.Execute("CONFIG", "SET", "client-output-buffer-limit", "pubsub 1mb 0 0");
        using RespConnection subscriber = RespConnection.Connect(server.Port);
        subscriber.Run("CLIENT SETNAME listener").IsOk();
        subscriber.Send("SUBSCRIBE news\r\n");
        Assert.True(SpinWait.SpinUntil(() => server.Execute("PUBSUB", "NUMSUB", "news").Items[1].Integer == 1, PatienceMs), "it has subscribed");
        string message = new('m', 500_000);
        Assert.True(SpinWait.SpinUntil(() => server.Execute("PUBLISH", "news", message).Integer == 0, PatienceMs), "it is closed");
        Assert.True(SpinWait.SpinUntil(() => CulpritsOf(server).Closed(TimelineKind.OverLimit).Contains("subscribed to \"news\"", StringComparison.Ordinal), PatienceMs), CulpritsOf(server).Closed(TimelineKind.OverLimit));
        Assert.Matches(@"^client \d+ \(listener, 127\.0\.0\.1:\d+, user default\), which has left subscribed to ""news""$", CulpritsOf(server).Closed(TimelineKind.OverLimit));
    }

    [Fact]
    public async Task Clients_refused_by_memory_are_named_also_after_they_have_left()
    {
        await using RedKiteServer server = await StartedAsync();
        server.Execute("CONFIG", "SET", "maxmemory-policy", "noeviction");
        server.Execute("CONFIG", "SET", "maxmemory", "1");
        Assert.Equal("", CulpritsOf(server).RefusedByMemory());
        long id;
        using (RespConnection client = RespConnection.Connect(server.Port))
        {
            client.Run("CLIENT SETNAME loader").IsOk();
            id = client.Run("CLIENT ID").Number;
            for (int i = 0; i < 3; i++) Assert.StartsWith("OOM ", client.Run("SET key value").Text, StringComparison.Ordinal);
            Assert.Matches($@"^refused within a minute: client {id} \(loader, 127\.0\.0\.1:\d+, user default\) 3 times$", CulpritsOf(server).RefusedByMemory());
        }

        // What is known of a client that came for a moment only is its name.
        Assert.True(SpinWait.SpinUntil(() => server.Engine.Clients.Find(id) is null, PatienceMs), "it has left");
        Assert.Matches($@"^refused within a minute: client {id} \(loader.*\).* 3 times$", CulpritsOf(server).RefusedByMemory());
    }

    [Fact]
    public async Task Memory_users_are_who_wrote_most_and_a_key_that_holds_much()
    {
        await using RedKiteServer server = await StartedAsync();
        ObservedSeconds.Pass(server, 1);
        Assert.Equal("", CulpritsOf(server).MemoryUsers());
        using RespConnection writer = RespConnection.Connect(server.Port), reader = RespConnection.Connect(server.Port);
        writer.Run("CLIENT SETNAME writer").IsOk();
        writer.Run($"SET large {new string('x', 2 << 20)}").IsOk();
        writer.Run("SET small x").IsOk();
        reader.Run($"GET {new string('k', 3 << 20)}"); // more than the writer sends
        for (int i = 0; i < 3; i++) reader.Run($"MGET small {new string('k', 1 << 20)}");
        Assert.Matches(@"^within a minute client \d+ \(writer, .*\) wrote most: 2 MiB$", CulpritsOf(server).MemoryUsers());
        server.Execute("CONFIG", "SET", "key-survey-cpu-percent", "5");
        Assert.True(SpinWait.SpinUntil(() => CulpritsOf(server).LargestKey().Length > 0, PatienceMs), "the survey has seen it");
        Assert.Matches(@" wrote most: 2 MiB, the key ""large"" \(string of 2,097,152 bytes, [0-9.]+ MiB\) holds [1-9][0-9]+ % of the data$", CulpritsOf(server).MemoryUsers());
        server.Execute("FLUSHALL");
        Assert.DoesNotContain("large", CulpritsOf(server).MemoryUsers(), StringComparison.Ordinal);
    }

    [Fact]
    public void Input_is_of_the_last_half_to_whole_minute()
    {
        var input = new ClientInput();
        (long Id, long Bytes)[] clients = [(1, 5000), (2, 100)];
        input.EndSecond(clients);
        clients = [(1, 5000), (2, 700), (3, 400)];
        Assert.Equal((2, 600), input.Most(clients));
        for (int i = 0; i < 60; i++) input.EndSecond(clients);
        Assert.Equal(0, input.Most(clients).Bytes);
        Assert.Equal((3, 50), input.Most([(1, 5000), (2, 700), (3, 450)]));
        Assert.Equal((4, 90), input.Most([.. clients, (4, 90)])); // it has come since
        Assert.Equal((0, 0), input.Most([]));
    }

    [Fact]
    public void Errors_are_of_the_last_ten_seconds()
    {
        var errors = new ErrorSeconds();
        ExecutorMetrics[] executors = [new(1), new(1)];
        executors[0].CountError("WRONGTYPE");
        errors.Add(executors);
        executors[0].CountError("WRONGTYPE");
        executors[1].CountError("WRONGTYPE");
        for (int i = 0; i < 4; i++) executors[1].CountError("OOM");
        errors.Add(executors);
        Assert.Equal([("OOM", 4L), ("WRONGTYPE", 3L)], errors.Most());
        for (int i = 0; i < 9; i++) errors.Add(executors);
        Assert.Equal([("OOM", 4L), ("WRONGTYPE", 2L)], errors.Most());
        errors.Add(executors);
        Assert.Empty(errors.Most());
        executors[1].CountError("NOAUTH");
        errors.Add(executors);
        Assert.Equal([("NOAUTH", 1L)], errors.Most());
    }

    [Fact]
    public async Task Errors_are_named_with_the_commands_that_failed()
    {
        await using RedKiteServer server = await StartedAsync();
        ObservedSeconds.Pass(server, 1);
        server.Execute("SET", "text", "x");
        for (int i = 0; i < 3; i++) server.Execute("INCR", "text");
        server.Execute("LPUSH", "text", "x");
        ObservedSeconds.Pass(server, 1);
        Assert.Matches(@"^mostly ERR \(3\), WRONGTYPE \(1\) of incr \([0-9]+\), lpush \([0-9]+\)$", CulpritsOf(server).Errors()); // failures are rates, and a skipped second is short
    }

    [Fact]
    public void Tally_forgets_what_is_old_and_keeps_a_limited_number()
    {
        var tally = new RecentTally<int>();
        for (int i = 0; i < 2 * RecentTally<int>.KeysMax; i++) tally.Note(i, nowMs: 0);
        for (int i = 0; i < 5; i++) tally.Note(7, nowMs: 40_000);
        Assert.Equal((7, 6), tally.Most(1, nowMs: 40_000)[0]);
        Assert.Equal(RecentTally<int>.KeysMax, tally.Most(int.MaxValue, nowMs: 40_000).Count);
        Assert.Equal((7, 5), Assert.Single(tally.Most(int.MaxValue, nowMs: 70_000)));
        Assert.Empty(tally.Most(1, nowMs: 200_000));
    }

    private static Culprits CulpritsOf(RedKiteServer server) => new(server.Parts, server.Diagnostics!);

    private static async Task<RedKiteServer> StartedAsync() =>
        await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["enable-debug-command"] = "yes", ["key-survey-cpu-percent"] = "0" } }, TestContext.Current.CancellationToken);
}
