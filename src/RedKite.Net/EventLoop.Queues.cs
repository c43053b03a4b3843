namespace RedKite.Net;

// Queues of output for reuse: with replies that wait, each connection needs one in each iteration.
internal sealed partial class EventLoop
{
    /// <summary>How many queues of each kind a loop keeps for reuse.</summary>
    internal const int KeptQueuesMax = 1024;

    /// <summary>The memory that they take together: queues grow with what waits in them, and stay as large.</summary>
    internal const int KeptQueuesBytesMax = 1024 * 1024;

    // A larger one would take the place of many.
    private const int KeptQueueBytesMax = KeptQueuesBytesMax / 32;

    private readonly Stack<OutputQueue> _keptQueues = new();
    private readonly Stack<UnackedOutput> _keptUnacked = new();
    private int _keptBytes;

    /// <summary>The memory of the queues that are kept. For tests.</summary>
    internal int KeptQueuesBytes => _keptBytes;

    internal OutputQueue TakeQueue()
    {
        if (!_keptQueues.TryPop(out OutputQueue? queue)) return new OutputQueue(Pool);
        _keptBytes -= queue.EmptyBytes;
        return queue;
    }

    internal UnackedOutput TakeUnacked()
    {
        if (!_keptUnacked.TryPop(out UnackedOutput? unacked)) return new UnackedOutput(Pool);
        _keptBytes -= unacked.EmptyBytes;
        return unacked;
    }

    /// <summary>Empties a queue, and keeps it, unless it is large or enough are kept.</summary>
    internal void Keep(OutputQueue queue)
    {
        queue.Dispose();
        if (queue.IsOrdinary && TryKeep(_keptQueues.Count, queue.EmptyBytes)) _keptQueues.Push(queue);
    }

    /// <inheritdoc cref="Keep(OutputQueue)"/>
    internal void Keep(UnackedOutput unacked)
    {
        unacked.Dispose();
        if (TryKeep(_keptUnacked.Count, unacked.EmptyBytes)) _keptUnacked.Push(unacked);
    }

    private bool TryKeep(int kept, int bytes)
    {
        if (kept >= KeptQueuesMax || bytes > KeptQueueBytesMax || _keptBytes + bytes > KeptQueuesBytesMax) return false;
        _keptBytes += bytes;
        return true;
    }
}
