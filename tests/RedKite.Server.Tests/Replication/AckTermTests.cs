using System.Buffers;
using System.Text;
using RedKite.Net;
using RedKite.Server.Replication;
using RedKite.Server.Sessions;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;
using static RedKite.Server.Tests.Replication.ReplicaAcksTests;

namespace RedKite.Server.Tests.Replication;

/// <summary>replica-acks while the role or the setting changes beside commands that wait, are served or are about to write.</summary>
public class AckTermTests
{
    // Its loop learns that it was served when the server has been a replica and is a primary again.
    [Fact]
    public async Task A_served_client_waits_in_the_term_in_which_it_was_served()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "1", "replica-acks-timeout", "0");
        ReplicaAcks acks = primary.Server.Engine.Replication.Acks;
        using RespConnection popper = primary.Connect();
        popper.SendCommand("BLPOP list 0");
        primary.WaitFor(() => primary.Server.Engine.Blocked.Count == 1, "the blocked client");
        EventLoop loop = primary.Server.Engine.Blocked.All.Single().Session.Connection!.Loop;
        using var isFree = new ManualResetEventSlim();
        loop.Post(isFree.Wait);
        Task<RedKiteReply> push = Task.Run(() => primary.Server.CreateClient().Execute("RPUSH", "list", "element"), TestContext.Current.CancellationToken);
        primary.WaitFor(() => acks.WaitingCallers == 1, "the caller that served");
        LoseAndBegin(acks);
        acks.Advance(acks.Term!, primary.Server.Parts.ReplicaStream.Offset);
        isFree.Set();
        Assert.Equal(RoleLost, popper.Read().ToString());
        Assert.Equal(RoleLost[1..], (await push.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken)).Text);
    }

    // As a FAILOVER that the target refuses: the call was held before it, and executes behind it.
    [Fact]
    public async Task A_call_that_was_held_waits_in_the_term_in_which_it_has_written()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "1", "replica-acks-timeout", "0");
        using RawReplica replica = Online(primary);
        ReplicaAcks acks = primary.Server.Engine.Replication.Acks;
        RedKiteClient client = primary.Server.CreateClient();
        using RedKiteSession session = primary.Server.CreateSession();
        WriteGate gate = primary.Server.Engine.WriteGate;
        foreach (Func<string?> call in (Func<string?>[])[() => client.Execute("SET", "key", "1").Text, () => session.Execute("SET", "key", "2").Text])
        {
            gate.Close(WriteHold.Migration);
            string? reply = null;
            var thread = new Thread(() => reply = call());
            thread.Start();
            primary.WaitFor(() => thread.ThreadState.HasFlag(ThreadState.WaitSleepJoin), "the caller to be held");
            LoseAndBegin(acks);
            gate.Open(WriteHold.Migration);
            primary.WaitFor(() => acks.WaitingCallers == 1 || !thread.IsAlive, "the caller");
            Acknowledge(primary, replica);
            Assert.True(thread.Join(60_000));
            Assert.Equal("OK", reply);
        }
    }

    [Fact]
    public async Task A_call_of_several_commands_waits_for_those_before_a_pause_in_their_term()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "1", "replica-acks-timeout", "0");
        using RawReplica replica = Online(primary);
        ReplicaAcks acks = primary.Server.Engine.Replication.Acks;
        using RedKiteSession session = primary.Server.CreateSession();
        Keyspace keyspace = primary.Server.Engine.Keyspace;
        WriteGate gate = primary.Server.Engine.WriteGate;
        string second = KeyOfAnotherStripe(keyspace, "key");
        var replies = new ArrayBufferWriter<byte>();
        var thread = new Thread(() => session.Execute(Encoding.ASCII.GetBytes($"SET key 1\r\nSET {second} 2\r\nGET key\r\n"), replies));
        HoldBeforeSecond();
        primary.WaitFor(() => acks.WaitingCallers == 1, "the caller, before it is held");
        long retries = gate.Retries;
        Acknowledge(primary, replica);
        primary.WaitFor(() => gate.Retries > retries, "the caller to be held");
        LoseAndBegin(acks);
        gate.Open(WriteHold.Migration);
        primary.WaitFor(() => acks.WaitingCallers == 1 || !thread.IsAlive, "the caller");
        Acknowledge(primary, replica);
        Assert.True(thread.Join(60_000));
        Assert.Equal("+OK\r\n+OK\r\n$1\r\n1\r\n", Encoding.ASCII.GetString(replies.WrittenSpan));

        void HoldBeforeSecond()
        {
            int stripe = StripeOf(keyspace, second);
            using LockScope held = keyspace.Lock(StripeSet.Of(stripe));
            thread.Start();
            primary.WaitFor(() => keyspace.Stripes[stripe].LockParked > 0, "the caller to wait for the second key");
            gate.Close(WriteHold.Migration);
        }
    }

    [Fact]
    public async Task The_setting_begins_in_the_middle_of_a_pipeline()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("loops", "1");
        using RawReplica replica = Online(primary);
        Keyspace keyspace = primary.Server.Engine.Keyspace;
        string second = KeyOfAnotherStripe(keyspace, "key");
        using RespConnection client = primary.Connect();
        client.Run("PING");
        SwitchOnMeanwhile();
        Assert.Equal(["+OK", Unacknowledged, "+PONG", "$1"], Read(client, 4));

        void SwitchOnMeanwhile()
        {
            int stripe = StripeOf(keyspace, second);
            using LockScope held = keyspace.Lock(StripeSet.Of(stripe));
            Send(client, "SET key 1", $"SET {second} 1", "PING", "GET key");
            primary.WaitFor(() => keyspace.Stripes[stripe].LockParked > 0, "the loop to wait for the second key");
            Assert.Equal("OK", primary.Server.Execute("CONFIG", "SET", "replica-acks", "1", "replica-acks-timeout", "30").Text);
        }
    }

    [Fact]
    public async Task The_setting_begins_while_the_backlog_is_about_to_be_released()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        Online(primary).Dispose();
        primary.WaitFor(() => primary.Server.Parts.Replicas.Replicas.Count == 0, "the replica's end");
        Assert.True(primary.Server.Parts.ReplicaStream.HasBacklog);
        Task release = ReleaseMeanwhile();
        await release.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
        Assert.True(primary.Server.Parts.ReplicaStream.HasBacklog);
        primary.Client.SendCommand("SET key value");
        WaitForWaiting(primary, 1);

        Task ReleaseMeanwhile()
        {
            Keyspace keyspace = primary.Server.Engine.Keyspace;
            using LockScope held = keyspace.Lock(StripeSet.Of(0));
            Task task = Task.Run(() => primary.Server.Parts.Replicas.Tick(primary.Server.Engine.Clock.SteadyMs + (2 * 3_600_000)));
            primary.WaitFor(() => keyspace.Stripes[0].LockParked > 0, "the release to wait");
            Assert.Equal("OK", primary.Server.Execute("CONFIG", "SET", "replica-acks", "1", "replica-acks-timeout", "0").Text);
            return task;
        }
    }

    [Fact]
    public async Task What_is_acknowledged_already_is_not_asked_for()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "1", "replica-acks-timeout", "0");
        using RawReplica replica = Online(primary);
        using RespConnection first = primary.Connect(), second = primary.Connect();
        first.SendCommand("SET key 1");
        WaitForWaiting(primary, 1);
        second.SendCommand("SET key 2");
        WaitForWaiting(primary, 2);
        long offset = primary.Server.Parts.ReplicaStream.Offset;
        Acknowledge(primary, replica);
        first.Read().IsOk();
        second.Read().IsOk();
        foreach (EventLoop loop in primary.Server.Loops.Select(static loop => loop.Loop))
        {
            var passed = new TaskCompletionSource();
            loop.Post(passed.SetResult);
            await passed.Task.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
        }

        Assert.Equal(offset, primary.Server.Parts.ReplicaStream.Offset);
    }

    [Fact]
    public async Task A_replica_whose_connection_has_ended_has_acknowledged_nothing()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("loops", "1");
        using RawReplica replica = Online(primary);
        ReplicaClient known = primary.Server.Parts.Replicas.Replicas.Single();
        Assert.Equal(1, primary.Server.Parts.Replicas.CountAcknowledged(0, onDisk: false));
        using var isFree = new ManualResetEventSlim();
        known.Connection.Loop.Post(isFree.Wait); // so that it stays in the list
        known.Close();
        int listed = primary.Server.Parts.Replicas.Replicas.Count, counted = primary.Server.Parts.Replicas.CountAcknowledged(0, onDisk: false);
        isFree.Set();
        Assert.Equal((1, 0), (listed, counted));
    }

    private static string KeyOfAnotherStripe(Keyspace keyspace, string key) =>
        Enumerable.Range(0, 1000).Select(static i => $"key:{i}").First(other => StripeOf(keyspace, other) != StripeOf(keyspace, key));

    private static int StripeOf(Keyspace keyspace, string key) => keyspace.StripeOf(keyspace.Hash(Encoding.ASCII.GetBytes(key)));

    private static void LoseAndBegin(ReplicaAcks acks)
    {
        acks.Lose();
        acks.Begin(1);
    }
}
