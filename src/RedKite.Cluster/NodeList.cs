using System.Collections.Immutable;
using System.Globalization;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Cluster;

/// <summary>
/// The list of nodes that a controller sends by CLUSTERX SETNODES, in Kvrocks's form, a line for each:
/// <code>
/// id host port master|slave primary-id|- [slot | first-last ...]
/// </code>
/// </summary>
internal static class NodeList
{
    private const int FixedWords = 5;

    /// <summary>The topology that a list describes. What it says nothing about, such as host names, stays as in the topology before.</summary>
    /// <exception cref="TopologyException">The list is wrong.</exception>
    internal static ClusterTopology Read(string list, long version, ClusterTopology before)
    {
        short[] owners = ClusterTopology.NoOwners();
        var nodes = ImmutableArray.CreateBuilder<ClusterNode>();
        foreach (string line in list.Split('\n'))
        {
            string[] words = line.Split((char[])[' ', '\t', '\r'], StringSplitOptions.RemoveEmptyEntries);
            if (words.Length == 0) continue;
            if (words.Length < FixedWords) throw new TopologyException("a line has too few words");
            if (nodes.Count == ClusterLimits.NodesMax) throw new TopologyException($"a cluster has at most {ClusterLimits.NodesMax} nodes");
            for (int i = FixedWords; i < words.Length; i++) Assign(words[i], (short)nodes.Count, owners);
            nodes.Add(ReadNode(words, before));
        }

        if (nodes.Count == 0) throw new TopologyException("it names no node");
        ImmutableArray<ClusterNode> all = nodes.ToImmutable();
        return new ClusterTopology(version, Math.Max(before.Epoch, version), [.. all.Select(node => node with { ShardId = ShardOf(node, before) })], owners);
    }

    // The shard of a node is its primary's, whatever it was before.
    private static string ShardOf(ClusterNode node, ClusterTopology before)
    {
        string primary = node.PrimaryId ?? node.Id;
        return before.Find(primary) is { IsPrimary: true } known ? known.ShardId : ClusterNode.ShardIdOf(primary);
    }

    private static ClusterNode ReadNode(string[] words, ClusterTopology before)
    {
        if (!int.TryParse(words[2], NumberStyles.None, CultureInfo.InvariantCulture, out int port) || port is 0 or > ushort.MaxValue) throw new TopologyException("a node has an invalid port");
        bool isPrimary = words[3] is "master" or "primary";
        if (!isPrimary && words[3] is not ("slave" or "replica")) throw new TopologyException("a node has a role that is neither master nor slave");
        if (isPrimary && words[4] != "-") throw new TopologyException("a primary names a primary of its own");
        if (!isPrimary && words.Length > FixedWords) throw new TopologyException("a replica has slots");
        ClusterNode known = before.Find(words[0]) ?? new ClusterNode(words[0]) { ShardId = "" };
        return known with { Ip = words[1], Port = port, PrimaryId = isPrimary ? null : words[4] };
    }

    private static void Assign(string range, short node, short[] owners)
    {
        int dash = range.IndexOf('-', StringComparison.Ordinal);
        if (!TrySlot(dash < 0 ? range : range[..dash], out int first) || !TrySlot(dash < 0 ? range : range[(dash + 1)..], out int last) || first > last) throw new TopologyException("a range of slots is invalid");
        for (int slot = first; slot <= last; slot++)
        {
            if (owners[slot] >= 0) throw new TopologyException($"the slot {slot} has two owners");
            owners[slot] = node;
        }
    }

    private static bool TrySlot(string text, out int slot) => int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out slot) && slot < KeySlot.Count;
}
