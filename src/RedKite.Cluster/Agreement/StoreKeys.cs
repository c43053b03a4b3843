namespace RedKite.Server.Cluster.Agreement;

/// <summary>The keys that a cluster has in its store.</summary>
internal static class StoreKeys
{
    /// <summary>The topology: one document, which only a compare-and-swap changes.</summary>
    internal const string Topology = "topology";

    /// <summary>The active controller. It ends with that controller's lease.</summary>
    internal const string Controller = "controller";

    /// <summary>What nodes say of themselves. Each key ends with its node's lease.</summary>
    internal const string Nodes = "nodes/";

    /// <summary>What nodes report about themselves for metrics, findings and the page; no decision depends on it. Each key ends with its node's lease.</summary>
    internal const string Figures = "figures/";

    /// <summary>Promises of nodes to keep what they have received of slots that move. Each key ends with its node's lease.</summary>
    internal const string Imports = "imports/";

    internal static string Node(string id) => Nodes + id;

    internal static string Import(string moveId) => Imports + moveId;
}
