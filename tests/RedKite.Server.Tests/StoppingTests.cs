using RedKite.Net;
using RedKite.Server.Durability;
using RedKite.Server.Execution.Blocking;
using RedKite.Server.Following;
using RedKite.Server.Model;
using RedKite.Server.Replication;
using RedKite.Server.Sessions;
using RedKite.Server.Tests.Durability;
using RedKite.TestSupport;

namespace RedKite.Server.Tests;

/// <summary>The end of a server comes whatever fails on the way, and no thread waits for what has ended.</summary>
public sealed class StoppingTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    [Fact]
    public async Task Stopping_completes_and_reports_a_step_that_fails()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "appendfsync", "no", "save", "3600 1");
        RedKiteServer server = disk.Server;
        disk.Run("SET k v");
        disk.Files.Plan = call => call.Operation == "create" && call.Path.EndsWith(".rdb", StringComparison.Ordinal) ? throw new InvalidOperationException("a bug") : null;
        InvalidOperationException failure = await Assert.ThrowsAsync<InvalidOperationException>(() => server.StopAsync().WaitAsync(Patience, TestContext.Current.CancellationToken));
        Assert.Equal("a bug", failure.Message);
        Assert.True(server.Stopped.IsFaulted);
        Assert.Contains(disk.LogLines, line => line.Contains("a bug", StringComparison.Ordinal));
        await Assert.ThrowsAsync<InvalidOperationException>(async () => await server.DisposeAsync());
        disk.Files.Plan = null;
        disk.Abandon();
        await disk.StartAsync();
        Assert.Equal("v", disk.Run("GET k").Text); // the steps before it were taken
    }

    // Admitted before the last save has begun, it has its stripe only afterwards: acknowledged, it would be in no file.
    [Theory]
    [InlineData("SET a 1")]
    [InlineData("MSET a 1 b 2")]
    [InlineData("EVAL return(redis.call('SET',KEYS[1],1)) 1 a")]
    public async Task A_write_of_the_host_that_was_admitted_before_the_last_save_is_refused(string command)
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", "3600 1");
        disk.Run("SET first 1");
        RedKiteServer server = disk.Server;
        Task<RedKiteReply> write;
        Task<bool> stop;
        using (server.Engine.Keyspace.LockAll())
        {
            write = Task.Run(() => disk.Run(command), TestContext.Current.CancellationToken);
            Assert.True(SpinWait.SpinUntil(() => server.Engine.Keyspace.Stripes.Sum(static stripe => stripe.LockParked) > 0, Patience));
            stop = Task.Run(() => server.TryStop(StopSaving.Always), TestContext.Current.CancellationToken);
            Assert.True(SpinWait.SpinUntil(() => server.Engine.Pause.IsLastSave, Patience));
        }

        Assert.Equal("ERR The server is saving its data for the last time and will stop.", (await write.WaitAsync(Patience, TestContext.Current.CancellationToken)).Text);
        Assert.True(await stop.WaitAsync(Patience, TestContext.Current.CancellationToken));
        await server.Stopped.WaitAsync(Patience, TestContext.Current.CancellationToken);
        await disk.StartAsync();
        Assert.Equal(("1", null), (disk.Run("GET first").Text, disk.Run("GET a").Text));
    }

    // A session's requests take the batch's short path, which looks at the server's state again behind a lock that it had to wait for.
    [Fact]
    public async Task A_write_of_a_session_that_was_admitted_before_the_last_save_is_not_acknowledged()
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", "3600 1");
        disk.Run("SET first 1");
        RedKiteServer server = disk.Server;
        Task<string?> write;
        Task<bool> stop;
        using (server.Engine.Keyspace.LockAll())
        {
            write = Task.Run(
                () =>
                {
                    using RedKiteSession session = server.CreateSession();
                    try
                    {
                        return session.Execute("SET", "a", "1").Text;
                    }
                    catch (ObjectDisposedException)
                    {
                        return "the server has stopped";
                    }
                },
                TestContext.Current.CancellationToken);
            Assert.True(SpinWait.SpinUntil(() => server.Engine.Keyspace.Stripes.Sum(static stripe => stripe.LockParked) > 0, Patience));
            stop = Task.Run(() => server.TryStop(StopSaving.Always), TestContext.Current.CancellationToken);
            Assert.True(SpinWait.SpinUntil(() => server.Engine.Pause.IsLastSave, Patience));
        }

        Assert.NotEqual("OK", await write.WaitAsync(Patience, TestContext.Current.CancellationToken));
        Assert.True(await stop.WaitAsync(Patience, TestContext.Current.CancellationToken));
        await server.Stopped.WaitAsync(Patience, TestContext.Current.CancellationToken);
        await disk.StartAsync();
        Assert.Equal(("1", null), (disk.Run("GET first").Text, disk.Run("GET a").Text));
    }

    // The last save may wait for the very script that SCRIPT KILL would end.
    [Fact]
    public async Task What_ends_a_script_or_the_server_does_not_wait_for_the_last_save()
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", "3600 1", "busy-reply-threshold", "1");
        RedKiteServer server = disk.Server;
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("PING").IsSimple("PONG");
        server.Engine.Pause.Hold(PauseReason.LastSave);
        Task<RedKiteReply> script = Task.Run(() => server.Execute("EVAL_RO", "while true do end", "0"), TestContext.Current.CancellationToken);
        disk.WaitFor(() => server.Engine.Script.BusyReply is not null, "the script");
        Assert.Equal("OK", (await KillAsync(client)).Text);
        Assert.True((await script.WaitAsync(Patience, TestContext.Current.CancellationToken)).IsError);
        client.SendCommand("SHUTDOWN NOSAVE");
        await server.Stopped.WaitAsync(Patience, TestContext.Current.CancellationToken);

        static Task<RespValue> KillAsync(RespConnection client) => Task.Run(() => client.Run("SCRIPT KILL")).WaitAsync(Patience, TestContext.Current.CancellationToken);
    }

    // What it would change is in no file. If the save fails, and the server goes on, it is served then.
    [Fact]
    public async Task A_blocked_client_whose_key_was_noted_is_not_served_behind_the_last_save()
    {
        var clock = new ManualClock();
        var options = new RedKiteOptions { Port = 0, TimeProvider = clock };
        foreach ((string name, string value) in (ReadOnlySpan<(string, string)>)[("loops", "1"), ("diagnostics", "no"), ("save", "")]) options.Settings[name] = value;
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        foreach (string command in (string[])["XADD s 1-1 a b", "XGROUP CREATE s g 0", "XREADGROUP GROUP g first STREAMS s >"]) Assert.False(server.Execute(command.Split(' ')).IsError);
        using RespConnection client = RespConnection.Connect(server.Port);
        client.SendCommand("XREADGROUP GROUP g second BLOCK 0 CLAIM 100 STREAMS s >");
        Assert.True(SpinWait.SpinUntil(() => server.Engine.Blocked.Count == 1, Patience));
        server.Engine.Pause.Hold(PauseReason.LastSave);
        clock.Advance(1000); // the entry may be claimed
        await LookAsync();
        Assert.Equal((1, "first"), (server.Engine.Blocked.Count, Owner()));
        server.Engine.Pause.Release(PauseReason.LastSave);
        await LookAsync();
        Assert.Equal((0, "second"), (server.Engine.Blocked.Count, Owner()));

        string? Owner() => server.Execute("XPENDING", "s", "g", "-", "+", "1").Items[0].Items[1].Text;

        // As a tick does.
        Task LookAsync()
        {
            var looked = new TaskCompletionSource();
            server.Loops[0].Loop.Post(() =>
            {
                server.Loops[0].Executor.Time.Read();
                BlockedClientServer blocked = server.Loops[0].Executor.Invoker.Blocked;
                blocked.NoteLooks(server.Engine.Clock.SteadyMs);
                blocked.ServeNoted();
                looked.SetResult();
            });
            return looked.Task.WaitAsync(Patience, TestContext.Current.CancellationToken);
        }
    }

    // SHUTDOWN SAVE waits for a script; the client that gives up waiting for it wants no data.
    [Fact]
    public async Task A_stop_without_saving_does_not_wait_for_one_that_saves()
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", "3600 1");
        RedKiteServer server = disk.Server;
        disk.Run("SET a 1");
        using var saved = new ManualResetEventSlim();
        using var ends = new ManualResetEventSlim();
        var script = new Thread(() =>
        {
            Assert.True(server.Engine.Keyspace.Scripts.TryEnter());
            saved.Set();
            ends.Wait(CancellationToken.None);
            server.Engine.Keyspace.Scripts.Exit();
        });
        script.Start();
        saved.Wait(TestContext.Current.CancellationToken);
        Task<bool> saving = Task.Run(() => server.TryStop(StopSaving.Always), TestContext.Current.CancellationToken);
        disk.WaitFor(() => server.Parts.Durability.ScriptPolls > 0, "the wait for the script");
        Assert.True(server.TryStop(StopSaving.Never));
        int polls = server.Parts.Durability.ScriptPolls;
        ends.Set();
        script.Join();
        Assert.True(await saving.WaitAsync(Patience, TestContext.Current.CancellationToken));
        await server.Stopped.WaitAsync(Patience, TestContext.Current.CancellationToken);
        Assert.InRange(polls, 1, (server.Parts.Durability.ScriptAtStopMs / DurabilityService.ScriptPollMs) - 1); // it had not given up
    }

    // The client that saves takes the end of its connection for the end of the save, and gets an error if that fails.
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_stop_without_saving_lets_the_file_of_one_that_saves_be_written(bool fails)
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", "3600 1");
        RedKiteServer server = disk.Server;
        disk.Run("SET a 1");
        using var reached = new ManualResetEventSlim();
        using var goesOn = new ManualResetEventSlim();
        disk.Files.Plan = call =>
        {
            if (call.Operation != "rename" || !call.Path.EndsWith(".rdb", StringComparison.Ordinal)) return null;
            reached.Set();
            goesOn.Wait(CancellationToken.None);
            return fails ? new FileFault(FileFault.InputOutput) : null;
        };
        using RespConnection saving = RespConnection.Connect(server.Port);
        using RespConnection discarding = RespConnection.Connect(server.Port);
        saving.SendCommand("SHUTDOWN SAVE");
        reached.Wait(TestContext.Current.CancellationToken);
        discarding.SendCommand("SHUTDOWN NOSAVE");
        Assert.True(discarding.Read().IsClosed);
        Task<RespValue> reply = Task.Run(saving.Read, TestContext.Current.CancellationToken);
        bool ended = SpinWait.SpinUntil(() => reply.IsCompleted, 200); // its connection would have ended by then
        goesOn.Set();
        Assert.False(ended);
        RespValue end = await reply.WaitAsync(Patience, TestContext.Current.CancellationToken);
        if (fails) Assert.Equal("ERR Errors trying to SHUTDOWN. Check logs.", end.Text);
        else Assert.True(end.IsClosed);
        await server.Stopped.WaitAsync(Patience, TestContext.Current.CancellationToken);
        if (fails) return;
        await disk.StartAsync();
        Assert.Equal("1", disk.Run("GET a").Text);
    }

    // By a client of the first loop, or the host, while the second one is made: it would run for ever.
    [Fact]
    public async Task A_stop_during_the_start_ends_the_loops_that_begin_afterwards()
    {
        List<EventLoop> loops = [];
        RedKiteServer? server = null;
        var options = new RedKiteOptions
        {
            Port = 0,
            NewTransport = loop =>
            {
                loops.Add(loop);
                if (loops.Count == 2) SpinWait.SpinUntil(() => server!.StopAsync().IsCompleted, 200); // it would have ended by then
                return new SocketsTransport(loop);
            },
        };
        foreach ((string name, string value) in (ReadOnlySpan<(string, string)>)[("loops", "2"), ("diagnostics", "no"), ("save", "")]) options.Settings[name] = value;
        server = RedKiteServer.Create(options);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(server.StartAsync);
        await server.Stopped.WaitAsync(Patience, TestContext.Current.CancellationToken);
        Assert.Equal(2, loops.Count);
        int posted = 0;
        foreach (EventLoop loop in loops) loop.PostOrRun(() => posted++); // a loop that has ended leaves it to this thread
        Assert.Equal(2, posted);
    }

    [Fact]
    public async Task What_was_loaded_when_a_shutdown_began_is_saved()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "save", "3600 1");
        disk.Run("SET a 1");
        await disk.StopAsync();
        disk.Files.Delete(Path.Combine(disk.Folder, "dump.rdb"));
        RedKiteServer? starting = null;
        disk.Creating = server => starting = server;
        bool stops = false;
        disk.Files.Plan = call =>
        {
            // The last thing of a start that waits for the disk: the log is loaded.
            if (starting is not { } server || stops || call.Operation != "sync folder") return null;
            stops = true;
            Assert.True(server.TryStop(StopSaving.BySavePoints));
            return null;
        };
        try
        {
            await disk.StartAsync();
        }
        catch (OperationCanceledException)
        {
            // It ends before its start is told of.
        }

        Assert.True(stops);
        await starting!.Stopped.WaitAsync(Patience, TestContext.Current.CancellationToken);
        Assert.True(disk.Files.FileExists(Path.Combine(disk.Folder, "dump.rdb")));
    }

    // An action that waits in the mailbox of a loop that has ended would never be executed.
    [Fact]
    public async Task What_is_posted_to_a_loop_that_has_ended_is_executed_by_its_poster()
    {
        await using DiskServer disk = await DiskServer.StartAsync("loops", "2");
        LinkServices services = disk.Server.Follower.Services;
        using RespConnection client = RespConnection.Connect(disk.Server.Port);
        client.Run("PING").IsSimple("PONG");
        EventLoop loop = disk.Server.Engine.Clients.All.Select(session => session.Connection?.Loop).OfType<EventLoop>().Single();
        services.WaitForLoops(CancellationToken.None); // they all run
        loop.Stop();
        services.WaitForLoops(new CancellationTokenSource(Patience).Token);
        int runs = 0;
        loop.PostOrRun(() => runs++);
        Assert.Equal(1, runs);
    }

    // Between the handler, which has told the other threads of the wait, and the wait itself.
    [Fact]
    public async Task A_reply_that_comes_before_a_caller_has_begun_to_wait_is_not_lost_nor_waited_for()
    {
        await using DiskServer disk = await DiskServer.StartAsync();
        ReplicaService replicas = disk.Server.Parts.Replicas;
        using RedKiteSession session = disk.Server.CreateSession();
        int replies = 0;
        disk.Server.Engine.Blocked.OrderBy((client, start) =>
        {
            AckWait wait = Assert.Single(replicas.Waits.TakeAll());
            disk.Server.Parts.ReplyLater(client, wait.Late, ":7\r\n"u8.ToArray());
            replies++;
            Assert.Null(client.Blocked);
            return Arrival.Of(client, start);
        });
        Task<RedKiteReply> waiting = Task.Run(() => session.Execute("WAIT", "1", "0"), TestContext.Current.CancellationToken);
        Assert.Equal(7, (await waiting.WaitAsync(Patience, TestContext.Current.CancellationToken)).Integer);
        waiting = disk.Server.CreateClient().ExecuteAsync(["WAIT", "1", "0"], TestContext.Current.CancellationToken).AsTask(); // without a thread
        Assert.Equal(7, (await waiting.WaitAsync(Patience, TestContext.Current.CancellationToken)).Integer);
        Assert.Equal(2, replies);
        Assert.Equal(0, disk.Server.Engine.Blocked.Count);
    }
}
