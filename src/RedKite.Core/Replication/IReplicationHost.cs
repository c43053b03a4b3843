using RedKite.Persistence.Rdb;
using RedKite.Server.Model;

namespace RedKite.Server.Replication;

/// <summary>What the primary's side of replication asks of the server around it.</summary>
internal interface IReplicationHost
{
    /// <summary>On a replica, the position in its primary's stream that the data of now belongs to; null: there is none. With all stripes locked.</summary>
    RdbReplication? PositionOfReplica { get; }

    /// <summary>Follows a primary, or becomes one: null. On a thread that has no stripe locked.</summary>
    void ChangeRole(PrimaryAddress? primary);

    /// <summary>The primary asks this server for its offset. On the thread that executes its stream.</summary>
    void AcknowledgeSoon();

    /// <summary>Resumes the clients whose commands wait.</summary>
    void ResumePaused();

    /// <summary>Ends the wait of a client by a reply. From any thread, which waits for nothing.</summary>
    void ReplyLater(Session session, LateReply wait, byte[] reply);
}
