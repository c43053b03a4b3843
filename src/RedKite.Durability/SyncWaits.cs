using RedKite.Server.Model;

namespace RedKite.Server.Durability;

/// <summary>The clients that wait until what they have written is on the disk: WAITAOF. From any thread.</summary>
/// <remarks>
/// A client has one. Those of clients that wait no longer (a deadline, a closed connection) are removed when their number has doubled since the
/// last look, so there are at most about twice as many as clients.
/// </remarks>
internal sealed class SyncWaits(IDurabilityHost host)
{
    private const int SweepCountMin = 64;

    private readonly Lock _lock = new();
    private readonly Dictionary<Session, SyncWait> _waits = []; // the last of each
    private int _sweepCount = SweepCountMin;

    /// <summary>Waits that are remembered.</summary>
    internal int Count
    {
        get
        {
            lock (_lock) return _waits.Count;
        }
    }

    internal void Add(SyncWait wait)
    {
        lock (_lock)
        {
            if (_waits.Count >= _sweepCount)
            {
                foreach (SyncWait other in _waits.Values.Where(static other => !other.IsWaiting).ToArray()) _waits.Remove(other.Session);
                _sweepCount = Math.Max(SweepCountMin, 2 * _waits.Count);
            }

            _waits[wait.Session] = wait;
        }
    }

    /// <summary>Ends the waits for what is synced.</summary>
    internal void End(Predicate<SyncWait> isSynced)
    {
        foreach (SyncWait wait in Take(isSynced))
        {
            if (wait.Reply() is { } reply) Finish(wait, reply);
        }
    }

    /// <summary>Ends all waits for the log, because there is none any more.</summary>
    internal void EndAll(byte[] error)
    {
        foreach (SyncWait wait in Take(static _ => true))
        {
            if (wait.RequiresLog) Finish(wait, error);
        }
    }

    private SyncWait[] Take(Predicate<SyncWait> ends)
    {
        lock (_lock)
        {
            if (_waits.Count == 0) return [];
            SyncWait[] taken = [.. _waits.Values.Where(wait => ends(wait))];
            foreach (SyncWait wait in taken) _waits.Remove(wait.Session);
            return taken;
        }
    }

    private void Finish(SyncWait wait, byte[] reply) => host.ReplyLater(wait.Session, wait.Late, reply);
}

/// <summary>A client that waits until the log is synced.</summary>
/// <param name="Session">The client.</param>
/// <param name="Log">The log; null: there was none, and it waits for the next one.</param>
/// <param name="Position">The log's position.</param>
/// <param name="Late">Identifies the wait.</param>
/// <param name="RequiresLog">Whether it is an error that the log ends.</param>
/// <param name="Reply">Makes the reply once the position is synced; null: the client waits for replicas, too.</param>
internal sealed record SyncWait(Session Session, AppendOnlyLog? Log, long Position, LateReply Late, bool RequiresLog, Func<byte[]?> Reply)
{
    // The client's command sets its wait while it executes.
    internal bool IsWaiting => Session.IsExecuting || Session.Blocked?.Block.Late == Late;
}
