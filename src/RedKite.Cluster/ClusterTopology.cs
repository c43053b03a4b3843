using System.Collections.Immutable;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Cluster;

/// <summary>
/// The nodes of a cluster, their shards, and who has which slot. Immutable, and always whole: the constructor checks that ids are unique, that a shard has one primary, that replicas follow that of their own shard and have no
/// slots, and that each slot has one owner at most, which its table cannot express otherwise.
/// </summary>
internal sealed class ClusterTopology
{
    private readonly Dictionary<string, int> _index = new(StringComparer.Ordinal);
    private readonly short[] _owners;
    private List<SlotRange>[]? _ranges; // of each node, when they are first asked for
    private int _assigned = -1; // slots, when they are first asked for

    /// <param name="version">Of the description; it only grows.</param>
    /// <param name="epoch">The greatest epoch that the cluster has had.</param>
    /// <param name="nodes">The nodes.</param>
    /// <param name="owners">The index of each slot's node; negative: none.</param>
    /// <param name="terms">What is agreed by a store; null: nothing.</param>
    /// <exception cref="TopologyException">A rule is broken.</exception>
    internal ClusterTopology(long version, long epoch, ImmutableArray<ClusterNode> nodes, short[] owners, ClusterTerms? terms = null)
    {
        if (version < 0) throw new TopologyException("a version is negative");
        if (epoch < 0) throw new TopologyException("an epoch is negative");
        if (nodes.Length > ClusterLimits.NodesMax) throw new TopologyException($"a cluster has at most {ClusterLimits.NodesMax} nodes");
        if (owners.Length != KeySlot.Count) throw new TopologyException("the number of slots is wrong");
        (Version, Epoch, Nodes, _owners, Terms) = (version, epoch, nodes, owners, terms ?? ClusterTerms.None);
        for (int i = 0; i < nodes.Length; i++)
        {
            if (!ClusterNode.IsId(nodes[i].Id)) throw new TopologyException($"'{Shown(nodes[i].Id)}' is no id of a node, which has {ClusterNode.IdLength} hexadecimal digits");
            if (!_index.TryAdd(nodes[i].Id, i)) throw new TopologyException($"the id {nodes[i].Id} is that of two nodes");
        }

        HashSet<string> led = new(StringComparer.Ordinal);
        foreach (ClusterNode node in nodes)
        {
            Check(node);
            if (node.IsPrimary && !led.Add(node.ShardId)) throw new TopologyException($"the shard {node.ShardId} has two primaries");
        }

        foreach (short owner in owners)
        {
            if (owner >= nodes.Length) throw new TopologyException("a slot has an owner that is no node");
            if (owner >= 0 && !nodes[owner].IsPrimary) throw new TopologyException($"the node {nodes[owner].Id} has slots and is a replica");
        }
    }

    internal long Version { get; }

    internal long Epoch { get; }

    internal ImmutableArray<ClusterNode> Nodes { get; }

    /// <summary>The index of each slot's node. Not changed any more.</summary>
    internal ReadOnlySpan<short> Owners => _owners;

    internal ClusterTerms Terms { get; }

    internal ClusterNode? Find(string id) => _index.TryGetValue(id, out int index) ? Nodes[index] : null;

    internal int IndexOf(string id) => _index.GetValueOrDefault(id, -1);

    internal ClusterNode? OwnerOf(int slot) => _owners[slot] < 0 ? null : Nodes[_owners[slot]];

    internal IEnumerable<ClusterNode> ReplicasOf(string id) => Nodes.Where(node => node.PrimaryId == id);

    /// <summary>The slots of a node, in order.</summary>
    internal IReadOnlyList<SlotRange> RangesOf(string id)
    {
        List<SlotRange>[] ranges = _ranges ??= RangesOfAll();
        return IndexOf(id) is >= 0 and int index ? ranges[index] : [];
    }

    /// <summary>Ranges of slots with one owner, in order; those without are left out.</summary>
    internal IEnumerable<(SlotRange Range, ClusterNode Owner)> Ranges()
    {
        for (int slot = 0; slot < _owners.Length; slot++)
        {
            short owner = _owners[slot];
            if (owner < 0) continue;
            int first = slot;
            while (slot + 1 < _owners.Length && _owners[slot + 1] == owner) slot++;
            yield return (new SlotRange(first, slot), Nodes[owner]);
        }
    }

    private List<SlotRange>[] RangesOfAll()
    {
        var ranges = new List<SlotRange>[Nodes.Length];
        for (int i = 0; i < ranges.Length; i++) ranges[i] = [];
        foreach ((SlotRange range, ClusterNode owner) in Ranges()) ranges[IndexOf(owner.Id)].Add(range);
        return ranges;
    }

    internal int AssignedSlots => _assigned >= 0 ? _assigned : _assigned = _owners.Count(static owner => owner >= 0);

    /// <summary>Primaries with slots.</summary>
    internal int Size => _owners.Where(static owner => owner >= 0).Distinct().Count();

    /// <summary>The same with other owners of slots.</summary>
    /// <param name="slots">The slots.</param>
    /// <param name="ownerId">Their owner from now on; null: none.</param>
    internal ClusterTopology WithOwner(IEnumerable<int> slots, string? ownerId)
    {
        short owner = ownerId is null ? (short)-1 : (short)IndexOf(ownerId);
        short[] owners = [.. _owners];
        foreach (int slot in slots) owners[slot] = owner;
        return new ClusterTopology(Version, Epoch, Nodes, owners, Terms);
    }

    /// <summary>The same with another description of a node, which is found by its old id.</summary>
    internal ClusterTopology WithNode(string id, ClusterNode node) => new(Version, Epoch, Nodes.SetItem(IndexOf(id), node), _owners, Terms);

    internal ClusterTopology WithEpoch(long epoch) => new(Version, epoch, Nodes, _owners, Terms);

    /// <summary>The same with a new epoch for each node that becomes a primary by this topology and has none yet: by its epoch, others see that it has not been a primary all the time.</summary>
    /// <param name="before">The topology that this one replaces.</param>
    internal ClusterTopology WithEpochsOfNewPrimaries(ClusterTopology before)
    {
        if (Nodes == before.Nodes) return this;
        long old = Math.Max(before.Epoch, before.Nodes.Select(static node => node.Epoch).DefaultIfEmpty().Max());
        long epoch = Math.Max(old, Math.Max(Epoch, Nodes.Max(static node => node.Epoch)));
        long last = epoch;
        ImmutableArray<ClusterNode> nodes = [.. Nodes.Select(node => node.IsPrimary && node.Epoch <= old && before.Find(node.Id) is not { IsPrimary: true } ? node with { Epoch = ++last } : node)];
        return last == epoch ? this : new ClusterTopology(Version, last, nodes, _owners, Terms);
    }

    internal ClusterTopology WithVersion(long version) => new(version, Epoch, Nodes, _owners, Terms);

    internal ClusterTopology WithTerms(ClusterTerms terms) => new(Version, Epoch, Nodes, _owners, terms);

    /// <summary>The same with other terms of a shard.</summary>
    internal ClusterTopology WithTerms(string shardId, ShardTerms terms) => WithTerms(Terms with { Shards = Terms.Shards.SetItem(shardId, terms) });

    /// <summary>The same with one more node.</summary>
    internal ClusterTopology With(ClusterNode node) => new(Version, Epoch, Nodes.Add(node), _owners, Terms);

    /// <summary>The same with a node that joins, as a primary without slots.</summary>
    internal ClusterTopology WithJoined(ClusterNode node)
    {
        string shardId = OwnShardIdOf(node.Id);
        return WithTerms(Terms with { Removed = Terms.Removed.Remove(node.Id), Shards = Terms.Shards.Remove(shardId) }).With(node with { PrimaryId = null, ShardId = shardId });
    }

    /// <summary>The id of a shard of which a node is the first one. The shard that was its own once may go on without it.</summary>
    internal string OwnShardIdOf(string id)
    {
        string shardId = ClusterNode.ShardIdOf(id);
        return Nodes.Any(other => other.Id != id && other.ShardId == shardId) ? ClusterNode.NewId() : shardId;
    }

    /// <summary>The same with a replica as the primary of its shard, whose nodes follow it. The slots are its.</summary>
    /// <param name="id">The replica; or the primary, which stays it.</param>
    /// <param name="epoch">Its epoch, which becomes the greatest.</param>
    internal ClusterTopology WithPrimary(string id, long epoch)
    {
        ClusterNode next = Find(id)!;
        string before = next.PrimaryId ?? id;
        int from = IndexOf(before);
        short to = (short)IndexOf(id);
        ImmutableArray<ClusterNode> nodes =
        [
            .. Nodes.Select(node => node.Id == id ? node with { PrimaryId = null, Epoch = epoch } : node.Id == before || node.PrimaryId == before ? node with { PrimaryId = id } : node),
        ];
        return new ClusterTopology(Version, epoch, nodes, Array.ConvertAll(_owners, owner => owner == from ? to : owner), Terms);
    }

    /// <summary>The same without a node and its slots. Its replicas are primaries without slots.</summary>
    internal ClusterTopology Without(string id)
    {
        ImmutableArray<ClusterNode> nodes = [.. Nodes.Where(node => node.Id != id).Select(node => node.PrimaryId == id ? node with { PrimaryId = null, ShardId = OwnShardIdOf(node.Id) } : node)];
        int gone = IndexOf(id);
        short[] owners = Array.ConvertAll(_owners, owner => owner == gone ? (short)-1 : owner > gone ? (short)(owner - 1) : owner);
        return new ClusterTopology(Version, Epoch, nodes, owners, Terms);
    }

    /// <summary>The same without a node, which does not join again by itself.</summary>
    internal ClusterTopology WithoutForGood(string id)
    {
        string shard = Find(id)!.ShardId;
        ClusterTopology next = Without(id);
        if (Terms.ClusterId.Length == 0) return next;

        // Whether it may be the only one with a write that it has acknowledged, the primary says; without one, the operator.
        if (Terms.Of(shard) is { IsSealed: true } terms) next = next.WithTerms(shard, terms.WithInStep(terms.ReplicasInStep.Where(other => other != id)));
        return next.WithTerms(next.Terms with { Removed = next.Terms.Removed.Add(id) });
    }

    /// <summary>No slot has an owner.</summary>
    internal static short[] NoOwners()
    {
        short[] owners = new short[KeySlot.Count];
        Array.Fill(owners, (short)-1);
        return owners;
    }

    /// <summary>Whether a node's id, addresses and names may stand in a topology.</summary>
    internal static bool IsWellFormed(ClusterNode node)
    {
        try
        {
            CheckTexts(node);
            return ClusterNode.IsId(node.Id);
        }
        catch (TopologyException)
        {
            return false;
        }
    }

    private void Check(ClusterNode node)
    {
        if (!ClusterNode.IsId(node.ShardId)) throw new TopologyException($"'{Shown(node.ShardId)}' is no id of a shard, which has {ClusterNode.IdLength} hexadecimal digits");
        CheckTexts(node);
        if (node.Epoch < 0) throw new TopologyException($"the node {node.Id} has a negative epoch");
        if (node.PrimaryId is not { } primaryId) return;
        if (Find(primaryId) is not { } primary) throw new TopologyException($"the node {node.Id} is a replica of '{Shown(primaryId)}', which is no node");
        if (!primary.IsPrimary) throw new TopologyException($"the node {node.Id} is a replica of a replica");
        if (primary.ShardId != node.ShardId) throw new TopologyException($"the node {node.Id} is not of its primary's shard");
    }

    private static void CheckTexts(ClusterNode node)
    {
        CheckText(node, node.Ip, "address");
        CheckText(node, node.HostName, "host name");
        CheckText(node, node.Name, "name");
        CheckText(node, node.Zone, "zone");
        if (node.Port is < 0 or > ushort.MaxValue || node.TlsPort is < 0 or > ushort.MaxValue || node.BusPort is < 0 or > ushort.MaxValue) throw new TopologyException($"the node {node.Id} has a port that is none");
    }

    // They stand in lines of words.
    private static void CheckText(ClusterNode node, string text, string what)
    {
        if (text.Length > ClusterLimits.TextMax || text.AsSpan().IndexOfAnyInRange('\0', ' ') >= 0 || text.Contains(',', StringComparison.Ordinal)) throw new TopologyException($"the node {node.Id} has an invalid {what}");
    }

    private static string Shown(string id) => id.Length > ClusterNode.IdLength ? id[..ClusterNode.IdLength] + "..." : id;
}
