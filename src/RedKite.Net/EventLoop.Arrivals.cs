namespace RedKite.Net;

/// <summary>Connections that come to a loop from elsewhere: new ones, and those that move between loops.</summary>
internal sealed partial class EventLoop
{
    private readonly Lock _arriving = new();
    private readonly Queue<Arrival> _arrivals = []; // with the lock, as the next; apart from the messages, so that they can be passed on
    private EventLoop? _relief;
    private long _stuckCycle = -1; // of which connections were passed on

    /// <summary>
    /// Moves idle connections to another loop, if the transport can do that. Messages that other threads post to one of them
    /// meanwhile follow it. On the loop's thread, while it serves another connection or handles a message.
    /// </summary>
    /// <param name="mayMove">Called for each idle connection.</param>
    /// <returns>How many moved.</returns>
    public int MoveIdle(EventLoop other, Predicate<Connection> mayMove)
    {
        if (!Transport.CanForget || _connections.Count == 0 || _hasEnded || other._hasEnded || other == this) return 0;
        List<Connection> moving = [];
        foreach (Connection connection in _connections)
        {
            if (connection.IsIdle && mayMove(connection)) moving.Add(connection);
        }

        foreach (Connection connection in moving)
        {
            _connections.Remove(connection);
            Transport.Forget(connection);
            Interlocked.Decrement(ref _connectionCount);
            if (!other.TryArrive(connection, isNew: false)) TakeBack(connection, isNew: false);
        }

        return moving.Count;
    }

    /// <summary>
    /// Hands idle connections to another loop, as <see cref="MoveIdle"/>, and also those that are on their way here, now and until
    /// <see cref="EndRelief"/>, because this loop will not end its iteration for long. On the loop's thread.
    /// </summary>
    /// <returns>How many moved so far.</returns>
    public int BeginRelief(EventLoop other, Predicate<Connection> mayMove)
    {
        Arrival[] arrived;
        lock (_arriving)
        {
            _relief = other;
            arrived = [.. _arrivals];
            _arrivals.Clear();
        }

        foreach (Arrival arrival in arrived)
        {
            Interlocked.Decrement(ref _connectionCount);
            if (!other.TryArrive(arrival.Connection, arrival.IsNew)) TakeBack(arrival.Connection, arrival.IsNew);
        }

        return arrived.Length + MoveIdle(other, mayMove);
    }

    /// <summary>Connections stay here again. On the loop's thread.</summary>
    public void EndRelief()
    {
        lock (_arriving) _relief = null;
    }

    /// <summary>
    /// Whether new connections are better served elsewhere: the loop has let some wait, and is in the same cycle still. From any thread.
    /// </summary>
    public bool IsStuck => Volatile.Read(ref _stuckCycle) == Volatile.Read(ref _cycles);

    /// <summary>
    /// Passes new connections that have waited here for too long to the loop that the chooser returns. From any thread.
    /// </summary>
    /// <returns>Whether new connections wait here still.</returns>
    internal bool PassOnOverdue(int milliseconds)
    {
        long cycle = Volatile.Read(ref _cycles);
        lock (_arriving)
        {
            if (_arrivals.Count == 0) return false;
            if (Environment.TickCount64 - _arrivals.Peek().SinceMs < milliseconds) return true;
        }

        Volatile.Write(ref _stuckCycle, cycle); // an iteration that begins meanwhile is another cycle
        if (Chooser?.Invoke() is not { } other || other == this || other.IsStuck) return true;
        List<Arrival> passed = [];
        lock (_arriving)
        {
            for (int left = _arrivals.Count; left > 0; left--)
            {
                Arrival arrival = _arrivals.Dequeue();
                if (arrival.IsNew) passed.Add(arrival);
                else _arrivals.Enqueue(arrival); // one that has been served here knows this loop
            }
        }

        foreach (Arrival arrival in passed)
        {
            Interlocked.Decrement(ref _connectionCount);
            other.ArriveOrClose(arrival.Connection);
        }

        return false;
    }

    // Hands over a new connection. A loop that has ended would never close it. From any thread.
    private void ArriveOrClose(Connection connection)
    {
        if (TryArrive(connection, isNew: true)) return;
        connection.Loop = this;
        connection.ReleaseBuffers();
        CloseSocket(connection);
    }

    // Adopts a connection that another loop was to have. On the loop's thread.
    private void TakeBack(Connection connection, bool isNew)
    {
        Interlocked.Increment(ref _connectionCount);
        connection.Loop = this;
        Adopt(new Arrival(connection, isNew, 0));
    }

    // Hands over a connection that no loop has. From any thread. False: the loop has ended.
    private bool TryArrive(Connection connection, bool isNew)
    {
        EventLoop? relief;
        lock (_arriving)
        {
            relief = _relief is { _hasEnded: false } ? _relief : null;
            if (relief is null)
            {
                if (_hasEnded) return false; // what arrived before it was set is adopted once more
                Interlocked.Increment(ref _connectionCount);
                _arrivals.Enqueue(new Arrival(connection, isNew, Environment.TickCount64));
                connection.Loop = this; // only then, so that nothing that is posted here for the connection comes before it
            }
        }

        if (relief is not null) return relief.TryArrive(connection, isNew);
        WakeUnlessPosted();
        return true;
    }

    private void AdoptArrivals()
    {
        for (int left = _arrivals.Count; left > 0; left--)
        {
            Arrival arrival;
            lock (_arriving)
            {
                if (!_arrivals.TryDequeue(out arrival)) return; // passed on meanwhile
            }

            Adopt(arrival);
        }
    }

    private void Adopt(Arrival arrival)
    {
        Connection connection = arrival.Connection;
        _connections.Add(connection);
        Transport.Register(connection);
        if (!arrival.IsNew)
        {
            Handler.Moved(connection);
            return;
        }

        connection.BeginLayer();
        Handler.Opened(connection);
    }

    private readonly record struct Arrival(Connection Connection, bool IsNew, long SinceMs);
}
