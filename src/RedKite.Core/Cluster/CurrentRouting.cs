using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Cluster;

/// <summary>
/// The routing that is in force. Commands decide by it before they lock, and look again with their stripes locked if it is another one by then. So once each stripe has been locked after
/// <see cref="Use"/>, nothing is written by the routing before.
/// </summary>
internal sealed class CurrentRouting(AttentionWord attention, Keyspace keyspace)
{
    private volatile SlotRouting? _routing;

    /// <summary>Null: the server is no node of a cluster.</summary>
    internal SlotRouting? Value => _routing;

    /// <summary>The slots with keys here that clients do not see.</summary>
    internal HiddenSlots Hidden { get; } = new(keyspace);

    internal void Use(SlotRouting routing)
    {
        Hidden.Prepare(routing); // before it: a slot that comes back is not removed any more when a command writes to it
        _routing = routing;
        attention.NoteChange(); // behind it: who sees the new word sees the new routing
    }
}
