using RedKite.Net;
using RedKite.Server.Cluster;
using RedKite.Server.Model;
using RedKite.Server.Sessions;
using RedKite.Server.Tests.Execution.Slices;
using RedKite.Server.Tests.Migration;
using RedKite.Server.Tests.Replication;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Cluster;

/// <summary>
/// Every way by which a reply leaves, when the node's lease ends between the begin of its batch and that: nothing leaves. The lease's clock is a condition of the test's, so it ends in the very command.
/// </summary>
public sealed class LeaseExitTests : IAsyncDisposable
{
    private readonly TestLease _clock = new();
    private readonly LeaseDeadline _lease;
    private readonly List<IDisposable> _clients = [];
    private ReplicatedServer _node = null!;

    public LeaseExitTests() => _lease = new LeaseDeadline(_clock);

    private RedKiteServer Server => _node.Server;

    public async ValueTask DisposeAsync()
    {
        foreach (IDisposable client in _clients) client.Dispose();
        await _node.DisposeAsync();
    }

    [Fact]
    public async Task A_batch_that_outlives_the_lease_gets_no_reply()
    {
        await StartAsync();
        EndsWhenWritten();
        RespConnection client = Connect();
        client.SendCommand("SET key value");
        IsClosed(client);
        Assert.Equal(1, _lease.Late);
        Connect().Run("GET key").IsError("CLUSTERDOWN The cluster is down");
    }

    // Its first replies are sent before its end.
    [Fact]
    public async Task A_long_batch_that_outlives_the_lease_gets_no_reply()
    {
        await StartAsync();
        RespConnection client = Connect();
        client.Run("SETRANGE large 400000 x");
        EndsWhenWritten(keys: 2);
        client.Send([.. CommandLine.Encode(CommandLine.Split("SET key value")), .. CommandLine.Encode(CommandLine.Split("GET large"))]);
        IsClosed(client);
    }

    [Theory]
    [InlineData("BLPOP list 0", "RPUSH list a")]
    [InlineData("XREAD BLOCK 0 STREAMS list $", "XADD list * a b")]
    [InlineData("BLMOVE list list LEFT RIGHT 0", "EVAL \"return redis.call('rpush', KEYS[1], 'a')\" 1 list")]
    public async Task A_client_that_is_served_when_the_lease_has_ended_gets_no_reply(string waits, string serves)
    {
        await StartAsync();
        RespConnection client = Connect(), other = Connect();
        client.SendCommand(waits);
        _node.WaitFor(() => Server.Engine.Blocked.Count == 1, "the wait");
        _clock.HasPassed = () => Server.Engine.Blocked.Count == 0;
        other.SendCommand(serves);
        IsClosed(client);
        IsClosed(other);
        Assert.Equal(2, _lease.Late);
    }

    // The other client's batch is over in time, and the iteration is not.
    [Theory]
    [InlineData("BLPOP list 0", "RPUSH list a")]
    [InlineData("XREADGROUP GROUP g c BLOCK 0 STREAMS list >", "XADD list * a b")]
    public async Task A_reply_that_is_queued_for_a_served_client_does_not_leave_behind_the_lease(string waits, string serves)
    {
        await StartAsync();
        RespConnection client = Connect(), other = Connect();
        if (waits.StartsWith('X')) other.Run("XGROUP CREATE list g $ MKSTREAM");
        client.SendCommand(waits);
        _node.WaitFor(() => Server.Engine.Blocked.Count == 1, "the wait");
        Connection waiting = Server.Loops[0].Loop.Connections.Single(static connection => SessionOf(connection).Blocked is not null);
        _clock.HasPassed = () => waiting.OutputBytes > 0; // it looks when they are queued, too
        other.SendCommand(serves);
        IsClosed(client);
    }

    // The copy is complete in time.
    [Fact]
    public async Task Work_in_slices_that_outlives_the_lease_gets_no_reply()
    {
        await StartAsync();
        RedKiteClient client = Server.CreateClient();
        RespConnection connection = Connect();
        FillLarge();
        long before = Server.Loops[0].Sliced.Runner.Slices;
        EndsWhenWritten(keys: 2);
        IsClosed(connection, "COPY large {large}2");
        Assert.True(Server.Loops[0].Sliced.Runner.Slices > before, "it did not take slices");
        EndsWhenWritten(keys: 3);
        Fails(() => client.Execute("COPY", "large", "{large}3"));
        EndsWhenWritten(keys: 4);
        await Assert.ThrowsAsync<IOException>(() => client.ExecuteAsync(["COPY", "large", "{large}4"], TestContext.Current.CancellationToken).AsTask());
        Assert.Equal(4, Server.Engine.Keyspace.Databases[0].Count);
        Assert.Equal(3, _lease.Late);
    }

    // The replica that gets the role has what was written before.
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Work_in_slices_of_a_call_waits_while_the_role_is_handed_over(bool isAsync)
    {
        await StartAsync();
        RedKiteClient client = Server.CreateClient();
        FillLarge();
        _clock.Looked = () =>
        {
            if (Server.Engine.Blocked.Count == 1) Server.Engine.Pause.Hold(PauseReason.Handover);
        };
        Task<RedKiteReply> copy = Task.Run(() => isAsync ? client.ExecuteAsync(["COPY", "large", "{large}2"]).AsTask() : Task.FromResult(client.Execute("COPY", "large", "{large}2")), TestContext.Current.CancellationToken);
        _node.WaitFor(() => Server.Engine.Blocked.Count == 1 && Server.Engine.Pause.HoldsForServer, "the copy");
        Assert.NotSame(copy, await Task.WhenAny(copy, Task.Delay(200, TestContext.Current.CancellationToken)));
        Assert.Equal(1, Server.Engine.Keyspace.Databases[0].Count);
        _clock.Looked = static () => { };
        Server.Engine.Pause.Release(PauseReason.Handover);
        Assert.Equal(1, (await copy).Integer);
    }

    // The lease ends in the midst of it, and begins anew: another node may have served in between.
    [Theory]
    [InlineData("COPY large {large}2")]
    [InlineData("ARGREP large - + MATCH needle")]
    public async Task Work_in_slices_is_answered_in_the_term_of_its_begin(string command)
    {
        await StartAsync();
        RespConnection client = Connect();
        FillLarge();
        bool begins = true;
        _clock.Looked = () =>
        {
            if (Server.Engine.Blocked.Count != 1 || !begins) return;
            begins = false;
            _lease.End();
            Begin();
        };
        IsClosed(client, command);
        Assert.False(begins);
        Assert.Equal(1, _lease.Late);
    }

    // The other node may have the slot by now, and has not got what was written to the key since.
    [Fact]
    public async Task A_key_that_was_sent_elsewhere_stays_when_the_lease_has_ended()
    {
        await StartAsync();
        RespConnection client = Connect();
        client.Run("SET key value").IsOk();
        using var target = new HeldTarget { Script = static _ => "+OK\r\n", Holds = true, HeldName = "RESTORE-ASKING" };
        client.SendCommand($"MIGRATE 127.0.0.1 {target.Port} key 0 60000");
        target.WaitUntilHeld();
        _lease.End();
        target.GoOn();
        IsClosed(client);
        Assert.Equal(1, Server.Engine.Keyspace.Databases[0].Count);
    }

    // What the client has sent while it waits has the deadline of its own time.
    [Fact]
    public async Task Input_behind_a_client_that_is_served_does_not_change_until_when_its_reply_may_leave()
    {
        await StartAsync();
        RespConnection client = Connect();
        client.SendCommand("BLPOP list 0");
        _node.WaitFor(() => Server.Engine.Blocked.Count == 1, "the wait");
        Connection waiting = Server.Loops[0].Loop.Connections.Single(static connection => SessionOf(connection).Blocked is not null);
        int executed = -1;
        OnLoop(() =>
        {
            Task.Run(() => Server.Execute("RPUSH", "list", "a"), TestContext.Current.CancellationToken).Wait(); // what it serves is posted to this loop
            _lease.End();
            Begin();
            executed = Server.Loops[0].Received(waiting, CommandLine.Encode(CommandLine.Split("PING")));
        });
        IsClosed(client);
        Assert.Equal(0, executed);
        Assert.Equal(1, _lease.Late);
    }

    // They have no key, and what has one is refused when it has worked.
    [Fact]
    public async Task Work_in_slices_without_a_lease_is_answered()
    {
        await StartAsync();
        RespConnection client = Connect();
        client.Run("RPUSH source a b c").IsInteger(3);
        _lease.End();
        for (int i = 0; i < 2; i++) Assert.Equal(40, client.Run("DEBUG DIGEST").Text!.Length);
        client.Run("COPY source {source}2").IsError("CLUSTERDOWN The cluster is down");
        Assert.Equal(0, _lease.Late);
    }

    // The lease begins behind its first command, and may end behind the second one: another node may have taken over before the reply leaves.
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_batch_that_begins_without_a_lease_leaves_in_the_term_that_begins_in_it(bool ends)
    {
        await StartAsync();
        RespConnection client = Connect();
        long id = client.Run("CLIENT ID").Number;
        Session session = SessionOf(Server.Loops[0].Loop.Connections.Single(connection => SessionOf(connection).Id == id));
        _lease.End();
        int terms = 0;
        _clock.Looked = () =>
        {
            if (session.Name == "named" && terms++ == 0) Begin();
        };
        if (ends) _clock.HasPassed = () => Server.Engine.Keyspace.Databases[0].Count > 0;
        client.Send([.. CommandLine.Encode(CommandLine.Split("CLIENT SETNAME named")), .. CommandLine.Encode(CommandLine.Split("SET key value"))]);
        if (ends)
        {
            IsClosed(client);
            Assert.Equal(1, Server.Engine.Keyspace.Databases[0].Count);
        }
        else
        {
            client.Read().IsOk();
            client.Read().IsOk();
        }
    }

    // It would count as lost when another node has taken over.
    [Fact]
    public async Task Nothing_is_removed_by_itself_without_a_lease()
    {
        await StartAsync("cluster-allow-reads-when-down", "yes");
        RespConnection client = Connect();
        client.Run("SET volatile 1 PX 1").IsOk();
        client.Run("HSET fields {a}1 1 b 2");
        client.Run("HPEXPIRE fields 1 FIELDS 1 b");
        _lease.End();
        long offset = Server.Parts.ReplicaStream.Offset;
        long passes = Server.Engine.Clock.NowMs + 2;
        _node.WaitFor(() => Server.Engine.Clock.NowMs > passes, "the time of the keys");
        Assert.Equal("$(null)", client.Run("GET volatile").ToString());
        Assert.Equal("$fields", client.Run("RANDOMKEY").ToString());
        client.Run("EVAL_RO \"return redis.call('exists', KEYS[1])\" 1 volatile").IsInteger(0);
        Assert.Equal(2, Server.Engine.Keyspace.Databases[0].Count);
        OnLoop(Server.Loops[0].RunDue);
        Assert.False(Server.Engine.MayRemoveKeys(Server.Engine.Clock.SteadyMs)); // by which what is evicted goes, too
        Assert.Equal((2, offset), (Server.Engine.Keyspace.Databases[0].Count, Server.Parts.ReplicaStream.Offset));
        Begin();
        OnLoop(Server.Loops[0].RunDue);
        Assert.Equal("$(null)", client.Run("GET volatile").ToString());
        client.Run("HLEN fields").IsInteger(1);
        Assert.Equal(1, Server.Engine.Keyspace.Databases[0].Count);
    }

    // The executor's last command was admitted when the node had its lease.
    [Fact]
    public async Task Work_in_slices_whose_key_expires_without_a_lease_removes_nothing()
    {
        await StartAsync("cluster-allow-reads-when-down", "yes");
        FillLarge();
        using var search = new SlicedCommand(Server.Engine, ["ARGREP", "large", "-", "+", "MATCH", "needle"]);
        Assert.True(search.RunSlice());
        Server.Engine.Pause.Hold(PauseReason.Shutdown); // nothing expires before the lease has ended
        Assert.Equal(0, Server.Execute("ARSET", "large", "0", "other").Integer); // the search begins again
        Assert.Equal(1, Server.Execute("PEXPIRE", "large", "1").Integer);
        _lease.End();
        Server.Engine.Pause.Release(PauseReason.Shutdown);
        long passes = Server.Engine.Clock.NowMs + 2;
        _node.WaitFor(() => Server.Engine.Clock.NowMs > passes, "the time of the key");
        search.ReadTime();
        Assert.Equal("*0", search.RunToEnd());
        Assert.Equal(1, Server.Engine.Keyspace.Databases[0].Count);
    }

    [Fact]
    public async Task Reads_that_are_allowed_without_a_lease_are_served_without_one()
    {
        await StartAsync("cluster-allow-reads-when-down", "yes");
        RespConnection client = Connect();
        client.SendCommand("XREAD BLOCK 0 STREAMS list $");
        _node.WaitFor(() => Server.Engine.Blocked.Count == 1, "the wait");
        _clock.HasPassed = () => Server.Engine.Blocked.Count == 0;
        Connect().SendCommand("XADD list 1-1 a b");
        Assert.Equal("*[*[$list *[*[$1-1 *[$a $b]]]]]", client.Read().ToString());
    }

    // The term in which a client has begun to wait has nothing to do with the one in which it is served.
    [Fact]
    public async Task A_client_that_is_served_in_a_later_term_gets_its_reply()
    {
        await StartAsync();
        RespConnection client = Connect(), subscriber = Connect();
        subscriber.Run("SUBSCRIBE news");
        client.SendCommand("BLPOP list 0");
        _node.WaitFor(() => Server.Engine.Blocked.Count == 1, "the wait");
        OnLoop(static () => { }); // it has looked whether it may wait
        _lease.End();
        Connect().Run("PUBLISH news a").IsInteger(1); // no write, and it has no key
        Assert.Equal("*[$message $news $a]", subscriber.Read().ToString());
        Begin();
        Connect().Run("RPUSH list a").IsInteger(1);
        Assert.Equal("*[$list $a]", client.Read().ToString());
        Assert.Equal(0, _lease.Late);
    }

    // They name no key, but slots, which may be another node's by then.
    [Fact]
    public async Task Slots_are_not_emptied_without_a_lease()
    {
        await StartAsync();
        RespConnection client = Connect();
        client.Run("SET foo 1").IsOk();
        _lease.End();
        client.Run("CLUSTER FLUSHSLOT 12182").IsError("CLUSTERDOWN The cluster is down");
        client.Run("TRIMSLOTS RANGES 1 12182 12182").IsError("CLUSTERDOWN The cluster is down");
        Begin();
        client.Run("GET foo").IsBulk("1");
    }

    // What was left of it would live on at the node that it went to.
    [Fact]
    public async Task A_slot_that_leaves_while_it_is_emptied_is_not_said_to_be_empty()
    {
        const int Keys = 100;
        string other = new('b', 40);
        await StartAsync();
        RespConnection client = Connect();
        client.Run($"CLUSTERX SETNODES \"{client.Run("CLUSTER MYID").Text} 127.0.0.1 7001 master - 0-16383\n{other} 127.0.0.1 7002 master -\" 100").IsOk();
        for (int i = 0; i < Keys; i++) client.Run($"SET {{foo}}{i} 1").IsOk();
        bool leaves = true;
        _clock.Looked = () =>
        {
            if (Server.Engine.Keyspace.Databases[0].Count == Keys || !leaves) return;
            leaves = false;
            Assert.Null(Server.Cluster!.ChangeHere(state => (state.With(state.Topology.WithOwner([12182], other)), null)));
        };
        client.Run("CLUSTER FLUSHSLOT 12182").IsError("TRYAGAIN The slot is being given to another node");
        Assert.False(leaves);
    }

    // What writes, or reads values, and names no key is about the keys of all slots.
    [Theory]
    [InlineData("FLUSHALL", true)]
    [InlineData("FLUSHDB", true)]
    [InlineData("FUNCTION FLUSH", true)]
    [InlineData("FUNCTION LOAD \"#!lua name=lib\nredis.register_function('f', function() return 1 end)\"", true)]
    [InlineData("CLUSTER FLUSHSLOT 0", true)]
    [InlineData("TS.MGET FILTER a=b", false)]
    [InlineData("TS.MRANGE - + FILTER a=b", false)]
    [InlineData("TS.MREVRANGE - + FILTER a=b", false)]
    [InlineData("TS.QUERYINDEX a=b", false)]
    public async Task What_names_no_key_is_refused_without_a_lease(string command, bool writes)
    {
        const string Down = "CLUSTERDOWN The cluster is down";
        await StartAsync();
        RespConnection client = Connect(), queues = Connect();
        client.Run("SET foo 1").IsOk();
        queues.Run("MULTI").IsOk();
        queues.Run(command).IsSimple("QUEUED");
        _lease.End();
        client.Run(command).IsError(Down);
        client.Run("MULTI").IsOk();
        client.Run(command).IsError(Down);
        client.Run("EXEC").IsError("EXECABORT Transaction discarded because of previous errors.");
        queues.Run("EXEC").IsError(Down);
        client.Run("DBSIZE").IsInteger(1);
        if (command.StartsWith("FLUSH", StringComparison.Ordinal) || !writes) Assert.Contains("while the cluster is down", client.Run($"EVAL \"return redis.call('{string.Join("','", command.Split(' '))}')\" 0").Text, StringComparison.Ordinal);

        // A lease by which it may not serve: the store has not chosen it, or its shard is sealed.
        Begin();
        SlotRouting routing = Server.Engine.Routing.Value!;
        Server.Engine.Routing.Use(routing.WhenDown);
        client.Run(command).IsError(Down);
        Server.Engine.Routing.Use(routing);

        client.Run("CONFIG SET cluster-allow-reads-when-down yes").IsOk();
        _lease.End();
        if (writes) client.Run(command).IsError("CLUSTERDOWN The cluster is down and only accepts read commands");
        else Assert.False(client.Run(command).IsError);
        client.Run("GET foo").IsBulk("1");
        Begin();
        Assert.False(client.Run(command).IsError);
    }

    // A node that has no slots has nothing that another one could serve: its keys are removed before it joins.
    [Fact]
    public async Task A_node_without_slots_is_emptied_without_a_lease()
    {
        await StartAsync();
        RespConnection client = Connect();
        client.Run("SET foo 1").IsOk();
        client.Run("CLUSTER DELSLOTSRANGE 0 16383").IsOk();
        _lease.End();
        client.Run("FLUSHALL").IsOk();
        client.Run("DBSIZE").IsInteger(0);
    }

    [Fact]
    public async Task Calls_in_the_process_that_outlive_the_lease_fail()
    {
        await StartAsync();
        RedKiteClient client = Server.CreateClient();
        using RedKiteSession session = Server.CreateSession();
        EndsWhenWritten();
        Fails(() => client.Set("key", "value"));
        Assert.Equal("CLUSTERDOWN The cluster is down", client.Execute("GET", "key").Text); // nothing of it is left
        _clock.HasPassed = () => false;
        Begin();
        Assert.Equal("value", client.GetString("key"));
        EndsWhenWritten(keys: 2);
        Fails(() => session.Execute("SET", "other", "value"));
        Assert.Equal("CLUSTERDOWN The cluster is down", session.Execute("GET", "other").Text);
        EndsWhenWritten(keys: 3);
        Fails(() => client.Execute("EVAL", "return redis.call('SET', KEYS[1], 'value')", "1", "third"));
        EndsWhenWritten(keys: 4);
        await Assert.ThrowsAsync<IOException>(() => client.ExecuteAsync(["SET", "fourth", "value"], TestContext.Current.CancellationToken).AsTask());
        EndsWhenWritten(keys: 5);
        RedKiteTransaction transaction = client.CreateTransaction();
        transaction.Set("fifth", "value");
        Fails(() => transaction.Execute());
        _clock.PassesAfter(looks: 1);
        Fails(() => client.GetString("key"));
        Assert.Equal(6, _lease.Late);
    }

    [Fact]
    public async Task Calls_in_the_process_that_are_served_when_the_lease_has_ended_fail()
    {
        await StartAsync();
        RedKiteClient client = Server.CreateClient();
        using RedKiteSession session = Server.CreateSession();
        Task<byte[]?> waits = client.ListPopLeftAsync("list", cancellationToken: TestContext.Current.CancellationToken).AsTask();
        await ServeAsync(waits);
        await ServeAsync(Task.Run(() => session.Execute("BLPOP", "list", "0"), TestContext.Current.CancellationToken));
        await ServeAsync(Task.Run(() => client.Execute("BLPOP", "list", "0"), TestContext.Current.CancellationToken));

        async Task ServeAsync(Task waits)
        {
            _node.WaitFor(() => Server.Engine.Blocked.Count == 1, "the wait");
            _clock.HasPassed = () => Server.Engine.Blocked.Count == 0;
            IsClosed(Connect(), "RPUSH list a");
            await Assert.ThrowsAsync<IOException>(() => waits);
            _clock.HasPassed = () => false;
        }
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_reply_that_waits_for_replicas_does_not_leave_behind_the_lease(bool isAcknowledged)
    {
        await StartAsync("replica-acks", "1", "replica-acks-timeout", isAcknowledged ? "0" : "50");
        using RawReplica replica = ReplicaAcksTests.Online(_node);
        RespConnection client = Connect(), next = Connect();
        client.SendCommand("SET key value");
        ReplicaAcksTests.WaitForWaiting(_node, 1);
        _lease.End();
        Begin(); // anew: another node may have served in between
        if (isAcknowledged) ReplicaAcksTests.Acknowledge(_node, replica);
        IsClosed(client);
        next.SendCommand("SET other value");
        if (!isAcknowledged) return;
        ReplicaAcksTests.WaitForWaiting(_node, 1);
        ReplicaAcksTests.Acknowledge(_node, replica);
        next.Read().IsOk();
    }

    [Fact]
    public async Task A_call_that_waits_for_replicas_fails_behind_the_lease()
    {
        await StartAsync("replica-acks", "1", "replica-acks-timeout", "0");
        using RawReplica replica = ReplicaAcksTests.Online(_node);
        RedKiteClient client = Server.CreateClient();
        Task<RedKiteReply> async = client.ExecuteAsync(["SET", "key", "value"], TestContext.Current.CancellationToken).AsTask();
        Assert.False(async.IsCompleted);
        _lease.End();
        ReplicaAcksTests.Acknowledge(_node, replica);
        await Assert.ThrowsAsync<IOException>(() => async);
    }

    // As LoopGate sets it for a log.
    [Fact]
    public async Task A_reply_that_waits_for_the_log_does_not_leave_behind_the_lease()
    {
        await StartAsync();
        EventLoop loop = Server.Loops[0].Loop;
        long position = 7;
        OnLoop(() => loop.SetOutputGate(() => Volatile.Read(ref position)));
        RespConnection client = Connect(), subscriber = Connect();
        client.SendCommand("SET key value");
        subscriber.SendCommand("SUBSCRIBE news");
        _node.WaitFor(() => loop.AwaitedPosition == 7 && loop.Connections.Count(static connection => connection.OutputBytes > 0) == 2, "the replies");
        _lease.End();
        Begin();
        Volatile.Write(ref position, 0);
        OnLoop(() => loop.ReleaseOutput(7));
        IsClosed(client);
        IsClosed(subscriber); // its reply was one, too
        Connect().Run("SET key value").IsOk();
        RespConnection another = Connect();
        another.Run("SUBSCRIBE news");
        _lease.End();
        Connect().Run("PUBLISH news a").IsInteger(1);
        Assert.Equal("*[$message $news $a]", another.Read().ToString()); // what has left has no deadline any more
    }

    private async Task StartAsync(params string[] settings)
    {
        _node = await ReplicatedServer.StartAsync(["loops", "1", "cluster-enabled", "yes", .. settings]);
        Assert.Equal("OK", Server.Execute("CLUSTER", "ADDSLOTSRANGE", "0", "16383").Text);
        Server.Engine.Routing.Use(_lease);
        Server.Engine.Routing.NoteFeeding(feeds: true);
        Begin();
    }

    private void Begin() => _lease.Extend(TestLease.Begin, TimeSpan.FromSeconds(10));

    private void EndsWhenWritten(int keys = 1)
    {
        _clock.HasPassed = () => Server.Engine.Keyspace.Databases[0].Count >= keys;
        Begin(); // anew, if a command has seen that it had ended
    }

    // An array that is copied, and searched, in slices.
    private void FillLarge() => Assert.Equal(200_000, Server.Execute(["ARSET", "large", "0", .. Enumerable.Repeat("abcdefgh", 199_999), "needle"]).Integer);

    private RespConnection Connect()
    {
        RespConnection client = RespConnection.Connect(Server.Port);
        _clients.Add(client);
        return client;
    }

    private static Session SessionOf(Connection connection) => (Session)connection.State!;

    private void OnLoop(Action action)
    {
        using var done = new ManualResetEventSlim();
        Server.Loops[0].Loop.Post(() =>
        {
            action();
            done.Set();
        });
        Assert.True(done.Wait(60_000));
    }

    private static void Fails(Action call) => Assert.Contains("lease", Assert.Throws<IOException>(call).Message, StringComparison.Ordinal);

    private static void IsClosed(RespConnection client, string? command = null)
    {
        if (command is not null) client.SendCommand(command);
        Assert.Equal(RespValue.Closed, client.Read());
    }

    /// <summary>A clock that stands, until a condition holds: then the lease has ended.</summary>
    private sealed class TestLease : TimeProvider
    {
        internal const long Begin = 100;

        private int _looks = int.MaxValue;

        public override long TimestampFrequency => 1;

        internal Func<bool> HasPassed { get; set; } = static () => false;

        internal void PassesAfter(int looks)
        {
            _looks = looks;
            HasPassed = () => Interlocked.Decrement(ref _looks) < 0;
        }

        internal Action Looked { get; set; } = static () => { };

        public override long GetTimestamp()
        {
            Looked();
            return HasPassed() ? Begin + 1000 : Begin + 1;
        }
    }
}
