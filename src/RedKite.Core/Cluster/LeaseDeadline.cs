namespace RedKite.Server.Cluster;

/// <summary>
/// Until when a node of a cluster may serve: the end of its lease in the cluster's store as the node can be sure of it, by its monotonic clock. It is read before a batch of commands executes and again
/// before their replies leave, so a process that was stopped in between does not answer by a right that has passed to another node.
/// </summary>
internal sealed class LeaseDeadline(TimeProvider time)
{
    private long _deadline; // a timestamp; 0: there is no lease
    private long _late;

    internal bool HasEnded => time.GetTimestamp() >= Volatile.Read(ref _deadline);

    /// <summary>What is left of it.</summary>
    internal TimeSpan Left => HasEnded ? TimeSpan.Zero : time.GetElapsedTime(time.GetTimestamp(), Volatile.Read(ref _deadline));

    /// <summary>Connections that were closed without their replies, because it ended while their commands executed.</summary>
    internal long Late => Volatile.Read(ref _late);

    internal void NoteLate() => Interlocked.Increment(ref _late);

    /// <summary>The lease counts from a moment that has passed.</summary>
    /// <param name="sent">The timestamp at which the request was sent that the store has answered.</param>
    /// <param name="valid">How long it is valid from then on.</param>
    internal void Extend(long sent, TimeSpan valid) => Volatile.Write(ref _deadline, sent + (long)(valid.TotalSeconds * time.TimestampFrequency));

    internal void End() => Volatile.Write(ref _deadline, 0);
}
