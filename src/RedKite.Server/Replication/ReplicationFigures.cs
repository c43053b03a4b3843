namespace RedKite.Server.Replication;

/// <summary>A server's replicas and what they get, for metrics.</summary>
/// <param name="Online">Replicas that get the stream.</param>
/// <param name="LagBytes">The bytes of the stream that the slowest of them has not acknowledged.</param>
/// <param name="LagPercent">How far a replica has used up what it may be behind.</param>
/// <param name="LagSeconds">How long ago the most silent of them acknowledged something.</param>
/// <param name="Offset">The end of the stream.</param>
/// <param name="BacklogBytes">What is kept for replicas that come back; 0: nothing.</param>
/// <param name="Full">Full synchronizations.</param>
/// <param name="Partial">Replicas that went on with what was kept.</param>
/// <param name="Refused">Replicas that wanted to go on and could not.</param>
/// <param name="Overflows">Replicas that were closed because they were too far behind.</param>
internal readonly record struct ReplicationFigures(
    int Online, long LagBytes, double LagPercent, double LagSeconds, long Offset, long BacklogBytes, long Full, long Partial, long Refused, long Overflows);
