using RedKite.Net;
using RedKite.Server.Cluster;
using RedKite.Server.Model;
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
