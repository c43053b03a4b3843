namespace RedKite.Net;

/// <summary>
/// An event loop's interface to the system: waiting for ready connections, receiving, sending. There are two: epoll on Linux, and
/// the runtime's sockets everywhere. All calls but <see cref="Wake"/> come from the loop's own thread.
/// </summary>
internal abstract class Transport : IDisposable
{
    /// <summary>The result of a receive or send that would have to wait.</summary>
    internal const int WouldBlock = -1;

    /// <summary>The result of a receive or send on a connection that is broken.</summary>
    internal const int Failed = -2;

    /// <summary>Whether the next wait only polls, because the loop has more to do.</summary>
    internal bool SkipsWait { get; set; }

    /// <summary>Whether the next wait only polls, because the loop gathers what further iterations may add to.</summary>
    internal bool Gathers { get; set; }

    /// <summary>Hands connections that arrive at a listener to <see cref="EventLoop.Accepted"/>.</summary>
    internal abstract void Listen(ListeningSocket listener);

    internal abstract void StopListening();

    /// <summary>Resumes accepting where it had failed. Called regularly.</summary>
    internal abstract void ResumeAccepting();

    /// <summary>Forgets a listener and closes it.</summary>
    internal abstract void StopListening(ListeningSocket listener);

    /// <summary>
    /// Waits until something is ready; calls <see cref="EventLoop.Readable"/> or <see cref="Connection.Flush"/> for every
    /// connection that is, and <see cref="EventLoop.TimerFired"/>.
    /// </summary>
    internal abstract void Wait(EventLoop loop);

    /// <summary>Ends a wait after a number of microseconds (0: at once), rounded up to milliseconds without epoll.</summary>
    internal abstract void SetTimer(long microseconds);

    /// <summary>Ends a wait early. From any thread.</summary>
    internal abstract void Wake();

    internal abstract void Register(Connection connection);

    /// <summary>Whether a connection can be forgotten here and registered with another transport.</summary>
    internal virtual bool CanForget => false;

    /// <summary>The opposite of <see cref="Register"/>: the connection stays open.</summary>
    internal virtual void Forget(Connection connection) => throw new NotSupportedException();

    internal abstract void SetKeepAlive(Connection connection, int seconds);

    /// <summary>Sets whether small packets are sent at once, which they are at first.</summary>
    internal abstract void SetNoDelay(Connection connection, bool on);

    /// <summary>Bytes received, 0 at the peer's end, or <see cref="WouldBlock"/> or <see cref="Failed"/>.</summary>
    internal abstract int Receive(Connection connection, Span<byte> buffer);

    /// <summary>Bytes sent (perhaps fewer than given), or <see cref="WouldBlock"/> or <see cref="Failed"/>.</summary>
    internal abstract int Send(Connection connection, ReadOnlySpan<byte> bytes);

    /// <summary>Sends the first bytes of a queue, several pieces at a time where the system can. Results as of the other.</summary>
    internal virtual int Send(Connection connection, OutputQueue queue) => Send(connection, queue.First);

    /// <summary>Sets which events of a connection wake the loop.</summary>
    internal abstract void SetInterest(Connection connection, bool read, bool write);

    /// <summary>Ends the sending direction, which the peer notices.</summary>
    internal abstract void ShutdownSend(Connection connection);

    internal abstract void Close(Connection connection);

    public abstract void Dispose();
}
