using RedKite.Server.Model;
using RedKite.Server.Replication;

namespace RedKite.Server.Cluster;

/// <summary>What a node of a cluster asks of its server.</summary>
internal interface IClusterHost
{
    /// <summary>The port for clients; 0: none.</summary>
    int Port { get; }

    /// <summary>The port for clients with TLS; 0: none.</summary>
    int TlsPort { get; }

    /// <summary>
    /// The routing has changed, and every stripe has been locked since: clients that wait for keys of slots that are elsewhere now are redirected, and subscriptions to their sharded channels end.
    /// No stripe is locked.
    /// </summary>
    void SlotsMoved();

    /// <summary>Begins to follow a primary, or to become one: null. Returns the rest, for a thread that serves no clients.</summary>
    Action BeginRoleChange(PrimaryAddress? primary);

    /// <summary>Ends the wait of a command that is done elsewhere (<see cref="CommandBlocking.DoElsewhere"/>), by its reply.</summary>
    void ReplyLater(Session session, LateReply wait, byte[] reply);
}
