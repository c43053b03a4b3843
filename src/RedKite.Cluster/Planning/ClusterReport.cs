using System.Text.Json;
using RedKite.Server.Cluster.Agreement;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Cluster.Planning;

/// <summary>What a node has answered about itself; the store has what it said some seconds ago.</summary>
internal sealed record NodeAnswer
{
    /// <summary>Its offset in the replication stream; -1: not known.</summary>
    internal long Offset { get; init; } = -1;

    /// <summary>Whether a replica's link to its primary is up; null: it is a primary, or not known.</summary>
    internal bool? IsLinked { get; init; }

    /// <summary>Keys that it has; -1: not known.</summary>
    internal long Keys { get; init; } = -1;

    /// <summary>Why it has not answered, in one line; empty: it has.</summary>
    internal string Failure { get; init; } = "";

    /// <summary>Moves of slots as a whole that it has as their source and that have not ended.</summary>
    internal IReadOnlyList<RunningMove> Moves { get; init; } = [];
}

/// <summary>A move of slots, as its source lists it.</summary>
internal sealed record RunningMove(string FromId, string ToId, string Slots, string State, long WaitingBytes)
{
    internal string Name { get; init; } = "";

    /// <summary>Why it failed.</summary>
    internal string Message { get; init; } = "";
}

/// <summary>The state of a cluster as JSON. docs/cluster.md names its members, which stay.</summary>
internal static class ClusterReport
{
    internal static void Write(Utf8JsonWriter json, ClusterView view, IReadOnlyDictionary<string, NodeAnswer> answers, IReadOnlyList<ClusterFault> faults)
    {
        json.WriteStartObject();
        json.WriteString("state"u8, StateOf(faults));
        json.WriteString("cluster"u8, view.Topology?.Terms.ClusterId ?? "");
        json.WriteNumber("version"u8, view.Topology?.Version ?? 0);
        json.WriteString("controller"u8, view.Controller);
        json.WriteNumber("slots_assigned"u8, view.Topology?.AssignedSlots ?? 0);
        json.WriteStartArray("shards"u8);
        foreach (ClusterNode primary in Primaries(view)) WriteShard(json, view, primary, answers);
        json.WriteEndArray();
        json.WriteStartArray("other_nodes"u8);
        foreach (NodeStatus status in Others(view)) WriteNode(json, view, status.Node, answers, primary: null, isInStep: false);
        json.WriteEndArray();
        json.WriteStartArray("moves"u8);
        foreach (RunningMove move in answers.Values.SelectMany(static answer => answer.Moves))
        {
            json.WriteStartObject();
            json.WriteString("slots"u8, move.Slots);
            json.WriteString("from"u8, move.FromId);
            json.WriteString("to"u8, move.ToId);
            json.WriteString("state"u8, move.State);
            json.WriteNumber("waiting_bytes"u8, move.WaitingBytes);
            json.WriteEndObject();
        }

        json.WriteEndArray();
        json.WriteStartArray("awaited"u8);
        foreach (AwaitedSlots awaited in view.Topology is { } topology ? Reassignments.Awaited(topology, view.Alive.Values) : [])
        {
            json.WriteStartObject();
            WriteSlots(json, awaited.Slots.Ranges());
            json.WriteString("owner"u8, awaited.OwnerId);
            json.WriteString("from"u8, awaited.FromId);
            json.WriteNumber("since"u8, awaited.Since);
            json.WriteStartArray("waits_for"u8);
            foreach (string id in awaited.WaitsFor) json.WriteStringValue(id);
            json.WriteEndArray();
            json.WriteEndObject();
        }

        json.WriteEndArray();
        json.WriteStartArray("faults"u8);
        foreach (ClusterFault fault in faults)
        {
            json.WriteStartObject();
            json.WriteString("name"u8, fault.Name);
            json.WriteString("severity"u8, fault.IsError ? "error" : "warning");
            json.WriteString("text"u8, fault.Text);
            json.WriteEndObject();
        }

        json.WriteEndArray();
        json.WriteEndObject();
    }

    /// <summary>A plan and what became of it.</summary>
    /// <param name="json">Where it is written.</param>
    /// <param name="view">The cluster.</param>
    /// <param name="plan">The plan.</param>
    /// <param name="outcome"><c>done</c>, <c>planned</c> or <c>failed</c>.</param>
    /// <param name="error">Why it failed; empty: it did not.</param>
    /// <param name="stagesDone">The stages that are done.</param>
    internal static void WritePlan(Utf8JsonWriter json, ClusterView view, ClusterPlan plan, string outcome, string error, int stagesDone)
    {
        json.WriteStartObject();
        json.WriteString("outcome"u8, outcome);
        json.WriteString("error"u8, error);
        json.WriteString("note"u8, plan.Note);
        json.WriteNumber("stages"u8, plan.Stages.Count);
        json.WriteNumber("stages_done"u8, stagesDone);
        json.WriteStartArray("steps"u8);
        for (int stage = 0; stage < plan.Stages.Count; stage++)
        {
            foreach (PlanStep step in plan.Stages[stage])
            {
                json.WriteStartObject();
                json.WriteNumber("stage"u8, stage + 1);
                json.WriteString("step"u8, NameOf(step.Kind));
                json.WriteString("node"u8, step.NodeId);
                if (step.OtherId is not null) json.WriteString("to"u8, step.OtherId);
                if (!step.Slots.IsEmpty) WriteSlots(json, step.Slots.Ranges());
                json.WriteString("text"u8, step.Text(view));
                json.WriteEndObject();
            }
        }

        json.WriteEndArray();
        json.WriteEndObject();
    }

    /// <summary>The primaries in the order of their first slots; those without slots last.</summary>
    internal static IEnumerable<ClusterNode> Primaries(ClusterView view) => view.Topology is not { } topology ? [] : topology.Nodes.Where(static node => node.IsPrimary)
        .OrderBy(node => topology.RangesOf(node.Id) is [var first, ..] ? first.First : KeySlot.Count)
        .ThenBy(static node => node.Id, StringComparer.Ordinal);

    /// <summary>Nodes that are registered but are not in the cluster.</summary>
    internal static IEnumerable<NodeStatus> Others(ClusterView view) =>
        view.Alive.Values.Where(status => view.Topology?.Find(status.Node.Id) is null).OrderBy(static status => status.Node.Address, StringComparer.Ordinal);

    /// <summary>Bytes of the stream that a replica lacks; null: not known.</summary>
    internal static long? LagOf(ClusterView view, IReadOnlyDictionary<string, NodeAnswer> answers, ClusterNode primary, ClusterNode replica)
    {
        if (answers.GetValueOrDefault(primary.Id) is { Offset: >= 0 } first && answers.GetValueOrDefault(replica.Id) is { Offset: >= 0 } second) return Math.Max(0, first.Offset - second.Offset);
        if (!view.Alive.TryGetValue(primary.Id, out NodeStatus? from) || !view.Alive.TryGetValue(replica.Id, out NodeStatus? to)) return null;
        return from.Position.History == to.Position.History && from.Position.Offset >= 0 && to.Position.Offset >= 0 ? Math.Max(0, from.Position.Offset - to.Position.Offset) : null;
    }

    internal static string StateOf(IReadOnlyList<ClusterFault> faults) => faults.Any(static fault => fault.IsError) ? "error" : faults.Count > 0 ? "warning" : "ok";

    private static void WriteShard(Utf8JsonWriter json, ClusterView view, ClusterNode primary, IReadOnlyDictionary<string, NodeAnswer> answers)
    {
        ClusterTopology topology = view.Topology!;
        ShardTerms terms = topology.Terms.Of(primary.ShardId);
        IReadOnlyList<SlotRange> ranges = topology.RangesOf(primary.Id);
        json.WriteStartObject();
        json.WriteString("id"u8, primary.ShardId);
        json.WriteNumber("slot_count"u8, ranges.Sum(static range => range.Last - range.First + 1));
        WriteSlots(json, ranges);
        json.WriteBoolean("sealed"u8, terms.IsSealed);
        json.WriteString("handover_to"u8, terms.HandoverTo);
        json.WriteNumber("replica_acks"u8, terms.Acks);
        json.WritePropertyName("primary"u8);
        WriteNode(json, view, primary, answers, primary: null, isInStep: true);
        json.WriteStartArray("replicas"u8);
        foreach (ClusterNode replica in topology.ReplicasOf(primary.Id)) WriteNode(json, view, replica, answers, primary, terms.ReplicasInStep.Contains(replica.Id));
        json.WriteEndArray();
        json.WriteEndObject();
    }

    private static void WriteNode(Utf8JsonWriter json, ClusterView view, ClusterNode node, IReadOnlyDictionary<string, NodeAnswer> answers, ClusterNode? primary, bool isInStep)
    {
        NodeStatus? status = view.Alive.GetValueOrDefault(node.Id);
        NodeAnswer? answer = answers.GetValueOrDefault(node.Id);
        json.WriteStartObject();
        json.WriteString("id"u8, node.Id);
        json.WriteString("address"u8, node.Address);
        json.WriteString("name"u8, node.Name);
        json.WriteString("zone"u8, node.Zone);
        json.WriteBoolean("registered"u8, status is not null);
        json.WriteBoolean("answers"u8, answer is { Failure: "" });
        json.WriteBoolean("serves"u8, status?.Serves ?? false);
        json.WriteNumber("version"u8, status?.Version ?? 0);
        json.WriteNumber("offset"u8, answer is { Offset: >= 0 } ? answer.Offset : status?.Position.Offset ?? -1);
        json.WriteNumber("keys"u8, answer?.Keys ?? -1);
        if (primary is not null)
        {
            json.WriteBoolean("in_step"u8, isInStep);
            if (LagOf(view, answers, primary, node) is { } lag) json.WriteNumber("lag_bytes"u8, lag);
            else json.WriteNull("lag_bytes"u8);
        }

        json.WriteEndObject();
    }

    private static void WriteSlots(Utf8JsonWriter json, IReadOnlyList<SlotRange> ranges)
    {
        json.WriteStartArray("slots"u8);
        foreach (SlotRange range in ranges)
        {
            json.WriteStartArray();
            json.WriteNumberValue(range.First);
            json.WriteNumberValue(range.Last);
            json.WriteEndArray();
        }

        json.WriteEndArray();
    }

    private static string NameOf(PlanStepKind kind) => kind switch
    {
        PlanStepKind.Join => "join",
        PlanStepKind.Assign => "assign",
        PlanStepKind.Replicate => "replicate",
        PlanStepKind.Detach => "detach",
        PlanStepKind.Forget => "forget",
        PlanStepKind.Move => "move",
        PlanStepKind.HandOver => "hand-over",
        PlanStepKind.AcceptLoss => "accept-loss",
        _ => "choose",
    };
}
