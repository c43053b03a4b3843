using RedKite.Net.Interop;

namespace RedKite.Net.Tests;

/// <summary>
/// Echoes its input and obeys commands in it: Q closes the connection after the preceding output, P stops reading before it
/// until <see cref="ResumePaused"/>.
/// </summary>
internal sealed class EchoHandler : IConnectionHandler
{
    private readonly List<Connection> _paused = [];

    internal int OpenedCount;
    internal int ClosedCount;
    internal int TickCount;
    internal int PausedCount;
    internal long OutputWaitsBytesMax;
    internal int DrainedCount;

    /// <summary>Bytes that every connection receives first.</summary>
    internal byte[] Greeting { get; init; } = [];

    /// <summary>Whether Q and P are commands.</summary>
    internal bool ObeysCommands { get; init; }

    /// <summary>The bytes that may wait for a peer; beyond that, its connection is closed.</summary>
    internal long OutputBytesMax { get; init; } = long.MaxValue;

    /// <summary>Called with each connection that has received something.</summary>
    internal Action<Connection>? Receiving { get; init; }

    /// <summary>Called at the end of each iteration, and when the loop ends.</summary>
    internal Action? IterationEnding { get; init; }

    /// <summary>The size of a request in bytes; shorter input waits for the rest.</summary>
    internal int RequestBytes { get; init; } = 1;

    public void Opened(Connection connection)
    {
        Interlocked.Increment(ref OpenedCount);
        connection.Send(Greeting);
    }

    public int Received(Connection connection, Span<byte> input)
    {
        Receiving?.Invoke(connection);
        int end = ObeysCommands ? input.IndexOfAny((byte)'Q', (byte)'P') : -1;
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

        // The command itself is consumed when reading resumes.
        if (_paused.Remove(connection)) return end + 1 + Received(connection, input[(end + 1)..]);
        connection.SetReading(false);
        _paused.Add(connection);
        Interlocked.Increment(ref PausedCount);
        return end;
    }

    public long BytesExpected(Connection connection) => RequestBytes;

    public void OnOutputBuffered(Connection connection)
    {
        OutputWaitsBytesMax = Math.Max(OutputWaitsBytesMax, connection.OutputBytes);
        if (connection.OutputBytes <= OutputBytesMax) return;
        if (connection.IsResting) connection.FlushOn();
        else connection.Close();
    }

    public void OnOutputDrained(Connection connection) => Interlocked.Increment(ref DrainedCount);

    public void Deliver(Connection connection, SharedBuffer buffer, int start, int length) => connection.Queue(buffer, start, length);

    public void Closed(Connection connection)
    {
        _paused.Remove(connection);
        Interlocked.Increment(ref ClosedCount);
    }

    public void IterationEnded() => IterationEnding?.Invoke();

    public int Tick()
    {
        Interlocked.Increment(ref TickCount);
        return 10;
    }

    /// <summary>Called on the loop's thread.</summary>
    internal void ResumePaused()
    {
        foreach (Connection connection in _paused) connection.SetReading(true);
    }
}
