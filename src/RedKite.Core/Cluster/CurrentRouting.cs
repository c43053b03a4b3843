using RedKite.Server.Model;

namespace RedKite.Server.Cluster;

/// <summary>
/// The routing that is in force. Commands decide by it before they lock, and look again with their stripes locked if it is another one by then. So once each stripe has been locked after
/// <see cref="Use"/>, nothing is written by the routing before.
/// </summary>
internal sealed class CurrentRouting(AttentionWord attention)
{
    private volatile SlotRouting? _routing;

    /// <summary>Null: the server is no node of a cluster.</summary>
    internal SlotRouting? Value => _routing;

    internal void Use(SlotRouting routing)
    {
        _routing = routing;
        attention.NoteChange(); // behind it: who sees the new word sees the new routing
    }
}
