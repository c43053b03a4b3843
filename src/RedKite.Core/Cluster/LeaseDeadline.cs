using RedKite.Net;

namespace RedKite.Server.Cluster;

/// <summary>
/// Until when a node of a cluster may serve: the end of its lease in the cluster's store as the node can be sure of it, by its monotonic clock. It is read before a batch of commands executes, and
/// when their replies leave, so a process that was stopped in between does not answer by a right that has passed to another node.
/// </summary>
/// <remarks>
/// A term is a time in which the lease is held without a gap. Replies leave in the term in which their commands were executed (<see cref="OutputDeadline"/>) or not at all: in a later one, another node may
/// have served in between.
/// </remarks>
internal sealed class LeaseDeadline(TimeProvider time)
{
    private volatile OutputDeadline _term = new(time); // one that has ended
    private long _late;

    /// <summary>The term of now, which may have passed.</summary>
    internal OutputDeadline Term => _term;

    /// <summary>The term in which the node may serve now; null: it may not.</summary>
    internal OutputDeadline? Current => _term is { HasPassed: false } term ? term : null;

    internal bool HasEnded => _term.HasPassed;

    /// <summary>What is left of it.</summary>
    internal TimeSpan Left => time.GetElapsedTime(time.GetTimestamp(), _term.Timestamp) is { Ticks: > 0 } left ? left : TimeSpan.Zero;

    /// <summary>Connections that were closed without their replies, because it ended before they could leave.</summary>
    internal long Late => Volatile.Read(ref _late);

    /// <summary>The lease counts from a moment that has passed.</summary>
    /// <param name="sent">The timestamp at which the request was sent that the store has answered.</param>
    /// <param name="valid">How long it is valid from then on.</param>
    internal void Extend(long sent, TimeSpan valid)
    {
        long until = sent + (long)(valid.TotalSeconds * time.TimestampFrequency);
        if (!_term.TryExtend(until)) _term = new OutputDeadline(time, NoteLate).Until(until);
    }

    /// <summary>The term ends: another node may serve from now on.</summary>
    internal void End() => _term.End();

    private void NoteLate() => Interlocked.Increment(ref _late);
}
