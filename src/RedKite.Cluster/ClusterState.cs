using System.Collections.Immutable;

namespace RedKite.Server.Cluster;

/// <summary>What a node knows and keeps: the topology, which node it is, and the slots that move key by key. Immutable.</summary>
internal sealed record ClusterState(string SelfId, ClusterTopology Topology)
{
    /// <summary>Slots that leave this node, and the node that they go to.</summary>
    internal ImmutableSortedDictionary<int, string> Migrating { get; private init; } = ImmutableSortedDictionary<int, string>.Empty;

    /// <summary>Slots that come to this node, and the node that they come from.</summary>
    internal ImmutableSortedDictionary<int, string> Importing { get; private init; } = ImmutableSortedDictionary<int, string>.Empty;

    /// <summary>Slots that this node gives to another one as a whole, and which: whether that has taken them is not known, unless this node is giving them now.</summary>
    internal ImmutableSortedDictionary<int, string> Giving { get; private init; } = ImmutableSortedDictionary<int, string>.Empty;

    internal ClusterNode Self => Topology.Find(SelfId)!;

    /// <summary>A node that knows no other.</summary>
    internal static ClusterState Alone(string id, string shardId) =>
        new(id, new ClusterTopology(version: 0, epoch: 0, [new ClusterNode(id) { ShardId = shardId }], ClusterTopology.NoOwners()));

    internal ClusterState WithMigrating(int slot, string? to) => this with { Migrating = to is null ? Migrating.Remove(slot) : Migrating.SetItem(slot, to) };

    internal ClusterState WithGiving(IEnumerable<int> slots, string? to) => this with { Giving = to is null ? Giving.RemoveRange(slots) : Giving.SetItems(slots.Select(slot => KeyValuePair.Create(slot, to))) };

    internal ClusterState WithImporting(int slot, string? from) => this with { Importing = from is null ? Importing.Remove(slot) : Importing.SetItem(slot, from) };

    /// <summary>The same with another topology. What moves between nodes that it does not have, or to and from the wrong owner, does not move any more.</summary>
    internal ClusterState With(ClusterTopology topology)
    {
        string id = SelfId;
        return this with
        {
            Topology = topology,
            Migrating = Migrating.RemoveRange(Migrating.Where(move => topology.Find(move.Value) is not { IsPrimary: true } || topology.OwnerOf(move.Key)?.Id != id).Select(static move => move.Key)),
            Giving = Giving.RemoveRange(Giving.Where(move => topology.Find(move.Value) is not { IsPrimary: true } || topology.OwnerOf(move.Key)?.Id != id).Select(static move => move.Key)),
            Importing = Importing.RemoveRange(Importing.Where(move => topology.Find(move.Value) is null || topology.OwnerOf(move.Key)?.Id == id).Select(static move => move.Key)),
        };
    }

    /// <summary>The same with the moves key by key that one state has begun and ended in comparison with another; others stay.</summary>
    internal ClusterState WithMovesOf(ClusterState before, ClusterState after) => this with
    {
        Migrating = Migrating.RemoveRange(before.Migrating.Keys.Except(after.Migrating.Keys)).SetItems(after.Migrating.Except(before.Migrating)),
        Importing = Importing.RemoveRange(before.Importing.Keys.Except(after.Importing.Keys)).SetItems(after.Importing.Except(before.Importing)),
    };

    /// <summary>Whether the same slots move key by key as in another one.</summary>
    internal bool HasMovesOf(ClusterState other) => Migrating.SequenceEqual(other.Migrating) && Importing.SequenceEqual(other.Importing);

    /// <summary>The same node by another id.</summary>
    internal ClusterState WithSelf(string id)
    {
        ClusterNode self = Self;
        ImmutableArray<ClusterNode> nodes = [.. Topology.Nodes.Select(node => node.Id == SelfId ? self with { Id = id } : node.PrimaryId == SelfId ? node with { PrimaryId = id } : node)];
        return this with { SelfId = id, Topology = new ClusterTopology(Topology.Version, Topology.Epoch, nodes, Topology.Owners.ToArray(), Topology.Terms) };
    }
}
