using System.Collections.Immutable;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Cluster.Agreement;

/// <summary>
/// Slots that get another owner in two steps. A node serves by the topology that it has seen, so the former owner may serve them for a while behind the first step: until then the new one, which the topology names already, does not.
/// Clients are sent to it, and the cluster has all of its slots. The second step is its own: it takes the note away when the former owner goes by the first step, or its lease has ended.
/// </summary>
/// <remarks>
/// As long as every slot gets its owner so, a slot without such a note is served by no node but its owner, and the former owner alone is to be looked at; of an owner that did not serve it yet, the one before. A slot that had no owner may be served by
/// any node. Slots that are given need no second step (<see cref="SlotGift"/>), and neither does the successor of a primary, which its lease has kept from serving.
/// </remarks>
internal static class Reassignments
{
    /// <summary>A topology that is about to replace another one, with a note of the slots that get another owner by it.</summary>
    internal static ClusterTopology Note(ClusterTopology before, ClusterTopology next)
    {
        if (before.Nodes == next.Nodes && before.Owners.SequenceEqual(next.Owners)) return next;
        SlotSet notServed = before.Terms.ReassignedSlots;
        Dictionary<string, HashSet<int>> reassigned = new(StringComparer.Ordinal);
        SlotSet changed = SlotSet.Of(slot =>
        {
            ClusterNode? from = before.OwnerOf(slot), to = next.OwnerOf(slot);
            if (from?.ShardId == to?.ShardId) return false;
            if (to is null) return true;
            string fromId = from is null ? "" : notServed.Contains(slot) ? before.Terms.Reassigned.First(each => each.Slots.Contains(slot)).FromId : from.Id;
            if (!reassigned.TryGetValue(fromId, out HashSet<int>? slots)) reassigned[fromId] = slots = [];
            slots.Add(slot);
            return true;
        });
        if (changed.IsEmpty) return next;
        IEnumerable<Reassignment> stay = next.Terms.Reassigned.Select(each => each with { Slots = each.Slots.Without(changed) }).Where(static each => !each.Slots.IsEmpty);
        IEnumerable<Reassignment> come = reassigned.OrderBy(static each => each.Key, StringComparer.Ordinal).Select(each => new Reassignment(SlotSet.Of(each.Value.Contains), before.Version + 1, each.Key));
        return next.WithTerms(next.Terms with { Reassigned = [.. stay, .. come] });
    }

    /// <summary>The notes about slots of a node.</summary>
    internal static ImmutableArray<Reassignment> Of(ClusterTopology topology, string ownerId)
    {
        if (topology.Terms.Reassigned.IsEmpty) return [];
        int owner = topology.IndexOf(ownerId);
        return [.. topology.Terms.Reassigned.Where(each => each.Slots.Slots().Any(slot => topology.Owners[slot] == owner))];
    }

    /// <summary>Whether no node serves the slots any more as their former owner. That stays so: a node that does not serve, or registers, serves by the topology of then.</summary>
    /// <param name="reassignment">The slots.</param>
    /// <param name="registered">What the nodes say of themselves, that one at least, read when the topology had the note.</param>
    internal static bool HasEnded(Reassignment reassignment, IEnumerable<NodeStatus> registered) =>
        !registered.Any(status => MayServe(reassignment, status));

    private static bool MayServe(Reassignment reassignment, NodeStatus status) => status.Serves && status.Version < reassignment.Since && (reassignment.FromId.Length == 0 || reassignment.FromId == status.Node.Id);

    /// <summary>The slots that are waited for, with the nodes that hinder their owners.</summary>
    /// <param name="topology">The topology.</param>
    /// <param name="registered">What the nodes say of themselves.</param>
    internal static IReadOnlyList<AwaitedSlots> Awaited(ClusterTopology topology, IEnumerable<NodeStatus> registered)
    {
        if (topology.Terms.Reassigned.IsEmpty) return [];
        NodeStatus[] all = [.. registered];
        return
        [
            .. topology.Terms.Reassigned.SelectMany(each => each.Slots.Slots().GroupBy(slot => topology.OwnerOf(slot)!.Id).Select(ofOwner =>
            {
                HashSet<int> slots = [.. ofOwner];
                return new AwaitedSlots(ofOwner.Key, SlotSet.Of(slots.Contains), each.Since, each.FromId, [.. all.Where(status => MayServe(each, status)).Select(static status => status.Node.Id)]);
            })),
        ];
    }

    /// <summary>A topology without some notes.</summary>
    internal static ClusterTopology Without(ClusterTopology topology, IEnumerable<Reassignment> ended) =>
        topology.WithTerms(topology.Terms with { Reassigned = topology.Terms.Reassigned.RemoveRange(ended) });
}
