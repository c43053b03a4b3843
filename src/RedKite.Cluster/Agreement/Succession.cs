using RedKite.Server.Cluster.Store;

namespace RedKite.Server.Cluster.Agreement;

/// <summary>A change of the topology that a controller makes, or several that become one.</summary>
/// <param name="Next">The topology, whose version follows.</param>
/// <param name="Conditions">What must hold beside the topology's revision.</param>
/// <param name="Texts">What each does, in one line.</param>
internal sealed record PlannedChange(ClusterTopology Next, IReadOnlyList<StoreCondition> Conditions, IReadOnlyList<string> Texts);

/// <summary>
/// What a controller does about nodes that are gone and new ones: a pure function of what the store has.
/// </summary>
/// <remarks>
/// A primary is gone when the store says that its lease has ended. The shard is sealed first, under the condition that the primary's key is absent: a node that registers behind that reads that it may
/// not serve, and replicas let go of it and say how far they are. An acknowledged write is on `replica-acks` replicas that were in step with the primary, so when fewer than
/// that many of those have not told their positions, one that has told has all such writes, and the greatest position is it; if that node may not become a primary, none does. A replica that has just come may have acknowledged one before the terms name it:
/// every node that is there is waited for.
/// </remarks>
internal static class Succession
{
    /// <summary>How long a choice waits for nodes that are there and have not told their position, when those that have would do.</summary>
    internal static TimeSpan Grace { get; } = TimeSpan.FromSeconds(1);

    /// <summary>The most shards that one change is about: each may have a condition, and a transaction has few.</summary>
    internal const int ChangesAtOnce = StoreLimits.TransactionKeysMax / 2;

    /// <summary>The next change, which is those of all shards, or else a new node; null: there is none now.</summary>
    /// <param name="topology">The topology of now.</param>
    /// <param name="alive">The nodes whose leases last.</param>
    /// <param name="sealedFor">How long a shard has been sealed, by its id.</param>
    /// <param name="joins">Whether new nodes become replicas.</param>
    internal static PlannedChange? Next(ClusterTopology topology, IReadOnlyDictionary<string, NodeStatus> alive, Func<string, TimeSpan> sealedFor, bool joins)
    {
        ClusterTopology next = topology; // of the same version: all shards that are sealed are so at the version that follows
        List<StoreCondition> conditions = [];
        List<string> texts = [];
        foreach (ClusterNode primary in topology.Nodes.Where(static node => node.IsPrimary))
        {
            ShardTerms terms = topology.Terms.Of(primary.ShardId);
            if ((terms.IsSealed ? Choose(next, primary, terms, alive, sealedFor(primary.ShardId)) : Seal(next, primary, terms, alive)) is not { } change) continue;
            next = change.Next;
            conditions.AddRange(change.Conditions);
            texts.AddRange(change.Texts);
            if (texts.Count == ChangesAtOnce) break;
        }

        if (texts.Count > 0) return new PlannedChange(next, conditions, texts);
        return joins ? Join(topology, alive) : null;
    }

    /// <summary>Why no primary is chosen for a sealed shard, in one line; null: one is.</summary>
    internal static string? Hindrance(ClusterTopology topology, ClusterNode primary, IReadOnlyDictionary<string, NodeStatus> alive)
    {
        ShardTerms terms = topology.Terms.Of(primary.ShardId);
        List<NodeStatus> told = Told(topology, primary, terms, alive);
        if (!terms.IsSealed) return null;
        if (!IsEnough(topology, primary, terms, told)) return $"{told.Count} nodes of the shard have told how far they are, and acknowledged writes could be missing there";
        if (Untouched(primary, terms, told) is not null) return null;
        if (Best(terms, told) is not { } best) return "cluster-replica-no-failover is set on every node of the shard that has told how far it is, or they have no complete data";
        return AheadOf(best, topology, primary, terms, told) is { } ahead ? $"{ahead.Node.Id} may have acknowledged more than the others have, and cluster-replica-no-failover is set there" : null;
    }

    private static PlannedChange? Seal(ClusterTopology topology, ClusterNode primary, ShardTerms terms, IReadOnlyDictionary<string, NodeStatus> alive)
    {
        bool isGone = !alive.TryGetValue(primary.Id, out NodeStatus? status);
        if (!isGone && (terms.Incarnation.Length == 0 || terms.Incarnation == status!.Incarnation)) return null;
        ClusterTopology next = topology.WithTerms(primary.ShardId, terms with { SealedAt = topology.Version + 1, HandoverTo = "" });
        return new PlannedChange(next, isGone ? [StoreCondition.Absent(StoreKeys.Node(primary.Id))] : [], [$"The shard {primary.ShardId} is sealed: its primary {primary.Id} {(isGone ? "is gone" : "was started again")}."]);
    }

    private static PlannedChange? Choose(ClusterTopology topology, ClusterNode primary, ShardTerms terms, IReadOnlyDictionary<string, NodeStatus> alive, TimeSpan sealedFor)
    {
        List<NodeStatus> told = Told(topology, primary, terms, alive);
        NodeStatus? best = Untouched(primary, terms, told);
        if (best is null)
        {
            if (!IsEnough(topology, primary, terms, told)) return null;
            bool mayComeMore = topology.Nodes.Any(node => node.ShardId == primary.ShardId && alive.TryGetValue(node.Id, out NodeStatus? status) && status.SealedAt != terms.SealedAt);
            if (mayComeMore && (NeedsAll(topology, primary, terms) || sealedFor < Grace)) return null;
            best = Best(terms, told);
            if (best is null || (NeedsAll(topology, primary, terms) && best.Position.History != terms.History) || AheadOf(best, topology, primary, terms, told) is not null) return null;
        }

        long epoch = Math.Max(topology.Epoch, topology.Nodes.Max(static node => node.Epoch)) + 1;
        ClusterTopology next = topology.WithPrimary(best.Node.Id, epoch).WithTerms(primary.ShardId, terms with { SealedAt = 0, Incarnation = best.Incarnation, AcceptsLoss = false, TakenOverAt = best.Position.Offset, TakenOverFrom = best.Position.History, TakenOverIn = best.Position.Database });
        return new PlannedChange(next, [], [$"{best.Node.Id} is the primary of the shard {primary.ShardId}, at the offset {best.Position.Offset}."]);
    }

    // The primary, if it is the one that was sealed and has not ended in between: nothing is missing there.
    private static NodeStatus? Untouched(ClusterNode primary, ShardTerms terms, List<NodeStatus> told) => told.Find(status => status.Node.Id == primary.Id && status.Incarnation == terms.Incarnation);

    private static NodeStatus? Best(ShardTerms terms, List<NodeStatus> told) =>
        told.Where(static status => !status.IsNoSuccessor && status.Position.Offset >= 0)
            .OrderByDescending(status => status.Position.History == terms.History)
            .ThenByDescending(static status => status.Position.Offset)
            .ThenBy(static status => status.Node.Id, StringComparer.Ordinal)
            .FirstOrDefault();

    // One that may not become the primary, and may alone have what it has acknowledged: it counts for that as any other. Null: there is none, or that is not to be kept.
    private static NodeStatus? AheadOf(NodeStatus best, ClusterTopology topology, ClusterNode primary, ShardTerms terms, List<NodeStatus> told) =>
        NeedsAll(topology, primary, terms) ? Array.Find(Current(primary, terms, told), status => status.IsNoSuccessor && status.Position.Offset > best.Position.Offset) : null;

    // Those whose data is of the history by which writes were acknowledged.
    private static NodeStatus[] Current(ClusterNode primary, ShardTerms terms, IReadOnlyList<NodeStatus> told) =>
        [.. told.Where(status => (status.Node.Id != primary.Id || terms.ReplicasInStep.Contains(primary.Id)) && status.Position.Offset >= 0 && status.Position.History == terms.History)];

    // The nodes of a sealed shard that do not move any more.
    private static List<NodeStatus> Told(ClusterTopology topology, ClusterNode primary, ShardTerms terms, IReadOnlyDictionary<string, NodeStatus> alive) =>
        [.. topology.Nodes.Where(node => node.ShardId == primary.ShardId).Select(node => alive.GetValueOrDefault(node.Id)).OfType<NodeStatus>().Where(status => terms.IsSealed && status.SealedAt == terms.SealedAt)];

    // Whether acknowledged writes are to be kept that may be on any replica.
    private static bool NeedsAll(ClusterTopology topology, ClusterNode primary, ShardTerms terms) => terms.Acks > 0 && !terms.AcceptsLoss && topology.ReplicasOf(primary.Id).Any();

    /// <summary>Whether a primary may be chosen among those that have told their positions: one of them has every acknowledged write, if those are to be kept.</summary>
    internal static bool IsEnough(ClusterTopology topology, ClusterNode primary, ShardTerms terms, IReadOnlyList<NodeStatus> told)
    {
        if (!NeedsAll(topology, primary, terms)) return told.Count > 0;
        HashSet<string> inStep = [.. terms.ReplicasInStep];
        NodeStatus[] current = Current(primary, terms, told);
        long beginning = inStep.Contains(primary.Id) ? 0 : terms.TakenOverAt; // of the history that the primary has claimed: a replica goes by its id before it has so much of it
        if (!Array.Exists(current, status => status.Position.Offset >= beginning)) return false;
        return inStep.Count(id => !Array.Exists(current, status => status.Node.Id == id)) < terms.Acks;
    }

    private static PlannedChange? Join(ClusterTopology topology, IReadOnlyDictionary<string, NodeStatus> alive)
    {
        if (topology.Nodes.Length >= ClusterLimits.NodesMax || topology.AssignedSlots < topology.Owners.Length) return null; // a cluster that is being made gives its nodes their places itself
        ClusterNode[] joining = [.. alive.Values.Where(status => topology.Find(status.Node.Id) is null && !status.HasKeysOfItsOwn && !topology.Terms.Removed.Contains(status.Node.Id) && ClusterTopology.IsWellFormed(status.Node)).Select(static status => status.Node)];
        if (FittingPrimary(topology, joining, topology.Nodes.Where(node => node.IsPrimary && !topology.Terms.Of(node.ShardId).IsSealed)) is not ({ } added, { } primary)) return null;
        return new PlannedChange(topology.With(added with { ShardId = primary.ShardId, PrimaryId = primary.Id, Epoch = 0 }), [], [$"The new node {added.Id} is a replica of {primary.Id}."]);
    }

    /// <summary>Of the primaries with slots and the fewest replicas, and the nodes that join, the two that fit: where the shard has the fewest nodes of the joining one's zone. Null: there are none.</summary>
    internal static (ClusterNode Joining, ClusterNode Primary)? FittingPrimary(ClusterTopology topology, IReadOnlyList<ClusterNode> joining, IEnumerable<ClusterNode> primaries)
    {
        HashSet<short> owners = [.. topology.Owners];
        HashSet<string> moving = [.. joining.Select(static node => node.Id)]; // where they are now does not count
        (ClusterNode Primary, int Replicas)[] shards = [.. primaries.Where(node => owners.Contains((short)topology.IndexOf(node.Id))).Select(node => (node, topology.ReplicasOf(node.Id).Count(replica => !moving.Contains(replica.Id))))];
        if (shards.Length == 0 || joining.Count == 0) return null;
        int fewest = shards.Min(static shard => shard.Replicas);
        Dictionary<(string, string), int> inZone = topology.Nodes.Where(node => !moving.Contains(node.Id)).CountBy(static node => (node.ShardId, node.Zone)).ToDictionary();
        return joining.SelectMany(_ => shards.Where(shard => shard.Replicas == fewest), static (node, shard) => (Joining: node, shard.Primary))
            .OrderBy(pair => inZone.GetValueOrDefault((pair.Primary.ShardId, pair.Joining.Zone)))
            .ThenBy(static pair => pair.Joining.Id, StringComparer.Ordinal)
            .ThenBy(static pair => pair.Primary.Id, StringComparer.Ordinal)
            .First();
    }
}
