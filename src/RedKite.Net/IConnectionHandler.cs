using RedKite.Net.Interop;

namespace RedKite.Net;

/// <summary>What the server does with a loop's connections. One instance belongs to one loop and runs on its thread alone.</summary>
public interface IConnectionHandler
{
    /// <summary>A connection now belongs to this loop. It may be refused with a farewell and <see cref="Connection.CloseAfterSend"/>.</summary>
    void Opened(Connection connection);

    /// <summary>An idle connection of another loop now belongs to this one.</summary>
    void Moved(Connection connection)
    {
    }

    /// <summary>
    /// Bytes arrived: all that has not been consumed yet, from its start. Replies go out through <see cref="Connection.Send"/>.
    /// </summary>
    /// <returns>How many bytes are done with; the rest comes again with what follows.</returns>
    int Received(Connection connection, Span<byte> input);

    /// <summary>How many more bytes the connection's unfinished request probably needs: a hint for its buffer.</summary>
    long BytesExpected(Connection connection);

    /// <summary>Output could not be sent and waits, or more of it waits now.</summary>
    void OnOutputBuffered(Connection connection);

    /// <summary>The waiting output has come down to what <see cref="Connection.NotifyWhenDrained"/> named.</summary>
    void OnOutputDrained(Connection connection);

    /// <summary>Another thread has sent something to a connection: queues it. The loop releases its reference afterwards.</summary>
    void Deliver(Connection connection, SharedBuffer buffer, int start, int length);

    /// <summary>Whether bytes on their way to a connection exceed what may wait for it. From any thread.</summary>
    bool IsOverLimit(Connection connection, long postedBytes) => false;

    /// <summary>More is on its way to a connection than may wait: the rest was dropped, so it is closed.</summary>
    void OnLimitExceeded(Connection connection) => connection.Close();

    /// <summary>The connection is closed, by either side.</summary>
    void Closed(Connection connection);

    /// <summary>What was received together has been handed in; the loop is about to wait.</summary>
    void TurnEnded()
    {
    }

    /// <summary>Regular work.</summary>
    /// <returns>Milliseconds after which it should be called again at the latest.</returns>
    int Tick();
}
