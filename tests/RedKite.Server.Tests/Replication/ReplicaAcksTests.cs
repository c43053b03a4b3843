using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Replication;

/// <summary>replica-acks: replies to commands that wrote wait for replicas. A replica that acknowledges only what it is told to makes that visible without a race.</summary>
public class ReplicaAcksTests
{
    internal const string Unacknowledged = "-NOREPLICAS The write was executed, but too few replicas have acknowledged it within replica-acks-timeout: a failover may lose it";
    internal const string RoleLost = "-NOREPLICAS The write was executed, but this server became a replica before enough replicas had acknowledged it: it may be lost";

    [Fact]
    public async Task A_write_is_answered_when_a_replica_has_acknowledged_it()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "1", "replica-acks-timeout", "0");
        using RawReplica replica = Online(primary);
        using RespConnection client = primary.Connect(), other = primary.Connect();
        client.SendCommand("SET key value");
        client.SendCommand("GET key");
        WaitForWaiting(primary, 1);
        other.Run("GET key").IsBulk("value"); // who has written nothing waits for nothing
        other.Run("PING");
        Assert.True(client.IsSilent);
        Acknowledge(primary, replica);
        client.Read().IsOk();
        client.Read().IsBulk("value");
        Assert.Equal(0, Waiting(primary));
    }

    // On the loop's thread, which receives the acknowledgement: it would wait for itself.
    [Fact]
    public async Task A_behavior_that_writes_does_not_wait()
    {
        var writer = new WritingBehavior();
        var options = new RedKiteOptions { Port = 0, Settings = { ["loops"] = "1", ["replica-acks"] = "1", ["replica-acks-timeout"] = "0", ["save"] = "", ["diagnostics"] = "no" }, Behaviors = { writer } };
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        writer.Client = server.CreateClient();
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("GET key").IsBulk("of the behavior");
    }

    private sealed class WritingBehavior : Behavior
    {
        internal RedKiteClient? Client { get; set; }

        public override void Invoke(ref CommandCall call)
        {
            if (Client is { } client)
            {
                Client = null; // not around its own command
                client.Set("key", "of the behavior");
            }

            Next.Invoke(ref call);
        }
    }

    [Fact]
    public async Task What_comes_before_the_write_in_a_pipeline_is_answered_at_once()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "1", "replica-acks-timeout", "0");
        using RawReplica replica = Online(primary);
        using RespConnection client = primary.Connect();
        Send(client, "PING", "GET missing", "SET key value", "PING");
        Assert.Equal("+PONG", client.Read().ToString());
        Assert.True(client.Read().IsNull);
        WaitForWaiting(primary, 1);
        Assert.True(client.IsSilent);
        Acknowledge(primary, replica);
        client.Read().IsOk();
        Assert.Equal("+PONG", client.Read().ToString());
    }

    [Fact]
    public async Task Only_the_replies_of_writes_become_errors_when_no_replica_acknowledges()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "1", "replica-acks-timeout", "30");
        using RespConnection client = primary.Connect();
        Send(client, "GET key", "SET key value", "GET key", "INCR number", "DEL missing", "LRANGE list 0 -1", "EVAL \"return redis.call('GET', KEYS[1])\" 1 key", "SELECT 1", "SET key other");
        Assert.Equal(["$(null)", Unacknowledged, "$value", Unacknowledged, ":0", "*[]", "$value", "+OK", Unacknowledged], Read(client, 9));
        primary.Client.Run("GET number").IsBulk("1"); // it was executed
        primary.WaitFor(() => primary.Server.Engine.Replication.Acks.FailedReplies == 3, "the count, which follows the replies");
    }

    [Fact]
    public async Task Transactions_and_scripts_become_an_error_as_a_whole()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "1", "replica-acks-timeout", "30");
        using RespConnection client = primary.Connect();
        Send(client, "MULTI", "GET key", "SET key value", "GET key", "EXEC", "GET key");
        Assert.Equal(["+OK", "+QUEUED", "+QUEUED", "+QUEUED", Unacknowledged, "$value"], Read(client, 6));
        Send(client, "MULTI", "GET key", "PUBLISH channel message", "EXEC");
        Assert.Equal(["+OK", "+QUEUED", "+QUEUED", "*[$value :0]"], Read(client, 4));
        Assert.Equal(Unacknowledged, client.Run("EVAL \"redis.call('SET', KEYS[1], 'x'); return {1, 2}\" 1 key").ToString());
        Assert.Equal("*[:1 :2]", client.Run("EVAL \"return {1, 2}\" 0").ToString());
        Assert.Equal(Unacknowledged, client.Run("FUNCTION LOAD \"#!lua name=l\\nredis.register_function('f', function(keys) redis.call('SET', keys[1], '1') return 5 end)\"").ToString());
        Assert.Equal(Unacknowledged, client.Run("FCALL f 1 key").ToString());
        Assert.Equal(Unacknowledged, client.Run("FLUSHALL").ToString());
        Assert.Equal(":0", client.Run("PUBLISH channel message").ToString());
    }

    [Fact]
    public async Task A_blocked_client_that_is_served_waits_and_one_whose_time_is_over_does_not()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "1", "replica-acks-timeout", "0");
        using RawReplica replica = Online(primary);
        for (int i = 0; i < 4; i++) // clients of the same loop, and of different ones
        {
            using RespConnection popper = primary.Connect(), pusher = primary.Connect();
            popper.SendCommand("BLPOP list 0");
            popper.SendCommand("PING");
            primary.WaitFor(() => primary.Server.Engine.Blocked.Count == 1, "the blocked client");
            pusher.SendCommand("RPUSH list element");
            WaitForWaiting(primary, 2);
            Assert.True(popper.IsSilent && pusher.IsSilent);
            Acknowledge(primary, replica);
            Assert.Equal(":1", pusher.Read().ToString());
            Assert.Equal(["*[$list $element]", "+PONG"], Read(popper, 2));
        }

        Assert.True(primary.Client.Run("BLPOP list 0.01").IsNull);
        primary.Client.SendCommand("CONFIG SET replica-acks-timeout 20");
        primary.Client.Read().IsOk();
        using RespConnection failing = primary.Connect();
        failing.SendCommand("BLPOP list 0");
        primary.WaitFor(() => primary.Server.Engine.Blocked.Count == 1, "the blocked client");
        Assert.Equal(Unacknowledged, primary.Client.Run("RPUSH list element").ToString());
        Assert.Equal(Unacknowledged, failing.Read().ToString());
        Assert.Equal(":0", primary.Client.Run("EXISTS list").ToString());
    }

    [Fact]
    public async Task A_key_that_a_read_finds_expired_is_no_write()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "0");
        primary.Client.Run("DEBUG SET-ACTIVE-EXPIRE 0").IsOk();
        primary.Client.Run("MSET a 1 b 1 c 1").IsOk();
        foreach (string key in (string[])["a", "b", "c"]) Assert.Equal(":1", primary.Client.Run($"PEXPIRE {key} 1").ToString());
        long end = Environment.TickCount64 + 20;
        SpinWait.SpinUntil(() => Environment.TickCount64 > end);
        primary.Client.Run("CONFIG SET replica-acks 1 replica-acks-timeout 0").IsOk();
        long offset = primary.Server.Parts.ReplicaStream.Offset;
        Assert.True(primary.Client.Run("GET a").IsNull);
        Assert.True(primary.Client.Run("EVAL \"return redis.call('GET', KEYS[1])\" 1 b").IsNull);
        Send(primary.Client, "MULTI", "GET c", "EXEC");
        Assert.Equal(["+OK", "+QUEUED", "*[$(null)]"], Read(primary.Client, 3));
        Assert.True(primary.Server.Parts.ReplicaStream.Offset > offset); // replicas are told
    }

    [Fact]
    public async Task The_setting_begins_and_ends_the_wait_at_once()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks-timeout", "0");
        using RespConnection client = primary.Connect();
        Send(client, "SET key 1", "CONFIG SET replica-acks 1", "SET key 2", "GET key");
        Assert.Equal(["+OK", "+OK"], Read(client, 2));
        WaitForWaiting(primary, 1);
        Assert.True(client.IsSilent);
        primary.Client.Run("CONFIG SET replica-acks 0").IsOk();
        Assert.Equal(["+OK", "$2"], Read(client, 2));
        client.Run("SET key 3").IsOk();
        using RawReplica replica = new(primary.Server.Port);
        primary.Client.Run("CONFIG SET replica-acks 1").IsOk();
        client.SendCommand("SET key 4");
        WaitForWaiting(primary, 1);
        (long offset, byte[] _) = replica.Synchronize(); // with the write
        Assert.True(client.IsSilent); // and until it says that it has it, it counts for nothing
        replica.BecomeOnline(primary, offset);
        client.Read().IsOk();
    }

    [Fact]
    public async Task With_two_replicas_the_slower_one_decides()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "2", "replica-acks-timeout", "0");
        using RawReplica first = Online(primary), second = Online(primary, 2);
        using RespConnection client = primary.Connect();
        client.SendCommand("SET key 1");
        WaitForWaiting(primary, 1);
        Acknowledge(primary, first);
        AwaitAcknowledged(primary, 1);
        Assert.True(client.IsSilent);
        Acknowledge(primary, second);
        client.Read().IsOk();
        client.SendCommand("SET key 2");
        WaitForWaiting(primary, 1);
        Acknowledge(primary, first);
        AwaitAcknowledged(primary, 1);
        primary.Client.Run("CONFIG SET replica-acks 1").IsOk();
        client.Read().IsOk();
    }

    [Fact]
    public async Task A_primary_that_becomes_a_replica_answers_what_waits_and_confirms_only_what_was_acknowledged()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "1", "replica-acks-timeout", "0");
        using RawReplica replica = Online(primary);
        using RespConnection client = primary.Connect(), other = primary.Connect();
        client.SendCommand("SET key 1");
        WaitForWaiting(primary, 1);
        long acknowledged = primary.Server.Parts.ReplicaStream.Offset;
        Send(other, "SET key 2", "GET key");
        WaitForWaiting(primary, 2);
        replica.Send("REPLCONF ACK " + acknowledged.ToString(CultureInfo.InvariantCulture));
        client.Read().IsOk();
        Task<RedKiteReply> call = Task.Run(() => primary.Server.CreateClient().Execute("SET", "key", "3"), TestContext.Current.CancellationToken);
        primary.WaitFor(() => primary.Server.Engine.Replication.Acks.WaitingCallers == 1, "the caller");
        primary.Client.Run($"REPLICAOF 127.0.0.1 {LoopbackPort.Next()}").IsOk();
        Assert.Equal([RoleLost, "$2"], Read(other, 2));
        Assert.Equal(RoleLost[1..], (await call.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken)).Text);
        primary.WaitFor(() => primary.Server.Engine.Replication.Acks.Term is null, "the end of the role");
        primary.Client.Run("CONFIG SET replica-read-only no").IsOk();
        client.Run("SET local 1").IsOk(); // in no stream
        primary.Client.Run("REPLICAOF NO ONE").IsOk();
        primary.WaitFor(() => primary.Server.Engine.Replication.Acks.Term is { IsOpen: true }, "the role");
        client.SendCommand("SET key 4");
        WaitForWaiting(primary, 1);
        primary.Client.Run("CONFIG SET replica-acks-timeout 1").IsOk();
        Assert.Equal(Unacknowledged, client.Read().ToString());
    }

    [Fact]
    public async Task Callers_in_the_process_wait_too()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "1", "replica-acks-timeout", "0");
        using RawReplica replica = Online(primary);
        RedKiteClient client = primary.Server.CreateClient();
        using RedKiteSession session = primary.Server.CreateSession();
        RedKiteTransaction transaction = client.CreateTransaction();
        transaction.Set("d", "1");
        Func<Task>[] calls =
        [
            () => Task.Run(() => client.Execute("SET", "a", "1").ToString()),
            () => Task.Run(() => session.Execute("SET", "b", "1").ToString()),
            () => client.ExecuteAsync(["SET", "c", "1"], TestContext.Current.CancellationToken).AsTask(),
            () => Task.Run(transaction.Execute),
        ];
        foreach (Func<Task> begin in calls)
        {
            Task call = begin();
            primary.WaitFor(() => primary.Server.Engine.Replication.Acks.WaitingCallers == 1, "the caller");
            Assert.Null(client.Execute("GET", "missing").Text); // reads do not
            Assert.False(call.IsCompleted);
            Acknowledge(primary, replica);
            await call.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
        }

        primary.Server.Engine.Settings.ReplicaAcksTimeoutMs = 20;
        Assert.Equal(Unacknowledged[1..], client.Execute("SET", "a", "2").Text);
        Assert.Equal(Unacknowledged[1..], session.Execute("INCR", "b").Text);
        Assert.Equal(Unacknowledged[1..], (await client.ExecuteAsync(["SET", "c", "2"], TestContext.Current.CancellationToken)).Text);
        var replies = new System.Buffers.ArrayBufferWriter<byte>();
        session.Execute("GET a\r\nSET a 3\r\nGET a\r\nINCR b\r\n"u8.ToArray(), replies);
        Assert.Equal($"$1\r\n2\r\n{Unacknowledged}\r\n$1\r\n3\r\n{Unacknowledged}\r\n", System.Text.Encoding.ASCII.GetString(replies.WrittenSpan));
    }

    [Fact]
    public async Task A_client_that_wants_no_replies_waits_with_its_next_one()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "1", "replica-acks-timeout", "0");
        using RawReplica replica = Online(primary);
        using RespConnection client = primary.Connect();
        Send(client, "CLIENT REPLY OFF", "SET key 1", "SET key 2", "CLIENT REPLY ON", "GET key", "CLIENT REPLY SKIP", "SET key 3", "GET key");
        primary.WaitFor(() => Array.Exists(primary.Server.Loops, static loop => loop.Acks.Awaited > 0), "the wait");
        Assert.True(client.IsSilent);
        Acknowledge(primary, replica);
        Assert.Equal(["+OK", "$2", "$3"], Read(client, 3));
        Send(client, "CLIENT REPLY OFF", "SET key 4");
        primary.WaitFor(() => primary.Server.Execute("GET", "key").Text == "4", "the write");
        client.SendCommand("CLIENT REPLY ON");
        primary.WaitFor(() => Array.Exists(primary.Server.Loops, static loop => loop.Acks.Awaited > 0), "the wait");
        Assert.True(client.IsSilent);
        Acknowledge(primary, replica);
        client.Read().IsOk();
    }

    [Fact]
    public async Task Messages_to_a_client_stay_between_its_replies()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "1", "replica-acks-timeout", "30");
        using RespConnection client = primary.Connect();
        client.Run("HELLO 3");
        client.Run("CLIENT TRACKING ON").IsOk();
        client.SendCommand("SUBSCRIBE channel");
        Send(client, "GET a", "SET a 1", "GET a", "PUBLISH channel message", "SET a 2", "GET a");
        var replies = new List<string>();
        while (replies.Count < 6)
        {
            replies.Add(client.Read().ToString());
        }

        Assert.Equal(["_(null)", Unacknowledged, "$1", ":1", Unacknowledged, "$2"], replies);
        Assert.Contains(client.Pushes, push => push.ToString().Contains("message", StringComparison.Ordinal));
        Assert.Contains(client.Pushes, push => push.ToString().Contains("invalidate", StringComparison.Ordinal));
    }

    [Fact]
    public async Task What_is_remembered_of_clients_that_have_gone_is_bounded()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "1", "replica-acks-timeout", "0", "loops", "1");
        for (int i = 0; i < 2100; i++)
        {
            using RespConnection client = primary.Connect();
            client.SendCommand("SET key value");
        }

        primary.WaitFor(() => primary.Server.Parts.Core.Clients.Count <= 2, "the clients' end");
        Assert.InRange(primary.Server.Loops[0].Acks.Batches, 0, 1100);
    }

    [Fact]
    public async Task A_server_that_stops_answers_what_waits()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "1", "replica-acks-timeout", "0");
        using RespConnection client = primary.Connect();
        Send(client, "SET key value", "GET key");
        WaitForWaiting(primary, 1);
        await primary.Server.StopAsync().WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
        Assert.StartsWith("-NOREPLICAS The write was executed, but the server stops", client.Read().ToString(), StringComparison.Ordinal);
        client.Read().IsBulk("value");
    }

    [Fact]
    public async Task Waiting_output_counts_as_the_clients()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "1", "replica-acks-timeout", "0", "client-output-buffer-limit", "normal 1mb 0 0");
        primary.Client.Run("CONFIG SET replica-acks 0").IsOk();
        primary.Client.Run("SETRANGE large 600000 x");
        primary.Client.Run("CONFIG SET replica-acks 1").IsOk();
        using RespConnection client = primary.Connect();
        Send(client, "SET key value", "GET large", "GET large");
        client.Read().IsClosed();
        primary.WaitFor(() => primary.Server.Engine.Metrics.Server.OutputBufferDisconnections == 1, "the count");
    }

    [Fact]
    public async Task Both_the_disk_and_a_replica_are_waited_for()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "1", "replica-acks-timeout", "0", "appendonly", "yes", "appendfsync", "always");
        using RawReplica replica = Online(primary);
        using RespConnection client = primary.Connect();
        for (int i = 0; i < 20; i++)
        {
            Send(client, "PING", "SET key " + i.ToString(CultureInfo.InvariantCulture), "GET key");
            WaitForWaiting(primary, 1);
            Acknowledge(primary, replica);
            Assert.Equal(["+PONG", "+OK", "$" + i.ToString(CultureInfo.InvariantCulture)], Read(client, 3));
        }
    }

    // What a wait takes is the connection's, or the loop keeps it: a cycle's own objects are those of the acknowledgement.
    [Fact]
    public async Task Waiting_allocates_nothing_per_command()
    {
        const int Commands = 500, Cycles = 20, BytesPerCycleMax = 4096;
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "1", "replica-acks-timeout", "0", "loops", "1");
        using RawReplica replica = Online(primary);
        byte[] requests = [.. Enumerable.Repeat(CommandLine.Encode(CommandLine.Split("SET key value")), Commands).SelectMany(static bytes => bytes)];
        long waiting = BytesPerCycle(waits: true);
        primary.Client.Run("CONFIG SET replica-acks 0").IsOk();
        long others = BytesPerCycle(waits: false); // what receiving them and acknowledging takes
        Assert.True(waiting - others <= BytesPerCycleMax, $"{waiting} bytes, {others} of them without waiting");

        long BytesPerCycle(bool waits)
        {
            for (int i = 0; i < Cycles; i++) RunCycle(waits);
            long before = Allocated();
            for (int i = 0; i < Cycles; i++) RunCycle(waits);
            return (Allocated() - before) / Cycles;
        }

        void RunCycle(bool waits)
        {
            primary.Client.Send(requests);
            if (waits) WaitForWaiting(primary, Commands);
            Acknowledge(primary, replica);
            for (int i = 0; i < Commands; i++) primary.Client.Read().IsOk();
        }

        long Allocated()
        {
            var bytes = new TaskCompletionSource<long>();
            primary.Server.Loops[0].Loop.Post(() => bytes.SetResult(GC.GetAllocatedBytesForCurrentThread()));
            return bytes.Task.GetAwaiter().GetResult();
        }
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    public async Task Real_replicas_acknowledge_what_is_written(int replicas)
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", replicas.ToString(CultureInfo.InvariantCulture), "replica-acks-timeout", "60000");
        for (int i = 0; i < replicas; i++) primary.Follow();
        primary.WaitForOnline(replicas);
        using RespConnection client = primary.Connect();
        for (int i = 0; i < 200; i++) client.Run("INCR number").IsInteger(i + 1);
        for (int i = 0; i < 200; i++) client.SendCommand("INCR number");
        for (int i = 0; i < 200; i++) client.Read().IsInteger(i + 201);
        Assert.Equal(0, primary.Server.Engine.Replication.Acks.FailedReplies);
    }

    internal static RawReplica Online(ReplicatedServer primary, int replicas = 1)
    {
        var replica = new RawReplica(primary.Server.Port);
        (long offset, _) = replica.Synchronize(replicas);
        replica.BecomeOnline(primary, offset, replicas);
        return replica;
    }

    internal static void Acknowledge(ReplicatedServer primary, RawReplica replica) =>
        replica.Send("REPLCONF ACK " + primary.Server.Parts.ReplicaStream.Offset.ToString(CultureInfo.InvariantCulture));

    private static void AwaitAcknowledged(ReplicatedServer primary, int replicas)
    {
        long offset = primary.Server.Loops.Max(static loop => loop.Acks.Awaited);
        primary.WaitFor(() => primary.Server.Parts.Replicas.CountAcknowledged(offset, onDisk: false) == replicas, "the acknowledgement");
    }

    private static long Waiting(ReplicatedServer primary) => primary.Server.Loops.Sum(static loop => loop.Acks.Replies);

    // And they are seen by those who acknowledge.
    internal static void WaitForWaiting(ReplicatedServer primary, int replies) =>
        primary.WaitFor(() => Waiting(primary) == replies && Array.TrueForAll(primary.Server.Loops, static loop => loop.Acks.Replies == 0 || loop.Acks.Awaited > 0), $"{replies} replies that wait");

    internal static void Send(RespConnection client, params string[] lines) => client.Send([.. lines.SelectMany(static line => CommandLine.Encode(CommandLine.Split(line)))]);

    internal static string[] Read(RespConnection client, int replies) => [.. Enumerable.Range(0, replies).Select(_ => client.Read().ToString()!)];
}
