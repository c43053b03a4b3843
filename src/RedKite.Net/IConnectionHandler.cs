using RedKite.Net.Interop;

namespace RedKite.Net;

/// <summary>Handles a loop's connections. One instance belongs to one loop and runs on its thread alone.</summary>
internal interface IConnectionHandler
{
    /// <summary>Called when a connection belongs to this loop. It may be refused with a last reply and <see cref="Connection.CloseAfterSend"/>.</summary>
    void Opened(Connection connection);

    /// <summary>Called when an idle connection of another loop has moved to this one.</summary>
    void Moved(Connection connection)
    {
    }

    /// <summary>
    /// Called with received bytes: all that were not consumed yet. Replies go out through <see cref="Connection.Send"/>.
    /// </summary>
    /// <returns>How many bytes were consumed; the rest is passed again together with what follows.</returns>
    int Received(Connection connection, Span<byte> input);

    /// <summary>How many more bytes the connection's unfinished request probably needs: a hint for its buffer.</summary>
    long BytesExpected(Connection connection);

    /// <summary>Called when output could not be sent and waits, or when more of it waits.</summary>
    void OnOutputBuffered(Connection connection);

    /// <summary>Called when the waiting output has shrunk to the number of bytes that <see cref="Connection.NotifyWhenDrained"/> named.</summary>
    void OnOutputDrained(Connection connection);

    /// <summary>Queues output that another thread has sent to a connection. The loop releases its reference afterwards.</summary>
    void Deliver(Connection connection, SharedBuffer buffer, int start, int length);

    /// <summary>Whether bytes on their way to a connection exceed what may wait for it. From any thread.</summary>
    bool IsOverLimit(Connection connection, long postedBytes) => false;

    /// <summary>Closes a connection because more bytes were on their way to it than may wait, and the rest was dropped.</summary>
    void OnLimitExceeded(Connection connection) => connection.Close();

    /// <summary>Called when the connection was closed, by either side.</summary>
    void Closed(Connection connection);

    /// <summary>Called when all input of an iteration has been handled and the loop is about to wait.</summary>
    void IterationEnded()
    {
    }

    /// <summary>Does regular work.</summary>
    /// <returns>Milliseconds after which it should be called again at the latest.</returns>
    int Tick();
}
