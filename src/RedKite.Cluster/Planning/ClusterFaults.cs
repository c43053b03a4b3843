using RedKite.Server.Cluster.Agreement;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Cluster.Planning;

/// <summary>Something that is wrong with a cluster.</summary>
/// <param name="Name">Its name, which stays.</param>
/// <param name="IsError">Whether slots are not served, or may soon not be; otherwise it is a warning.</param>
/// <param name="Text">What is wrong, and what helps, in one line.</param>
internal sealed record ClusterFault(string Name, bool IsError, string Text);

/// <summary>What is wrong with a cluster, by what its store has.</summary>
internal static class ClusterFaults
{
    internal static IReadOnlyList<ClusterFault> Of(ClusterView view)
    {
        if (view.Topology is not { } topology) return [new ClusterFault("no-cluster", IsError: true, $"the store has no cluster, and {view.Alive.Count} registered nodes: redkite cluster create makes one of them")];
        List<ClusterFault> faults = [];
        if (view.Controller.Length == 0) faults.Add(new("no-controller", IsError: true, "no controller is active, so no replica takes over: start a node with cluster-controller yes, or redkite controller"));
        SlotSet free = SlotSet.Of(slot => topology.OwnerOf(slot) is null);
        if (!free.IsEmpty) faults.Add(new("slots-without-owner", IsError: true, $"{PlanStep.ShowSlots(free)} without an owner: CLUSTER ADDSLOTSRANGE on a node gives them to it"));
        foreach (AwaitedSlots awaited in Reassignments.Awaited(topology, view.Alive.Values)) faults.Add(new("slots-awaited", IsError: false, ShowAwaited(view, awaited)));
        foreach (ClusterNode primary in topology.Nodes.Where(static node => node.IsPrimary)) AddShard(view, topology, primary, faults);
        foreach (NodeStatus status in view.Alive.Values.Where(status => topology.Find(status.Node.Id) is null).OrderBy(static status => status.Node.Id, StringComparer.Ordinal))
        {
            faults.Add(topology.Terms.Removed.Contains(status.Node.Id)
                ? new("node-taken-out", IsError: false, $"{ClusterView.Show(status.Node)} was taken out and still runs: stop it, or redkite cluster add")
                : new("node-not-added", IsError: false, $"{ClusterView.Show(status.Node)} is registered but is not a node of the cluster: redkite cluster add"));
        }

        return faults;
    }

    /// <summary>Slots that wait for their former owner, in one line for people.</summary>
    internal static string ShowAwaited(ClusterView view, AwaitedSlots awaited) => awaited.WaitsFor.Count > 0
        ? $"{PlanStep.ShowSlots(awaited.Slots)} of {view.Show(awaited.OwnerId)} not served yet: {string.Join(", ", awaited.WaitsFor.Select(view.Show))} may serve them until it goes by version {awaited.Since}, or its lease has ended"
        : $"{PlanStep.ShowSlots(awaited.Slots)} of {view.Show(awaited.OwnerId)} not served yet: no other node serves them any more, and the owner takes them soon";

    private static void AddShard(ClusterView view, ClusterTopology topology, ClusterNode primary, List<ClusterFault> faults)
    {
        ShardTerms terms = topology.Terms.Of(primary.ShardId);
        ClusterNode[] replicas = [.. topology.ReplicasOf(primary.Id)];
        bool hasSlots = topology.RangesOf(primary.Id).Count > 0;
        if (terms.IsSealed)
        {
            string? hindrance = Succession.Hindrance(topology, primary, view.Alive);
            faults.Add(new("shard-sealed", hasSlots, $"the shard of {view.Show(primary.Id)} has no primary: {(hindrance is null ? "one is being chosen" : hindrance + "; start a node of the shard, or redkite cluster failover --accept-loss")}"));
        }
        else if (!view.Alive.TryGetValue(primary.Id, out NodeStatus? status)) faults.Add(new("primary-gone", hasSlots, $"the primary {view.Show(primary.Id)} is gone{(replicas.Length == 0 && hasSlots ? " and has no replica: start it again, or redkite cluster replace" : "")}"));
        else if (terms.Incarnation.Length > 0 && terms.Incarnation != status.Incarnation) faults.Add(new("primary-restarted", hasSlots, $"the primary {view.Show(primary.Id)} was started again and is not chosen yet"));
        else if (!status.Serves) faults.Add(new("primary-not-serving", hasSlots, $"the primary {view.Show(primary.Id)} does not serve; its log says why"));
        if (terms.HandoverTo.Length > 0) faults.Add(new("handover", IsError: false, $"{view.Show(primary.Id)} hands its role over to {view.Show(terms.HandoverTo)}"));
        foreach (ClusterNode replica in replicas.Where(replica => !view.Alive.ContainsKey(replica.Id))) faults.Add(new("replica-gone", IsError: false, $"the replica {view.Show(replica.Id)} is gone: start it again, or redkite cluster replace or remove"));
        int there = replicas.Count(replica => view.Alive.ContainsKey(replica.Id));
        if (hasSlots && there < terms.Acks) faults.Add(new("too-few-replicas", IsError: true, $"{view.Show(primary.Id)} has {there} live replicas, but replica-acks is {terms.Acks}: writes to it are not acknowledged"));
        else if (hasSlots && there == 0 && topology.Nodes.Any(static node => !node.IsPrimary)) faults.Add(new("no-replica", IsError: false, $"{view.Show(primary.Id)} has no replica that could take over"));
    }
}
