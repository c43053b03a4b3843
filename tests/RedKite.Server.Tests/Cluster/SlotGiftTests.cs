using RedKite.Server.Cluster;
using RedKite.Server.Cluster.Agreement;
using RedKite.Server.Cluster.Store;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Tests.Cluster;

/// <summary>The transaction that gives slots to another node: whatever becomes of it, its outcome is the store's, and the node that gives goes by it when it hears of it.</summary>
public sealed class SlotGiftTests : IAsyncDisposable
{
    private const string Move = "move";
    private const string A = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    private const string B = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
    private static readonly TimeSpan Hang = TimeSpan.FromSeconds(60);

    private readonly MemoryClusterData _data = new(TimeProvider.System);
    private readonly FaultyStore _store;
    private readonly Node _node = new();
    private readonly NodeAgent _agent;
    private readonly CancellationTokenSource _stop = new();
    private readonly Task _running;
    private readonly long _leaseOfB;

    public SlotGiftTests()
    {
        _store = new FaultyStore(new MemoryClusterStore(_data));
        short[] owners = new short[KeySlot.Count];
        var topology = new ClusterTopology(1, 2, [NodeOf(A, 1), NodeOf(B, 2)], owners, new ClusterTerms { ClusterId = new string('c', 40) });
        _data.TryCommit([], [new StorePut(StoreKeys.Topology, TopologyDocument.WriteShared(topology))]);
        _leaseOfB = _data.Grant(Hang * 60);
        var deadline = new LeaseDeadline(TimeProvider.System);
        _agent = new NodeAgent(_store, _node, deadline, new FastTime(), Hang * 60);
        _running = _agent.Run(_stop.Token);
        Assert.True(SpinWait.SpinUntil(() => _node.Serves, Hang));
    }

    private ClusterTopology Shared => SharedTopology.Of(_data.Read(StoreKeys.Topology, 0).Entries.Single(static entry => entry.Key == StoreKeys.Topology)).Topology;

    private bool IsPromised => _data.Read(StoreKeys.Imports, 0).Entries.Count > 0;

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await _running;
        _data.Dispose();
        _stop.Dispose();
    }

    [Fact]
    public async Task Slots_are_given_and_the_promise_is_taken()
    {
        Assert.Null(await Give());
        CheckGiven();
        Assert.False(IsPromised);
        Assert.Equal(3, Shared.Find(B)!.Epoch);
    }

    // Writes wait for the gift: neither the node's file nor what it says of itself in the store comes first.
    [Fact]
    public async Task A_gift_ends_before_the_nodes_file_is_written()
    {
        var kept = new TaskCompletionSource();
        _node.Keeping = kept.Task;
        Assert.Null(await Give());
        CheckGiven();
        kept.SetResult();
        Assert.True(SpinWait.SpinUntil(() => _node.Kept == Shared.Version, Hang));
    }

    [Theory]
    [InlineData(Fault.LosesAnswer)]
    [InlineData(Fault.LosesRequest)]
    public async Task A_transaction_without_an_answer_is_repeated(Fault fault)
    {
        _store.Faults.Enqueue(fault);
        Assert.Null(await Give());
        CheckGiven();
    }

    // The node registers again, and reads whether it has happened.
    [Theory]
    [InlineData(Fault.LosesAnswer)]
    [InlineData(Fault.LosesRequest)]
    public async Task A_registration_that_ends_in_doubt_leaves_what_the_store_has(Fault fault)
    {
        bool isGiven = fault == Fault.LosesAnswer;
        _store.Faults.Enqueue(fault);
        _store.CutsOffBehind = true;
        Task<string?> ended = Give();
        Assert.True(SpinWait.SpinUntil(() => _store.IsCutOff, Hang));
        await Task.Yield();
        Assert.False(ended.IsCompleted);
        EndRegistration();
        if (isGiven) Assert.Null(await ended);
        else Assert.Equal("this node's registration in the store has ended", await ended);
        if (isGiven) CheckGiven();
        else CheckKept();
    }

    // It was sent in a life that has ended since.
    [Fact]
    public async Task A_transaction_that_arrives_too_late_does_not_happen()
    {
        _store.Faults.Enqueue(Fault.LosesRequest);
        _store.CutsOffBehind = true;
        Task<string?> ended = Give();
        Assert.True(SpinWait.SpinUntil(() => _store.IsCutOff, Hang));
        EndRegistration();
        Assert.NotNull(await ended);
        Assert.Null(_data.TryCommit(_store.Lost!.Value.Conditions, _store.Lost.Value.Puts));
        CheckKept();
    }

    [Fact]
    public async Task A_destination_whose_registration_has_ended_gets_nothing()
    {
        _store.Meanwhile = () => _data.Revoke(_leaseOfB);
        Assert.Contains("keeps what it has received no more", await Give(), StringComparison.Ordinal);
        CheckKept();
    }

    [Fact]
    public async Task A_destination_that_withdraws_gets_nothing()
    {
        _store.Meanwhile = () => SlotPromise.Withdraw(new MemoryClusterStore(_data), Move, TimeProvider.System, CancellationToken.None).Wait(Hang);
        Assert.Contains("keeps what it has received no more", await Give(), StringComparison.Ordinal);
        CheckKept();
    }

    [Fact]
    public async Task A_destination_whose_shard_is_sealed_gets_nothing()
    {
        _store.Meanwhile = () => Change(now => now.WithTerms(NodeOf(B, 2).ShardId, now.Terms.Of(NodeOf(B, 2).ShardId) with { SealedAt = 9 }));
        Assert.Contains("a primary is chosen for its shard", await Give(), StringComparison.Ordinal);
        CheckKept();
    }

    // It may have removed what it had received, and not have taken its promise back yet.
    [Fact]
    public async Task A_destination_that_has_lost_its_role_and_got_it_back_gets_nothing()
    {
        const string replica = "dddddddddddddddddddddddddddddddddddddddd";
        Change(static now => now.With(NodeOf(replica, 0) with { ShardId = NodeOf(B, 2).ShardId, PrimaryId = B }));
        _store.Meanwhile = () =>
        {
            Change(static now => now.WithPrimary(replica, 3));
            Change(static now => now.WithPrimary(B, 4));
        };
        Assert.Contains("another epoch than when it promised", await Give(), StringComparison.Ordinal);
        Assert.True(IsPromised);
        CheckKept();
    }

    [Fact]
    public async Task A_node_that_becomes_a_primary_has_another_epoch()
    {
        const string replica = "dddddddddddddddddddddddddddddddddddddddd";
        Change(static now => now.With(NodeOf(replica, 2) with { ShardId = NodeOf(B, 2).ShardId, PrimaryId = B }));
        Change(static now => now.WithOwner([0], B).WithEpoch(5));
        await using var store = new MemoryClusterStore(_data);
        SharedTopology now = (await SharedTopology.Read(store, CancellationToken.None))!;
        ClusterTopology parted = now.Topology.WithNode(replica, now.Topology.Find(replica)! with { PrimaryId = null, ShardId = ClusterNode.ShardIdOf(replica) });
        now = (await now.TryReplace(store, parted, [], CancellationToken.None))!;
        Assert.Equal((6L, 6L, 2L), (now.Topology.Epoch, now.Topology.Find(replica)!.Epoch, now.Topology.Find(B)!.Epoch));
        now = (await now.TryReplace(store, now.Topology.WithoutForGood(replica), [], CancellationToken.None))!;
        now = (await now.TryReplace(store, now.Topology.WithJoined(NodeOf(replica, 0)), [], CancellationToken.None))!;
        Assert.Equal((7L, 7L), (now.Topology.Epoch, now.Topology.Find(replica)!.Epoch));
    }

    [Fact]
    public async Task A_source_that_is_sealed_meanwhile_gives_nothing()
    {
        _store.Meanwhile = () => Change(now => now.WithTerms(NodeOf(A, 1).ShardId, now.Terms.Of(NodeOf(A, 1).ShardId) with { SealedAt = 9 }));
        Assert.Equal("the source does not serve", await Give());
        CheckKept();
    }

    [Fact]
    public async Task Another_change_of_the_topology_does_not_hinder_it()
    {
        _store.Meanwhile = () => Change(static now => now.With(NodeOf(new string('d', 40), 0)));
        Assert.Null(await Give());
        CheckGiven();
        Assert.NotNull(Shared.Find(new string('d', 40)));
    }

    [Fact]
    public async Task What_was_withdrawn_before_it_began_does_not_happen()
    {
        var gift = new SlotGift(Slots, B, Move, Promise());
        Assert.True(gift.TryWithdraw());
        _agent.Give(gift);
        var next = new SlotGift(SlotSet.Of([new SlotRange(7, 7)]), B, "none", new PromisedSlots(1, 2));
        _agent.Give(next);
        Assert.NotNull(await next.Ended.WaitAsync(Hang, TestContext.Current.CancellationToken)); // behind the other
        Assert.False(gift.Ended.IsCompleted);
        CheckKept();
    }

    // The promise is gone for sure, or the answer comes later.
    [Theory]
    [InlineData(Fault.LosesAnswer)]
    [InlineData(Fault.LosesRequest)]
    public async Task A_promise_is_withdrawn_until_that_is_answered(Fault fault)
    {
        Promise();
        _store.Faults.Enqueue(fault);
        SharedTopology? behind = await SlotPromise.Withdraw(_store, Move, new FastTime(), CancellationToken.None).WaitAsync(Hang, TestContext.Current.CancellationToken);
        Assert.Equal(Shared.Version, behind!.Topology.Version);
        Assert.False(IsPromised);
        Assert.Empty(_store.Faults);
    }

    private static SlotSet Slots => SlotSet.Of([new SlotRange(0, 99)]);

    private static ClusterNode NodeOf(string id, long epoch) => new(id) { ShardId = ClusterNode.ShardIdOf(id), Ip = "10.0.0.1", Port = 7000, Epoch = epoch };

    private PromisedSlots Promise() => new(SlotPromise.Make(new MemoryClusterStore(_data), Move, B, _leaseOfB, CancellationToken.None).Result, Shared.Find(B)!.Epoch);

    private Task<string?> Give()
    {
        var gift = new SlotGift(Slots, B, Move, Promise());
        _agent.Give(gift);
        return gift.Ended.WaitAsync(Hang);
    }

    private void Change(Func<ClusterTopology, ClusterTopology> change)
    {
        ClusterTopology now = Shared;
        Assert.NotNull(_data.TryCommit([], [new StorePut(StoreKeys.Topology, TopologyDocument.WriteShared(change(now).WithVersion(now.Version + 1)))]));
    }

    private void EndRegistration()
    {
        _data.Revoke(_agent.Lease);
        _store.IsCutOff = false;
        _agent.LookAgain();
    }

    private void CheckGiven()
    {
        Assert.All(Slots.Slots(), slot => Assert.Equal(B, Shared.OwnerOf(slot)!.Id));
        Assert.Equal(A, Shared.OwnerOf(100)!.Id);
        Assert.Equal(B, _node.Topology.OwnerOf(0)!.Id); // this node goes by it
    }

    private void CheckKept()
    {
        Assert.Equal(A, Shared.OwnerOf(0)!.Id);
        Assert.Equal(A, _node.Topology.OwnerOf(0)!.Id);
    }

    public enum Fault
    {
        LosesRequest,
        LosesAnswer,
    }

    // Waits pass fifty times as fast.
    private sealed class FastTime : TimeProvider
    {
        public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period) => base.CreateTimer(callback, state, dueTime < TimeSpan.FromSeconds(1) ? dueTime / 50 : dueTime, period);
    }

    // Does something to the transactions that give slots, or withdraw a promise.
    private sealed class FaultyStore(MemoryClusterStore store) : IClusterStore
    {
        internal Queue<Fault> Faults { get; } = new();

        internal Action? Meanwhile { get; set; }

        internal bool CutsOffBehind { get; set; }

        internal volatile bool IsCutOff;

        internal (IReadOnlyList<StoreCondition> Conditions, IReadOnlyList<StorePut> Puts)? Lost { get; private set; }

        public Task<StoreSnapshot> Read(string keysFrom, CancellationToken cancellation) => Reach(() => store.Read(keysFrom, cancellation));

        public async Task<long?> TryCommit(IReadOnlyList<StoreCondition> conditions, IReadOnlyList<StorePut> puts, CancellationToken cancellation)
        {
            if (!puts.Any(static put => put.Key.StartsWith(StoreKeys.Imports, StringComparison.Ordinal))) return await Reach(() => store.TryCommit(conditions, puts, cancellation));
            Meanwhile?.Invoke();
            Meanwhile = null;
            if (!Faults.TryDequeue(out Fault fault)) return await Reach(() => store.TryCommit(conditions, puts, cancellation));
            Lost = (conditions, puts);
            if (fault == Fault.LosesAnswer) await store.TryCommit(conditions, puts, cancellation);
            if (CutsOffBehind) IsCutOff = true;
            throw new StoreException("no answer");
        }

        public IAsyncEnumerable<StoreEvent> Watch(string keysFrom, long behindRevision, CancellationToken cancellation) => store.Watch(keysFrom, behindRevision, cancellation);

        public Task<(long Lease, TimeSpan Time)> Grant(TimeSpan time, CancellationToken cancellation) => Reach(() => store.Grant(time, cancellation));

        public Task<TimeSpan?> Renew(long lease, CancellationToken cancellation) => Reach(() => store.Renew(lease, cancellation));

        public async Task Revoke(long lease, CancellationToken cancellation)
        {
            if (!IsCutOff) await store.Revoke(lease, cancellation);
        }

        public ValueTask DisposeAsync() => store.DisposeAsync();

        private Task<T> Reach<T>(Func<Task<T>> ask) => IsCutOff ? Task.FromException<T>(new StoreException("cut off")) : ask();
    }

    private sealed class Node : INode
    {
        private volatile ClusterTopology _topology = new(0, 0, [NodeOf(A, 1)], ClusterTopology.NoOwners());

        internal volatile bool Serves;

        public string Id => A;

        public string Incarnation => "life";

        public ClusterTopology Topology => _topology;

        public int Acks => 0;

        public bool IsNoSuccessor => false;

        public bool HasKeysOfItsOwn => false;

        public DataPosition Position => new("history", 1);

        public IEnumerable<string> ReplicasInStep => [];

        public bool CountedReplicasHaveAll => true;

        public ClusterNode Describe() => NodeOf(A, 1);

        public Task Apply(ClusterTopology topology, bool serves)
        {
            (_topology, Serves) = (topology, serves);
            return Task.CompletedTask;
        }

        internal Task Keeping { get; set; } = Task.CompletedTask;

        internal long Kept { get; private set; }

        public async Task Keep()
        {
            await Keeping;
            Kept = Topology.Version;
        }

        public Task<DataPosition> Seal() => Task.FromResult(Position);

        public Task<bool> PrepareHandover(ClusterNode replica, string incarnation, CancellationToken cancellation) => Task.FromResult(false);

        public Task<bool> ConfirmHandover(ClusterNode replica, string incarnation, CancellationToken cancellation) => Task.FromResult(false);

        public void EndHandover()
        {
        }

        public void Log(AgreementEvent what, string text)
        {
        }
    }
}
