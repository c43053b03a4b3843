namespace RedKite.Net;

// Queues of output for reuse: with replies that wait, each connection needs one in each iteration.
internal sealed partial class EventLoop
{
    /// <summary>How many queues of each kind a loop keeps for reuse.</summary>
    internal const int KeptQueuesMax = 1024;

    private readonly Stack<OutputQueue> _keptQueues = new();
    private readonly Stack<UnackedOutput> _keptUnacked = new();

    internal OutputQueue TakeQueue() => _keptQueues.TryPop(out OutputQueue? queue) ? queue : new OutputQueue(Pool);

    internal UnackedOutput TakeUnacked() => _keptUnacked.TryPop(out UnackedOutput? unacked) ? unacked : new UnackedOutput(Pool);

    /// <summary>Empties a queue, and keeps it.</summary>
    internal void Keep(OutputQueue queue)
    {
        queue.Dispose();
        if (queue.IsOrdinary && _keptQueues.Count < KeptQueuesMax) _keptQueues.Push(queue);
    }

    /// <inheritdoc cref="Keep(OutputQueue)"/>
    internal void Keep(UnackedOutput unacked)
    {
        unacked.Dispose();
        if (_keptUnacked.Count < KeptQueuesMax && unacked.MayBeKept) _keptUnacked.Push(unacked);
    }
}
