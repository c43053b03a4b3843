using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;
using RedKite.Persistence.Files;
using RedKite.Server.Cluster;
using RedKite.Server.Cluster.Agreement;
using RedKite.Server.Cluster.Store;
using RedKite.Server.Sessions;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Cluster.Agreement;

/// <summary>A server that is a node of a cluster with a store: what it does before it knows the topology, while its shard is sealed, and when a command changes the topology.</summary>
public sealed class AgreedServerTests : IDisposable
{
    private const string Refusal = "ERR the topology in the cluster's store cannot be changed in a transaction or script";
    private static readonly string Primary = new('a', 40);
    private static readonly string KeyOfFive = Enumerable.Range(0, int.MaxValue).Select(static i => i.ToString(CultureInfo.InvariantCulture)).First(static key => KeySlot.Of(Encoding.ASCII.GetBytes(key)) == 5);

    private readonly TemporaryFolder _folder = new();
    private readonly MemoryClusterData _data = new(TimeProvider.System);

    public void Dispose()
    {
        _data.Dispose();
        _folder.Dispose();
    }

    [Fact]
    public async Task A_replica_of_a_sealed_shard_has_no_link_whatever_wants_it_to_go_on()
    {
        await using RedKiteServer server = await StartAsync(new MemoryClusterStore(_data));
        Commit(server, sealedAt: 2);
        await UntilAsync(() => Status(server)?.SealedAt == 2);
        server.Follower.Resume(); // as after a SHUTDOWN SAVE that has failed
        Assert.Null(server.Engine.Replication.LinkStatus);
        Assert.True(server.Engine.Replication.IsReplica);
        Commit(server, sealedAt: 0);
        await UntilAsync(() => server.Engine.Replication.LinkStatus is not null);
    }

    [Fact]
    public async Task A_replica_has_no_link_before_it_has_looked_at_the_store()
    {
        await using (RedKiteServer server = await StartAsync(new MemoryClusterStore(_data)))
        {
            Commit(server, sealedAt: 0);
            string file = Path.Combine(_folder.Path, server.Engine.Settings.ClusterConfigFile);
            await UntilAsync(() => server.Engine.Replication.LinkStatus is not null && TopologyDocument.Read(File.ReadAllBytes(file)).Self.PrimaryId == Primary);
        }

        var store = new MemoryClusterStore(_data);
        await store.DisposeAsync(); // it is not reached
        await using RedKiteServer again = await StartAsync(store);
        Assert.True(again.Engine.Replication.IsReplica);
        Assert.Null(again.Engine.Replication.LinkStatus);
    }

    [Fact]
    public async Task A_node_that_does_not_serve_by_its_lease_feeds_no_replica()
    {
        var store = new MemoryClusterStore(_data);
        await store.DisposeAsync();
        await using RedKiteServer server = await StartAsync(store);
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("PSYNC ? -1").IsError("NOMASTERLINK Can't SYNC while this node may not serve");
        client.Run("PSYNC ? -1 FAILOVER").IsError("ERR PSYNC FAILOVER not allowed in cluster mode.");
    }

    [Theory]
    [InlineData("CLUSTER FLUSHSLOTS")]
    [InlineData("CLUSTER FORGET aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")]
    [InlineData("CLUSTER REPLICATE aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")]
    [InlineData("CLUSTER MEET 127.0.0.1 7001")]
    [InlineData("CLUSTER FAILOVER")]
    [InlineData("CLUSTER SET-CONFIG-EPOCH 3")]
    [InlineData("CLUSTER SETSLOT 1 NODE aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")]
    public async Task A_transaction_does_not_change_the_topology_in_the_store(string command)
    {
        await using RedKiteServer server = await StartAsync(new MemoryClusterStore(_data));
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("MULTI").IsOk();
        client.Run(command).IsSimple("QUEUED");
        client.Run("EXEC").Is(RespValue.Aggregate('*', [RespValue.Scalar('-', Encoding.ASCII.GetBytes(Refusal))]));
        Assert.DoesNotContain(_data.Read("", 0).Entries, static entry => entry.Key == StoreKeys.Topology);
    }

    // As redis-cli --cluster fix sends it: the reply is before the change.
    [Fact]
    public async Task A_transaction_adds_slots_soon()
    {
        await using RedKiteServer server = await StartAsync(new MemoryClusterStore(_data));
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("MULTI").IsOk();
        client.Run("CLUSTER ADDSLOTS 1").IsSimple("QUEUED");
        client.Run("EXEC").Is(RespValue.Aggregate('*', [RespValue.Scalar('+', "OK"u8.ToArray())]));
        Assert.True(SpinWait.SpinUntil(() => _data.Read("", 0).Entries.Any(static entry => entry.Key == StoreKeys.Topology), 60_000));
    }

    [Fact]
    public async Task What_fails_behind_a_reply_is_logged()
    {
        var lines = new List<string>();
        await using RedKiteServer server = await StartAsync(new MemoryClusterStore(_data), lines);
        server.Cluster!.DoLater(static () => throw new InvalidOperationException("what has failed"));
        await UntilAsync(() =>
        {
            lock (lines) return lines.Exists(static line => line.Contains("what has failed", StringComparison.Ordinal));
        });
    }

    [Fact]
    public async Task A_start_that_fails_releases_the_store()
    {
        using var taken = new TcpListener(IPAddress.Loopback, 0);
        taken.Start();
        var store = new MemoryClusterStore(_data);
        await Assert.ThrowsAsync<RedKiteConfigException>(() => StartAsync(store, port: ((IPEndPoint)taken.LocalEndpoint).Port));
        await Assert.ThrowsAnyAsync<Exception>(() => store.Read("", TestContext.Current.CancellationToken));
    }

    [Theory]
    [InlineData("cluster-announce-human-nodename", "a,b", "Announced human node name contained invalid character")]
    [InlineData("cluster-announce-human-nodename", "a b", "Announced human node name contained invalid character")]
    [InlineData("cluster-announce-human-nodename", "a\tb", "Announced human node name contained invalid character")]
    [InlineData("cluster-announce-human-nodename", "a@b", "Announced human node name contained invalid character")]
    [InlineData("cluster-announce-hostname", "a,b", "Hostnames may only contain alphanumeric characters, hyphens or dots")]
    [InlineData("cluster-announce-ip", "a,b", "Announced address contained invalid character")]
    [InlineData("cluster-announce-ip", "a b", "Announced address contained invalid character")]
    [InlineData("cluster-announce-ip", "a\nb", "Announced address contained invalid character")]
    public async Task What_cannot_stand_in_a_topology_is_not_announced(string setting, string value, string error)
    {
        await using RedKiteServer server = await StartAsync(new MemoryClusterStore(_data));
        Assert.Equal($"ERR CONFIG SET failed (possibly related to argument '{setting}') - {error}", server.Execute("CONFIG", "SET", setting, value).Text);
    }

    // A node that has not seen the change serves the slots by its lease: no other may get them before, nor the operator hear that they are free.
    [Theory]
    [InlineData("CLUSTER DELSLOTS 5", "sees it")]
    [InlineData("CLUSTER DELSLOTS 5", "has ended")]
    [InlineData("CLUSTER FORGET aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "serves no more")]
    public async Task A_change_that_takes_slots_is_answered_when_their_node_goes_by_it(string command, string node)
    {
        await using RedKiteServer server = await StartAsync(new MemoryClusterStore(_data));
        long lease = await BesideOtherAsync(server);
        Task<RedKiteReply> changed = Task.Run(() => server.Execute(command.Split(' ')), TestContext.Current.CancellationToken);
        await UntilAsync(() => Shared.OwnerOf(5) is null && server.Cluster!.State.Topology.Version == Shared.Version);
        Assert.NotSame(changed, await Task.WhenAny(changed, Task.Delay(200, TestContext.Current.CancellationToken)));
        if (node == "sees it") Report(lease, Shared.Version);
        else if (node == "has ended") _data.Revoke(lease);
        else Report(lease, version: 0, serves: false);
        Assert.Equal("OK", (await changed).Text);
    }

    // Nothing is served meanwhile, and so no link comes.
    [Fact]
    public async Task A_handover_to_a_replica_without_a_link_is_not_waited_for()
    {
        await using RedKiteServer server = await StartAsync(new MemoryClusterStore(_data));
        server.Engine.Pause.Hold(PauseReason.Handover);
        Assert.False(server.Parts.Replicas.ConfirmHandover(Primary, "life", static _ => { }, CancellationToken.None));
        Assert.True(server.Engine.Pause.HoldsForServer);
        server.Engine.Pause.Release(PauseReason.Handover);
    }

    // In two steps, whether its keys have come one by one or not: the former owner serves by what it has seen.
    [Theory]
    [InlineData(false, "sees it")]
    [InlineData(true, "sees it")]
    [InlineData(true, "serves no more")]
    [InlineData(false, "has ended")]
    public async Task A_slot_of_another_node_is_served_when_that_does_not_serve_it_any_more(bool comesKeyByKey, string former)
    {
        await using RedKiteServer server = await StartAsync(new MemoryClusterStore(_data));
        long lease = await BesideOtherAsync(server);
        string id = server.Cluster!.State.SelfId;
        Assert.Equal("OK", server.Execute("CONFIG", "SET", "cluster-move-pause-ms", "1").Text);
        if (comesKeyByKey) Assert.Equal("OK", server.Execute("CLUSTER", "SETSLOT", "5", "IMPORTING", Primary).Text);
        Task<RedKiteReply> changed = Task.Run(() => server.Execute("CLUSTER", "SETSLOT", "5", "NODE", id), TestContext.Current.CancellationToken);
        await UntilAsync(() => Shared.Terms.Reassigned.Length == 1 && server.Cluster.State.Topology.Version == Shared.Version);
        Assert.Equal((id, Primary), (Shared.OwnerOf(5)!.Id, Shared.Terms.Reassigned[0].FromId));
        Assert.Equal("MOVED 12182 127.0.0.1:1", server.Execute("GET", "foo").Text); // the cluster is not down meanwhile
        await UntilAsync(() => server.Execute("GET", KeyOfFive).Text == "TRYAGAIN Another node may still serve the slot"); // it has waited before
        Assert.NotSame(changed, await Task.WhenAny(changed, Task.Delay(200, TestContext.Current.CancellationToken)));
        Assert.Equal([5], Shared.Terms.ReassignedSlots.Slots());
        if (former == "sees it") Report(lease, Shared.Version);
        else if (former == "has ended") _data.Revoke(lease);
        else Report(lease, version: 0, serves: false);
        Assert.Equal("OK", (await changed).Text);
        Assert.Empty(Shared.Terms.Reassigned);
        Assert.Equal(id, Shared.OwnerOf(5)!.Id);
        Assert.Equal("OK", server.Execute("SET", KeyOfFive, "1").Text);
    }

    // They are served by none, so commands that name no key leave them out, too.
    [Fact]
    public async Task Keys_of_a_slot_that_another_node_may_serve_are_not_seen()
    {
        await using RedKiteServer server = await StartAsync(new MemoryClusterStore(_data));
        long lease = await BesideOtherAsync(server);
        Assert.Equal("OK", server.Execute("CONFIG", "SET", "cluster-move-pause-ms", "1").Text);
        Assert.Equal("OK", server.Execute("CLUSTER", "SETSLOT", "5", "IMPORTING", Primary).Text);
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("ASKING").IsOk();
        client.Run($"TS.ADD {KeyOfFive} 1 2 LABELS a b").IsInteger(1);
        Assert.Equal([1, 1, 1, 1, 1], Seen());
        Task<RedKiteReply> changed = Task.Run(() => server.Execute("CLUSTER", "SETSLOT", "5", "NODE", server.Cluster!.State.SelfId), TestContext.Current.CancellationToken);
        await UntilAsync(() => server.Cluster!.State.Topology.Terms.Reassigned.Length == 1 && server.Engine.Routing.Value!.IsAwaited(5));
        Assert.Equal([0, 0, 0, 0, 0], Seen());
        server.Cluster!.Hold(SlotSet.Of([new SlotRange(6, 6)])); // by another routing with the same slots, too
        Assert.Equal([0, 0, 0, 0, 0], Seen());
        server.Cluster.Hold(null);
        Assert.StartsWith("TRYAGAIN", server.Execute("CLUSTER", "FLUSHSLOT", "5").Text, StringComparison.Ordinal);
        Report(lease, Shared.Version);
        Assert.Equal("OK", (await changed).Text);
        Assert.Equal([1, 1, 1, 1, 1], Seen());

        long[] Seen() =>
        [
            server.Execute("DBSIZE").Integer, server.Execute("KEYS", "*").Items.Count, server.Execute("SCAN", "0", "COUNT", "1000000").Items[1].Items.Count, server.Execute("RANDOMKEY").Text is null ? 0 : 1,
            server.Execute("TS.MRANGE", "-", "+", "FILTER", "a=b").Items.Count,
        ];
    }

    // A client of its own waits, up to cluster-move-pause-ms.
    [Fact]
    public async Task A_command_on_a_slot_that_another_node_may_serve_waits_for_that()
    {
        await using RedKiteServer server = await StartAsync(new MemoryClusterStore(_data));
        long lease = await BesideOtherAsync(server);
        Assert.Equal("OK", server.Execute("CONFIG", "SET", "cluster-move-pause-ms", "600000").Text);
        Task<RedKiteReply> changed = Task.Run(() => server.Execute("CLUSTER", "SETSLOT", "5", "NODE", server.Cluster!.State.SelfId), TestContext.Current.CancellationToken);
        await UntilAsync(() => server.Cluster!.State.Topology.Terms.Reassigned.Length == 1);
        using RespConnection client = RespConnection.Connect(server.Port);
        client.SendCommand($"SET {KeyOfFive} 1");
        await UntilAsync(() => server.Engine.Clients.All.Any(static session => session.IsPaused));
        Report(lease, Shared.Version);
        client.Read().IsOk();
        Assert.Equal("OK", (await changed).Text);
    }

    // Its data is that of the primary, which has nothing of it.
    [Fact]
    public async Task A_replica_does_not_read_a_slot_that_its_primary_does_not_serve_yet()
    {
        await using RedKiteServer server = await StartAsync(new MemoryClusterStore(_data));
        Assert.Equal("OK", server.Execute("CONFIG", "SET", "cluster-move-pause-ms", "1").Text);
        Commit(server, sealedAt: 0);
        await UntilAsync(() => server.Engine.Replication.LinkStatus is not null && Status(server)?.Version == Shared.Version && server.Engine.Routing.Value!.IsUp);
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("READONLY").IsOk();
        foreach (string command in (string[])[$"GET {KeyOfFive}", $"MGET {KeyOfFive}"]) Assert.False(client.Run(command).IsError);
        Commit(Shared.WithTerms(Shared.Terms with { Reassigned = [new Reassignment(SlotSet.Of([new SlotRange(5, 5)]), Shared.Version + 1, new string('e', 40))] }));
        await UntilAsync(() => server.Engine.Routing.Value!.IsAwaited(5));
        foreach (string command in (string[])[$"GET {KeyOfFive}", $"MGET {KeyOfFive}"]) client.Run(command).IsError("TRYAGAIN Another node may still serve the slot"); // it has waited before
        Assert.False(client.Run("GET foo").IsError);
    }

    // Nothing but its owner sees to that.
    [Theory]
    [InlineData("its former owner")]
    [InlineData("any node")]
    public async Task A_slot_is_served_although_the_command_that_has_given_it_is_gone(string from)
    {
        await using RedKiteServer server = await StartAsync(new MemoryClusterStore(_data));
        long lease = await BesideOtherAsync(server);
        Commit(Reassignments.Note(from == "any node" ? Shared.WithOwner([5], null) : Shared, Shared.WithOwner([5], server.Cluster!.State.SelfId)));
        await UntilAsync(() => server.Cluster.State.Topology.Version == Shared.Version && Status(server)?.Version == Shared.Version);
        Assert.Equal([5], Shared.Terms.ReassignedSlots.Slots());
        Report(lease, Shared.Version);
        await UntilAsync(() => Shared.Terms.Reassigned.IsEmpty);
        await UntilAsync(() => server.Execute("SET", KeyOfFive, "1").Text == "OK");
    }

    // What was taken from an owner that did not serve it yet may be served by any node.
    [Fact]
    public async Task A_slot_without_an_owner_is_served_when_no_node_serves_by_an_older_topology()
    {
        await using RedKiteServer server = await StartAsync(new MemoryClusterStore(_data));
        long lease = await BesideOtherAsync(server, hasFive: false);
        Task<RedKiteReply> changed = Task.Run(() => server.Execute("CLUSTER", "ADDSLOTS", "5"), TestContext.Current.CancellationToken);
        await UntilAsync(() => Shared.OwnerOf(5) is not null && server.Cluster!.State.Topology.Version == Shared.Version);
        Assert.NotSame(changed, await Task.WhenAny(changed, Task.Delay(200, TestContext.Current.CancellationToken)));
        Assert.Equal("", Shared.Terms.Reassigned.Single().FromId);
        Report(lease, Shared.Version);
        Assert.Equal("OK", (await changed).Text);
        Assert.Equal("OK", server.Execute("SET", KeyOfFive, "1").Text);
    }

    // What gives slots takes the lock of the node's state while commands wait.
    [Fact]
    public async Task Slots_are_held_while_the_file_is_written()
    {
        var files = new FaultyFiles();
        files.CreateFolder(_folder.Path);
        await using RedKiteServer server = await StartAsync(new MemoryClusterStore(_data), files: files);
        await BesideOtherAsync(server);
        await UntilAsync(() => Status(server)?.Version == Shared.Version && FileVersion(server, files) == Shared.Version);
        using ManualResetEventSlim stands = new(), goesOn = new();
        files.Plan = call =>
        {
            if (call.Operation != "sync folder") return null;
            stands.Set();
            goesOn.Wait(TestContext.Current.CancellationToken);
            return null;
        };
        try
        {
            Commit(Shared);
            stands.Wait(TestContext.Current.CancellationToken);
            Task<long> held = Task.Run(
                () =>
                {
                    server.Cluster!.Hold(SlotSet.Of([new SlotRange(5, 5)]));
                    return server.Cluster.InForce.Version;
                },
                TestContext.Current.CancellationToken);
            Assert.Equal(Shared.Version, await held.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken));
        }
        finally
        {
            goesOn.Set();
        }

        await UntilAsync(() => FileVersion(server, files) == Shared.Version);
    }

    // Neither of the two nodes keeps clients waiting: the former owner says that it does not serve the slot any more, and the new one serves it.
    [Fact]
    public async Task Slots_do_not_wait_for_a_disk_that_stands_still()
    {
        var files = new FaultyFiles();
        files.CreateFolder(_folder.Path);
        await using RedKiteServer server = await StartAsync(new MemoryClusterStore(_data), files: files);
        long lease = await BesideOtherAsync(server);
        await UntilAsync(() => FileVersion(server, files) == Shared.Version);
        string id = server.Cluster!.State.SelfId;
        long kept = Shared.Version;
        using ManualResetEventSlim goesOn = new();
        files.Plan = call =>
        {
            if (call.Operation == "sync" && call.Path.Contains(server.Engine.Settings.ClusterConfigFile, StringComparison.Ordinal)) goesOn.Wait(TestContext.Current.CancellationToken);
            return null;
        };
        try
        {
            Commit(Reassignments.Note(Shared, Shared.WithOwner([5], id)));
            Report(lease, Shared.Version);
            await UntilAsync(() => Shared.Terms.Reassigned.IsEmpty && server.Execute("SET", KeyOfFive, "1").Text == "OK");
            Commit(Reassignments.Note(Shared, Shared.WithOwner([5], Primary)));
            await UntilAsync(() => Status(server)?.Version == Shared.Version);
            Assert.Equal("MOVED 5 127.0.0.1:1", server.Execute("SET", KeyOfFive, "1").Text);
            Assert.Equal(kept, FileVersion(server, files));
        }
        finally
        {
            goesOn.Set();
        }

        await UntilAsync(() => FileVersion(server, files) == Shared.Version);
    }

    // Its command changes nothing in this node alone.
    [Fact]
    public async Task A_change_in_the_store_does_not_wait_for_a_disk_that_stands_still()
    {
        var files = new FaultyFiles();
        files.CreateFolder(_folder.Path);
        await using RedKiteServer server = await StartAsync(new MemoryClusterStore(_data), files: files);
        long lease = await BesideOtherAsync(server, hasFive: false);
        await UntilAsync(() => FileVersion(server, files) == Shared.Version);
        using ManualResetEventSlim goesOn = new();
        files.Plan = call =>
        {
            if (call.Operation == "sync" && call.Path.Contains(server.Engine.Settings.ClusterConfigFile, StringComparison.Ordinal)) goesOn.Wait(TestContext.Current.CancellationToken);
            return null;
        };
        try
        {
            Task<RedKiteReply> changed = Task.Run(() => server.Execute("CLUSTER", "ADDSLOTS", "5"), TestContext.Current.CancellationToken);
            await UntilAsync(() => Shared.OwnerOf(5) is not null);
            Report(lease, Shared.Version);
            Assert.Equal("OK", (await changed.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken)).Text);
            server.Cluster!.Hold(SlotSet.Of([new SlotRange(5, 5)]));
            server.Cluster.Hold(null);
            Assert.Equal("OK", server.Execute("SET", KeyOfFive, "1").Text);
        }
        finally
        {
            goesOn.Set();
        }
    }

    // As those are that end a doubt, five times a second.
    [Fact]
    public async Task A_change_that_is_tried_again_is_logged_once_if_the_file_cannot_be_written()
    {
        var files = new FaultyFiles();
        files.CreateFolder(_folder.Path);
        var lines = new List<string>();
        await using RedKiteServer server = await StartAsync(new MemoryClusterStore(_data), lines, files: files);
        bool fails = true;
        files.Plan = call => fails && call.Operation == "create" && call.Path.Contains(server.Engine.Settings.ClusterConfigFile, StringComparison.Ordinal) ? new FileFault(FileFault.NoSpace) : null;
        for (int i = 0; i < 3; i++) Assert.NotNull(server.Cluster!.SaveAgain());
        fails = false;
        Assert.Null(server.Cluster!.SaveAgain());
        fails = true;
        Assert.NotNull(server.Cluster!.SaveAgain());
        lock (lines) Assert.Equal(2, lines.Count(static line => line.Contains("The change is refused", StringComparison.Ordinal)));
    }

    [Fact]
    public async Task How_long_clients_wait_for_a_slot_does_not_begin_anew_with_another_one()
    {
        await using RedKiteServer server = await StartAsync(new MemoryClusterStore(_data));
        await BesideOtherAsync(server);
        string id = server.Cluster!.State.SelfId;
        Assert.Equal("OK", server.Execute("CONFIG", "SET", "cluster-move-pause-ms", "100000").Text);
        Commit(Reassignments.Note(Shared, Shared.WithOwner([5], id)));
        await UntilAsync(() => server.Engine.Routing.Value!.IsAwaited(5));
        long untilMs = server.Engine.Routing.Value!.AwaitedUntilMs(5);
        Assert.Equal("OK", server.Execute("CONFIG", "SET", "cluster-move-pause-ms", "200000").Text);
        Commit(Reassignments.Note(Shared, Shared.WithOwner([6], id)));
        await UntilAsync(() => server.Engine.Routing.Value!.IsAwaited(6));
        SlotRouting routing = server.Engine.Routing.Value!;
        Assert.Equal((untilMs, 0), (routing.AwaitedUntilMs(5), routing.AwaitedUntilMs(7)));
        Assert.True(routing.AwaitedUntilMs(6) > untilMs);
        Commit(Reassignments.Note(Shared, Shared.WithOwner([5], Primary)));
        await UntilAsync(() => server.Engine.Routing.Value!.OwnerOf(5) != routing.Self);
        Assert.Equal(routing.AwaitedUntilMs(6), server.Engine.Routing.Value!.AwaitedUntilMs(6)); // nor when the first one goes
    }

    // The other node serves it by the topology that it has seen, while this one has not heard that it is in force.
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_slot_that_may_have_been_given_takes_no_key_until_it_is_known(bool isGiven)
    {
        var store = new ImpairedStore(() => new MemoryClusterStore(_data));
        await using RedKiteServer server = await StartAsync(store);
        await BesideOtherAsync(server);
        string id = server.Cluster!.State.SelfId, key = KeyOfFive;
        Commit(Shared.WithOwner([5], id));
        await UntilAsync(() => server.Cluster.State.Topology.Version == Shared.Version && Status(server)?.Version == Shared.Version);
        Assert.Equal("OK", server.Execute("SET", key, "1").Text);
        Assert.Equal(1, server.Execute("DEL", key).Integer);
        long version = Shared.Version;
        (store.IsDeaf, store.LosesNext) = (true, isGiven ? ImpairedStore.Loss.Answer : ImpairedStore.Loss.Request);
        Assert.EndsWith("The change may have happened", server.Execute("CLUSTER", "SETSLOT", "5", "NODE", Primary).Text, StringComparison.Ordinal);
        await UntilAsync(() => Shared.Version == version + 1); // by the change, or by what keeps it from happening later
        Assert.Equal("ASK 5 127.0.0.1:1", server.Execute("SET", key, "1").Text);
        store.IsDeaf = false;
        await UntilAsync(() => server.Cluster.State.Topology.Version == version + 1);
        Assert.Equal(isGiven ? Primary : id, Shared.OwnerOf(5)?.Id);
        await UntilAsync(() => server.Execute("SET", key, "1").Text == (isGiven ? "MOVED 5 127.0.0.1:1" : "OK"));
    }

    // Its topologies begin with the first version.
    [Fact]
    public async Task What_was_tried_in_a_cluster_says_nothing_in_another_one()
    {
        var store = new ImpairedStore(() => new MemoryClusterStore(_data));
        await using RedKiteServer server = await StartAsync(store);
        await BesideOtherAsync(server);
        string id = server.Cluster!.State.SelfId, key = KeyOfFive;
        Commit(Shared.WithOwner([5], id).WithVersion(100));
        await UntilAsync(() => Status(server)?.Version == Shared.Version);
        ClusterTopology before = Shared;
        var settles = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        int commits = 0;
        store.Committing = puts => puts[0].Key == StoreKeys.Topology && commits++ > 0 ? settles.Task : Task.CompletedTask;
        store.LosesNext = ImpairedStore.Loss.Request;
        Assert.EndsWith("The change may have happened", server.Execute("CLUSTER", "SETSLOT", "5", "NODE", Primary).Text, StringComparison.Ordinal);
        Assert.Equal("ASK 5 127.0.0.1:1", server.Execute("SET", key, "1").Text);
        Commit(before.Without(id));
        settles.SetResult();
        await UntilAsync(() => Status(server) is { Serves: false });
        Assert.Equal("OK", server.Execute("CLUSTER", "RESET").Text);
        Commit(new ClusterTopology(0, 1, before.Nodes, [.. before.Owners], new ClusterTerms { ClusterId = new string('e', 40) }));
        await UntilAsync(() => Status(server) is { Serves: true } status && status.Version == Shared.Version && server.Engine.Routing.Value!.RemovesKeys);
        Report(_data.Grant(TimeSpan.FromHours(1)), Shared.Version);
        Assert.Equal("OK", server.Execute("SET", key, "1").Text);
        Assert.Equal(1, server.Execute("DEL", key).Integer);
        Task<RedKiteReply> changed = Task.Run(() => server.Execute("CLUSTER", "SETSLOT", "5", "NODE", Primary), TestContext.Current.CancellationToken);
        await UntilAsync(() => Shared.Terms.Reassigned.Length == 1);
        ClusterTopology noted = Shared;
        Commit(Reassignments.Without(noted, noted.Terms.Reassigned)); // as the other node does
        Assert.Equal("OK", (await changed).Text);
        Commit(Shared.WithOwner([5], id));
        await UntilAsync(() => server.Engine.Routing.Value is { } routing && routing.OwnerOf(5) == routing.Self);
        Assert.True(Shared.Version < 100);
        Assert.Equal("OK", server.Execute("SET", key, "1").Text);
    }

    private void Commit(ClusterTopology topology) => Assert.NotNull(_data.TryCommit([], [new StorePut(StoreKeys.Topology, TopologyDocument.WriteShared(topology.WithVersion(topology.Version + 1)))]));

    private ClusterTopology Shared => SharedTopology.Of(_data.Read(StoreKeys.Topology, 0).Entries.Single(static entry => entry.Key == StoreKeys.Topology)).Topology;

    // This node as a primary without slots, and another one that has all of them, and serves. Returns the other one's lease.
    private async Task<long> BesideOtherAsync(RedKiteServer server, bool hasFive = true)
    {
        ClusterNode self = server.Cluster!.DescribeSelf(server.Cluster.State.Self) with { BusPort = 0 };
        short[] owners = new short[KeySlot.Count];
        if (!hasFive) owners[5] = -1;
        var topology = new ClusterTopology(server.Cluster.State.Topology.Version + 1, 1, [new ClusterNode(Primary) { ShardId = ClusterNode.ShardIdOf(Primary), Ip = "127.0.0.1", Port = 1 }, self], owners, new ClusterTerms { ClusterId = new string('c', 40) });
        Assert.NotNull(_data.TryCommit([], [new StorePut(StoreKeys.Topology, TopologyDocument.WriteShared(topology))]));
        await UntilAsync(() => Status(server) is { Serves: true } status && status.Version == Shared.Version && server.Engine.Routing.Value!.RemovesKeys); // it says so first
        long lease = _data.Grant(TimeSpan.FromHours(1));
        Report(lease, Shared.Version);
        return lease;
    }

    private void Report(long lease, long version, bool serves = true)
    {
        var status = new NodeStatus { Node = new ClusterNode(Primary) { ShardId = "", Ip = "127.0.0.1", Port = 1 }, Incarnation = new string('d', 40), Version = version, Serves = serves };
        Assert.NotNull(_data.TryCommit([], [new StorePut(StoreKeys.Node(Primary), status.Write(), lease)]));
    }

    // This node as a replica of one that is nowhere.
    private void Commit(RedKiteServer server, long sealedAt)
    {
        long version = server.Cluster!.State.Topology.Version + 1;
        string shard = ClusterNode.ShardIdOf(Primary);
        ClusterNode[] nodes =
        [
            new(Primary) { ShardId = shard, Ip = "127.0.0.1", Port = 1 },
            server.Cluster.DescribeSelf(server.Cluster.State.Self) with { BusPort = 0, ShardId = shard, PrimaryId = Primary },
        ];
        ClusterTopology topology = new ClusterTopology(version, 1, [.. nodes], new short[KeySlot.Count], new ClusterTerms { ClusterId = new string('c', 40) })
            .WithTerms(shard, ShardTerms.None with { SealedAt = sealedAt, Incarnation = new string('d', 40) });
        Assert.NotNull(_data.TryCommit([], [new StorePut(StoreKeys.Topology, TopologyDocument.WriteShared(topology))]));
    }

    private static long FileVersion(RedKiteServer server, FaultyFiles files) =>
        TopologyDocument.Read(files.Content(Path.Combine(server.Engine.Settings.DirectoryPath, server.Engine.Settings.ClusterConfigFile))).Topology.Version;

    private NodeStatus? Status(RedKiteServer server) =>
        _data.Read("", 0).Entries.FirstOrDefault(entry => entry.Key == StoreKeys.Node(server.Cluster!.State.SelfId)) is { } entry ? NodeStatus.Read(entry.Value) : null;

    private Task<RedKiteServer> StartAsync(IClusterStore store, List<string>? lines = null, int port = 0, IFiles? files = null)
    {
        var options = new RedKiteOptions { Port = port, ClusterStore = () => store, Files = files };
        if (lines is not null)
        {
            options.Log = line =>
            {
                lock (lines) lines.Add(line.ToString()!);
            };
        }

        foreach ((string name, string value) in ((string, string)[])[("loops", "1"), ("dir", _folder.Path), ("save", ""), ("diagnostics", "no"), ("cluster-enabled", "yes"), ("cluster-controller", "no"), ("cluster-announce-ip", "127.0.0.1"), ("cluster-lease-ms", "600000")])
        {
            options.Settings[name] = value;
        }

        return RedKiteServer.StartAsync(options);
    }

    private static async Task UntilAsync(Func<bool> holds)
    {
        while (!holds()) await Task.Delay(5, TestContext.Current.CancellationToken);
    }
}
