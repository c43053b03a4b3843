using System.Diagnostics;

namespace RedKite.Net;

// The gate of output: what a loop sends may have to wait until a log is on the disk.
internal sealed partial class EventLoop
{
    // For how long output that waits for a log is gathered, at most: about two syncs of a fast disk.
    private const int GatherMicroseconds = 1000;

    private readonly List<Connection> _gating = []; // with output that was held in this iteration
    private readonly Queue<(long Position, Connection Connection)> _awaiting = new(); // by ascending positions
    private long _awaitedPosition;
    private Action<long>? _ask; // for a position that output awaits
    private long _gatherEnd; // a timestamp; 0: nothing is gathered
    private bool _hasReceived; // since the last look
    private bool _handlerGathers;

    /// <summary>
    /// Returns the position of a log up to which it must be synced before output may leave, 0 if output may leave now. Null: output never
    /// waits. Output that must wait stays in its connection, in order, until <see cref="ReleaseOutput"/> is called with the position.
    /// On the loop's thread.
    /// </summary>
    public Func<long>? OutputGate { get; private set; }

    /// <summary>The lowest position that held output awaits; 0: none is held. From any thread.</summary>
    public long AwaitedPosition => Volatile.Read(ref _awaitedPosition);

    /// <summary>Whether output is held or awaits a position. On the loop's thread.</summary>
    public bool HasGatedOutput => _gating.Count > 0 || _awaiting.Count > 0;

    /// <summary>Whether output was held in this iteration, whose end hands it to the gate. On the loop's thread.</summary>
    public bool HasGatingOutput => _gating.Count > 0;

    /// <summary>Whether the loop only polls between its iterations, because further iterations may add to what it is about to send.</summary>
    public bool IsGathering => Transport.Gathers;

    /// <summary>
    /// Sets whether the loop only polls between its iterations, because its handler gathers what further iterations may add to. On the loop's thread.
    /// </summary>
    public void SetGathers(bool on)
    {
        _handlerGathers = on;
        Transport.Gathers = on || _gatherEnd != 0;
    }

    internal bool GatesOutput => OutputGate!() != 0;

    /// <summary>Sets or removes the gate of output. Removing it sends what was held. On the loop's thread, or before its start.</summary>
    /// <param name="gate">See <see cref="OutputGate"/>; null: removes it.</param>
    /// <param name="ask">Called with each position that output begins to await.</param>
    public void SetOutputGate(Func<long>? gate, Action<long>? ask = null)
    {
        OutputGate = gate;
        _ask = ask;
        if (gate is null) ReleaseOutput(long.MaxValue);
    }

    /// <summary>Sends the output that awaits positions up to one that the log has reached. On the loop's thread.</summary>
    public void ReleaseOutput(long position)
    {
        while (_awaiting.TryPeek(out (long Position, Connection Connection) next) && next.Position <= position)
        {
            _awaiting.Dequeue();
            next.Connection.ReleaseAwaited();
        }

        Volatile.Write(ref _awaitedPosition, _awaiting.TryPeek(out (long Position, Connection Connection) first) ? first.Position : 0);
    }

    /// <summary>
    /// Closes the connections whose output is held or awaits a position, because the log may never reach it: their clients must not take for
    /// granted what was not written. On the loop's thread.
    /// </summary>
    /// <returns>How many were closed.</returns>
    public int CloseAwaiting()
    {
        int closed = 0;
        foreach (Connection connection in _gating)
        {
            if (connection.IsClosing) continue;
            connection.Close();
            closed++;
        }

        _gating.Clear();
        EndGathering();
        while (_awaiting.TryDequeue(out (long Position, Connection Connection) next))
        {
            if (next.Connection.IsClosing) continue;
            next.Connection.Close();
            closed++;
        }

        Volatile.Write(ref _awaitedPosition, 0);
        return closed;
    }

    /// <summary>Notes that output of a connection was held in this iteration.</summary>
    internal void GateThisIteration(Connection connection) => _gating.Add(connection);

    // What was held in the iteration awaits the log's position of now, which covers everything that was executed before.
    private void AwaitGated()
    {
        long position = OutputGate?.Invoke() ?? 0;
        foreach (Connection connection in _gating)
        {
            if (connection.AwaitGated()) _awaiting.Enqueue((position, connection));
        }

        _gating.Clear();
        if (position != 0 && _awaiting.TryPeek(out (long Position, Connection Connection) first))
        {
            // The log may have been synced before it could see that this loop waits for it, so the gate is asked once more.
            Interlocked.Exchange(ref _awaitedPosition, first.Position);
            _ask?.Invoke(position);
            position = OutputGate!();
        }

        if (position == 0) ReleaseOutput(long.MaxValue);
    }

    // One sync serves all output that awaits it. So while requests arrive, what was held in one iteration waits for the next ones, for a bounded
    // time; a client that is alone waits for one poll.
    private bool GathersOn()
    {
        if (_hasReceived)
        {
            _hasReceived = false;
            long now = Stopwatch.GetTimestamp();
            if (_gatherEnd == 0) _gatherEnd = now + (Stopwatch.Frequency * GatherMicroseconds / 1_000_000);
            if (now < _gatherEnd) return Transport.Gathers = true;
        }

        EndGathering();
        return false;
    }

    private void EndGathering()
    {
        _gatherEnd = 0;
        Transport.Gathers = _handlerGathers;
    }
}
