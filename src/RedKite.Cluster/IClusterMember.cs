using RedKite.Server.Cluster.Watching;

namespace RedKite.Server.Cluster;

/// <summary>This node, as what agrees with the other nodes and what watches the cluster see it.</summary>
internal interface IClusterMember
{
    ClusterState State { get; }

    /// <summary>What has happened to it.</summary>
    ClusterEvents Events { get; }

    bool IsPrimary { get; }

    /// <summary>Whether this node serves the slots that it has.</summary>
    bool IsUp { get; }

    /// <summary>The topology by which everything goes that begins now. Read without waiting for a change that is being written.</summary>
    ClusterTopology InForce { get; }

    /// <summary>Slots that this node refuses because it does not know whether it has given them, and to which node; empty: none.</summary>
    IReadOnlyDictionary<int, string> InDoubt { get; }

    /// <summary>What it has discarded as a former primary, in a sentence, while that is news; null: nothing, as far as is known.</summary>
    string? LostWrites { get; }

    /// <summary>This node as it announces itself.</summary>
    ClusterNode DescribeSelf(ClusterNode self);

    /// <summary>
    /// Goes by the topology of the store. When this returns, nothing that executes goes by another one, and the role is what it says. On a thread that serves no clients and has no stripe locked.
    /// </summary>
    /// <param name="topology">The topology; one that is not newer changes nothing but what follows.</param>
    /// <param name="serves">Whether this node's slots are served.</param>
    void Apply(ClusterTopology topology, bool serves);

    /// <summary>Writes the topology that is in force to the node's file, if it has an older one.</summary>
    /// <exception cref="TopologyException">That has failed: no slots are served.</exception>
    void Keep();

    /// <summary>Changes what this node alone keeps. Returns why it was refused, as the error of a reply; null: it is in force.</summary>
    string? ChangeHere(Func<ClusterState, (ClusterState? Next, string? Refusal)> change);
}
