using System.Net.Sockets;
using RedKite.Persistence.Rdb;
using RedKite.Server.Changes;
using RedKite.Server.Durability;
using RedKite.Server.Execution;
using RedKite.Server.Following;
using RedKite.Server.Model;
using RedKite.Server.Sessions;
using RedKite.Server.Tests.Durability;
using RedKite.Server.Tests.Replication;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Following;

/// <summary>What was in progress when the role changes, or a link ends: nothing is executed twice, in the wrong place, or lost, and nobody waits for ever.</summary>
public class RoleChangeTests
{
    // The next link, or the next start, would get it again.
    [Fact]
    public async Task What_a_link_has_executed_counts_when_it_ends_in_the_middle_of_a_portion()
    {
        using ScriptedPrimary primary = await StreamCommandTests.PrimaryAsync();
        await using DiskServer replica = await StreamCommandTests.FollowAsync(primary);
        Engine engine = replica.Server.Engine;
        ulong held = engine.Keyspace.Hash("held"u8);
        using (engine.Keyspace.LockAll()) engine.WriteGate.BeginRule((_, hash) => hash != held);
        long start = engine.Replication.Stream!.Offset;
        primary.Stream("INCR a", "RPUSH list x", "SMOVE held other m", "INCR a");
        replica.WaitFor(() => replica.Run("EXISTS list").Integer == 1, "what precedes the write that waits");
        Assert.Equal("OK", replica.Run("REPLICAOF NO ONE").Text);
        using (engine.Keyspace.LockAll()) engine.WriteGate.EndRule();
        Assert.Equal("1", replica.Run("GET a").Text);
        Assert.Equal(start + Length("INCR a") + Length("RPUSH list x"), engine.Replication.Stream!.Offset);
    }

    // EXEC holds the script mutex, for which the link waits, and the change of role waits for the link.
    [Fact]
    public async Task A_role_changes_behind_a_script_of_the_same_transaction()
    {
        using ScriptedPrimary primary = await StreamCommandTests.PrimaryAsync();
        await using DiskServer replica = await StreamCommandTests.FollowAsync(primary);
        using RespConnection client = RespConnection.Connect(replica.Server.Port);
        client.Run("MULTI").IsOk();
        client.Run("EVAL \"local t = redis.call('time') local e = t[1] * 1000000 + t[2] + 300000 repeat t = redis.call('time') until t[1] * 1000000 + t[2] > e return 1\" 0").IsSimple("QUEUED");
        client.Run("REPLICAOF NO ONE").IsSimple("QUEUED");
        client.SendCommand("EXEC");
        primary.Stream("FUNCTION LOAD \"#!lua name=l\\nredis.register_function('f', function() return 1 end)\"");
        Assert.Equal(2, client.Read().Items.Count);
        replica.WaitFor(() => !replica.Server.Engine.Replication.IsReplica, "the role");
        Assert.Equal("1", client.Run("EVAL \"return '1'\" 0").Text);
    }

    // Redis executes it at once. Its client would get an error, and be closed.
    [Fact]
    public async Task A_read_in_slices_goes_on_when_the_role_changes()
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", "");
        using RespConnection client = RespConnection.Connect(disk.Server.Port);
        client.Run("DEBUG POPULATE 20000 key 100").IsOk();
        client.Run("SADD other m");
        client.SendCommand("DEBUG DIGEST");
        disk.WaitFor(() => disk.Server.Engine.Blocked.All.Any() || client.AvailableBytes > 0, "the slices");
        disk.Run("REPLICAOF 127.0.0.1 1");
        Assert.Equal(40, client.Read().Text.Length);
        client.Run("PING").IsSimple("PONG");
    }

    // The second look is for what was admitted before; a replica has what others wait for.
    [Fact]
    public async Task Who_reads_a_replica_waits_on_when_its_link_begins()
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", "");
        disk.Run("XADD s 1-1 f v");
        disk.Run("REPLICAOF 127.0.0.1 1");
        using RespConnection client = RespConnection.Connect(disk.Server.Port);
        client.SendCommand("XREAD BLOCK 0 STREAMS s 1-1");
        disk.WaitFor(() => disk.Server.Engine.Blocked.Count == 1, "the wait");
        disk.Server.Engine.EndWaitsForRole(isAgain: true);
        Assert.Equal(1, disk.Server.Engine.Blocked.Count);
        disk.Run("REPLICAOF NO ONE");
        disk.Run("XADD s 1-2 f v");
        Assert.Equal("1-2", client.Read().Items[0].Items[1].Items[0].Items[0].Text);
    }

    [Fact]
    public async Task What_precedes_a_malformed_request_is_executed_once()
    {
        using ScriptedPrimary primary = await StreamCommandTests.PrimaryAsync();
        await using DiskServer replica = await StreamCommandTests.FollowAsync(primary);
        Engine engine = replica.Server.Engine;
        long start = engine.Replication.Stream!.Offset;
        long executed = -1;
        primary.StreamRaw([.. Encoded("INCR a"), .. "*1\r\n$x\r\n"u8]);
        replica.WaitFor(() => (executed = Math.Max(executed, engine.Replication.Stream!.Offset - start)) > 0 || primary.Requests.Length > 1, "the portion, or the next link");
        replica.WaitFor(() => primary.Requests.Length > 1, "the next link");
        Assert.EndsWith($" {start + Length("INCR a") + 1}", primary.Requests[1], StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_link_that_ends_during_a_pause_leaves_the_database_that_the_stream_has_selected()
    {
        using ScriptedPrimary primary = await StreamCommandTests.PrimaryAsync();
        await using DiskServer replica = await StreamCommandTests.FollowAsync(primary);
        Engine engine = replica.Server.Engine;
        long start = engine.Replication.Stream!.Offset;
        replica.Run("CLIENT PAUSE 1000000 WRITE");
        primary.Stream("SELECT 3", "SET x 1");
        replica.WaitFor(() => engine.Replication.Stream!.Offset > start, "the SELECT");
        Assert.True(replica.Server.Follower.Suspend());
        RdbReplication position = replica.Server.Follower.CurrentPosition()!;
        Assert.Equal((3, start + Length("SELECT 3")), (position.Database, position.Offset));
    }

    [Fact]
    public async Task A_blocked_caller_of_the_host_is_unblocked()
    {
        await using DiskServer server = await DiskServer.StartAsync("save", "");
        Task<RedKiteReply> pop = Task.Run(() => server.Run("BLPOP list 0"), TestContext.Current.CancellationToken);
        server.WaitFor(() => server.Server.Engine.Blocked.Count == 1, "the call");
        server.Run("REPLICAOF 127.0.0.1 1");
        Assert.StartsWith("UNBLOCKED ", (await pop).Text, StringComparison.Ordinal);
        Assert.Equal("", server.Run("GET a").Text ?? ""); // the next call of the same caller
        server.Run("REPLICAOF NO ONE");
        Assert.Equal("OK", server.Run("SET a 1").Text);
    }

    // Between the change of the role and the end of its wait, a client's pop would take the primary's element.
    [Fact]
    public async Task A_primarys_push_serves_no_client_that_would_pop()
    {
        await using DiskServer server = await DiskServer.StartAsync("save", "");
        Engine engine = server.Server.Engine;
        Task<RedKiteReply> pop = Task.Run(() => server.Run("BLPOP list 0"), TestContext.Current.CancellationToken);
        server.WaitFor(() => engine.Blocked.Count == 1, "the call");
        TakeRole(engine);
        var stream = new CommandExecutor(engine, CommandOrigin.Primary);
        byte[] push = Encoded("RPUSH list x");
        Assert.Equal(push.Length, stream.Run(engine.Clients.Add(null, 0, engine.Users.InProcess, authenticated: true), push));
        Assert.Equal(1, server.Run("LLEN list").Integer);
        Assert.Equal(1, engine.Blocked.Count);
        server.Run("REPLICAOF NO ONE");
        server.Run("DEL list");
        server.Run("RPUSH list y");
        Assert.Equal("y", (await pop).Items[1].Text);
    }

    // Admitted as a client's of a primary, it gets its stripe on a replica.
    [Theory]
    [InlineData("BLPOP list 0")]
    [InlineData("SET a 1")]
    [InlineData("MSET a 1 b 2")]
    public async Task A_command_that_waited_for_its_stripe_while_the_role_changed_does_not_execute(string command)
    {
        await using DiskServer server = await DiskServer.StartAsync("save", "", "stripes", "1");
        Engine engine = server.Server.Engine;
        Stripe stripe = engine.Keyspace.Stripes[0];
        Task<RedKiteReply> call;
        using (engine.Keyspace.LockAll())
        {
            call = Task.Run(() => server.Run(command), TestContext.Current.CancellationToken);
            server.WaitFor(() => stripe.LockParked == 1, "the call");
            TakeRole(engine);
        }

        Assert.StartsWith("READONLY ", (await call).Text, StringComparison.Ordinal);
        Assert.Equal(0, server.Run("DBSIZE").Integer);
        Assert.Equal(0, engine.Blocked.Count);
    }

    // The hashes of its keys were found already: the next command on the same executor has other keys.
    [Fact]
    public async Task A_command_that_is_refused_with_its_stripes_leaves_nothing_to_the_next_one()
    {
        await using DiskServer server = await DiskServer.StartAsync("save", "", "stripes", "1");
        Engine engine = server.Server.Engine;
        using var isPrimary = new ManualResetEventSlim();
        Task<string?[]> calls;
        using (engine.Keyspace.LockAll())
        {
            calls = Task.Run(() =>
            {
                string? refused = server.Run("MSET a 1 b 2").Text;
                isPrimary.Wait();
                return (string?[])[refused, server.Run("MSET x 3 y 4").Text, server.Run("GET y").Text, server.Run("MGET x y").Items[1].Text];
            },
            TestContext.Current.CancellationToken);
            server.WaitFor(() => engine.Keyspace.Stripes[0].LockParked == 1, "the call");
            TakeRole(engine);
        }

        server.WaitFor(() => server.Run("INFO errorstats").Text!.Contains("errorstat_READONLY", StringComparison.Ordinal), "the refusal");
        server.Run("REPLICAOF NO ONE");
        isPrimary.Set();
        string?[] replies = await calls;
        Assert.StartsWith("READONLY ", replies[0], StringComparison.Ordinal);
        Assert.Equal("OK 4 4", string.Join(" ", replies[1..]));
    }

    [Fact]
    public async Task A_client_that_the_change_unblocks_is_disconnected_as_in_Redis()
    {
        using Oracle oracle = Oracle.Of(OracleProgram.Redis8, "--save", "");
        await using ReplicatedServer server = await ReplicatedServer.StartAsync();
        foreach (int port in new[] { oracle.Port, server.Server.Port })
        {
            using RespConnection client = RespConnection.Connect(port);
            using var blocked = new RawReplica(port);
            blocked.Send("BLPOP list 0");
            server.WaitFor(() => ReplicatedServer.Field(client.Run("INFO clients").Text, "blocked_clients") == "1", "the blocked client");
            client.Run("REPLICAOF 127.0.0.1 1").IsOk();
            Assert.StartsWith("-UNBLOCKED ", blocked.ReadLine(), StringComparison.Ordinal);
            blocked.WaitForEnd();
        }
    }

    // A script, or a command that waited for a stripe, was past the pause.
    [Fact]
    public async Task A_failover_is_refused_if_a_command_has_ended_behind_what_the_target_has()
    {
        using var target = new ScriptedPrimary();
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        using var replica = new RawReplica(primary.Server.Port);
        (long offset, _) = replica.Synchronize(target.Port);
        replica.BecomeOnline(primary, offset);
        Engine engine = primary.Server.Engine;
        engine.Replication.RoleChanged += () =>
        {
            if (engine.Replication.IsReplica) primary.Server.Parts.ReplicaStream.Append("*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n9\r\n"u8);
        };
        primary.Client.Run("FAILOVER").IsOk();
        primary.WaitFor(
            () =>
            {
                try
                {
                    replica.Send($"REPLCONF ACK {engine.Replication.Stream!.Offset}");
                }
                catch (SocketException)
                {
                    // The role changes: replicas are closed.
                }

                return primary.Log.Contains("Failover aborted: Commands that had begun before", StringComparison.Ordinal);
            },
            "the refusal");
        primary.WaitFor(() => !engine.Replication.IsReplica, "the return");
        Assert.Empty(target.Requests);
        primary.Client.Run("SET a 4").IsOk();
    }

    [Fact]
    public async Task A_write_of_the_host_waits_while_the_role_is_handed_over()
    {
        await using DiskServer server = await DiskServer.StartAsync("save", "");
        Engine engine = server.Server.Engine;
        engine.Pause.Hold(PauseReason.Handover);
        Task<RedKiteReply> write = Task.Run(() => server.Run("SET a 1"), TestContext.Current.CancellationToken);
        Assert.NotEqual(write, await Task.WhenAny(write, Task.Delay(50, TestContext.Current.CancellationToken)));
        Assert.Null(server.Run("GET a").Text);
        engine.Pause.Release(PauseReason.Handover);
        Assert.Equal("OK", (await write).Text);
    }

    [Fact]
    public async Task Another_history_or_log_begins_with_nothing_synced()
    {
        await using DiskServer server = await DiskServer.StartAsync("appendonly", "yes", "appendfsync", "always");
        using RespConnection client = RespConnection.Connect(server.Server.Port);
        client.Run("SET a 1").IsOk();
        var synced = new SyncedOffset();
        Assert.Equal(100, synced.At(100, "one", server.Server.Parts.Durability, Log()));
        client.Run("CONFIG SET appendfsync no").IsOk();
        client.Run("SET a 2").IsOk();
        Assert.Equal(100, synced.At(120, "one", server.Server.Parts.Durability, Log()));
        Assert.Equal(0, synced.At(60, "two", server.Server.Parts.Durability, Log()));
        client.Run("CONFIG SET appendfsync always").IsOk();
        client.Run("SET a 3").IsOk();
        Assert.Equal(70, synced.At(70, "two", server.Server.Parts.Durability, Log()));
        Assert.Equal(80, synced.At(80, "two", server.Server.Parts.Durability, Log()));
        Assert.Equal(10, synced.At(10, "two", server.Server.Parts.Durability, Log())); // an earlier offset: anew

        AppendLogAgain();
        Assert.InRange(synced.At(90, "two", server.Server.Parts.Durability, Log()), 0, 90);

        AppendOnlyLog Log() => server.Server.Parts.Durability.Log.Log!;

        void AppendLogAgain()
        {
            client.Run("CONFIG SET appendonly no").IsOk();
            server.WaitFor(() => server.Server.Parts.Durability.Log.Log is null, "the log's end");
            client.Run("CONFIG SET appendonly yes").IsOk();
            server.WaitFor(() => server.Server.Parts.Durability.Log.Log is not null, "the log");
        }
    }

    // Enough replicas had it, but not the disk, when the only one was lost: it comes back.
    [Fact]
    public async Task Wait_for_the_disk_goes_on_when_a_replica_comes_back()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("appendonly", "yes", "appendfsync", "no");
        Engine engine = primary.Server.Engine;
        using (var replica = new RawReplica(primary.Server.Port))
        {
            (long offset, _) = replica.Synchronize();
            replica.BecomeOnline(primary, offset);
            primary.Client.Run("SET a 1").IsOk();
            replica.Send($"REPLCONF ACK {engine.Replication.Stream!.Offset} FACK {engine.Replication.Stream!.Offset}");
            primary.WaitFor(() => primary.Server.Parts.Replicas.CountAcknowledged(engine.Replication.Stream!.Offset, onDisk: true) == 1, "the acknowledgement");
            primary.Client.SendCommand("WAITAOF 1 1 0");
            primary.WaitFor(() => engine.Blocked.Count == 1, "the wait");
        }

        primary.WaitFor(() => primary.Server.Parts.Replicas.Replicas.Count == 0, "the loss");
        primary.Server.Execute("BGREWRITEAOF"); // the increment that ends is synced
        primary.WaitFor(() => primary.Server.Parts.Durability.Log.Waits.Count == 0, "the sync");
        using var again = new RawReplica(primary.Server.Port);
        (long position, _) = again.Synchronize();
        again.BecomeOnline(primary, position);
        again.Send($"REPLCONF ACK {position} FACK {position}");
        primary.Client.Read().IsIntegers(1, 1);
    }

    // Whoever ends the stream for replicas has waited for the loops, not for callers in the process: what these append behind that would be amid the stream of
    // the new primary. So they have a stripe locked from the look at the consumers to the append.
    [Theory]
    [InlineData("PUBLISH channel message")]
    [InlineData("MULTI|PUBLISH channel message|EXEC")]
    [InlineData("EVAL return(redis.call('PUBLISH','channel','message')) 0")]
    public async Task A_message_of_the_host_is_not_appended_behind_the_end_of_the_stream(string commands)
    {
        await using DiskServer server = await DiskServer.StartAsync("save", "");
        Engine engine = server.Server.Engine;
        var consumer = new StalledConsumer();
        engine.Changes.SubscribeToEffects(consumer);
        Task call = Task.Run(
            () =>
            {
                using RedKiteSession session = server.Server.CreateSession();
                foreach (string command in commands.Split('|')) Assert.False(session.Execute(command.Split(' ')).IsError);
            },
            TestContext.Current.CancellationToken);
        Assert.True(consumer.IsPublishing.Wait(60_000, TestContext.Current.CancellationToken));
        Task end = Task.Run(() => engine.Changes.UnsubscribeFromEffects(consumer), TestContext.Current.CancellationToken);
        server.WaitFor(() => end.IsCompleted || engine.Keyspace.Stripes.Sum(static stripe => stripe.LockParked) > 0, "the end of the stream, or that it waits for the message");
        Assert.False(end.IsCompleted);
        consumer.GoesOn.Set();
        await call;
        await end;
        using RedKiteSession late = server.Server.CreateSession();
        late.Execute("PUBLISH", "channel", "late");
        Assert.Equal(1, consumer.Count);
    }

    // It is in the middle of an append.
    private sealed class StalledConsumer : IEffectConsumer
    {
        internal ManualResetEventSlim IsPublishing { get; } = new();

        internal ManualResetEventSlim GoesOn { get; } = new();

        internal int Count { get; private set; }

        public bool TakesRequests => true;

        public void PublishedRequests(int database, int slot, ReadOnlySpan<byte> requests) => Note();

        public void Published(scoped in EffectRecord record) => Note();

        private void Note()
        {
            Count++;
            IsPublishing.Set();
            Assert.True(GoesOn.Wait(60_000));
        }
    }

    private static void TakeRole(Engine engine)
    {
        engine.Attention.Set(ServerAttention.IsReplica, on: true);
        engine.Replication.FollowNew("127.0.0.1", 1);
    }

    private static byte[] Encoded(string command) => CommandLine.Encode(CommandLine.Split(command));

    private static int Length(string command) => Encoded(command).Length;
}
