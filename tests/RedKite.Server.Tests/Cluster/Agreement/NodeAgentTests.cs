using System.Collections.Concurrent;
using RedKite.Net;
using RedKite.Server.Cluster;
using RedKite.Server.Cluster.Agreement;
using RedKite.Server.Cluster.Store;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Tests.Cluster.Agreement;

/// <summary>An agent whose store answers when the test says so.</summary>
public sealed class NodeAgentTests : IDisposable
{
    private static readonly string Id = new('1', 40), Other = new('2', 40), Shard = ClusterNode.ShardIdOf(Id);
    private static readonly TimeSpan Lease = TimeSpan.FromHours(1);

    private readonly MemoryClusterData _data = new(TimeProvider.System);
    private readonly HeldStore _store;
    private readonly ScriptedNode _node = new(Id);
    private readonly LeaseDeadline _deadline = new(TimeProvider.System);
    private readonly NodeAgent _agent;
    private readonly CancellationTokenSource _stop = new();

    public NodeAgentTests()
    {
        _store = new HeldStore(new MemoryClusterStore(_data));
        _agent = new NodeAgent(_store, _node, _deadline, TimeProvider.System, Lease);
    }

    private static CancellationToken Cancellation => TestContext.Current.CancellationToken;

    public void Dispose()
    {
        _stop.Cancel();
        _stop.Dispose();
        _data.Dispose();
    }

    [Fact]
    public async Task An_answer_about_an_own_change_does_not_overwrite_a_later_one()
    {
        Commit(Topology(1));
        Task running = _agent.Run(_stop.Token);
        await UntilAsync(() => _node.Serves);
        TaskCompletionSource answer = _store.Hold(HeldStore.Commits);
        _node.Acks = 1;
        _agent.LookAgain(); // it claims other terms, and does not hear that it has
        await _store.Held.WaitAsync(Cancellation);
        SharedTopology claimed = Shared();
        Commit(claimed.Topology.WithVersion(claimed.Topology.Version + 1));
        SharedTopology later = Shared();
        await UntilAsync(() => _agent.Latest?.Revision == later.Revision);
        answer.SetResult();
        await UntilAsync(() => _node.Serves && _node.Topology.Version >= claimed.Topology.Version);
        Assert.True(_agent.Latest!.Revision >= later.Revision);
        Assert.Equal(later.Topology.Version, _node.Versions.Max());
        Assert.Equal(_node.Versions.Order(), _node.Versions);
        await EndAsync(running);
    }

    [Fact]
    public async Task An_answer_does_not_extend_a_lease_that_was_given_up()
    {
        Task running = _agent.Run(_stop.Token);
        await UntilAsync(() => !_deadline.HasEnded);
        TaskCompletionSource answer = _store.Hold(HeldStore.Renewals);
        _agent.LookAgain();
        await _store.Held.WaitAsync(Cancellation);
        await _stop.CancelAsync();
        answer.SetResult();
        await running;
        Assert.True(_deadline.HasEnded);
    }

    // A store that is busy, or may not be written (etcd without space): another registration would have the shard wait for a takeover.
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_look_that_fails_does_not_give_the_lease_back(bool arrives)
    {
        Commit(Topology(1));
        Task running = _agent.Run(_stop.Token);
        await UntilAsync(() => _node.Serves && Status().Serves);
        (long lease, long revision) = (_agent.Lease, Registration().Revision);
        _store.LosesReports = arrives ? HeldStore.Loss.Answers : HeldStore.Loss.Requests;
        _node.IsNoSuccessor = true; // there is something to say
        _agent.LookAgain();
        await UntilAsync(() => _store.Lost >= 2 || (arrives && _agent.Fault.Length == 0 && Status().IsNoSuccessor && _store.Lost > 0));
        Assert.True(_node.Serves && !_deadline.HasEnded);
        _store.LosesReports = HeldStore.Loss.None;
        await UntilAsync(() => Status().IsNoSuccessor && _agent.Fault.Length == 0);
        _node.IsNoSuccessor = false;
        _agent.LookAgain();
        await UntilAsync(() => !Status().IsNoSuccessor); // it knows its key's revision again
        Assert.Equal(lease, _agent.Lease);
        Assert.True(Registration().Revision > revision && _node.Serves && !_deadline.HasEnded);
        await EndAsync(running);
    }

    // The watch still tells of it, or the node itself; nothing else is answered.
    [Theory]
    [InlineData("taken out")]
    [InlineData("slots elsewhere")]
    [InlineData("sealed")]
    [InlineData("more replicas")]
    public async Task Rights_are_lost_although_the_store_does_not_answer(string how)
    {
        Commit(Topology(1));
        Task running = _agent.Run(_stop.Token);
        await UntilAsync(() => _node.Serves && Status().Serves);
        _store.IsAway = true;
        _node.IsNoSuccessor = true;
        _agent.LookAgain(); // the report is in doubt from here on
        await UntilAsync(() => _store.Lost > 0);
        ClusterTopology now = Shared().Topology, next = now;
        if (how == "taken out") next = now.WithPrimary(Other, epoch: 2).Without(Id);
        if (how == "slots elsewhere") next = now.WithNode(Other, new ClusterNode(Other) { ShardId = ClusterNode.ShardIdOf(Other), Ip = "127.0.0.1", Port = 2 }).WithOwner(Enumerable.Range(0, KeySlot.Count), Other);
        if (how == "sealed") next = now.WithTerms(Shard, now.Terms.Of(Shard) with { SealedAt = now.Version + 1 });
        if (next == now) _node.Acks = 1;
        else Commit(next.WithVersion(now.Version + 1));
        int lost = _store.Lost;
        _agent.LookAgain();
        await UntilAsync(() => Lost() || _store.Lost >= lost + 3);
        Assert.True(Lost());
        Assert.True(!_deadline.HasEnded);
        _store.IsAway = false;
        await EndAsync(running);

        bool Lost() => how == "slots elsewhere" ? _node.Topology.OwnerOf(0)?.Id == Other : !_node.Serves;
    }

    // Its key has another revision than it knows, as a report of before has arrived late: a change by the revision that it knows is refused.
    [Fact]
    public async Task A_handover_that_is_refused_has_the_report_read()
    {
        Commit(Topology(1));
        Task running = _agent.Run(_stop.Token);
        await UntilAsync(() => _node.Serves && Status().Serves);
        Register(Other);
        _node.Preparing = () =>
        {
            StoreEntry own = Registration();
            if (_node.Prepared == 1) _data.TryCommit([], [new StorePut(own.Key, own.Value, _agent.Lease)]);
        };
        ClusterTopology now = Shared().Topology;
        Commit(now.WithTerms(Shard, now.Terms.Of(Shard) with { HandoverTo = Other }).WithVersion(now.Version + 1));
        await UntilAsync(() => _node.Topology.Find(Id) is { IsPrimary: false } || _node.Prepared > 4);
        Assert.Equal(4, _node.Prepared); // each time before it stops serving, and behind that
        await EndAsync(running);
    }

    [Fact]
    public async Task A_key_that_another_one_has_written_ends_the_registration()
    {
        Commit(Topology(1));
        Task running = _agent.Run(_stop.Token);
        await UntilAsync(() => _node.Serves && Status().Serves);
        long lease = _agent.Lease;
        _data.TryCommit([], [new StorePut(StoreKeys.Node(Id), (Status() with { Incarnation = "another life" }).Write(), lease)]);
        _node.IsNoSuccessor = true;
        _agent.LookAgain();
        await UntilAsync(() => _agent.Lease != lease && _node.Serves && !_deadline.HasEnded);
        await EndAsync(running);
        Assert.Contains(_node.Logged, static line => line.Contains("written by another one", StringComparison.Ordinal));
    }

    private StoreEntry Registration() => _data.Read(StoreKeys.Node(Id), 0).Entries.First(static entry => entry.Key == StoreKeys.Node(Id));

    private NodeStatus Status() => NodeStatus.Read(Registration().Value);

    [Fact]
    public async Task Nothing_is_served_while_the_role_is_handed_over()
    {
        Commit(Topology(1));
        Task running = _agent.Run(_stop.Token);
        await UntilAsync(() => _node.Serves);
        Register(Other);
        bool? served = null;
        _store.Committing = puts =>
        {
            if (puts.FirstOrDefault(static put => put.Key == StoreKeys.Topology)?.Value is { } value && !TopologyDocument.ReadShared(value).Find(Id)!.IsPrimary) served = _node.Serves;
        };
        ClusterTopology now = Shared().Topology;
        Commit(now.WithTerms(Shard, now.Terms.Of(Shard) with { HandoverTo = Other }).WithVersion(now.Version + 1));
        await UntilAsync(() => _node.Topology.Find(Id) is { IsPrimary: false });
        Assert.False(served);
        Assert.Equal("life of " + Other, _node.HandedOverTo);
        await EndAsync(running);
    }

    // A call in the process may write until the node serves no more.
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_role_is_handed_over_with_what_was_written_until_nothing_was_served(bool catchesUp)
    {
        Commit(Topology(1));
        Task running = _agent.Run(_stop.Token);
        await UntilAsync(() => _node.Serves && Status().Serves);
        Register(Other);
        long replica = 0;
        _node.Applying = (_, serves) => _node.Offset += serves ? 0 : 1; // the write is in front of the barrier
        _node.Preparing = () => replica = catchesUp || _node.Offset == 0 ? _node.Offset : replica;
        _node.CatchesUp = () => replica == _node.Offset;
        long committed = -1;
        _store.Committing = puts =>
        {
            if (puts.FirstOrDefault(static put => put.Key == StoreKeys.Topology)?.Value is { } value && !TopologyDocument.ReadShared(value).Find(Id)!.IsPrimary) committed = replica;
        };
        ClusterTopology now = Shared().Topology;
        Commit(now.WithTerms(Shard, now.Terms.Of(Shard) with { HandoverTo = Other }).WithVersion(now.Version + 1));
        await UntilAsync(() => Shared().Topology.Terms.Of(Shard).HandoverTo.Length == 0);
        Assert.Equal(catchesUp ? 1 : -1, committed);
        if (catchesUp)
        {
            Assert.Equal(1, Shared().Topology.Terms.Of(Shard).TakenOverAt);
        }
        else
        {
            Assert.True(Shared().Topology.Find(Id)!.IsPrimary);
            await UntilAsync(() => _node.Serves && _node.Topology.Version == Shared().Topology.Version);
        }

        await EndAsync(running);
    }

    // Otherwise the clients that waited would get errors. The store is not asked before they go on.
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task What_a_handover_has_held_is_served_when_the_role_stays(bool catchesUp)
    {
        Commit(Topology(1));
        Task running = _agent.Run(_stop.Token);
        await UntilAsync(() => _node.Serves && Status().Serves);
        Register(Other);
        _node.CatchesUp = () => catchesUp || _node.Prepared == 1;
        bool changes = catchesUp;
        List<string> commits = [];
        long version = 0;
        _store.Committing = puts =>
        {
            if (_node.Prepared == 2 && _node.Ended.Count == 0) commits.Add(puts[0].Key);
            if (!changes || puts[0] is not { Key: StoreKeys.Topology, Value: { } value } || TopologyDocument.ReadShared(value).Find(Id)!.IsPrimary) return;
            changes = false;
            ClusterTopology first = Shared().Topology;
            Commit(first.WithTerms(first.Terms with { Removed = first.Terms.Removed.Add(new string('e', 40)) }).WithVersion(version = first.Version + 1));
        };
        ClusterTopology now = Shared().Topology;
        Commit(now.WithTerms(Shard, now.Terms.Of(Shard) with { HandoverTo = Other }).WithVersion(now.Version + 1));
        await UntilAsync(() => _node.Ended.Count > 0);
        Assert.Equal((true, catchesUp ? version : now.Version + 1), _node.Ended[0]);
        Assert.Equal(catchesUp ? [StoreKeys.Topology] : [], commits);
        if (catchesUp) await UntilAsync(() => _node.Topology.Find(Id) is { IsPrimary: false }); // it is tried again
        else await UntilAsync(() => Shared().Topology.Terms.Of(Shard).HandoverTo.Length == 0);
        await EndAsync(running);
    }

    // The store does not answer: what waits is refused then, as nothing is served.
    [Fact]
    public async Task What_a_handover_has_held_does_not_wait_for_the_store_for_ever()
    {
        var clock = new HandoverClock();
        var agent = new NodeAgent(_store, _node, _deadline, clock, Lease);
        Commit(Topology(1));
        Task running = agent.Run(_stop.Token);
        await UntilAsync(() => _node.Serves && Status().Serves);
        Register(Other);
        ClusterTopology now = Shared().Topology;
        TaskCompletionSource? answer = null;
        _store.Committing = puts =>
        {
            if (puts.FirstOrDefault(static put => put.Key == StoreKeys.Topology)?.Value is { } value && !TopologyDocument.ReadShared(value).Find(Id)!.IsPrimary) answer ??= _store.Hold(HeldStore.Commits);
        };
        Commit(now.WithTerms(Shard, now.Terms.Of(Shard) with { HandoverTo = Other }).WithVersion(now.Version + 1));
        await UntilAsync(() => answer is not null);
        await _store.Held.WaitAsync(Cancellation);
        Assert.Empty(_node.Ended);
        clock.PassLimit();
        Assert.Equal([(false, now.Version + 1)], _node.Ended);
        answer!.SetResult();
        await UntilAsync(() => _node.Ended.Count == 2);
        Assert.Equal((false, now.Version + 2), _node.Ended[1]); // it goes by the outcome as ever
        await EndAsync(running);
        clock.PassLimit();
        Assert.Equal(2, _node.Ended.Count);
    }

    // Another node that takes slots from this one waits for it only if it is said to serve.
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_node_says_that_it_serves_before_it_does(bool changesMeanwhile)
    {
        Commit(Topology(1).WithPrimary(Other, epoch: 1).WithTerms(Shard, ShardTerms.None with { SealedAt = 1 }));
        Task running = _agent.Run(_stop.Token);
        await UntilAsync(() => Status() is { Version: 1, SealedAt: 1 });
        List<(long Version, bool IsSaid)> served = [];
        _node.Applying = (topology, serves) =>
        {
            if (serves) served.Add((topology.Version, Status() is { Serves: true } said && said.Version == topology.Version));
        };
        bool changes = changesMeanwhile;
        long passed = 0;
        _store.Committing = puts =>
        {
            if (!changes || puts.FirstOrDefault(static put => put.Key == StoreKeys.Node(Id))?.Value is not { } value || !NodeStatus.Read(value).Serves) return;
            changes = false;
            ClusterTopology now = Shared().Topology;
            passed = now.Version;
            Commit(now.WithOwner([5], null).WithVersion(now.Version + 1));
        };
        ClusterTopology sealedOne = Shared().Topology;
        Commit(sealedOne.WithPrimary(Id, epoch: 2).WithTerms(Shard, ShardTerms.None).WithVersion(2));
        await UntilAsync(() => _node.Serves);
        Assert.All(served, each => Assert.True(each.IsSaid && each.Version > passed));
        await EndAsync(running);
    }

    // The operator lets the node become the primary that nothing but it may be.
    [Fact]
    public async Task A_node_of_a_sealed_shard_says_when_it_may_become_the_primary()
    {
        _node.IsNoSuccessor = true;
        Commit(Topology(1).WithPrimary(Other, epoch: 1).WithTerms(Shard, ShardTerms.None with { SealedAt = 1 }));
        Task running = _agent.Run(_stop.Token);
        await UntilAsync(() => Status() is { SealedAt: 1, IsNoSuccessor: true });
        _node.IsNoSuccessor = false;
        _agent.LookAgain();
        await UntilAsync(() => Status() is { SealedAt: 1, IsNoSuccessor: false });
        await EndAsync(running);
    }

    // A busy script goes on: what it does by the topology of before is not acknowledged.
    [Fact]
    public async Task The_term_of_a_node_that_is_taken_out_ends_before_it_says_so()
    {
        Commit(Topology(1));
        Task running = _agent.Run(_stop.Token);
        await UntilAsync(() => _node.Serves && Status() is { Serves: true });
        OutputDeadline term = _deadline.Term;
        bool? hasEnded = null;
        _store.Committing = puts =>
        {
            if (puts.FirstOrDefault(static put => put.Key == StoreKeys.Node(Id))?.Value is { } value && !NodeStatus.Read(value).Serves) hasEnded ??= term.Timestamp == 0;
        };
        Commit(Shared().Topology.WithOwner(Enumerable.Range(0, KeySlot.Count), null).WithoutForGood(Id).WithVersion(Shared().Topology.Version + 1));
        await UntilAsync(() => Status() is { Serves: false });
        Assert.True(hasEnded);
        await EndAsync(running);
    }

    [Fact]
    public async Task A_bug_ends_the_registration_and_another_one_follows()
    {
        _node.ThrowsOnce = true;
        Commit(Topology(1));
        Task running = _agent.Run(_stop.Token);
        await UntilAsync(() => _node.Serves);
        Assert.Contains(_node.Logged, static line => line.Contains("A bug ended the registration", StringComparison.Ordinal));
        await EndAsync(running);
    }

    // The node has stopped serving, and goes by the topology anew when it can be kept.
    [Fact]
    public async Task A_topology_that_cannot_be_kept_ends_the_registration_and_another_one_follows()
    {
        _node.KeepsNotOnce = true;
        Commit(Topology(1));
        Task running = _agent.Run(_stop.Token);
        await UntilAsync(() => _node.Serves && !_node.KeepsNotOnce);
        Assert.Contains(_node.Logged, static line => line.Contains("cannot be written", StringComparison.Ordinal));
        await EndAsync(running);
    }

    // It is written beside the agent's work, which goes by the topology already.
    [Fact]
    public async Task A_later_topology_that_cannot_be_kept_ends_the_registration_too()
    {
        Commit(Topology(1));
        Task running = _agent.Run(_stop.Token);
        await UntilAsync(() => _node.Serves && Status().Serves && _node.Kept == Shared().Topology.Version);
        long lease = _agent.Lease;
        _node.KeepsNotOnce = true;
        ClusterTopology now = Shared().Topology;
        Commit(now.WithVersion(now.Version + 1));
        await UntilAsync(() => _agent.Lease != lease && _node.Serves && !_deadline.HasEnded && Status().Serves);
        Assert.Contains(_node.Logged, static line => line.Contains("cannot be written", StringComparison.Ordinal));
        Assert.Equal(Shared().Topology.Version, _node.Kept);
        await EndAsync(running);
    }

    // Other nodes wait for what it says of itself.
    [Fact]
    public async Task An_agent_works_on_while_the_topology_is_not_kept_yet()
    {
        Commit(Topology(1));
        Task running = _agent.Run(_stop.Token);
        await UntilAsync(() => _node.Serves && Status().Serves && _node.Kept == Shared().Topology.Version);
        var kept = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _node.Keeping = kept.Task;
        for (int i = 0; i < 2; i++)
        {
            ClusterTopology now = Shared().Topology;
            Commit(now.WithVersion(now.Version + 1));
            await UntilAsync(() => Status().Version == now.Version + 1);
        }

        Assert.True(_node.Serves && _node.Kept < Shared().Topology.Version);
        kept.SetResult();
        await UntilAsync(() => _node.Kept == Shared().Topology.Version);
        await EndAsync(running);
    }

    // Its former owner may still write to it.
    [Fact]
    public async Task A_slot_that_is_not_served_yet_is_not_given_on()
    {
        string third = new('3', 40);
        SlotSet slots = SlotSet.Of([new SlotRange(5, 5)]);
        Commit(Topology(1));
        Task running = _agent.Run(_stop.Token);
        await UntilAsync(() => _node.Serves && Status().Serves);
        _data.TryCommit([], [new StorePut(StoreKeys.Node(third), new NodeStatus { Node = new ClusterNode(third) { ShardId = "" }, Incarnation = "third", Serves = true }.Write())]);
        ClusterTopology next = Shared().Topology.With(new ClusterNode(third) { ShardId = ClusterNode.ShardIdOf(third), Ip = "127.0.0.1", Port = 3 });
        Commit(next.WithTerms(next.Terms with { Reassigned = [new Reassignment(slots, next.Version + 1, third)] }).WithVersion(next.Version + 1));
        await UntilAsync(() => _node.Topology.Version == next.Version + 1);
        var gift = new SlotGift(slots, third, "move", new PromisedSlots(1, Epoch: 0));
        _agent.Give(gift);
        Assert.Equal("the source does not serve some of the slots yet: another node may still", await gift.Ended.WaitAsync(Cancellation));
        await EndAsync(running);
    }

    // It looks again five times a second.
    [Fact]
    public async Task What_a_slot_waits_for_in_vain_is_logged_once()
    {
        string third = new('3', 40), key = StoreKeys.Node(third);
        Commit(Topology(1));
        _data.TryCommit([], [new StorePut(key, "?"u8.ToArray())]);
        Task running = _agent.Run(_stop.Token);
        await UntilAsync(() => _node.Serves && Status().Serves);
        ClusterTopology now = Shared().Topology;
        Commit(now.WithTerms(now.Terms with { Reassigned = [new Reassignment(SlotSet.Of([new SlotRange(5, 5)]), now.Version + 1, third)] }).WithVersion(now.Version + 1));
        await UntilAsync(() => _store.Reads.Count(read => read == key) >= 6);
        Assert.Contains("cannot be read", _agent.Fault, StringComparison.Ordinal);
        _data.TryCommit([], [new StorePut(key, new NodeStatus { Node = new ClusterNode(third) { ShardId = "" }, Incarnation = "third" }.Write())]);
        await UntilAsync(() => Shared().Topology.Terms.Reassigned.IsEmpty && _agent.Fault.Length == 0);
        await EndAsync(running);
        Assert.Single(_node.Logged, static line => line.Contains("cannot be read", StringComparison.Ordinal));
    }

    [Fact]
    public async Task A_primary_serves_only_on_terms_that_it_has_claimed()
    {
        _node.Acks = 1;
        Commit(Topology(1));
        bool served = false;
        _store.Committing = _ => served |= _node.Serves && Shared().Topology.Terms.Of(Shard).Acks == 0;
        Task running = _agent.Run(_stop.Token);
        await UntilAsync(() => _node.Serves);
        ShardTerms terms = Shared().Topology.Terms.Of(Shard);
        Assert.False(served);
        Assert.Equal((1, "life", "history"), (terms.Acks, terms.Incarnation, terms.History));
        await EndAsync(running);
    }

    [Fact]
    public void A_change_elsewhere_leaves_moves_key_by_key_that_began_meanwhile()
    {
        ClusterState before = ClusterState.Alone(Id, Shard).WithMigrating(1, Other);
        ClusterState after = before.WithMigrating(1, null).WithImporting(2, Other);
        ClusterState now = before.WithMigrating(3, Other).WithImporting(4, Other).WithMovesOf(before, after);
        Assert.Equal([3], now.Migrating.Keys);
        Assert.Equal([2, 4], now.Importing.Keys);
    }

    private async Task EndAsync(Task running)
    {
        await _stop.CancelAsync();
        await running;
    }

    private static ClusterTopology Topology(long version) => new(
        version, 1, [new ClusterNode(Id) { ShardId = Shard, Ip = "127.0.0.1", Port = 1 }, new ClusterNode(Other) { ShardId = Shard, PrimaryId = Id, Ip = "127.0.0.1", Port = 2 }], new short[KeySlot.Count], new ClusterTerms { ClusterId = new string('c', 40) });

    private SharedTopology Shared() => SharedTopology.Of(_data.Read("", 0).Entries.First(static entry => entry.Key == StoreKeys.Topology));

    private void Commit(ClusterTopology topology) => _data.TryCommit([], [new StorePut(StoreKeys.Topology, TopologyDocument.WriteShared(topology))]);

    private void Register(string id) =>
        _data.TryCommit([], [new StorePut(StoreKeys.Node(id), new NodeStatus { Node = new ClusterNode(id) { ShardId = "" }, Incarnation = "life of " + id }.Write())]);

    private static async Task UntilAsync(Func<bool> holds)
    {
        while (!holds()) await Task.Delay(1, Cancellation);
    }

    /// <summary>A node that does at once what it is asked.</summary>
    private sealed class ScriptedNode(string id) : INode
    {
        public string Id => id;

        public string Incarnation => "life";

        public ClusterTopology Topology { get; private set; } = new(0, 0, [new ClusterNode(id) { ShardId = Shard }], ClusterTopology.NoOwners());

        public int Acks { get; set; }

        public bool IsNoSuccessor { get; set; }

        public bool HasKeysOfItsOwn => false;

        public DataPosition Position => new("history", Offset);

        internal long Offset { get; set; }

        public IEnumerable<string> ReplicasInStep => [];

        public bool CountedReplicasHaveAll => true;

        internal volatile bool Serves;

        internal bool ThrowsOnce { get; set; }

        internal List<long> Versions { get; } = [];

        internal List<string> Logged { get; } = [];

        internal string? HandedOverTo { get; private set; }

        internal int Prepared { get; private set; }

        internal Action? Preparing { get; set; }

        internal Func<bool> CatchesUp { get; set; } = static () => true;

        internal Action<ClusterTopology, bool>? Applying { get; set; }

        public ClusterNode Describe() => new(id) { ShardId = "", Ip = "127.0.0.1", Port = 1 };

        public Task Apply(ClusterTopology topology, bool serves)
        {
            if (ThrowsOnce)
            {
                ThrowsOnce = false;
                throw new InvalidOperationException("a bug");
            }

            Applying?.Invoke(topology, serves);
            Versions.Add(topology.Version);
            Topology = topology;
            Serves = serves;
            return Task.CompletedTask;
        }

        internal bool KeepsNotOnce { get; set; }

        /// <summary>The version that was kept last.</summary>
        internal long Kept { get; private set; }

        /// <summary>What keeping waits for.</summary>
        internal Task Keeping { get; set; } = Task.CompletedTask;

        public async Task Keep()
        {
            bool fails = KeepsNotOnce;
            KeepsNotOnce = false;
            Serves &= !fails;
            if (fails) throw new TopologyException("the cluster's file cannot be written");
            long version = Topology.Version;
            await Keeping;
            Kept = version;
        }

        public Task<DataPosition> Seal() => Task.FromResult(Position);

        public Task<bool> PrepareHandover(ClusterNode replica, string incarnation, CancellationToken cancellation)
        {
            HandedOverTo = incarnation;
            Prepared++;
            Preparing?.Invoke();
            return Task.FromResult(CatchesUp());
        }

        public Task<bool> ConfirmHandover(ClusterNode replica, string incarnation, CancellationToken cancellation) => PrepareHandover(replica, incarnation, cancellation);

        /// <summary>Whether it served when what waited went on, and by which version.</summary>
        internal List<(bool Serves, long Version)> Ended { get; } = [];

        public void EndHandover() => Ended.Add((Serves, Topology.Version));

        public void Log(AgreementEvent what, string text) => Logged.Add(text);
    }

    /// <summary>A store that has done what it was asked, and answers later.</summary>
    private sealed class HeldStore(IClusterStore store) : IClusterStore
    {
        internal const string Commits = "commits of the topology", Renewals = "renewals";

        private TaskCompletionSource? _answer;
        private TaskCompletionSource _held = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private string _what = "";

        internal Task Held => _held.Task;

        internal Action<IReadOnlyList<StorePut>>? Committing { get; set; }

        /// <summary>The next answer to a kind of request waits.</summary>
        internal TaskCompletionSource Hold(string what)
        {
            _held = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            _what = what;
            return _answer = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        }

        /// <summary>Whether it answers nothing but the watch and renewals.</summary>
        internal bool IsAway { get; set; }

        /// <summary>What was read.</summary>
        internal ConcurrentQueue<string> Reads { get; } = [];

        public Task<StoreSnapshot> Read(string keysFrom, CancellationToken cancellation)
        {
            if (IsAway) throw NoAnswer();
            Reads.Enqueue(keysFrom);
            return store.Read(keysFrom, cancellation);
        }

        public async Task<long?> TryCommit(IReadOnlyList<StoreCondition> conditions, IReadOnlyList<StorePut> puts, CancellationToken cancellation)
        {
            if (IsAway) throw NoAnswer();
            Committing?.Invoke(puts);
            bool isReport = puts.Any(static put => put.Key == StoreKeys.Node(Id));
            if (isReport && LosesReports == Loss.Requests) throw NoAnswer();
            long? revision = await store.TryCommit(conditions, puts, cancellation);
            if (puts.Any(static put => put.Key == StoreKeys.Topology)) await Answer(Commits);
            return isReport && LosesReports == Loss.Answers ? throw NoAnswer() : revision;
        }

        internal Loss LosesReports { get; set; }

        internal int Lost { get; private set; }

        private StoreException NoAnswer()
        {
            Lost++;
            return new StoreException("no answer");
        }

        internal enum Loss
        {
            None,
            Requests,
            Answers,
        }

        public IAsyncEnumerable<StoreEvent> Watch(string keysFrom, long behindRevision, CancellationToken cancellation) => store.Watch(keysFrom, behindRevision, cancellation);

        public Task<(long Lease, TimeSpan Time)> Grant(TimeSpan time, CancellationToken cancellation) => store.Grant(time, cancellation);

        public async Task<TimeSpan?> Renew(long lease, CancellationToken cancellation)
        {
            TimeSpan? time = await store.Renew(lease, cancellation);
            await Answer(Renewals);
            return time;
        }

        public Task Revoke(long lease, CancellationToken cancellation) => store.Revoke(lease, cancellation);

        public ValueTask DisposeAsync() => store.DisposeAsync();

        private Task Answer(string what)
        {
            if (_what != what) return Task.CompletedTask;
            _what = "";
            _held.SetResult();
            return _answer!.Task;
        }
    }
}
