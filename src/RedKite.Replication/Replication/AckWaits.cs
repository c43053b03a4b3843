using RedKite.Server.Model;

namespace RedKite.Server.Replication;

/// <summary>A client that waits until replicas have acknowledged an offset: WAIT, WAITAOF.</summary>
/// <param name="Session">The client.</param>
/// <param name="Offset">The offset.</param>
/// <param name="Replicas">How many replicas.</param>
/// <param name="OnDisk">Whether they must have it on the disk.</param>
/// <param name="Late">Identifies the wait.</param>
/// <param name="Reply">Makes the reply if the wait may end, from the number of replicas; null: it waits on.</param>
internal sealed record AckWait(Session Session, long Offset, long Replicas, bool OnDisk, LateReply Late, Func<int, byte[]?> Reply)
{
    // The client's command sets its wait while it executes.
    internal bool IsWaiting => Session.IsExecuting || Session.Blocked?.Block.Late == Late;
}

/// <summary>The clients that wait for replicas. From any thread.</summary>
/// <remarks>A client has one. Those of clients that wait no longer are removed when their number has doubled since the last look.</remarks>
internal sealed class AckWaits
{
    private const int SweepCountMin = 64;

    private readonly Lock _lock = new();
    private readonly Dictionary<Session, AckWait> _waits = [];
    private int _sweepCount = SweepCountMin;
    private volatile int _count;

    /// <summary>Waits that are remembered.</summary>
    internal int Count => _count;

    internal void Add(AckWait wait)
    {
        lock (_lock)
        {
            if (_waits.Count >= _sweepCount)
            {
                foreach (AckWait other in _waits.Values.Where(static other => !other.IsWaiting).ToArray()) _waits.Remove(other.Session);
                _sweepCount = Math.Max(SweepCountMin, 2 * _waits.Count);
            }

            _waits[wait.Session] = wait;
            _count = _waits.Count;
        }
    }

    /// <summary>Takes the waits that may end now, with their replies.</summary>
    /// <param name="count">The number of replicas that have an offset, or have it on the disk.</param>
    internal List<(AckWait Wait, byte[] Reply)> TakeEnded(Func<long, bool, int> count)
    {
        List<(AckWait, byte[])> ended = [];
        if (_count == 0) return ended;
        lock (_lock)
        {
            foreach (AckWait wait in _waits.Values)
            {
                int replicas = count(wait.Offset, wait.OnDisk);
                if (replicas >= wait.Replicas && wait.Reply(replicas) is { } reply) ended.Add((wait, reply));
            }

            foreach ((AckWait wait, _) in ended) _waits.Remove(wait.Session);
            _count = _waits.Count;
        }

        return ended;
    }

    /// <summary>Takes all waits: the server is no primary any more.</summary>
    internal AckWait[] TakeAll()
    {
        lock (_lock)
        {
            AckWait[] all = [.. _waits.Values];
            _waits.Clear();
            _count = 0;
            return all;
        }
    }
}
