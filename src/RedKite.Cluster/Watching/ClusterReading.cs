using RedKite.Server.Cluster.Agreement;
using RedKite.Server.Cluster.Planning;
using RedKite.Server.Cluster.Store;

namespace RedKite.Server.Cluster.Watching;

/// <summary>What the store had at one revision, for metrics, findings and the page: what is not understood is passed over. Immutable.</summary>
internal sealed class ClusterReading
{
    private const double UnevenMax = 100; // the others may have nothing

    private readonly ClusterView _view;

    private ClusterReading(StoreSnapshot snapshot)
    {
        _view = ClusterView.Of(snapshot, skipsFaults: true);
        foreach (StoreEntry entry in snapshot.Entries)
        {
            if (entry.Key.StartsWith(StoreKeys.Figures, StringComparison.Ordinal) && NodeFiguresDocument.Read(entry.Value) is { } figures) Figures[entry.Key[StoreKeys.Figures.Length..]] = (figures, entry.Revision);
        }
    }

    /// <summary>Null: there is none, or it cannot be read.</summary>
    internal ClusterTopology? Topology => _view.Topology;

    /// <inheritdoc cref="ClusterView.Controller"/>
    internal string Controller => _view.Controller;

    /// <inheritdoc cref="ClusterView.Alive"/>
    internal IReadOnlyDictionary<string, NodeStatus> Alive => _view.Alive;

    internal Dictionary<string, (NodeFigures Figures, long Revision)> Figures { get; } = new(StringComparer.Ordinal);

    internal static ClusterReading Of(StoreSnapshot snapshot) => new(snapshot);

    /// <summary>The nodes of the topology that go by an older version than this.</summary>
    internal IEnumerable<string> NodesBehind(long version) => Topology is not { } topology ? [] : topology.Nodes.Where(node => Alive.TryGetValue(node.Id, out NodeStatus? status) && status.Version < version).Select(static node => node.Id);

    /// <summary>The primaries with slots.</summary>
    internal ClusterNode[] Primaries => Topology is not { } topology ? [] : [.. topology.Nodes.Where(node => node.IsPrimary && topology.RangesOf(node.Id).Count > 0)];

    /// <summary>Whether a shard's primary does not serve.</summary>
    internal bool IsDown(ClusterNode primary) => Topology!.Terms.Of(primary.ShardId).IsSealed || !Alive.ContainsKey(primary.Id);

    /// <summary>Why no replica could be made the primary of a shard now, in one line; empty: one could, or there are none.</summary>
    internal string Hindrance(ClusterNode primary)
    {
        ClusterTopology topology = Topology!;
        ShardTerms terms = topology.Terms.Of(primary.ShardId);
        ClusterNode[] replicas = [.. topology.ReplicasOf(primary.Id)];
        if (replicas.Length == 0) return "";
        NodeStatus[] answering = [.. replicas.Select(node => Alive.GetValueOrDefault(node.Id)).OfType<NodeStatus>().Select(status => status with { Position = PositionOf(status) }).Where(static status => status.Position.Offset >= 0)];
        if (answering.Length == 0) return $"{replicas.Length} of its {replicas.Length} replicas do not answer, or have no complete data";
        if (!Array.Exists(answering, static status => !status.IsNoSuccessor)) return "cluster-replica-no-failover is set on every replica that answers";
        if (Succession.IsEnough(topology, primary, terms, answering)) return Succession.Hindrance(topology, primary, Alive) ?? "";
        string[] inStep = [.. terms.ReplicasInStep];
        HashSet<string> current = [.. answering.Where(status => status.Position.History == terms.History).Select(static status => status.Node.Id)];
        int missing = inStep.Count(id => !current.Contains(id));
        if (current.Count == 0 || missing < terms.Acks) return "no replica that answers has caught up with the present primary";
        return $"{missing} of {inStep.Length} replicas that may have acknowledged writes do not answer, and replica-acks is {terms.Acks}: fewer than {terms.Acks} may be missing";
    }

    // From its report if there is one, which is newer than its status. Once the shard is sealed, both are the same.
    private DataPosition PositionOf(NodeStatus status) => Figures.TryGetValue(status.Node.Id, out (NodeFigures Figures, long Revision) said) ? new DataPosition(said.Figures.History, said.Figures.Offset) : status.Position;

    /// <summary>The greatest of some shards' loads, and that relative to the mean of the others, up to 100. NaN: there are not two that say something.</summary>
    internal (double Greatest, double Uneven) Spread(Func<NodeFigures, double> load)
    {
        double[] loads = [.. Primaries.Where(node => Figures.ContainsKey(node.Id)).Select(node => load(Figures[node.Id].Figures))];
        if (loads.Length < 2) return (double.NaN, double.NaN);
        double greatest = loads.Max(), others = (loads.Sum() - greatest) / (loads.Length - 1);
        return (greatest, greatest == 0 ? 1 : Math.Min(UnevenMax, greatest / others));
    }
}
