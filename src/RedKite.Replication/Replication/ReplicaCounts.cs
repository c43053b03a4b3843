using RedKite.Server.Metrics;

namespace RedKite.Server.Replication;

/// <summary>Why a replica that wanted to go on could not.</summary>
internal enum RefusalReason
{
    /// <summary>Its data is of another history, or of a part of it that this server does not have.</summary>
    History,

    /// <summary>The backlog no longer has what it lacks.</summary>
    Backlog,
}

/// <summary>What a primary's replicas have got, lost and been refused so far, and the stream's rate. From any thread.</summary>
internal sealed class ReplicaCounts
{
    private const int RateSeconds = 60;

    private readonly (long Ms, long Offset)[] _seconds = new (long, long)[RateSeconds + 1]; // a ring
    private readonly long[] _refused = new long[2];
    private long _full;
    private long _partial;
    private long _overflowsInSync;
    private long _overflowsInStream;
    private long _lost;
    private int _noted;
    private double _bytesPerSecond = double.NaN;
    private volatile RefusedReplica? _lastRefusal;
    private volatile AtReset _atReset = new(0, 0, 0);

    /// <summary>Full synchronizations that replicas have got or wait for.</summary>
    internal long Full => Volatile.Read(ref _full);

    /// <summary>Replicas that went on with what was kept.</summary>
    internal long Partial => Volatile.Read(ref _partial);

    /// <summary>Replicas that wanted to go on and could not.</summary>
    internal long Refused => RefusedFor(RefusalReason.History) + RefusedFor(RefusalReason.Backlog);

    /// <summary>Replicas that were closed because they were too far behind.</summary>
    internal long Overflows => OverflowsInSync + OverflowsInStream;

    /// <summary>Those of them that had not loaded the data yet.</summary>
    internal long OverflowsInSync => Volatile.Read(ref _overflowsInSync);

    /// <summary>Those of them that got the stream.</summary>
    internal long OverflowsInStream => Volatile.Read(ref _overflowsInStream);

    /// <summary>How many connections of replicas have been closed, by either side.</summary>
    internal long Lost => Volatile.Read(ref _lost);

    /// <summary>The last replica that could not go on, and why; null: none yet.</summary>
    internal RefusedReplica? LastRefusal => _lastRefusal;

    /// <summary>The names of replicas whose connections have ended in the last minute.</summary>
    internal RecentTally<string> RecentlyLost { get; } = new();

    /// <summary>The stream's rate over the last minute, or over as much of it as was seen; NaN: unknown.</summary>
    internal double BytesPerSecond => Volatile.Read(ref _bytesPerSecond);

    internal long RefusedFor(RefusalReason reason) => Volatile.Read(ref _refused[(int)reason]);

    /// <summary>Full and partial synchronizations and refusals since the last CONFIG RESETSTAT, as INFO has them; metrics never go back.</summary>
    internal (long Full, long Partial, long Refused) SinceReset
    {
        get
        {
            (long full, long partial, long refused) = _atReset;
            return (Full - full, Partial - partial, Refused - refused);
        }
    }

    /// <summary>CONFIG RESETSTAT.</summary>
    internal void NoteReset() => _atReset = new AtReset(Full, Partial, Refused);

    internal void NoteFull() => Interlocked.Increment(ref _full);

    internal void NotePartial() => Interlocked.Increment(ref _partial);

    internal void NoteRefused(string replica, RefusalReason reason, string text)
    {
        Interlocked.Increment(ref _refused[(int)reason]);
        _lastRefusal = new RefusedReplica(replica, text);
    }

    internal void NoteOverflow(bool inStream) => Interlocked.Increment(ref inStream ? ref _overflowsInStream : ref _overflowsInSync);

    internal void NoteLost(string replica, long nowMs)
    {
        Interlocked.Increment(ref _lost);
        RecentlyLost.Note(replica, nowMs);
    }

    /// <summary>Notes the stream's end, once a second. From one thread.</summary>
    internal void NoteOffset(long nowMs, long offset)
    {
        // Another history may be behind.
        if (_noted > 0 && offset < _seconds[(_noted - 1) % _seconds.Length].Offset) _noted = 0;
        _seconds[_noted % _seconds.Length] = (nowMs, offset);
        _noted++;
        (long firstMs, long first) = _seconds[_noted < _seconds.Length ? 0 : _noted % _seconds.Length];
        Volatile.Write(ref _bytesPerSecond, nowMs > firstMs ? (offset - first) * 1000.0 / (nowMs - firstMs) : double.NaN);
    }
}

/// <summary>Counts as they were at the last CONFIG RESETSTAT.</summary>
internal sealed record AtReset(long Full, long Partial, long Refused);

/// <summary>A replica that could not go on.</summary>
/// <param name="Replica">Its name.</param>
/// <param name="Reason">Why, as a part of a sentence.</param>
internal sealed record RefusedReplica(string Replica, string Reason);
