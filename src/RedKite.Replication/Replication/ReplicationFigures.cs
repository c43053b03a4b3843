namespace RedKite.Server.Replication;

/// <summary>A server's replicas and what they get, and its link to a primary, for metrics.</summary>
/// <param name="Online">Replicas that get the stream.</param>
/// <param name="LagBytes">The bytes of the stream that the slowest of them has not acknowledged.</param>
/// <param name="LagPercent">How far a replica has used up what it may be behind.</param>
/// <param name="LagSeconds">How long ago the most silent of them acknowledged something.</param>
/// <param name="Offset">The end of the stream.</param>
/// <param name="BacklogBytes">What is kept for replicas that come back; 0: nothing.</param>
/// <param name="WindowSeconds">How long a replica may be away at the stream's rate; NaN: nothing is kept, or nothing is written.</param>
/// <param name="FailedSyncsInARow">How many synchronizations of one replica in a row it was too slow for; of the worst replica.</param>
/// <param name="GoodReplicas">Replicas that have acknowledged within min-replicas-max-lag.</param>
/// <param name="WritesRefused">Whether writes are refused because those are too few.</param>
/// <param name="Acks">Replies that wait for replicas.</param>
/// <param name="Counts">What has happened so far.</param>
/// <param name="Link">The link to the primary; null: the server is a primary.</param>
internal readonly record struct ReplicationFigures(
    int Online, long LagBytes, double LagPercent, double LagSeconds, long Offset, long BacklogBytes, double WindowSeconds, int FailedSyncsInARow, int GoodReplicas, bool WritesRefused,
    AckFigures Acks, ReplicaCounts Counts, LinkFigures? Link);

/// <summary>A replica's link, for metrics.</summary>
/// <param name="IsUp">Whether the stream is being received.</param>
/// <param name="DownSeconds">How long there has been neither the stream nor a synchronization; 0: there is one.</param>
/// <param name="WaitingBytes">What was received of the stream and is not executed yet.</param>
internal readonly record struct LinkFigures(bool IsUp, double DownSeconds, long WaitingBytes);
