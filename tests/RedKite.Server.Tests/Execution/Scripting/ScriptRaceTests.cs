using System.Globalization;
using System.Text;
using RedKite.Net;
using RedKite.Server.Sessions;
using RedKite.TestSupport;

namespace RedKite.Server.Tests;

/// <summary>Scripts and commands of many threads at once: the changes of a script are visible completely or not at all, and nothing hangs.</summary>
public class ScriptRaceTests
{
    private const int Accounts = 40;
    private const int PerAccount = 1000;

    [Fact]
    public async Task Transfers_by_scripts_never_change_the_sum()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["loops"] = "2" } }, TestContext.Current.CancellationToken);
        for (int i = 0; i < Accounts; i++) server.Execute("SET", Name(i), PerAccount.ToString(CultureInfo.InvariantCulture));
        server.Execute("FUNCTION", "LOAD", "#!lua name=bank\nredis.register_function('transfer', function(keys, args) redis.call('decrby', args[1], args[3]) redis.call('incrby', args[2], args[3]) return 1 end)");

        using var over = new CancellationTokenSource(TimeSpan.FromSeconds(TestScale.Of(gate: 2, full: 3)));
        long transfers = 0;
        Task[] movers = [.. Enumerable.Range(0, 4).Select(thread => Task.Run(() => Move(thread), TestContext.Current.CancellationToken))];
        Task<int> checker = Task.Run(Check, TestContext.Current.CancellationToken);
        Task reader = Task.Run(Read, TestContext.Current.CancellationToken);
        await Task.WhenAll([.. movers, checker, reader]).WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
        Assert.True(transfers > 100, "too few transfers");
        Assert.True(await checker > 10, "too few checks");

        // Commands with several keys, which give way to scripts.
        void Read()
        {
            using RedKiteSession client = server.CreateSession();
            while (!over.IsCancellationRequested) Assert.False(client.Execute("MGET", Name(1), Name(7), Name(13), Name(29)).IsError);
        }

        void Move(int thread)
        {
            using RedKiteSession client = server.CreateSession();
            var random = new Random(thread);
            while (!over.IsCancellationRequested)
            {
                string from = Name(random.Next(Accounts));
                string to = Name(random.Next(Accounts));
                RedKiteReply reply = random.Next(4) switch
                {
                    0 => client.Execute("EVAL", "redis.call('decrby', KEYS[1], ARGV[1]) redis.call('incrby', KEYS[2], ARGV[1]) return 1", "2", from, to, "3"),
                    1 => client.Execute("EVAL", "redis.call('decrby', ARGV[1], 3) redis.call('incrby', ARGV[2], 3) return 1", "0", from, to),
                    2 => client.Execute("EVAL", "redis.call('decrby', KEYS[1], 3) redis.call('incrby', ARGV[1], 3) return 1", "1", from, to),
                    _ => client.Execute("FCALL", "transfer", "0", from, to, "3"),
                };
                Assert.False(reply.IsError, reply.Text);
                Interlocked.Increment(ref transfers);
            }
        }

        int Check()
        {
            using RedKiteSession client = server.CreateSession();
            string[] declared = [.. Enumerable.Range(0, Accounts).Select(Name)];
            int checks = 0;
            while (!over.IsCancellationRequested)
            {
                RedKiteReply sum = checks % 2 == 0
                    ? client.Execute("EVAL", "local n = 0 for i = 0, 39 do n = n + redis.call('get', 'account' .. i) end return n", "0")
                    : client.Execute(["EVAL", "local n = 0 for _, v in ipairs(redis.call('mget', unpack(KEYS))) do n = n + v end return n", "40", .. declared]);
                Assert.Equal((long)Accounts * PerAccount, sum.Integer);
                checks++;
            }

            return checks;
        }
    }

    // The script's own key stands where the command has another: its stripe is not the one that the command needs. A stripe that is not
    // locked for the script still reports to the client that locked it last.
    [Fact]
    public async Task Keys_of_a_command_that_a_script_has_not_declared_are_locked()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["loops"] = "1", ["notify-keyspace-events"] = "Eg" } }, TestContext.Current.CancellationToken);
        using RespConnection subscriber = RespConnection.Connect(server.Port);
        using RedKiteSession scripted = server.CreateSession(), other = server.CreateSession();
        subscriber.Run("PSUBSCRIBE __keyevent*");
        for (int i = 0; i < 20; i++)
        {
            other.Execute("ZADD", $"set{i}", "1", "a");
            scripted.Execute("EVAL", "return redis.call('ZMPOP', 2, 'none', ARGV[1], 'MAX')", "1", "declared", $"set{i}");
            Assert.Equal($"set{i}", subscriber.Read().Items[3].Text);
        }

        server.Execute("MSET", "a", "1", "b", "2");
        other.Execute("DEL", "a", "b");
        Assert.Equal(["a", "b"], [subscriber.Read().Items[3].Text, subscriber.Read().Items[3].Text]);
    }

    [Fact]
    public async Task Long_script_can_be_killed_and_others_get_busy_replies()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["busy-reply-threshold"] = "50" } }, TestContext.Current.CancellationToken);
        Task<RedKiteReply> script = Task.Run(() => server.Execute("EVAL", "while true do end", "0"), TestContext.Current.CancellationToken);
        RedKiteReply reply = default!;
        Assert.True(SpinWait.SpinUntil(() => (reply = server.Execute("GET", "x")).IsError, TimeSpan.FromSeconds(60)));
        Assert.Equal("BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", reply.Text);
        Assert.Equal("BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", server.Execute("FUNCTION", "KILL").Text);
        Assert.Equal("OK", server.Execute("SCRIPT", "KILL").Text);
        RedKiteReply killed = await script.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
        Assert.StartsWith("ERR Script killed by user with SCRIPT KILL... script: ", killed.Text, StringComparison.Ordinal);
        Assert.False(server.Execute("GET", "x").IsError);
        Assert.Equal("NOTBUSY No scripts in execution right now.", server.Execute("SCRIPT", "KILL").Text);
    }

    // They came before the script was busy. A loop that waited to its end would serve none of its clients.
    [Fact]
    public async Task Scripts_that_wait_for_a_script_get_busy_replies()
    {
        const string Busy = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["busy-reply-threshold"] = "1000", ["loops"] = "1" } }, TestContext.Current.CancellationToken);
        using var admin = RespConnection.Connect(server.Port);
        using var held = RespConnection.Connect(server.Port);
        using var queue = RespConnection.Connect(server.Port);
        string sha = admin.Run("SCRIPT LOAD \"return 7\"").Text;
        queue.Run("MULTI").IsOk();
        queue.Run($"EVALSHA {sha} 0").IsSimple("QUEUED");
        Task<RedKiteReply> script = Task.Run(() => server.Execute("EVAL", "while true do end", "0"), TestContext.Current.CancellationToken);
        Assert.True(SpinWait.SpinUntil(() => server.Engine.Script.Current is not null, TimeSpan.FromSeconds(60)));
        Task<RedKiteReply> inProcess = Task.Run(() => server.Execute("EVAL", "return 1", "0"), TestContext.Current.CancellationToken);
        queue.Run("EXEC").IsError("EXECABORT Transaction discarded because of: " + Busy);
        Assert.Equal(Busy, (await inProcess.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken)).Text);
        held.Run($"EVALSHA {sha} 0").IsError(Busy);
        admin.Run("SCRIPT KILL").IsOk();
        await script.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
        held.Run($"EVALSHA {sha} 0").IsInteger(7);
        Assert.True(queue.Run("EXEC").IsError);
    }

    // Whether EVALSHA is held depends on its script, which only the thread of the running script may read.
    [Fact]
    public async Task Pause_of_writes_does_not_stop_a_loop_while_a_script_runs()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["busy-reply-threshold"] = "1000", ["loops"] = "1" } }, TestContext.Current.CancellationToken);
        using var admin = RespConnection.Connect(server.Port);
        using var held = RespConnection.Connect(server.Port);
        string sha = admin.Run("SCRIPT LOAD \"return 7\"").Text;
        Task<RedKiteReply> script = Task.Run(() => server.Execute("EVAL", "while true do end", "0"), TestContext.Current.CancellationToken);
        Assert.True(SpinWait.SpinUntil(() => server.Engine.Script.Current is not null, TimeSpan.FromSeconds(60)));
        admin.Run("CLIENT PAUSE 100000 WRITE").IsOk();
        held.SendCommand($"EVALSHA {sha} 0");
        Assert.True(SpinWait.SpinUntil(() => server.Engine.Script.BusyReply is not null, TimeSpan.FromSeconds(60)));
        admin.Run("SCRIPT KILL").IsOk();
        await script.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
        admin.Run("PING").IsSimple("PONG");
        Assert.Equal(0, held.AvailableBytes);
        admin.Run("CLIENT UNPAUSE").IsOk();
        held.Read().IsInteger(7);
    }

    [Theory]
    [InlineData("epoll", 1, 0, "while true do end")]
    [InlineData("sockets", 1, 0, "while true do end")]
    [InlineData("epoll", 2, 3, "while true do redis.call('GET', KEYS[1]) end")] // clients on both loops wait for its key
    [InlineData("sockets", 2, 3, "while true do redis.call('GET', KEYS[1]) end")]
    public async Task Long_script_can_be_killed_over_a_new_connection(string transport, int loops, int waiting, string text)
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, AllowShutdown = true, Settings = { ["busy-reply-threshold"] = "200", ["transport"] = transport, ["loops"] = loops.ToString(CultureInfo.InvariantCulture) } }, TestContext.Current.CancellationToken);
        for (int round = 0; round < 3; round++)
        {
            using var runs = RespConnection.Connect(server.Port);
            var others = Enumerable.Range(0, waiting).Select(_ => RespConnection.Connect(server.Port)).ToList();
            runs.SendCommand($"EVAL \"{text}\" 1 x");
            Assert.True(SpinWait.SpinUntil(() => server.Engine.Script.Current is not null, TimeSpan.FromSeconds(60)));
            foreach (RespConnection other in others) other.SendCommand("GET x");
            Assert.True(SpinWait.SpinUntil(() => server.Engine.Script.BusyReply is not null, TimeSpan.FromSeconds(60)));
            using (var admin = RespConnection.Connect(server.Port))
            {
                admin.Run("GET x").IsError("BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.");
                admin.Run("SHUTDOWN").IsError("BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.");
                admin.Run("SCRIPT KILL").IsOk();
                Assert.StartsWith("ERR Script killed by user with SCRIPT KILL... script: ", runs.Read().Text, StringComparison.Ordinal);
                Assert.True(admin.Run("GET x").IsNull);
            }

            foreach (RespConnection other in others)
            {
                RespValue reply = other.Read();
                Assert.True(reply.IsNull || reply.Text.StartsWith("BUSY", StringComparison.Ordinal), reply.ToString());
                other.Dispose();
            }

            using var next = RespConnection.Connect(server.Port);
            next.Run("PING").IsSimple("PONG");
        }
    }

    // They were connected before, half of them to the loop that the script keeps busy. .NET's sockets cannot move.
    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    public async Task Clients_of_the_loop_that_runs_a_long_script_get_busy_replies_and_may_end_it(int loops)
    {
        const string Busy = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";
        Assert.SkipUnless(EventLoop.EpollIsSupported, "epoll moves connections");
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["busy-reply-threshold"] = "100", ["transport"] = "epoll", ["loops"] = loops.ToString(CultureInfo.InvariantCulture) } }, TestContext.Current.CancellationToken);
        var clients = Enumerable.Range(0, 20).Select(_ => RespConnection.Connect(server.Port)).ToList();
        foreach (RespConnection client in clients) client.Run("PING").IsSimple("PONG");
        for (int round = 0; round < 6; round++)
        {
            clients[1].Run("MULTI").IsOk();
            clients[1].Run("SET x 1").IsSimple("QUEUED");
            clients[0].SendCommand("EVAL \"while true do end\" 0");
            Assert.True(SpinWait.SpinUntil(() => server.Engine.Script.BusyReply is not null, TimeSpan.FromSeconds(60)));
            foreach (RespConnection client in clients.Skip(2)) client.Run("GET x").IsError(Busy);
            clients[1].Run("EXEC").IsError("EXECABORT Transaction discarded because of: " + Busy);
            clients[2 + round].Run("SCRIPT KILL").IsOk();
            Assert.StartsWith("ERR Script killed by user with SCRIPT KILL... script: ", clients[0].Read().Text, StringComparison.Ordinal);
            foreach (RespConnection client in clients) Assert.Equal("$(null)", client.Run("GET x").ToString());
        }

        // All of them are back on the loops that the server began with.
        Assert.True(SpinWait.SpinUntil(() => server.Engine.Clients.All.All(session => session.Connection is not { } connection || connection.Loop.Index < loops), TimeSpan.FromSeconds(60)));
        foreach (RespConnection client in clients)
        {
            client.Run("PING").IsSimple("PONG");
            client.Dispose();
        }

        Assert.True(SpinWait.SpinUntil(() => !server.Engine.Clients.All.Any(session => session.Connection is not null), TimeSpan.FromSeconds(60)));
    }

    // It stays on the reserve of the first script because its request is not complete, and moves to the script's loop when the second one
    // keeps that busy.
    [Fact]
    public async Task Client_that_returns_to_a_loop_that_runs_the_next_long_script_gets_busy_replies()
    {
        const string Busy = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";
        Assert.SkipUnless(EventLoop.EpollIsSupported, "epoll moves connections");
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["busy-reply-threshold"] = "20", ["transport"] = "epoll", ["loops"] = "1" } }, TestContext.Current.CancellationToken);
        using var runs = RespConnection.Connect(server.Port);
        using var returns = RespConnection.Connect(server.Port);
        long id = long.Parse(returns.Run("CLIENT ID").Text, CultureInfo.InvariantCulture);
        Connection connection = server.Engine.Clients.All.Single(session => session.Id == id).Connection!;
        RunningScript script = server.Engine.Script;
        var isServedElsewhere = new ManualResetEventSlim(); // if the client returned before, the same reserve would get it again
        script.BusyBegins += _ => isServedElsewhere.Set();
        Begin();
        returns.Send("*1\r\n$4\r\nPI");
        Assert.True(SpinWait.SpinUntil(() => connection.InputBytes > 0, TimeSpan.FromSeconds(60)));
        EventLoop reserve = connection.Loop;
        Assert.NotEqual(0, reserve.Index);
        Assert.Null(server.Engine.Script.Kill(isFunction: false));
        Assert.True(runs.Read().IsError);

        Begin();
        returns.Send("NG\r\n");
        returns.Read().IsError(Busy);
        Assert.True(SpinWait.SpinUntil(() => connection.Loop != reserve, TimeSpan.FromSeconds(60)));
        returns.Run("GET x").IsError(Busy);
        returns.Run("SCRIPT KILL").IsOk();
        Assert.True(runs.Read().IsError);
        Assert.True(returns.Run("GET x").IsNull);

        void Begin()
        {
            isServedElsewhere.Reset();
            runs.SendCommand("EVAL \"while true do end\" 0");
            Assert.True(isServedElsewhere.Wait(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken));
        }
    }

    // They came before the script was busy. A loop that waited for its keys to its end would serve none of its clients.
    [Theory]
    [InlineData("epoll")]
    [InlineData("sockets")]
    public async Task Commands_that_wait_for_keys_of_a_script_get_busy_replies(string transport)
    {
        const string Busy = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["busy-reply-threshold"] = "1000", ["transport"] = transport, ["loops"] = "2" } }, TestContext.Current.CancellationToken);
        using var first = RespConnection.Connect(server.Port);
        using var second = RespConnection.Connect(server.Port);
        using var watches = RespConnection.Connect(server.Port);
        foreach (RespConnection client in (RespConnection[])[first, second, watches]) client.Run("WATCH x y").IsOk();
        second.Run("MULTI").IsOk();
        second.Run("SET x 1").IsSimple("QUEUED");
        Task<RedKiteReply> script = Task.Run(() => server.Execute("EVAL", "while true do redis.call('GET', KEYS[1]) end", "1", "x"), TestContext.Current.CancellationToken);
        Assert.True(SpinWait.SpinUntil(() => server.Engine.Script.Current is not null, TimeSpan.FromSeconds(60)));
        Task<RedKiteReply>[] callers =
        [
            .. ((string[][])[["GET", "x"], ["SET", "x", "1"], ["MGET", "x", "y", "z"], ["MSET", "a", "1", "x", "2"], ["RENAME", "y", "x"], ["FLUSHALL"]])
                .Select(request => Task.Run(() => server.Execute(request), TestContext.Current.CancellationToken)),
        ];
        first.SendCommand("GET x");
        second.SendCommand("EXEC");
        Assert.All(await Task.WhenAll(callers).WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken), reply => Assert.Equal(Busy, reply.Text));
        first.Read().IsError(Busy);
        second.Read().IsError("EXECABORT Transaction discarded because of: " + Busy);
        watches.Dispose();
        Assert.True(SpinWait.SpinUntil(() => server.Engine.Clients.All.Count(session => session.Connection is not null) == 2, TimeSpan.FromSeconds(60)));
        first.Run("GET x").IsError(Busy);
        first.Run("UNWATCH").IsError(Busy); // Redis forgets the keys, for which RedKite would have to wait
        second.Run("PING").IsError(Busy);
        second.Run("SCRIPT KILL").IsOk();
        await script.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
        Assert.True(first.Run("GET x").IsNull);
        first.Run("UNWATCH").IsOk();
        Assert.True(SpinWait.SpinUntil(() => server.Engine.Watched.Count == 0, TimeSpan.FromSeconds(60)));
        second.Run("MULTI").IsOk();
        Assert.Empty(second.Run("EXEC").Items);
    }

    // Otherwise the reserve might wait for the script's key with all its clients.
    [Fact]
    public async Task Commands_get_busy_replies_as_soon_as_a_reserve_serves_clients()
    {
        Assert.SkipUnless(EventLoop.EpollIsSupported, "epoll moves connections");
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["busy-reply-threshold"] = "20", ["transport"] = "epoll", ["loops"] = "1" } }, TestContext.Current.CancellationToken);
        using var runs = RespConnection.Connect(server.Port);
        using var other = RespConnection.Connect(server.Port);
        other.Run("PING").IsSimple("PONG");
        var reply = new TaskCompletionSource<RespValue>(TaskCreationOptions.RunContinuationsAsynchronously);
        RunningScript script = server.Engine.Script;
        script.BusyBegins += _ => reply.SetResult(other.Run("GET x"));
        runs.SendCommand("EVAL \"while true do redis.call('GET', KEYS[1]) end\" 1 x");
        RespValue first = await reply.Task.WaitAsync(TimeSpan.FromSeconds(120), TestContext.Current.CancellationToken);
        Assert.Null(script.Kill(isFunction: false));
        Assert.True(runs.Read().IsError);
        first.IsError("BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.");
    }

    [Fact]
    public async Task Running_function_is_shown_and_killed()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["busy-reply-threshold"] = "50", ["loops"] = "1" } }, TestContext.Current.CancellationToken);
        using var runs = RespConnection.Connect(server.Port);
        runs.Run("FUNCTION LOAD \"#!lua name=lib\\nredis.register_function('endless', function() while true do end end)\"").IsBulk("lib");
        runs.SendCommand("fcall endless 1 k{t} arg");
        Assert.True(SpinWait.SpinUntil(() => server.Engine.Script.BusyReply is not null, TimeSpan.FromSeconds(60)));
        using var admin = RespConnection.Connect(server.Port);
        admin.Run("SCRIPT KILL").IsError("BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.");
        RedKiteReply running = server.Execute("FUNCTION", "STATS").Items[1];
        Assert.Equal("endless", running.Items[1].Text);
        Assert.Equal(["fcall", "endless", "1", "k{t}", "arg"], running.Items[3].Items.Select(argument => argument.Text));
        admin.Run("FUNCTION KILL").IsOk();
        Assert.StartsWith("ERR Script killed by user with SCRIPT KILL... script: endless", runs.Read().Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Server_stops_although_a_script_runs()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, AllowShutdown = true, Settings = { ["busy-reply-threshold"] = "50", ["loops"] = "1" } }, TestContext.Current.CancellationToken);
        using var runs = RespConnection.Connect(server.Port);
        runs.SendCommand("EVAL \"redis.call('SET', 'x', 1) while true do end\" 0");
        Assert.True(SpinWait.SpinUntil(() => server.Engine.Script.BusyReply is not null, TimeSpan.FromSeconds(60)));
        using var admin = RespConnection.Connect(server.Port);
        Assert.StartsWith("UNKILLABLE", admin.Run("SCRIPT KILL").Text, StringComparison.Ordinal);
        admin.SendCommand("SHUTDOWN NOSAVE");
        await server.Stopped.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
    }

    [Fact]
    public async Task Script_that_has_written_cannot_be_killed()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        Task<RedKiteReply> script = Task.Run(() => server.Execute("EVAL", "redis.call('set', 'x', 1) for i = 1, 3e7 do end return 1", "1", "x"), TestContext.Current.CancellationToken);
        Assert.True(SpinWait.SpinUntil(() => server.Engine.Script.Current is { HasWritten: true }, TimeSpan.FromSeconds(60)));
        RedKiteReply reply = server.Execute("SCRIPT", "KILL");
        Assert.Equal(1, (await script.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken)).Integer);
        Assert.StartsWith("UNKILLABLE", reply.Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Flush_returns_the_memory()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        for (int i = 0; i < 2000; i++) server.Execute("SCRIPT", "LOAD", $"return '{new string('x', 1000)}{i}'");
        Assert.Contains("number_of_cached_scripts:2000", server.Execute("INFO", "memory").Text, StringComparison.Ordinal);
        server.Execute("SCRIPT", "FLUSH");
        Assert.Contains("used_memory_vm_eval:0\r", server.Execute("INFO", "memory").Text, StringComparison.Ordinal);
        Assert.Contains("number_of_cached_scripts:0", server.Execute("INFO", "memory").Text, StringComparison.Ordinal);
        for (int i = 0; i < 1000; i++) server.Execute("EVAL", $"return {i}", "0");
        Assert.Contains("number_of_cached_scripts:500", server.Execute("INFO", "memory").Text, StringComparison.Ordinal);
        Assert.Contains("evicted_scripts:500", server.Execute("INFO", "stats").Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Scripts_and_libraries_are_compiled_once()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        string name = server.Execute("SCRIPT", "LOAD", "return KEYS[1]").Text!;
        for (int i = 0; i < 3; i++)
        {
            Assert.Equal("k", server.Execute("EVALSHA", name, "1", "k").Text);
            Assert.Equal("k", server.Execute("EVALSHA_RO", name.ToUpperInvariant(), "1", "k").Text);
            Assert.Equal("k", server.Execute("EVAL", "return KEYS[1]", "1", "k").Text);
            server.Execute("SCRIPT", "LOAD", "return KEYS[1]");
        }

        Assert.Equal(1, server.Engine.Script.Figures().Compilations);
        for (int i = 0; i < 3; i++) Assert.Equal(i, server.Execute("EVAL", "return tonumber(ARGV[1])", "0", i.ToString(CultureInfo.InvariantCulture)).Integer);
        Assert.Equal(2, server.Engine.Script.Figures().Compilations);
        server.Execute("FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('f', function() return 1 end) redis.register_function{function_name='g', callback=function() return 2 end, flags={'no-writes'}}");
        for (int i = 0; i < 3; i++)
        {
            Assert.Equal(1, server.Execute("FCALL", "f", "0").Integer);
            Assert.Equal(2, server.Execute("FCALL_RO", "g", "0").Integer);
        }

        Assert.Equal(3, server.Engine.Script.Figures().Compilations);
        Assert.True(server.Execute("EVAL", "return (", "0").IsError);
        Assert.Equal(4, server.Engine.Script.Figures().Compilations);
    }

    // As in Redis: it has changed no data.
    [Theory]
    [InlineData("redis.call('PUBLISH', 'c', 'm')")]
    [InlineData("redis.call('PFCOUNT', 'h')")]
    [InlineData("redis.pcall('SET', 'k')")]
    public async Task Script_that_has_not_written_can_be_killed(string call)
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["busy-reply-threshold"] = "10" } }, TestContext.Current.CancellationToken);
        server.Execute("PFADD", "h", "a");
        Task<RedKiteReply> script = Task.Run(() => server.Execute("EVAL", call + " while true do end", "0"), TestContext.Current.CancellationToken);
        Assert.True(SpinWait.SpinUntil(() => server.Execute("PING").Text!.StartsWith("BUSY", StringComparison.Ordinal), 60_000));
        Assert.Equal("OK", server.Execute("SCRIPT", "KILL").Text);
        Assert.True((await script).IsError);
    }

    [Fact]
    public async Task Damaged_payloads_of_functions_are_refused()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        string library = "#!lua name=lib\nredis.register_function('f', function() return 1 end)" + new string(' ', 100);
        server.Execute("FUNCTION", "LOAD", library);
        using RedKiteSession client = server.CreateSession();
        byte[] payload = client.Execute("FUNCTION", "DUMP").Bytes.ToArray();
        var random = new Random(20261122);
        for (int i = 0; i < 3000; i++)
        {
            byte[] damaged = [.. payload];
            for (int j = random.Next(1, 4); j > 0; j--) damaged[random.Next(damaged.Length)] ^= (byte)(1 << random.Next(8));
            if (random.Next(3) == 0) damaged = damaged[..random.Next(damaged.Length)];
            Assert.False(damaged.AsSpan().SequenceEqual(payload));
            Assert.True(Restore(client, damaged, "REPLACE").IsError);
        }

        // With a valid checksum, whatever the payload has inside ends as an error or is loaded.
        for (int i = 0; i < 3000; i++)
        {
            byte[] damaged = [.. payload];
            for (int j = random.Next(1, 4); j > 0; j--) damaged[random.Next(damaged.Length - 10)] ^= (byte)(1 << random.Next(8));
            Restore(client, RedisDumps.Seal(damaged[..^10]), "REPLACE");
        }

        Restore(client, payload, "FLUSH");
        Assert.Equal(1, client.Execute("FCALL", "f", "0").Integer);
    }

    private static RedKiteReply Restore(RedKiteSession client, byte[] payload, string policy)
    {
        ReadOnlySpan<ReadOnlyMemory<byte>> words = ["FUNCTION"u8.ToArray(), "RESTORE"u8.ToArray(), payload, Encoding.ASCII.GetBytes(policy)];
        return client.Execute(words);
    }

    private static string Name(int account) => string.Create(CultureInfo.InvariantCulture, $"account{account}");
}
