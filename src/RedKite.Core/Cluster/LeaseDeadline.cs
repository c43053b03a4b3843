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
internal sealed class LeaseDeadline
{
    private readonly TimeProvider _time;
    private volatile OutputDeadline _term;
    private long _late;

    internal LeaseDeadline(TimeProvider time)
    {
        _time = time;
        _term = new OutputDeadline(time).Before(NotBegun()); // it has ended
    }

    /// <summary>The term of now, which may have passed.</summary>
    internal OutputDeadline Term => _term;

    /// <summary>
    /// Until when the replies to what begins now may leave: that of the term, or, if the node may not serve, that of the next one. By it they leave as long as no term has begun, as nothing was executed by
    /// the lease, and then in that term alone.
    /// </summary>
    internal OutputDeadline DeadlineOfNow()
    {
        OutputDeadline term = _term;
        return term.EndIfPassed() ? term.Next! : term; // ended, as one that is extended behind this look would execute what begins now
    }

    internal bool HasEnded => _term.HasPassed;

    /// <summary>What is left of it.</summary>
    internal TimeSpan Left => _time.GetElapsedTime(_time.GetTimestamp(), _term.Timestamp) is { Ticks: > 0 } left ? left : TimeSpan.Zero;

    /// <summary>Connections that were closed without their replies, because it ended before they could leave.</summary>
    internal long Late => Volatile.Read(ref _late);

    /// <summary>The lease counts from a moment that has passed.</summary>
    /// <param name="sent">The timestamp at which the request was sent that the store has answered.</param>
    /// <param name="valid">How long it is valid from then on.</param>
    internal void Extend(long sent, TimeSpan valid)
    {
        long until = sent + (long)(valid.TotalSeconds * _time.TimestampFrequency);
        if (_term.TryExtend(until)) return;
        OutputDeadline next = _term.Next!.Before(NotBegun());
        next.TryExtend(until);
        _term = next;
    }

    /// <summary>The term ends: another node may serve from now on.</summary>
    internal void End() => _term.End();

    private OutputDeadline NotBegun() => new OutputDeadline(_time, NoteLate).Until(long.MaxValue);

    private void NoteLate() => Interlocked.Increment(ref _late);
}
