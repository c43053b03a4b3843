using System.Globalization;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Cluster.Planning;

/// <summary>What a step does.</summary>
internal enum PlanStepKind
{
    /// <summary>A registered node becomes one of the cluster: a primary without slots, or a replica.</summary>
    Join,

    /// <summary>A node gets slots that have no owner.</summary>
    Assign,

    /// <summary>A node follows another primary.</summary>
    Replicate,

    /// <summary>A replica becomes a primary without slots.</summary>
    Detach,

    /// <summary>A node is taken out and does not join again by itself.</summary>
    Forget,

    /// <summary>Slots move with their keys, by CLUSTER MIGRATESLOTS on the node that has them.</summary>
    Move,

    /// <summary>A primary hands its role over to a replica that has everything.</summary>
    HandOver,

    /// <summary>A primary of a sealed shard may be chosen although acknowledged writes may be missing there.</summary>
    AcceptLoss,

    /// <summary>The controller chooses the primary of a shard that is sealed, or is about to be.</summary>
    Choose,
}

/// <summary>A step of a plan. Most change the topology; <see cref="PlanStepKind.Move"/> and <see cref="PlanStepKind.Choose"/> are done by nodes.</summary>
/// <param name="Kind">What it does.</param>
/// <param name="NodeId">The node that it is about.</param>
internal sealed record PlanStep(PlanStepKind Kind, string NodeId)
{
    /// <summary>The primary that the node follows from then on, or the node that the slots move to.</summary>
    internal string? OtherId { get; init; }

    internal SlotSet Slots { get; init; } = SlotSet.Empty;

    /// <summary>How a node that joins describes itself.</summary>
    internal ClusterNode? Described { get; init; }

    /// <summary>Whether it holds only while the node is not registered.</summary>
    internal bool NeedsAbsence { get; init; }

    /// <summary>The step for people, in one line.</summary>
    internal string Text(ClusterView view)
    {
        string node = Described is { } described ? ClusterView.Show(described) : view.Show(NodeId);
        string other = OtherId is { } id ? view.Show(id) : "";
        return Kind switch
        {
            PlanStepKind.Join => OtherId is null ? $"add {node} as a primary without slots" : $"add {node} as a replica of {other}",
            PlanStepKind.Assign => $"give {node} {ShowSlots(Slots)}",
            PlanStepKind.Replicate => $"make {node} a replica of {other}",
            PlanStepKind.Detach => $"make {node} a primary without slots",
            PlanStepKind.Forget => $"take {node} out",
            PlanStepKind.Move => $"move {ShowSlots(Slots)} from {node} to {other}",
            PlanStepKind.HandOver => $"hand the role of the primary over to {node}",
            PlanStepKind.AcceptLoss => $"accept that acknowledged writes may be lost in the shard of {node}",
            _ => $"wait until the controller has chosen a primary for the shard of {node}",
        };
    }

    /// <summary>Slots for people: how many, and some of their ranges.</summary>
    internal static string ShowSlots(SlotSet slots)
    {
        const int Shown = 4;
        List<SlotRange> ranges = slots.Ranges();
        string text = string.Join(", ", ranges.Take(Shown).Select(static range => range.First == range.Last ? Number(range.First) : $"{Number(range.First)}-{Number(range.Last)}"));
        return $"{(slots.Count == 1 ? "1 slot" : $"{Number(slots.Count)} slots")} ({text}{(ranges.Count > Shown ? $" and {Number(ranges.Count - Shown)} more ranges" : "")})";
    }

    private static string Number(int number) => number.ToString(CultureInfo.InvariantCulture);
}

/// <summary>What is done about a cluster, in stages that follow each other. The changes of the topology in a stage are one transaction.</summary>
internal sealed record ClusterPlan(IReadOnlyList<IReadOnlyList<PlanStep>> Stages)
{
    internal static readonly ClusterPlan Nothing = new([]);

    /// <summary>For people: what an empty plan takes for granted; empty if there is nothing to say.</summary>
    internal string Note { get; init; } = "";

    internal IEnumerable<PlanStep> Steps => Stages.SelectMany(static stage => stage);

    internal bool IsEmpty => Stages.Count == 0;

    internal static ClusterPlan Of(params IReadOnlyList<PlanStep>[] stages) => new([.. stages.Where(static stage => stage.Count > 0)]);
}

/// <summary>What a step makes of a topology.</summary>
internal static class PlanStepChange
{
    /// <summary>The topology behind a step; the same one if nothing is left to do.</summary>
    /// <exception cref="PlanException">The topology has changed so that the step is impossible.</exception>
    /// <exception cref="TopologyException">The topology would break a rule.</exception>
    internal static ClusterTopology Apply(PlanStep step, ClusterTopology topology)
    {
        ClusterNode? node = topology.Find(step.NodeId);
        switch (step.Kind)
        {
            case PlanStepKind.Join when node is null:
                topology = topology.WithJoined(step.Described! with { Epoch = 0 });
                return step.OtherId is null ? topology : Follow(topology, topology.Find(step.NodeId)!, step.OtherId);
            case PlanStepKind.Join:
                return step.OtherId is not null ? Follow(topology, node, step.OtherId) : node.IsPrimary ? topology : Detach(topology, node);
            case PlanStepKind.Replicate:
                return Follow(topology, node ?? throw Gone(step.NodeId), step.OtherId!);
            case PlanStepKind.Detach:
                return node is null ? throw Gone(step.NodeId) : node.IsPrimary ? topology : Detach(topology, node);
            case PlanStepKind.Assign:
                if (node is not { IsPrimary: true }) throw Gone(step.NodeId);
                if (step.Slots.Slots().FirstOrDefault(slot => topology.OwnerOf(slot) is { } owner && owner.Id != node.Id, -1) is >= 0 and int taken) throw new PlanException(string.Create(CultureInfo.InvariantCulture, $"the slot {taken} has got another owner meanwhile"));
                if (node.Epoch == 0) topology = WithNextEpoch(topology, node);
                return topology.WithOwner(step.Slots.Slots(), node.Id);
            case PlanStepKind.Forget:
                if (node is null) return topology;
                if (topology.RangesOf(node.Id).Count > 0 && !step.NeedsAbsence) throw new PlanException($"the node {node.Id} has got slots meanwhile");
                return topology.WithoutForGood(node.Id);
            case PlanStepKind.HandOver:
                if (node is null) throw Gone(step.NodeId);
                if (node.IsPrimary) return topology;
                ShardTerms terms = topology.Terms.Of(node.ShardId);
                return terms.IsSealed ? throw new PlanException("the shard was sealed meanwhile: run the same command again") : topology.WithTerms(node.ShardId, terms with { HandoverTo = node.Id });
            case PlanStepKind.AcceptLoss:
                ShardTerms sealing = topology.Terms.Of((node ?? throw Gone(step.NodeId)).ShardId);
                return sealing.IsSealed ? topology.WithTerms(node.ShardId, sealing with { AcceptsLoss = true }) : topology;
            default:
                return topology; // by nodes
        }
    }

    private static ClusterTopology Follow(ClusterTopology topology, ClusterNode node, string primaryId)
    {
        if (node.PrimaryId == primaryId) return topology;
        if (topology.Find(primaryId) is not { IsPrimary: true } primary || primaryId == node.Id) throw new PlanException($"the node {primaryId} is no primary any more");
        if (topology.RangesOf(node.Id).Count > 0) throw new PlanException($"the node {node.Id} has slots: a replica has none");
        if (topology.ReplicasOf(node.Id).Any()) throw new PlanException($"the node {node.Id} has replicas: a replica has none");
        return topology.WithNode(node.Id, node with { PrimaryId = primaryId, ShardId = primary.ShardId });
    }

    private static ClusterTopology Detach(ClusterTopology topology, ClusterNode node)
    {
        string shardId = topology.OwnShardIdOf(node.Id);
        return Fresh(topology, shardId).WithNode(node.Id, node with { PrimaryId = null, ShardId = shardId });
    }

    // No terms of an earlier shard with that id.
    private static ClusterTopology Fresh(ClusterTopology topology, string shardId) => topology.WithTerms(topology.Terms with { Shards = topology.Terms.Shards.Remove(shardId) });

    private static ClusterTopology WithNextEpoch(ClusterTopology topology, ClusterNode node)
    {
        long epoch = Math.Max(topology.Epoch, topology.Nodes.Max(static other => other.Epoch)) + 1;
        return topology.WithNode(node.Id, node with { Epoch = epoch }).WithEpoch(epoch);
    }

    private static PlanException Gone(string id) => new($"the node {id} has changed meanwhile: run the same command again");
}
