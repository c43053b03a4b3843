using RedKite.Net;
using RedKite.Server.Cluster;
using RedKite.Server.Cluster.Agreement;
using RedKite.Server.Cluster.Store;
using RedKite.Server.Execution.Blocking;
using RedKite.Server.Model;
using RedKite.Server.Sessions;
using RedKite.Server.Tests.Replication;
using RedKite.Store.Keyspace;
using RedKite.Testing;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Cluster;

/// <summary>What clients see of a primary that has given up its right to serve, and does not know yet who has its role: nothing, as they wait.</summary>
public sealed class HandoverWaitTests : IAsyncDisposable
{
    private readonly LeaseDeadline _lease = new(TimeProvider.System);
    private readonly List<IDisposable> _clients = [];
    private ReplicatedServer? _started;
    private SlotRouting _serves = null!;

    private ReplicatedServer Node => _started!;

    private RedKiteServer Server => Node.Server;

    public async ValueTask DisposeAsync()
    {
        foreach (IDisposable client in _clients) client.Dispose();
        if (_started is not null) await _started.DisposeAsync();
    }

    [Theory]
    [InlineData("GET key", "$value")]
    [InlineData("SET key other", "+OK")]
    [InlineData("MGET key {key}2", "*[$value $(null)]")]
    [InlineData("EVAL \"return redis.call('get', KEYS[1])\" 1 key", "$value")]
    [InlineData("SPUBLISH key message", ":0")]
    [InlineData("FLUSHALL", "+OK")]
    [InlineData("TS.QUERYINDEX a=b", "*[]")]
    public async Task A_command_waits_for_the_end_of_a_handover(string command, string reply)
    {
        await StartAsync();
        RespConnection client = Connect();
        GiveUp();
        client.SendCommand(command);
        WaitForWaiting(1);
        EndHandover();
        Assert.Equal(reply, client.Read().ToString());
    }

    [Fact]
    public async Task A_transaction_waits_for_the_end_of_a_handover()
    {
        await StartAsync();
        RespConnection client = Connect();
        client.Run("MULTI").IsOk();
        client.Run("FLUSHALL").IsSimple("QUEUED");
        GiveUp();
        client.Run("GET key").IsSimple("QUEUED");
        client.SendCommand("EXEC");
        WaitForWaiting(1);
        EndHandover();
        Assert.Equal("*[+OK $(null)]", client.Read().ToString());
    }

    [Fact]
    public async Task A_call_in_the_process_waits_for_the_end_of_a_handover()
    {
        await StartAsync();
        RedKiteClient client = Server.CreateClient();
        GiveUp();
        Task<string?> direct = Task.Run(() => client.GetString("key"), TestContext.Current.CancellationToken);
        Task<RedKiteReply> async = Task.Run(() => client.ExecuteAsync(["MGET", "key"], TestContext.Current.CancellationToken).AsTask(), TestContext.Current.CancellationToken);
        Assert.NotSame(direct, await Task.WhenAny(direct, async, Task.Delay(200, TestContext.Current.CancellationToken)));
        Assert.False(async.IsCompleted);
        EndHandover();
        Assert.Equal("value", await direct);
        Assert.Equal("value", (await async).Items[0].Text);
    }

    // It was admitted before: with its stripe locked, it sees that nothing is served any more.
    [Theory]
    [InlineData("GET key", "$value")]
    [InlineData("MGET key {key}2", "*[$value $(null)]")]
    [InlineData("EVAL \"return redis.call('get', KEYS[1])\" 1 key", "$value")]
    public async Task A_command_that_was_about_to_execute_waits_for_the_end_of_a_handover(string command, string reply)
    {
        await StartAsync();
        RespConnection client = Connect();
        Stripe stripe = StripeOf("key"u8);
        Assert.True(stripe.EnterOrGiveWay(null));
        client.SendCommand(command);
        Node.WaitFor(() => stripe.LockParked == 1, "the stripe");
        GiveUp();
        stripe.Exit();
        WaitForWaiting(1);
        EndHandover();
        Assert.Equal(reply, client.Read().ToString());
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_call_that_was_about_to_execute_waits_for_the_end_of_a_handover(bool isShort)
    {
        await StartAsync();
        RedKiteClient client = Server.CreateClient();
        Stripe stripe = StripeOf("key"u8);
        Assert.True(stripe.EnterOrGiveWay(null));
        Task<RedKiteReply> call = Task.Run(() => isShort ? client.Execute("GET", "key") : client.Execute("MGET", "key"), TestContext.Current.CancellationToken);
        Node.WaitFor(() => stripe.LockParked == 1, "the stripe");
        GiveUp();
        stripe.Exit();
        Assert.NotSame(call, await Task.WhenAny(call, Task.Delay(200, TestContext.Current.CancellationToken)));
        EndHandover();
        Assert.Equal("value", isShort ? (await call).Text : (await call).Items[0].Text);
    }

    [Fact]
    public async Task Work_in_slices_waits_for_the_end_of_a_handover()
    {
        await StartAsync();
        RespConnection client = Connect();
        Assert.Equal(200_000, Server.Execute(["ARSET", "large", "0", .. Enumerable.Repeat("abcdefgh", 199_999), "needle"]).Integer);
        OnLoop(() =>
        {
            Connection connection = Server.Loops[0].Loop.Connections.Single(static connection => ((Session)connection.State!).Type == ClientType.Normal && ((Session)connection.State!).Name == "searches");
            Server.Loops[0].Received(connection, CommandLine.Encode(CommandLine.Split("ARGREP large - + MATCH needle")));
            GiveUp();
        }, named: client);
        long slices = Server.Loops[0].Sliced.Runner.Slices;
        OnLoop(() => Server.Loops[0].Tick());
        Assert.Equal((1, slices), (Server.Engine.Blocked.Count, Server.Loops[0].Sliced.Runner.Slices));
        EndHandover();
        Assert.Equal("*[:199999]", client.Read().ToString());
    }

    [Fact]
    public async Task A_blocked_client_waits_on_during_a_handover()
    {
        await StartAsync();
        RespConnection client = Connect();
        client.SendCommand("BLPOP list 0");
        Node.WaitFor(() => Server.Engine.Blocked.Count == 1, "the wait");
        GiveUp();
        Server.Engine.RedirectBlocked();
        Assert.Equal(1, Server.Engine.Blocked.Count);
        EndHandover();
        Assert.Equal(1, Server.Execute("RPUSH", "list", "a").Integer);
        Assert.Equal("*[$list $a]", client.Read().ToString());
    }

    // Another node may have the key by now, or serve it still.
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_blocked_client_is_not_served_by_time_while_another_node_may_serve(bool isAwaited)
    {
        await StartAsync();
        foreach (string command in (string[])["XGROUP CREATE stream group 0 MKSTREAM", "XADD stream 1-1 a 1", "XREADGROUP GROUP group me STREAMS stream >"]) Assert.False(Server.Execute(command.Split(' ')).IsError);
        RespConnection claims = Connect();
        claims.SendCommand("XREADGROUP GROUP group other BLOCK 0 CLAIM 60000 STREAMS stream >");
        Node.WaitFor(() => Server.Engine.Blocked.Count == 1, "the wait");
        Assert.False(Server.Execute("XCLAIM", "stream", "group", "me", "0", "1-1", "IDLE", "100000", "JUSTID").IsError);
        long offset = Server.Parts.ReplicaStream.Offset;
        OnLoop(() =>
        {
            if (isAwaited) Server.Engine.Routing.Use(Awaiting());
            else GiveUp();
            BlockedClientServer blocked = Server.Loops[0].Executor.Invoker.Blocked;
            blocked.NoteLooks(long.MaxValue - 1);
            blocked.ServeNoted();
        });
        Assert.Equal((1, offset), (Server.Engine.Blocked.Count, Server.Parts.ReplicaStream.Offset));
        EndHandover();
        Assert.Contains("1-1", claims.Read().ToString(), StringComparison.Ordinal);
    }

    // Whatever becomes of the handover then, another node may serve.
    [Fact]
    public async Task Nothing_waits_for_a_handover_behind_the_lease()
    {
        await StartAsync();
        RespConnection client = Connect();
        GiveUp();
        _lease.End();
        client.Run("GET key").IsError("CLUSTERDOWN The cluster is down");
        client.Run("SET key value").IsError("CLUSTERDOWN The cluster is down");
    }

    // The slots that another node may serve still are others.
    [Fact]
    public async Task What_waits_for_a_handover_waits_on_when_clients_that_wait_for_slots_look_again()
    {
        await StartAsync();
        RespConnection client = Connect(), pops = Connect();
        pops.SendCommand("BLPOP list 0");
        Node.WaitFor(() => Server.Engine.Blocked.Count == 1, "the wait");
        GiveUp();
        client.SendCommand("SET key other");
        WaitForWaiting(1);
        OnLoop(Server.Loops[0].ResumePaused);
        client.SendCommand("GET key");
        OnLoop(static () => { });
        WaitForWaiting(1);
        Assert.Equal(1, Server.Engine.Blocked.Count);
        EndHandover();
        client.Read().IsOk();
        client.Read().IsBulk("other");
    }

    // The transaction that changes the primary is held in front of the store.
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Clients_of_a_primary_wait_until_the_store_has_answered(bool goes)
    {
        List<ImpairedStore> stores = [];
        await using RedKiteTestCluster cluster = await RedKiteTestCluster.StartAsync(new RedKiteTestClusterOptions { Shards = 1, ReplicasPerShard = 1, Configure = Configure });
        RedKiteTestNode primary = cluster.PrimaryOf("key"), replica = cluster.ReplicasOf(primary)[0];
        RedKiteServer server = primary.Server;
        Assert.Equal("OK", server.Execute("SET", "key", "value").Text);
        using RespConnection reads = RespConnection.Connect(server.Port), writes = RespConnection.Connect(server.Port), pops = RespConnection.Connect(server.Port);
        pops.SendCommand("BLPOP list 0");
        Until(() => server.Engine.Blocked.Count == 1);
        (TaskCompletionSource arrived, TaskCompletionSource answers) = (new(TaskCreationOptions.RunContinuationsAsynchronously), new(TaskCreationOptions.RunContinuationsAsynchronously));
        ImpairedStore store = stores[cluster.Nodes.ToList().IndexOf(primary)];
        store.Committing = async puts =>
        {
            if (puts[0] is not { Key: StoreKeys.Topology, Value: { } value } || TopologyDocument.ReadShared(value).Find(replica.Id) is not { IsPrimary: true }) return;
            arrived.TrySetResult();
            await answers.Task;
            if (goes) return;
            ClusterTopology now = server.Cluster!.State.Topology; // another change is first, and asks for no handover
            string shard = server.Cluster.State.Self.ShardId;
            await store.TryCommit([], [new StorePut(StoreKeys.Topology, TopologyDocument.WriteShared(now.WithTerms(shard, now.Terms.Of(shard) with { HandoverTo = "" }).WithVersion(now.Version + 1)))], CancellationToken.None);
        };
        Task<RedKiteReply> handed = Task.Run(() => replica.Server.Execute("CLUSTER", "FAILOVER"), TestContext.Current.CancellationToken);
        await arrived.Task.WaitAsync(TestContext.Current.CancellationToken);
        Assert.False(primary.Serves);
        reads.SendCommand("GET key");
        writes.SendCommand("RPUSH list a");
        Task<RedKiteReply> call = Task.Run(() => server.Execute("GET", "key"), TestContext.Current.CancellationToken);
        Until(() => server.Engine.Pause.Paused(server.Engine.Clients) >= 2);
        Assert.Equal(1, server.Engine.Blocked.Count);
        Assert.False(call.IsCompleted);
        answers.SetResult();
        Assert.StartsWith(goes ? "MOVED" : "value", reads.Read().Text, StringComparison.Ordinal);
        if (goes) Assert.StartsWith("MOVED", writes.Read().Text, StringComparison.Ordinal);
        else writes.Read().IsInteger(1);
        Assert.StartsWith(goes ? "MOVED" : "value", (await call).Text, StringComparison.Ordinal);
        Assert.StartsWith(goes ? "MOVED" : "*[$list $a]", goes ? pops.Read().Text : pops.Read().ToString(), StringComparison.Ordinal);
        Assert.Equal("OK", (await handed).Text);
        Until(() => replica.Server.Execute("GET", "key").Text is { } text && (goes ? text == "value" : text.StartsWith("MOVED", StringComparison.Ordinal)));

        void Configure(RedKiteOptions options)
        {
            options.TimeProvider = new HandoverClock(); // the test may take longer than clients wait
            ImpairedStore.Use(options, stores);
        }
    }

    private async Task StartAsync()
    {
        _started = await ReplicatedServer.StartAsync("loops", "1", "cluster-enabled", "yes");
        Assert.Equal("OK", Server.Execute("CLUSTER", "ADDSLOTSRANGE", "0", "16383").Text);
        Server.Engine.Routing.Use(_lease);
        Server.Engine.Routing.NoteFeeding(feeds: true);
        _lease.Extend(TimeProvider.System.GetTimestamp(), TimeSpan.FromHours(1));
        _serves = Server.Engine.Routing.Value!;
        Assert.Equal("OK", Server.Execute("SET", "key", "value").Text);
    }

    // What an agent does before the other node may serve.
    private void GiveUp()
    {
        Server.Engine.Pause.Hold(PauseReason.Handover);
        Server.Engine.Routing.Use(_serves.WhenDown);
    }

    // All slots are this node's, and another one may serve them.
    private SlotRouting Awaiting() => new([.. Enumerable.Range(0, KeySlot.Count).Select(slot => (short)_serves.OwnerOf(slot))], _serves.Self, isUp: true, _serves.Migrating, awaited: [new SlotsAwaitedUntil(SlotSet.Of(static _ => true), long.MaxValue)])
    {
        Nodes = _serves.Nodes,
        Primary = _serves.Primary,
        Importing = _serves.Importing,
        AllowsReadsWhenDown = false,
        AllowsShardMessagesWhenDown = false,
    };

    // The role has stayed here.
    private void EndHandover()
    {
        Server.Engine.Routing.Use(_serves);
        Server.Engine.Pause.Release(PauseReason.Handover);
        OnLoop(Server.Loops[0].ResumePaused);
    }

    private void WaitForWaiting(int clients) => Node.WaitFor(() => Server.Engine.Clients.All.Count(static session => session.IsPaused) == clients, "clients that wait");

    private Stripe StripeOf(ReadOnlySpan<byte> key) => Server.Engine.Keyspace.Stripes[Server.Engine.Keyspace.StripeOf(Server.Engine.Keyspace.Hash(key))];

    private RespConnection Connect()
    {
        RespConnection client = RespConnection.Connect(Server.Port);
        _clients.Add(client);
        client.Run("PING").IsSimple("PONG");
        return client;
    }

    private void OnLoop(Action action, RespConnection? named = null)
    {
        named?.Run("CLIENT SETNAME searches").IsOk();
        var done = new TaskCompletionSource();
        Server.Loops[0].Loop.Post(() =>
        {
            try
            {
                action();
                done.SetResult();
            }
            catch (Exception failure)
            {
                done.SetException(failure);
            }
        });
        Assert.True(done.Task.Wait(60_000));
    }

    private static void Until(Func<bool> holds) => Assert.True(SpinWait.SpinUntil(holds, 60_000));
}
