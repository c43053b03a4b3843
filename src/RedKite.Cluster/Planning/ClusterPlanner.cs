using RedKite.Server.Cluster.Agreement;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Cluster.Planning;

/// <summary>
/// What an operator's command does, as steps: pure functions of what the store has. What is done already is not planned again, so the same command goes on where it ended.
/// </summary>
internal static class ClusterPlanner
{
    /// <summary>Makes a cluster of registered nodes: slots evenly, and replicas in other zones than their primary where that is possible.</summary>
    /// <param name="view">The cluster.</param>
    /// <param name="nodes">The nodes; empty: all that are registered.</param>
    /// <param name="shards">How many shards; null: by the number of replicas.</param>
    /// <param name="replicas">How many replicas each has.</param>
    internal static ClusterPlan Create(ClusterView view, IReadOnlyList<string> nodes, int? shards, int replicas)
    {
        ClusterNode[] chosen = nodes.Count == 0 ? [.. view.Alive.Values.Select(static status => status.Node)] : [.. nodes.Select(view.Find)];
        if (view.Topology is { } topology)
        {
            if (topology.AssignedSlots == KeySlot.Count && chosen.All(node => topology.Find(node.Id) is not null)) return ClusterPlan.Nothing;
            throw new PlanException("the store has a cluster already: redkite cluster add adds nodes, and redkite cluster status says what it has");
        }

        if (chosen.Select(static node => node.Id).Distinct().Count() != chosen.Length) throw new PlanException("a node is named twice");
        if (chosen.Length == 0) throw new PlanException("no node is registered in the store: start nodes with the same cluster-etcd and cluster-etcd-prefix");
        int count = shards ?? chosen.Length / (replicas + 1);
        if (count == 0 || count > chosen.Length) throw new PlanException($"{chosen.Length} nodes are too few for that");

        // Primaries first, in all zones by turns.
        List<ClusterNode> rest = [.. ByZones(chosen)];
        string[] zones = [.. rest.Select(static node => node.Zone).Distinct()];
        ClusterNode[] primaries = [.. rest.Take(count)];
        rest.RemoveRange(0, count);
        List<PlanStep> steps = [];
        for (int i = 0; i < count; i++)
        {
            int first = First(i, count), last = First(i + 1, count) - 1;
            steps.Add(Join(primaries[i]));
            steps.Add(new PlanStep(PlanStepKind.Assign, primaries[i].Id) { Slots = SlotSet.Of([new SlotRange(first, last)]), Described = primaries[i] });
        }

        List<string>[] used = [.. primaries.Select(static primary => new List<string> { primary.Zone })];
        for (int i = 0; rest.Count > 0; i = (i + 1) % count)
        {
            int own = Array.IndexOf(zones, primaries[i].Zone);
            ClusterNode replica = rest.OrderBy(node => used[i].Count(zone => zone == node.Zone)).ThenBy(node => (Array.IndexOf(zones, node.Zone) - own + zones.Length) % zones.Length).First();
            rest.Remove(replica);
            used[i].Add(replica.Zone);
            steps.Add(Join(replica, primaries[i].Id));
        }

        return ClusterPlan.Of(steps);
    }

    /// <summary>Adds a registered node.</summary>
    /// <param name="view">The cluster.</param>
    /// <param name="text">The node.</param>
    /// <param name="isReplica">Whether it becomes a replica; otherwise a primary without slots.</param>
    /// <param name="primary">Whose replica; null: of the shard with the fewest.</param>
    internal static ClusterPlan Add(ClusterView view, string text, bool isReplica, string? primary)
    {
        ClusterTopology topology = Existing(view);
        ClusterNode node = view.Find(text);
        ClusterNode? known = topology.Find(node.Id);
        if (!isReplica)
        {
            if (known is { IsPrimary: true }) return ClusterPlan.Nothing;
            return known is null ? ClusterPlan.Of([Join(Registered(view, node))]) : ClusterPlan.Of([new PlanStep(PlanStepKind.Detach, node.Id)]);
        }

        if (known is { IsPrimary: false } && primary is null) return ClusterPlan.Nothing;
        string to = primary is null ? FewestReplicas(view, topology, node, [node.Id]) : PrimaryOf(view, topology, primary);
        if (to == node.Id) throw new PlanException("a node is no replica of itself");
        if (known?.PrimaryId == to) return ClusterPlan.Nothing;
        if (known is { IsPrimary: true } && topology.RangesOf(node.Id).Count > 0) throw new PlanException($"{view.Show(node.Id)} has slots: redkite cluster move gives them to other nodes");
        return ClusterPlan.Of([known is null ? Join(Registered(view, node), to) : new PlanStep(PlanStepKind.Replicate, node.Id) { OtherId = to }]);
    }

    /// <summary>Takes a node out. What it has moves away first: its slots, and its replicas.</summary>
    /// <param name="view">The cluster.</param>
    /// <param name="text">The node.</param>
    /// <param name="acceptsLoss">Whether it may be one that alone has acknowledged writes.</param>
    internal static ClusterPlan Remove(ClusterView view, string text, bool acceptsLoss)
    {
        ClusterTopology topology = Existing(view);
        if (topology.Terms.Removed.Contains(text)) return ClusterPlan.Nothing;
        ClusterNode node = view.Find(text);
        if (topology.Find(node.Id) is not { } known) return topology.Terms.Removed.Contains(node.Id) ? ClusterPlan.Nothing : throw new PlanException($"{view.Show(node.Id)} is not a node of the cluster");
        bool isAlive = view.Alive.ContainsKey(node.Id);
        var forget = new PlanStep(PlanStepKind.Forget, node.Id);

        // As a primary without slots it follows none any more, and removes its copy of the keys.
        ThrowIfNeeded(view, topology, known, acceptsLoss);
        if (!known.IsPrimary) return isAlive ? ClusterPlan.Of([new PlanStep(PlanStepKind.Detach, node.Id)], [forget]) : ClusterPlan.Of([forget with { NeedsAbsence = true }]);
        ClusterNode[] replicas = [.. topology.ReplicasOf(node.Id)];
        bool hasSlots = topology.RangesOf(node.Id).Count > 0;
        if (hasSlots && (!isAlive || topology.Terms.Of(known.ShardId).IsSealed))
            throw new PlanException($"{view.Show(node.Id)} is gone and has slots: {(replicas.Length > 0 ? "redkite cluster failover makes a replica the primary" : "redkite cluster replace gives them to another node, without their keys")}");

        IReadOnlyList<PlanStep> moves = hasSlots ? Drain(view, node.Id) : [];
        List<PlanStep> moved = [];
        ClusterTopology behind = topology;
        foreach (ClusterNode replica in replicas)
        {
            string to = FewestReplicas(view with { Shared = view.Shared! with { Topology = behind } }, behind, replica, [node.Id, replica.Id]);
            moved.Add(new PlanStep(PlanStepKind.Replicate, replica.Id) { OtherId = to });
            behind = PlanStepChange.Apply(moved[^1], behind);
        }

        return ClusterPlan.Of([moves, moved, [forget]]);
    }

    /// <summary>Moves slots so that each primary has its share.</summary>
    /// <param name="view">The cluster.</param>
    /// <param name="weights">What each slot counts; null: one each.</param>
    internal static ClusterPlan Rebalance(ClusterView view, IReadOnlyList<long>? weights)
    {
        ClusterTopology topology = Existing(view);
        ThrowUnlessWhole(topology);
        HashSet<string> receivers = [.. view.Receivers.Select(static node => node.Id)];
        if (topology.Nodes.FirstOrDefault(node => node.IsPrimary && !receivers.Contains(node.Id) && topology.RangesOf(node.Id).Count > 0) is { } gone) throw new PlanException($"{view.Show(gone.Id)} has slots and does not serve: mend that first (redkite cluster status)");
        return ClusterPlan.Of([SlotBalance.Moves(Owned(topology, receivers), leaving: null, weights)]);
    }

    /// <summary>Moves slots to a primary.</summary>
    internal static ClusterPlan Move(ClusterView view, SlotSet slots, string to)
    {
        ClusterTopology topology = Existing(view);
        ClusterNode target = view.Find(to);
        if (view.Receivers.All(node => node.Id != target.Id)) throw new PlanException($"{view.Show(target.Id)} {(topology.Find(target.Id) is { IsPrimary: true } ? "does not serve" : "is no primary of the cluster")}");
        List<PlanStep> steps = [];
        foreach (IGrouping<string, int> source in slots.Slots().Where(slot => topology.OwnerOf(slot)?.Id != target.Id).GroupBy(slot => topology.OwnerOf(slot)?.Id ?? throw new PlanException($"the slot {slot} has no owner")))
        {
            HashSet<int> own = [.. source];
            steps.Add(new PlanStep(PlanStepKind.Move, source.Key) { OtherId = target.Id, Slots = SlotSet.Of(own.Contains) });
        }

        return ClusterPlan.Of([steps]);
    }

    /// <summary>Some of a primary's slots, the last ones, for a move.</summary>
    internal static SlotSet Some(ClusterView view, string from, int count)
    {
        ClusterTopology topology = Existing(view);
        ClusterNode source = view.Find(from);
        SlotSet own = SlotSet.Of(topology.RangesOf(source.Id));
        if (own.Count < count) throw new PlanException($"{view.Show(source.Id)} has {own.Count} slots");
        HashSet<int> last = [.. own.Slots().Skip(own.Count - count)];
        return SlotSet.Of(last.Contains);
    }

    /// <summary>Makes a replica the primary of its shard.</summary>
    /// <param name="view">The cluster.</param>
    /// <param name="text">The replica; or the primary, or one of a shard's replicas: the one that has most.</param>
    /// <param name="acceptsLoss">Whether acknowledged writes may be missing there.</param>
    internal static ClusterPlan Failover(ClusterView view, string text, bool acceptsLoss)
    {
        ClusterTopology topology = Existing(view);
        ClusterNode node = topology.Find(view.Find(text).Id) ?? throw new PlanException($"'{text}' is not a node of the cluster");
        ClusterNode primary = node.PrimaryId is { } id ? topology.Find(id)! : node;
        ShardTerms terms = topology.Terms.Of(node.ShardId);
        if (terms.IsSealed)
        {
            string? hindrance = Succession.Hindrance(topology, primary, view.Alive);
            if (hindrance is null) return ClusterPlan.Of([new PlanStep(PlanStepKind.Choose, primary.Id)]);
            if (terms.AcceptsLoss) return ClusterPlan.Of([new PlanStep(PlanStepKind.Choose, primary.Id)]);
            if (!acceptsLoss) throw new PlanException($"{hindrance}. Start a node of the shard that is away, or say --accept-loss", mayLose: true);
            if (!topology.Nodes.Any(other => other.ShardId == node.ShardId && view.Alive.ContainsKey(other.Id))) throw new PlanException("no node of the shard is there");
            return ClusterPlan.Of([new PlanStep(PlanStepKind.AcceptLoss, primary.Id)], [new PlanStep(PlanStepKind.Choose, primary.Id)]);
        }

        if (!view.Alive.ContainsKey(primary.Id)) return ClusterPlan.Of([new PlanStep(PlanStepKind.Choose, primary.Id)]); // it is about to be sealed
        if (node.IsPrimary)
        {
            node = topology.ReplicasOf(node.Id)
                .Where(replica => view.Alive.ContainsKey(replica.Id))
                .OrderByDescending(replica => terms.ReplicasInStep.Contains(replica.Id))
                .ThenByDescending(replica => view.Alive[replica.Id].Position.Offset)
                .FirstOrDefault() ?? throw new PlanException($"{view.Show(primary.Id)} has no live replica");
        }
        else if (!view.Alive.ContainsKey(node.Id)) throw new PlanException($"{view.Show(node.Id)} is gone");

        return ClusterPlan.Of([new PlanStep(PlanStepKind.HandOver, node.Id)]);
    }

    /// <summary>Puts another node in the place of one that is gone.</summary>
    /// <param name="view">The cluster.</param>
    /// <param name="gone">The node that is gone.</param>
    /// <param name="by">The registered node.</param>
    /// <param name="acceptsLoss">Whether it may be the empty primary of slots whose keys are lost.</param>
    internal static ClusterPlan Replace(ClusterView view, string gone, string by, bool acceptsLoss)
    {
        ClusterTopology topology = Existing(view);
        ClusterNode next = view.Find(by);
        if (topology.Find(next.Id) is not null && (topology.Terms.Removed.Contains(gone) || !view.Has(gone))) return new([]) { Note = $"{view.Show(next.Id)} is in the cluster, and no node '{gone}' is" };
        ClusterNode old = topology.Find(view.Find(gone).Id) ?? throw new PlanException($"'{gone}' is not a node of the cluster");
        if (old.Id == next.Id) throw new PlanException("a node is not replaced by itself");
        if (view.Alive.ContainsKey(old.Id)) throw new PlanException($"{view.Show(old.Id)} is not gone: its lease lasts. redkite cluster remove takes it out");
        Registered(view, next);
        if (topology.Find(next.Id) is { IsPrimary: true } busy && (topology.RangesOf(busy.Id).Count > 0 || topology.ReplicasOf(busy.Id).Any())) throw new PlanException($"{view.Show(next.Id)} has slots or replicas");
        var forget = new PlanStep(PlanStepKind.Forget, old.Id) { NeedsAbsence = true };
        ThrowIfNeeded(view, topology, old, acceptsLoss);
        if (old.PrimaryId is { } primary) return ClusterPlan.Of([forget, Join(next, primary)]);

        ClusterNode[] replicas = [.. topology.ReplicasOf(old.Id).Where(replica => replica.Id != next.Id)];
        SlotSet slots = SlotSet.Of(topology.RangesOf(old.Id));
        if (slots.IsEmpty && replicas.Length == 0) return ClusterPlan.Of([forget, Join(next)]);
        if (topology.ReplicasOf(old.Id).Any()) throw new PlanException($"the shard of {view.Show(old.Id)} has replicas, which may have its keys: redkite cluster failover makes one of them the primary, and redkite cluster remove takes one out that never comes back");
        if (!acceptsLoss) throw new PlanException($"no replica has the keys of {view.Show(old.Id)}: its slots would be empty. Start it again, or say --accept-loss", mayLose: true);
        return ClusterPlan.Of([forget, Join(next), new PlanStep(PlanStepKind.Assign, next.Id) { Slots = slots, Described = next }]);
    }

    private static int First(int shard, int count) => (int)Math.Round(shard * (double)KeySlot.Count / count, MidpointRounding.AwayFromZero);

    private static IEnumerable<ClusterNode> ByZones(IEnumerable<ClusterNode> nodes) => nodes
        .GroupBy(static node => node.Zone)
        .SelectMany(static zone => zone.OrderBy(static node => node.Ip, StringComparer.Ordinal).ThenBy(static node => node.Port).ThenBy(static node => node.TlsPort).Select(static (node, i) => (node, i)))
        .OrderBy(static place => place.i)
        .ThenBy(static place => place.node.Zone, StringComparer.Ordinal)
        .Select(static place => place.node);

    private static PlanStep Join(ClusterNode node, string? primary = null) => new(PlanStepKind.Join, node.Id) { Described = node, OtherId = primary };

    private static ClusterTopology Existing(ClusterView view) => view.Topology ?? throw new PlanException("the store has no cluster: redkite cluster create makes one");

    private static ClusterNode Registered(ClusterView view, ClusterNode node) =>
        view.Alive.ContainsKey(node.Id) ? node : throw new PlanException($"{ClusterView.Show(node)} is not registered in the store: it does not run, or does not reach the store");

    // While a shard has no primary, a node that is taken out does not count any more, whatever it alone has.
    private static void ThrowIfNeeded(ClusterView view, ClusterTopology topology, ClusterNode node, bool acceptsLoss)
    {
        ShardTerms terms = topology.Terms.Of(node.ShardId);
        if (terms.IsSealed && terms.Acks > 0 && !acceptsLoss && terms.ReplicasInStep.Contains(node.Id)) throw new PlanException($"the shard of {view.Show(node.Id)} has no primary, and acknowledged writes may be on this node alone. Start it again, or say --accept-loss", mayLose: true);
    }

    private static void ThrowUnlessWhole(ClusterTopology topology)
    {
        if (topology.AssignedSlots < KeySlot.Count) throw new PlanException($"{KeySlot.Count - topology.AssignedSlots} slots have no owner: CLUSTER ADDSLOTS on a node gives them to it");
    }

    private static string PrimaryOf(ClusterView view, ClusterTopology topology, string text) =>
        topology.Find(view.Find(text).Id) is { } node ? node.PrimaryId ?? node.Id : throw new PlanException($"'{text}' is not a node of the cluster");

    private static IReadOnlyList<(string Id, SlotSet Slots)> Owned(ClusterTopology topology, IEnumerable<string> ids) =>
        [.. ids.Select(id => (id, SlotSet.Of(topology.RangesOf(id)))).OrderBy(static primary => primary.Item2.IsEmpty ? KeySlot.Count : primary.Item2.Slots().First()).ThenBy(static primary => primary.id, StringComparer.Ordinal)];

    private static IReadOnlyList<PlanStep> Drain(ClusterView view, string id)
    {
        ClusterTopology topology = view.Topology!;

        // To those that have some; to empty ones if there are no others.
        string[] others = [.. view.Receivers.Where(node => node.Id != id).Select(static node => node.Id)];
        string[] withSlots = [.. others.Where(other => topology.RangesOf(other).Count > 0)];
        if (others.Length == 0) throw new PlanException($"{view.Show(id)} has slots, and no other primary serves");
        return SlotBalance.Moves(Owned(topology, [id, .. withSlots.Length > 0 ? withSlots : others]), leaving: id, weights: null);
    }

    private static string FewestReplicas(ClusterView view, ClusterTopology topology, ClusterNode joining, string[] except) =>
        Succession.FittingPrimary(topology, [joining], view.Receivers.Where(node => !except.Contains(node.Id)))?.Primary.Id ?? throw new PlanException("no primary with slots serves that it could follow");
}
