using System.Runtime.CompilerServices;
using RedKite.Server.Cluster;
using RedKite.Server.Cluster.Agreement;
using RedKite.Server.Cluster.Store;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Cluster.Agreement;

/// <summary>A server that becomes one of a cluster with a store, or ceases to be one: its keys are nowhere else.</summary>
public sealed class MembershipTests : IDisposable
{
    private const string Key = "foo"; // of the slot 12182
    private static readonly string Other = new('a', 40), Gone = new('b', 40);

    private readonly TemporaryFolder _folder = new();
    private readonly MemoryClusterData _data = new(TimeProvider.System);
    private readonly HookedStore _store;

    public MembershipTests() => _store = new HookedStore(new MemoryClusterStore(_data));

    public void Dispose()
    {
        _data.Dispose();
        _folder.Dispose();
    }

    // They would be removed as another node's.
    [Theory]
    [InlineData("CLUSTER ADDSLOTS 5")]
    [InlineData("CLUSTER FORGET bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb")]
    [InlineData("CLUSTER SETSLOT 12182 NODE aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")]
    public async Task A_node_with_keys_of_its_own_does_not_join_by_a_change_of_the_topology(string command)
    {
        await using (RedKiteServer alone = await RedKiteServer.StartAsync(Options(("appendonly", "yes")), TestContext.Current.CancellationToken)) Assert.Equal("OK", alone.Execute("SET", Key, "1").Text);
        Commit(WithOther(version: 1));
        await using RedKiteServer server = await StartAsync(("appendonly", "yes"));
        Assert.Equal("ERR the node has keys and is of no cluster yet: it would lose them, so it must be empty", server.Execute(command.Split(' ')).Text);
        Assert.Null(Shared.Find(server.Cluster!.State.SelfId));
        Assert.Equal(1, server.Execute("DBSIZE").Integer);
    }

    [Fact]
    public async Task A_node_that_was_taken_out_comes_back_by_MEET_alone()
    {
        await using RedKiteServer server = await StartAsync();
        string id = server.Cluster!.State.SelfId;
        await JoinAndBeTakenOutAsync(server, id);
        Assert.Equal("ERR this node was taken out of the cluster: CLUSTER MEET brings it back", server.Execute("CLUSTER", "ADDSLOTS", "5").Text);
        Assert.Contains(id, Shared.Terms.Removed);
        Assert.NotNull(_data.TryCommit([], [new StorePut(StoreKeys.Node(Other), new NodeStatus { Node = Shared.Find(Other)! with { ShardId = "" }, Incarnation = Other, Version = Shared.Version }.Write(), _data.Grant(TimeSpan.FromHours(1)))]));
        Assert.Equal("OK", server.Execute("CLUSTER", "MEET", "127.0.0.1", "1").Text);
        Assert.NotNull(Shared.Find(id));
        Assert.DoesNotContain(id, Shared.Terms.Removed);
    }

    // It is the slot's owner by now, with keys that came with the slot.
    [Fact]
    public async Task A_slot_that_has_become_the_nodes_own_is_not_given_on_by_an_older_count_of_its_keys()
    {
        await using RedKiteServer server = await StartAsync();
        string id = server.Cluster!.State.SelfId;
        Commit(WithOther(version: 1).WithJoined(Described(server)));
        await UntilAsync(() => Status(id) is { Serves: true });
        _store.IsDeaf = true;
        Commit(Next(Shared.WithOwner([12182], id)));
        Assert.StartsWith("TRYAGAIN", server.Execute("CLUSTER", "SETSLOT", "12182", "NODE", Other).Text, StringComparison.Ordinal);
        Assert.Equal(id, Shared.OwnerOf(12182)?.Id);
        _store.IsDeaf = false;
        await UntilAsync(() => server.Execute("SET", Key, "1").Text == "OK");
        Assert.Contains("still hold keys", server.Execute("CLUSTER", "SETSLOT", "12182", "NODE", Other).Text, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("SOFT")]
    [InlineData("HARD")]
    public async Task A_node_that_joins_while_it_asks_whether_it_has_is_not_reset(string how)
    {
        await using RedKiteServer server = await StartAsync();
        string id = server.Cluster!.State.SelfId;
        Commit(WithOther(version: 1));
        await UntilAsync(() => server.Cluster.Agreement!.LatestVersion == 1);
        _store.BehindRead = async () =>
        {
            Commit(Next(Shared.WithJoined(Described(server)).WithOwner([12182], id)));
            await UntilAsync(() => server.Execute("SET", Key, "1").Text == "OK");
        };
        Assert.Equal("TRYAGAIN The topology has changed meanwhile", server.Execute("CLUSTER", "RESET", how).Text);
        Assert.Equal(id, server.Cluster.State.SelfId);
        Assert.Equal("1", server.Execute("GET", Key).Text);
    }

    // It has nothing of the cluster any more, which may come to the version that it went by before.
    [Fact]
    public async Task A_node_that_was_reset_goes_by_the_topology_again()
    {
        await using RedKiteServer server = await StartAsync();
        string id = server.Cluster!.State.SelfId;
        await JoinAndBeTakenOutAsync(server, id);
        long before = server.Cluster.State.Topology.Version;
        Assert.Equal("OK", server.Execute("CLUSTER", "RESET").Text);
        Commit(WithOther(before).With(Described(server) with { PrimaryId = Other, ShardId = ClusterNode.ShardIdOf(Other) }));
        await UntilAsync(() => server.Cluster.State.Topology.Version == before);
        Assert.False(server.Cluster.State.Self.IsPrimary);
    }

    // Its keys are removed as another node's, and nothing says which of them that one lacks.
    [Fact]
    public async Task A_former_primary_that_is_in_another_shard_now_says_that_writes_may_be_lost()
    {
        List<string> lines = [];
        await using RedKiteServer server = await StartAsync(lines);
        string id = server.Cluster!.State.SelfId;
        Commit(WithOther(version: 1).WithJoined(Described(server)).WithOwner([12182], id));
        await UntilAsync(() => server.Execute("SET", Key, "1").Text == "OK");
        _store.IsDeaf = true;
        string former = Shared.Find(id)!.ShardId;
        ClusterTopology taken = Shared.With(new ClusterNode(Gone) { ShardId = former, PrimaryId = id, Ip = "127.0.0.1", Port = 2 }).WithPrimary(Gone, epoch: 9).WithoutForGood(id);
        Commit(Next(taken.WithJoined(Described(server))));
        _store.IsDeaf = false;
        await UntilAsync(() =>
        {
            lock (lines) return lines.Exists(line => line.Contains($"was the primary of the shard {former} and is in another one now", StringComparison.Ordinal));
        });
    }

    private async Task JoinAndBeTakenOutAsync(RedKiteServer server, string id)
    {
        Commit(WithOther(version: 1).WithJoined(Described(server)));
        await UntilAsync(() => Status(id) is { Serves: true });
        Commit(Next(Shared.WithoutForGood(id)));
        await UntilAsync(() => Status(id) is { Serves: false });
    }

    private ClusterTopology Shared => SharedTopology.Of(_data.Read(StoreKeys.Topology, 0).Entries.Single(static entry => entry.Key == StoreKeys.Topology)).Topology;

    private static ClusterTopology Next(ClusterTopology topology) => topology.WithVersion(topology.Version + 1);

    // Another node, which has all slots but one.
    private static ClusterTopology WithOther(long version)
    {
        ClusterNode[] nodes = [new(Other) { ShardId = ClusterNode.ShardIdOf(Other), Ip = "127.0.0.1", Port = 1 }];
        short[] owners = new short[KeySlot.Count];
        owners[5] = -1;
        return new ClusterTopology(version, 1, [.. nodes], owners, new ClusterTerms { ClusterId = new string('c', 40) });
    }

    private static ClusterNode Described(RedKiteServer server) => server.Cluster!.DescribeSelf(server.Cluster.State.Self) with { BusPort = 0 };

    private void Commit(ClusterTopology topology) => Assert.NotNull(_data.TryCommit([], [new StorePut(StoreKeys.Topology, TopologyDocument.WriteShared(topology))]));

    private NodeStatus? Status(string id) => _data.Read("", 0).Entries.FirstOrDefault(entry => entry.Key == StoreKeys.Node(id)) is { } entry ? NodeStatus.Read(entry.Value) : null;

    private Task<RedKiteServer> StartAsync(params (string, string)[] settings) => StartAsync([], settings);

    private Task<RedKiteServer> StartAsync(List<string> lines, params (string, string)[] settings)
    {
        RedKiteOptions options = Options([("cluster-enabled", "yes"), ("cluster-controller", "no"), ("cluster-announce-ip", "127.0.0.1"), ("cluster-lease-ms", "600000"), ("cluster-require-full-coverage", "no"), .. settings]);
        options.ClusterStore = () => _store;
        options.Log = line =>
        {
            lock (lines) lines.Add(line.ToString()!);
        };
        return RedKiteServer.StartAsync(options);
    }

    private RedKiteOptions Options(params (string, string)[] settings)
    {
        var options = new RedKiteOptions { Port = 0 };
        foreach ((string name, string value) in ((string, string)[])[("loops", "1"), ("dir", _folder.Path), ("save", ""), ("diagnostics", "no"), .. settings]) options.Settings[name] = value;
        return options;
    }

    private static async Task UntilAsync(Func<bool> holds)
    {
        while (!holds()) await Task.Delay(5, TestContext.Current.CancellationToken);
    }

    /// <summary>A store whose next answer about the topology comes behind something, and whose changes are not heard while it is deaf.</summary>
    private sealed class HookedStore(IClusterStore store) : IClusterStore
    {
        private volatile TaskCompletionSource _hears = Completed();

        internal Func<Task>? BehindRead { get; set; }

        internal bool IsDeaf
        {
            set
            {
                TaskCompletionSource before = _hears;
                _hears = value ? new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously) : Completed();
                before.TrySetResult();
            }
        }

        public async Task<StoreSnapshot> Read(string keysFrom, CancellationToken cancellation)
        {
            StoreSnapshot answer = await store.Read(keysFrom, cancellation);
            if (keysFrom == StoreKeys.Topology && BehindRead is { } behind)
            {
                BehindRead = null;
                await behind();
            }

            return answer;
        }

        public Task<long?> TryCommit(IReadOnlyList<StoreCondition> conditions, IReadOnlyList<StorePut> puts, CancellationToken cancellation) => store.TryCommit(conditions, puts, cancellation);

        public async IAsyncEnumerable<StoreEvent> Watch(string keysFrom, long behindRevision, [EnumeratorCancellation] CancellationToken cancellation)
        {
            await foreach (StoreEvent change in store.Watch(keysFrom, behindRevision, cancellation))
            {
                await _hears.Task.WaitAsync(cancellation);
                yield return change;
            }
        }

        public Task<(long Lease, TimeSpan Time)> Grant(TimeSpan time, CancellationToken cancellation) => store.Grant(time, cancellation);

        public Task<TimeSpan?> Renew(long lease, CancellationToken cancellation) => store.Renew(lease, cancellation);

        public Task Revoke(long lease, CancellationToken cancellation) => store.Revoke(lease, cancellation);

        public ValueTask DisposeAsync() => store.DisposeAsync();

        private static TaskCompletionSource Completed()
        {
            var completed = new TaskCompletionSource();
            completed.SetResult();
            return completed;
        }
    }
}
