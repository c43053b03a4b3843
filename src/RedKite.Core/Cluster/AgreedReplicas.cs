using System.Collections.Frozen;

namespace RedKite.Server.Cluster;

/// <summary>The replicas of this node by the topology of a store. Immutable.</summary>
/// <param name="Version">The topology's version.</param>
/// <param name="Ids">The nodes that follow this one.</param>
/// <param name="Counted">Those whose acknowledgements count for `replica-acks`: the store says that a successor must be asked for what they have.</param>
internal sealed record AgreedReplicas(long Version, FrozenSet<string> Ids, FrozenSet<string> Counted)
{
    /// <summary>Whether a link is that of a node which the topology does not name. One that goes by a later topology may be named there.</summary>
    internal bool Excludes(AgreedIdentity node) => node.Id.Length > 0 && node.Version <= Version && !Ids.Contains(node.Id);
}

/// <summary>How a node introduces itself to its primary.</summary>
/// <param name="Id">Its id; empty: the client is no node.</param>
/// <param name="Incarnation">The life of its process: the link of another one may not have broken yet.</param>
/// <param name="Version">The version of the topology that it goes by.</param>
internal sealed record AgreedIdentity(string Id, string Incarnation, long Version)
{
    internal static readonly AgreedIdentity None = new("", "", 0);
}
