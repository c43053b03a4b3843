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

    /// <summary>The replication history of the data, and the offset in it; null: the data is not whole, or of no history.</summary>
    (string History, long Offset)? Position { get; }

    /// <summary>The database that is selected there in a primary's stream, when there is no link.</summary>
    int StreamDatabase { get; }

    /// <summary>Passes on what was executed between two offsets of the history, in pieces.</summary>
    /// <returns>False: it is not kept, or not all of it; nothing was passed on.</returns>
    bool ReadStream(long from, long to, Action<ReadOnlySpan<byte>> read);

    /// <summary>The ids of the nodes that follow the stream now.</summary>
    IEnumerable<string> ReplicasInStep { get; }

    /// <summary>Whether the replicas that count for `replica-acks` by the routing of now have everything that any replica has acknowledged for a client.</summary>
    bool CountedReplicasHaveAll { get; }

    /// <summary>Closes the links of nodes that the routing of now does not name as replicas, and counts the acknowledgements of the others again.</summary>
    void ReplicasChanged();

    /// <summary>The moves of slots as a whole that are remembered.</summary>
    IReadOnlyList<MoveProgress> Moves { get; }

    /// <summary>Has no link to a primary until <see cref="Attach"/>, whatever the role is. So it is at the start of a node with a store. The thread has no stripe locked.</summary>
    void Detach();

    /// <summary>Follows the primary, if there is one.</summary>
    void Attach();

    /// <summary>
    /// Has commands that write wait, until <see cref="EndHandover"/>, and returns when a replica has everything that was executed. The thread has no stripe locked.
    /// </summary>
    /// <param name="id">The replica.</param>
    /// <param name="incarnation">Its life.</param>
    /// <param name="cancellation">The limit.</param>
    /// <returns>False: it does not catch up in time, or is not there. Nothing waits then.</returns>
    bool PrepareHandover(string id, string incarnation, CancellationToken cancellation);

    /// <summary>The same behind that, when nothing is served any more. Commands that write wait on whatever the outcome; a replica that has no link now is not waited for.</summary>
    bool ConfirmHandover(string id, string incarnation, CancellationToken cancellation);

    /// <summary>What waited goes on.</summary>
    void EndHandover();

    /// <summary>Clients whose commands wait for slots look again.</summary>
    void ResumePaused();
}
