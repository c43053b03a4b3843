using System.Diagnostics;
using System.Globalization;
using System.Text;
using RedKite.Server.Cluster;
using RedKite.Server.Cluster.Agreement;
using RedKite.Server.Cluster.Store;
using RedKite.Store.Keyspace;

namespace RedKite.Testing;

/// <summary>What a <see cref="RedKiteTestCluster"/> is made of.</summary>
public sealed class RedKiteTestClusterOptions
{
    /// <summary>The number of shards, which have about as many slots each.</summary>
    public int Shards { get; init; } = 3;

    /// <summary>The number of replicas of each shard.</summary>
    public int ReplicasPerShard { get; init; }

    /// <summary>Changes a node's options, such as a password or `replica-acks`; null: nothing.</summary>
    public Action<RedKiteOptions>? Configure { get; init; }
}

/// <summary>
/// A cluster for tests: its nodes are servers in this process, on free ports of the loopback interface, and agree by a store in memory. Any client for Redis Cluster works against it. Nodes can be
/// killed and started again, cut off from the store, and replicas made primaries. Leases do not end by time, so that a busy machine changes nothing, but at once with the fault that would end them.
/// Needs no test framework.
/// </summary>
/// <example>
/// <code>
/// await using var cluster = await RedKiteTestCluster.StartAsync(new RedKiteTestClusterOptions { ReplicasPerShard = 1 });
/// var redis = await ConnectionMultiplexer.ConnectAsync(cluster.ConnectionString);
/// await cluster.PrimaryOf("chair").KillAsync();
/// await redis.GetDatabase().StringSetAsync("chair", 1);    // the code under test, while a replica takes over
/// </code>
/// </example>
public sealed class RedKiteTestCluster : IAsyncDisposable
{
    private static readonly TimeSpan WaitMax = TimeSpan.FromSeconds(60);
    private static readonly TimeSpan Look = TimeSpan.FromMilliseconds(5);

    private readonly MemoryClusterData _data = new(TimeProvider.System);
    private readonly RedKiteTestClusterOptions _options;
    private readonly List<RedKiteTestNode> _nodes = [];
    private readonly string _folder = Directory.CreateTempSubdirectory("redkite-cluster-").FullName;

    private RedKiteTestCluster(RedKiteTestClusterOptions options) => _options = options;

    /// <summary>The nodes, in the order in which they were added: first the primaries.</summary>
    public IReadOnlyList<RedKiteTestNode> Nodes => _nodes;

    /// <summary>Where client libraries connect: "127.0.0.1:port,127.0.0.1:port,...".</summary>
    public string ConnectionString => string.Join(',', _nodes.Where(static node => node.IsRunning).Select(static node => node.EndPoint));

    /// <summary>Starts a cluster, and waits until it serves all slots and its replicas have what their primaries have.</summary>
    public static async Task<RedKiteTestCluster> StartAsync(RedKiteTestClusterOptions? options = null)
    {
        var cluster = new RedKiteTestCluster(options ?? new RedKiteTestClusterOptions());
        try
        {
            await cluster.StartNodesAsync().ConfigureAwait(false);
            return cluster;
        }
        catch
        {
            await cluster.DisposeAsync().ConfigureAwait(false);
            throw;
        }
    }

    /// <summary>The node that has a key's slot.</summary>
    public RedKiteTestNode PrimaryOf(string key)
    {
        ClusterTopology topology = Shared().Topology;
        string id = topology.OwnerOf(KeySlot.Of(System.Text.Encoding.UTF8.GetBytes(key)))?.Id ?? throw new InvalidOperationException("No node has the key's slot.");
        return _nodes.Single(node => node.Id == id);
    }

    /// <summary>The replicas of a primary.</summary>
    public IReadOnlyList<RedKiteTestNode> ReplicasOf(RedKiteTestNode primary)
    {
        ArgumentNullException.ThrowIfNull(primary);
        HashSet<string> ids = [.. Shared().Topology.ReplicasOf(primary.Id).Select(static node => node.Id)];
        return [.. _nodes.Where(node => ids.Contains(node.Id))];
    }

    /// <summary>Adds a node, which becomes a replica of the shard with the fewest.</summary>
    public async Task<RedKiteTestNode> AddNodeAsync()
    {
        var node = new RedKiteTestNode(Path.Combine(_folder, _nodes.Count.ToString(CultureInfo.InvariantCulture)), _data, _options);
        _nodes.Add(node);
        await node.StartAsync().ConfigureAwait(false);
        return node;
    }

    /// <summary>Cuts all nodes off from the store for so long that none serves any more.</summary>
    public void LoseStore()
    {
        foreach (RedKiteTestNode node in _nodes) node.CutOff(endsLease: false);
    }

    /// <summary>All nodes reach the store again.</summary>
    public void RestoreStore()
    {
        foreach (RedKiteTestNode node in _nodes) node.Reconnect();
    }

    /// <summary>Makes a replica the primary of its shard, while both are well, and waits until it is.</summary>
    /// <exception cref="InvalidOperationException">The primary has not handed its role over: the message says what the nodes have noted.</exception>
    public async Task FailOverAsync(RedKiteTestNode replica)
    {
        ArgumentNullException.ThrowIfNull(replica);
        RedKiteReply reply = replica.Server.Execute("CLUSTER", "FAILOVER");
        if (reply.IsError) throw new InvalidOperationException(reply.Text);
        await UntilAsync(() =>
        {
            ClusterTopology topology = Shared().Topology;
            if (topology.Find(replica.Id) is { IsPrimary: false } node && topology.Terms.Of(node.ShardId) is { HandoverTo: "" }) throw new InvalidOperationException($"The role was not handed over.{Events()}");
            return topology.Find(replica.Id) is { IsPrimary: true } && replica.Serves;
        }).ConfigureAwait(false);
    }

    /// <summary>
    /// Moves slots from one node to another, with the keys in them, and waits until the other one serves them. Clients that write meanwhile are redirected, and lose nothing.
    /// </summary>
    /// <param name="slots">The slots, such as <c>0..1000</c> or <c>..</c> for all; those of them move that <paramref name="from"/> has.</param>
    /// <param name="from">The node that has the slots.</param>
    /// <param name="to">The node that is to have them: a primary.</param>
    /// <exception cref="InvalidOperationException">The move was refused, or has failed: the message says why.</exception>
    public async Task MoveAsync(Range slots, RedKiteTestNode from, RedKiteTestNode to)
    {
        ArgumentNullException.ThrowIfNull(from);
        ArgumentNullException.ThrowIfNull(to);
        (int first, int count) = slots.GetOffsetAndLength(KeySlot.Count);
        string[] ranges = [.. Shared().Topology.RangesOf(from.Id).Select(range => (First: Math.Max(range.First, first), Last: Math.Min(range.Last, first + count - 1))).Where(static range => range.First <= range.Last)
            .SelectMany(static range => (string[])[range.First.ToString(CultureInfo.InvariantCulture), range.Last.ToString(CultureInfo.InvariantCulture)])];
        if (ranges.Length == 0) throw new InvalidOperationException("The node has none of the slots.");
        RedKiteReply reply = from.Server.Execute(["CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", .. ranges, "NODE", to.Id]);
        if (reply.IsError) throw new InvalidOperationException(reply.Text);
        var move = from.Server.Parts.SlotMoves()!.Moves[0];
        await UntilAsync(() => move.HasEnded).ConfigureAwait(false);
        if (move.Message.Length > 0 || !to.IsRunning) throw new InvalidOperationException($"The slots were not moved: {move.Message}");
        long version = Shared().Topology.Version;
        await UntilAsync(() => _nodes.TrueForAll(node => !node.Serves || node.Server.Cluster!.InForce.Version >= version)).ConfigureAwait(false);
    }

    /// <summary>Waits until every slot has a node that serves it, whatever has happened before.</summary>
    public Task UntilServedAsync() => UntilAsync(() =>
    {
        ClusterTopology topology = Shared().Topology;
        return topology.Nodes.Where(static node => node.IsPrimary).All(primary => _nodes.Exists(node => node.Id == primary.Id && node.Serves));
    });

    /// <summary>Stops all nodes.</summary>
    public async ValueTask DisposeAsync()
    {
        await Task.WhenAll(_nodes.Select(static node => node.StopAsync())).ConfigureAwait(false);
        Directory.Delete(_folder, recursive: true);
    }

    internal MemoryClusterData Data => _data;

    private SharedTopology Shared() => Found() ?? throw new InvalidOperationException("The cluster has no topology.");

    private SharedTopology? Found() =>
        _data.Read(StoreKeys.Topology, 0).Entries.FirstOrDefault(static entry => entry.Key == StoreKeys.Topology) is { } entry ? SharedTopology.Of(entry) : null;

    private async Task StartNodesAsync()
    {
        int count = _options.Shards * (1 + _options.ReplicasPerShard);
        for (int i = 0; i < count; i++) _nodes.Add(new RedKiteTestNode(Path.Combine(_folder, i.ToString(CultureInfo.InvariantCulture)), _data, _options));
        await Task.WhenAll(_nodes.Select(static node => node.StartAsync())).ConfigureAwait(false);
        _data.TryCommit([StoreCondition.Absent(StoreKeys.Topology)], [new StorePut(StoreKeys.Topology, TopologyDocument.WriteShared(Topology()))]);
        await UntilServedAsync().ConfigureAwait(false);
        await UntilAsync(() => _nodes.TrueForAll(static node => node.IsInStep)).ConfigureAwait(false);
    }

    private ClusterTopology Topology()
    {
        short[] owners = new short[KeySlot.Count];
        for (int slot = 0; slot < owners.Length; slot++) owners[slot] = (short)((long)slot * _options.Shards / owners.Length);
        ClusterNode[] nodes = [.. _nodes.Select((node, i) =>
        {
            ClusterNode primary = _nodes[i % _options.Shards].Describe();
            return node.Describe() with { ShardId = ClusterNode.ShardIdOf(primary.Id), PrimaryId = i < _options.Shards ? null : primary.Id, Epoch = i < _options.Shards ? i + 1 : 0 };
        })];
        return new ClusterTopology(1, _options.Shards, [.. nodes], owners, new ClusterTerms { ClusterId = ClusterNode.NewId() });
    }

    private async Task UntilAsync(Func<bool> holds)
    {
        long began = Stopwatch.GetTimestamp();
        while (!holds())
        {
            if (Stopwatch.GetElapsedTime(began) > WaitMax) throw new TimeoutException($"The cluster has not come so far within {WaitMax.TotalSeconds} seconds.{Events()}");
            await Task.Delay(Look).ConfigureAwait(false);
        }
    }

    // What the nodes have noted, for the message of a wait that fails.
    private string Events()
    {
        var text = new StringBuilder();
        foreach (RedKiteTestNode node in _nodes)
        {
            text.Append(CultureInfo.InvariantCulture, $"\n{node.Id} at {node.EndPoint}{(node.IsRunning ? "" : " does not run")}");
            if (!node.IsRunning) continue;
            foreach (ClusterEvent noted in node.Server.Cluster!.Events.All) text.Append(CultureInfo.InvariantCulture, $"\n  {noted.UnixMs} {noted.Kind}: {noted.Text}");
        }

        return text.ToString();
    }
}
