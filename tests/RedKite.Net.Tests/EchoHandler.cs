namespace RedKite.Net.Tests;

/// <summary>
/// Sends back what arrives, and follows orders in it: a Q ends the connection after what was sent before it, a P stops
/// the reading in front of it until <see cref="ResumePaused"/>.
/// </summary>
internal sealed class EchoHandler : IConnectionHandler
{
    private readonly List<Connection> _paused = [];

    internal int OpenedCount;
    internal int ClosedCount;
    internal int TickCount;
    internal int PausedCount;
    internal long OutputWaitsBytesMax;

    /// <summary>Bytes that every connection gets before anything else.</summary>
    internal byte[] Greeting { get; init; } = [];

    /// <summary>Whether Q and P are orders.</summary>
    internal bool TakesOrders { get; init; }

    /// <summary>A request is so many bytes; shorter input waits for the rest.</summary>
    internal int RequestBytes { get; init; } = 1;

    public void Opened(Connection connection)
    {
        Interlocked.Increment(ref OpenedCount);
        connection.Send(Greeting);
    }

    public int Received(Connection connection, Span<byte> input)
    {
        int end = TakesOrders ? input.IndexOfAny((byte)'Q', (byte)'P') : -1;
        if (end < 0)
        {
            int whole = input.Length - (input.Length % RequestBytes);
            connection.Send(input[..whole]);
            return whole;
        }

        connection.Send(input[..end]);
        if (input[end] == 'Q')
        {
            connection.CloseAfterSend();
            return end + 1;
        }

        // The order itself is taken when reading resumes.
        if (_paused.Remove(connection)) return end + 1 + Received(connection, input[(end + 1)..]);
        connection.SetReading(false);
        _paused.Add(connection);
        Interlocked.Increment(ref PausedCount);
        return end;
    }

    public long BytesExpected(Connection connection) => RequestBytes;

    public void OutputWaits(Connection connection) => OutputWaitsBytesMax = Math.Max(OutputWaitsBytesMax, connection.OutputBytes);

    public void Closed(Connection connection)
    {
        _paused.Remove(connection);
        Interlocked.Increment(ref ClosedCount);
    }

    public int Tick()
    {
        Interlocked.Increment(ref TickCount);
        return 10;
    }

    /// <summary>On the loop's thread.</summary>
    internal void ResumePaused()
    {
        foreach (Connection connection in _paused) connection.SetReading(true);
    }
}
