using RedKite.Server.Sessions;
using RedKite.Server.Tests.Commands;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Sessions;

/// <summary>Commands that write wait or are refused while the data cannot be kept on disk. The errors are those of Redis 8.0.2.</summary>
public sealed class WriteGateTests : TranscriptTests
{
    private const string SnapshotError = "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands that may modify the data set are disabled, because this instance is configured to report errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB error.";

    private WriteGate Gate => Server.Engine.WriteGate;

    [Fact]
    public void Failed_snapshot_refuses_commands_that_write()
    {
        Run("SET k v").IsOk();
        Gate.Refuse(WriteRefusal.Snapshot);
        Run("SET k w").IsError(SnapshotError);
        Run("PING").IsError(SnapshotError);
        Run("FLUSHALL").IsError(SnapshotError);
        Run("FUNCTION FLUSH").IsError(SnapshotError);
        Run("BLPOP l 1").IsError(SnapshotError);
        Run("GET k").IsText("v");
        Run("PUBLISH channel message").IsInteger(0);
        Run("PFCOUNT missing").IsInteger(0);
        Gate.Accept(WriteRefusal.Snapshot);
        Run("SET k w").IsOk();
    }

    [Fact]
    public void Failed_write_to_the_log_refuses_commands_that_write()
    {
        Gate.Refuse(WriteRefusal.Log, "No space left on device");
        Run("SET k v").IsError("MISCONF Errors writing to the AOF file: No space left on device");
        Gate.Refuse(WriteRefusal.Snapshot);
        Run("SET k v").IsError(SnapshotError);
        Gate.Accept(WriteRefusal.Log);
        Run("SET k v").IsError(SnapshotError);
        Gate.Accept(WriteRefusal.Snapshot);
        Run("SET k v").IsOk();
    }

    [Fact]
    public void Refusal_applies_to_transactions_and_scripts()
    {
        using RedKiteSession client = Server.CreateSession();
        Run("SET k v").IsOk();
        Run("MULTI").IsOk();
        Run("SET k w");
        Gate.Refuse(WriteRefusal.Snapshot);
        Run("EXEC").IsError("EXECABORT Transaction discarded because of: " + SnapshotError);
        Run("MULTI").IsOk();
        Run("SET k w").IsError(SnapshotError);
        Run("EXEC").IsError("EXECABORT Transaction discarded because of previous errors.");
        Run("MULTI").IsOk();
        Run("GET k");
        Assert.Equal("v", Run("EXEC").Items[0].Text);
        Run("EVAL return(redis.call('GET','k')) 0").IsText("v");
        Assert.Equal("PONG", Run("EVAL return(redis.call('PING')) 0").Text);
        Assert.StartsWith(SnapshotError + " script: ", Run("EVAL return(redis.call('SET','k','w')) 0").Text);
        client.Execute("EVAL", "#!lua\nreturn 1", "0").IsError(SnapshotError);
        client.Execute("EVAL_RO", "#!lua\nreturn 1", "0").IsError(SnapshotError);
        client.Execute("EVAL", "#!lua flags=no-writes\nreturn redis.call('GET', 'k')", "0").IsText("v");
        Run("GET k").IsText("v");
    }

    [Theory]
    [InlineData("SET k w")]
    [InlineData("FLUSHALL")]
    [InlineData("EVAL redis.call('SET','k','w') 0")]
    public async Task Closed_gate_makes_callers_in_the_process_wait(string command)
    {
        Run("SET k v").IsOk();
        Gate.Close(WriteHold.Log);
        using RedKiteSession writer = Server.CreateSession();
        Task<RedKiteReply> write = Task.Run(() => writer.Execute(command.Split(' ')), TestContext.Current.CancellationToken);
        Assert.True(SpinWait.SpinUntil(() => writer.IsHeld, TimeSpan.FromSeconds(30)));
        Run("GET k").IsText("v");
        Assert.False(write.IsCompleted);
        Gate.Open(WriteHold.Log);
        Assert.False((await write).IsError);
        Assert.NotEqual("v", Run("GET k").Text);
    }

    [Fact]
    public void Gate_is_open_when_both_holders_have_opened_it()
    {
        var opened = 0;
        Gate.Opened += () => opened++;
        Gate.Close(WriteHold.Log);
        Gate.Close(WriteHold.Snapshot);
        Gate.Open(WriteHold.Snapshot);
        Assert.Equal((true, 0), (Gate.Waits, opened));
        Gate.Open(WriteHold.Log);
        Assert.Equal((false, 1), (Gate.Waits, opened));
        Gate.Open(WriteHold.Log);
        Assert.Equal(1, opened);
    }

    [Fact]
    public async Task Commands_are_queued_while_the_gate_is_closed_and_executed_when_it_opens()
    {
        using RedKiteSession writer = Server.CreateSession();
        Gate.Close(WriteHold.Log);
        writer.Execute("MULTI").IsOk();
        Assert.Equal("QUEUED", writer.Execute("SET", "k", "v").Text);
        Task opening = Task.Run(
            () =>
            {
                Assert.True(SpinWait.SpinUntil(() => writer.IsHeld, TimeSpan.FromSeconds(30)));
                Gate.Open(WriteHold.Log);
            },
            TestContext.Current.CancellationToken);
        Assert.Equal("OK", writer.Execute("EXEC").Items[0].Text);
        await opening;
    }

    [Fact]
    public async Task Closed_gate_holds_connections_and_later_commands_of_the_same_pipeline()
    {
        await using LiveServer server = await LiveServer.StartAsync("loops", "1");
        WriteGate gate = server.Server.Engine.WriteGate;
        gate.Close(WriteHold.Log);
        using var writer = RespConnection.Connect(server.Server.Port);
        writer.Send("GET k\r\nSET k v\r\nGET k\r\n"u8);
        Assert.True(writer.Read().IsNull);
        Assert.True(SpinWait.SpinUntil(() => server.Server.Engine.Clients.All.Any(session => session.IsPaused), TimeSpan.FromSeconds(30)));
        Assert.True(server.Run("GET k").IsNull);
        gate.Open(WriteHold.Log);
        writer.Read().IsOk();
        writer.Read().IsBulk("v");
    }

    // The rule of a snapshot that is writing one key.
    [Fact]
    public async Task Writers_of_a_key_wait_until_the_snapshot_allows_it()
    {
        await using LiveServer server = await LiveServer.StartAsync("loops", "1");
        Keyspace keyspace = server.Server.Engine.Keyspace;
        WriteGate gate = server.Server.Engine.WriteGate;
        server.Run("RPUSH large a").IsInteger(1);
        ulong large = keyspace.Hash("large"u8);
        bool isHeld = true;
        Snapshot(isOn: true);
        server.Run("RPUSH small a").IsInteger(1);
        string[] commands = ["RPUSH large b", "LMOVE small large LEFT LEFT", "MULTI\nRPUSH large c\nEXEC", "EVAL redis.call('RPUSH',KEYS[1],'d') 1 large"];
        var writers = commands.Select(command =>
        {
            var writer = RespConnection.Connect(server.Server.Port);
            foreach (string line in command.Split('\n')) writer.Send(CommandLine.Encode([.. line.Split(' ').Select(System.Text.Encoding.ASCII.GetBytes)]));
            return writer;
        }).ToArray();
        Assert.True(SpinWait.SpinUntil(() => server.Server.Engine.Clients.All.Count(session => session.IsPaused) == commands.Length, TimeSpan.FromSeconds(30)));
        server.Run("LLEN large").IsInteger(1);
        server.Run("LLEN small").IsInteger(1);
        server.Run("DEL small2").IsInteger(0);
        isHeld = false;
        gate.Resume();
        writers[0].Read();
        writers[1].Read().IsBulk("a");
        writers[2].Read().IsOk();
        writers[2].Read();
        Assert.Single(writers[2].Read().Items);
        writers[3].Read();
        server.Run("LLEN large").IsInteger(5);
        Snapshot(isOn: false);
        foreach (RespConnection writer in writers) writer.Dispose();

        void Snapshot(bool isOn)
        {
            using LockScope locked = keyspace.LockAll();
            if (isOn) gate.BeginRule((_, hash) => !Volatile.Read(ref isHeld) || hash != large);
            else gate.EndRule();
            foreach (Stripe stripe in keyspace.Stripes) stripe.Observe(StripeObservers.Snapshot, isOn);
        }
    }
}
