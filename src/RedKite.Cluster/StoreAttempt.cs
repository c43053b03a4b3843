namespace RedKite.Server.Cluster;

/// <summary>
/// The version of a cluster's topology that a change tried to put into the store last. Until the node goes by one that is not older, the store may have the change, or get it: a request without an answer may still be executed.
/// </summary>
internal sealed class StoreAttempt
{
    private string _clusterId = "";
    private long _version;

    /// <summary>Whether anything was tried.</summary>
    internal bool IsOpen => _version > 0;

    /// <summary>Notes what is about to be sent. What was tried before is known not to have happened.</summary>
    internal void Note(string clusterId, long version) => (_clusterId, _version) = (clusterId, version);

    /// <summary>Whether a topology says what has come of it. Versions are those of one cluster: that of another one has nothing of it.</summary>
    internal bool IsDecidedBy(ClusterTopology topology) => topology.Terms.ClusterId != _clusterId || topology.Version >= _version;
}

/// <summary>A slot that leaves this node, or may have left it.</summary>
/// <param name="Slot">The slot.</param>
/// <param name="To">The node that it goes to.</param>
/// <param name="Attempt">The change.</param>
internal sealed record LeavingSlot(int Slot, string To, StoreAttempt Attempt);
