namespace RedKite.Net;

/// <summary>
/// Passes on the connections that have arrived at a loop and wait there for more than a moment, because it executes a long command: another loop
/// serves them. A timer of the thread pool looks, and it runs only while connections are on their way, so that loops do nothing for it.
/// </summary>
/// <param name="loops">The loops that get connections.</param>
internal sealed class ArrivalWatch(Func<IEnumerable<EventLoop>> loops) : IDisposable
{
    /// <summary>How long a connection waits for its loop before another one gets it.</summary>
    internal const int OverdueMs = 5;

    private readonly Lock _looking = new();
    private Timer? _timer;
    private int _isSet;
    private bool _hasEnded;

    /// <summary>A connection is on its way to a loop of another thread. After it was queued there; from any thread.</summary>
    internal void Note()
    {
        if (Volatile.Read(ref _isSet) == 0 && Interlocked.Exchange(ref _isSet, 1) == 0) Set();
    }

    /// <summary>Passes on what is overdue.</summary>
    internal void Look()
    {
        lock (_looking)
        {
            if (_hasEnded) return;
            Interlocked.Exchange(ref _isSet, 0); // first: what arrives from here on sets the timer again
            bool waits = false;
            foreach (EventLoop loop in loops()) waits |= loop.PassOnOverdue(OverdueMs);
            if (waits) Note();
        }
    }

    /// <summary>Ends it, also if a connection arrives later. Waits for a look in progress.</summary>
    public void Dispose()
    {
        lock (_looking)
        {
            _hasEnded = true;
            _timer?.Dispose();
        }
    }

    private void Set()
    {
        lock (_looking)
        {
            if (_hasEnded) return;
            if (_timer is null) _timer = new Timer(_ => Look(), null, OverdueMs, Timeout.Infinite);
            else _timer.Change(OverdueMs, Timeout.Infinite);
        }
    }
}
