using System.Collections.Frozen;

namespace RedKite.Server.Cluster;

/// <summary>The replicas of this node by the topology of a store. Immutable.</summary>
/// <param name="Version">The topology's version.</param>
/// <param name="Ids">The nodes that follow this one.</param>
/// <param name="Counted">Those whose acknowledgements count for `replica-acks`: the store says that a successor must be asked for what they have.</param>
internal sealed record AgreedReplicas(long Version, FrozenSet<string> Ids, FrozenSet<string> Counted)
{
    /// <summary>Whether a link is that of a node which the topology does not name. One that goes by a later topology may be named there.</summary>
    /// <param name="nodeId">The node, as it has introduced itself; empty: the client is none.</param>
    /// <param name="version">The version of the topology that it goes by.</param>
    internal bool Excludes(string nodeId, long version) => nodeId.Length > 0 && version <= Version && !Ids.Contains(nodeId);
}

/// <summary>How a node introduces itself to its primary.</summary>
/// <param name="Id">Its id.</param>
/// <param name="Version">The version of the topology that it goes by.</param>
internal readonly record struct AgreedIdentity(string Id, long Version);
