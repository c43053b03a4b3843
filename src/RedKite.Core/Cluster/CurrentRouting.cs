using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Cluster;

/// <summary>
/// The routing that is in force. Commands decide by it before they lock, and look again with their stripes locked if it is another one by then. So once each stripe has been locked after
/// <see cref="Use(SlotRouting)"/>, nothing is written by the routing before.
/// </summary>
internal sealed class CurrentRouting(AttentionWord attention, Keyspace keyspace)
{
    private volatile SlotRouting? _routing;
    private volatile bool _feeds;
    private volatile AgreedReplicas? _replicas;

    /// <summary>Null: the server is no node of a cluster. Behind the lease's deadline, nothing is served by it.</summary>
    internal SlotRouting? Value => _routing is { } routing ? Lease is { HasEnded: true } ? routing.WhenDown : routing : null;

    /// <summary>Until when the node may serve; null: without a limit, as nothing but a command or a controller outside gives its slots to another node.</summary>
    internal LeaseDeadline? Lease { get; private set; }

    /// <summary>Whether replicas may take this node's data. Not that of a primary by a lease which does not serve: they may have acknowledged what it has lost.</summary>
    internal bool FeedsReplicas => Lease is not { } lease || (_feeds && !lease.HasEnded);

    /// <summary>Notes whether the node serves, or follows one that does.</summary>
    internal void NoteFeeding(bool feeds) => _feeds = feeds;

    /// <summary>The replicas of this node; null: there is no store, so every follower is one.</summary>
    internal AgreedReplicas? Replicas => _replicas;

    /// <summary>Only these are this node's replicas from now on.</summary>
    internal void Use(AgreedReplicas replicas) => _replicas = replicas;

    /// <summary>Serves by a lease from now on. Before the server is in use.</summary>
    internal void Use(LeaseDeadline lease) => Lease = lease;

    /// <summary>The slots with keys here that clients do not see.</summary>
    internal HiddenSlots Hidden { get; } = new(keyspace);

    internal void Use(SlotRouting routing)
    {
        Hidden.Prepare(routing); // before it: a slot that comes back is not removed any more when a command writes to it
        _routing = routing;
        attention.NoteChange(); // behind it: who sees the new word sees the new routing
    }
}
