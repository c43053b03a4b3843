using System.Collections.Concurrent;
using System.Net.Sockets;

namespace RedKite.Net;

/// <summary>
/// The transport for Windows, macOS and tests: the runtime's sockets. They report through the thread pool that a connection
/// is ready (an empty receive completes, or a queued send does), and accept there; receiving, executing and sending stay on the loop.
/// </summary>
internal sealed class SocketsTransport(EventLoop loop) : Transport
{
    private const int AcceptRetryMs = 10;
    private const int SendChunkBytes = 64 * 1024;

    private readonly SemaphoreSlim _signal = new(0);
    private readonly ConcurrentQueue<(Connection Connection, bool Write)> _ready = new();
    private readonly List<ListeningSocket> _listeners = [];
    private long _timerDue;
    private int _signaled;
    private int _acceptFailures;
    private volatile bool _listening = true;

    internal override void Listen(ListeningSocket listener)
    {
        if (!listener.IsListening) return; // stopped before the loop was notified
        _listeners.Add(listener);
        var arguments = new SocketAsyncEventArgs { UserToken = listener };
        arguments.Completed += (_, done) => AcceptNext(listener, done, completed: true);
        AcceptNext(listener, arguments, completed: false);
    }

    internal override void StopListening()
    {
        _listening = false;
        _listeners.Clear();
    }

    internal override void StopListening(ListeningSocket listener)
    {
        _listeners.Remove(listener);
        listener.Dispose(); // which ends its pending accept
    }

    // Accepting retries by itself after a failure.
    internal override void ResumeAccepting()
    {
    }

    internal override void SetTimer(long microseconds) => _timerDue = Environment.TickCount64 + ((microseconds + 999) / 1000);

    internal override void Wait(EventLoop loop)
    {
        // Also without a wait: signals that were not consumed would pile up, and each would end a later wait at once.
        bool idle = _ready.IsEmpty && !SkipsWait && !Gathers;
        _signal.Wait(idle ? (int)Math.Clamp(_timerDue - Environment.TickCount64, 0, int.MaxValue) : 0);
        loop.BeginCycle();
        Interlocked.Exchange(ref _signaled, 0);
        if (Environment.TickCount64 >= _timerDue) loop.TimerFired();
        for (int failures = Interlocked.Exchange(ref _acceptFailures, 0); failures > 0; failures--) loop.AcceptFailed();

        // Only those that are ready now: the others follow after the loop's other work.
        for (int left = _ready.Count; left > 0 && _ready.TryDequeue(out (Connection Connection, bool Write) ready); left--)
        {
            State state = StateOf(ready.Connection);
            if (ready.Write)
            {
                SendCompleted(ready.Connection, state);
                continue;
            }

            state.Receiving = false;
            loop.Readable(ready.Connection);
            ArmReceive(ready.Connection, state);
        }
    }

    internal override void Wake() => Signal();

    internal override void Register(Connection connection)
    {
        var state = new State(connection, (Socket)connection.TransportState!, this);
        connection.TransportState = state;
        ArmReceive(connection, state);
    }

    internal override void SetNoDelay(Connection connection, bool on)
    {
        try
        {
            SocketOf(connection).NoDelay = on;
        }
        catch (SocketException)
        {
            // The peer has closed already; receiving will report it too.
        }
    }

    internal override void SetKeepAlive(Connection connection, int seconds)
    {
        if (connection.RemoteAddress.IsUnix) return;
        Socket socket = SocketOf(connection);
        try
        {
            socket.SetSocketOption(SocketOptionLevel.Socket, SocketOptionName.KeepAlive, true);
            socket.SetSocketOption(SocketOptionLevel.Tcp, SocketOptionName.TcpKeepAliveTime, seconds);
            socket.SetSocketOption(SocketOptionLevel.Tcp, SocketOptionName.TcpKeepAliveInterval, Math.Max(1, seconds / 3));
            socket.SetSocketOption(SocketOptionLevel.Tcp, SocketOptionName.TcpKeepAliveRetryCount, 3);
        }
        catch (SocketException)
        {
            // The peer has closed already, which some systems report here; receiving will report it too.
        }
    }

    internal override int Receive(Connection connection, Span<byte> buffer)
    {
        int received = SocketOf(connection).Receive(buffer, SocketFlags.None, out SocketError error);
        return error == SocketError.Success ? received : Result(error);
    }

    internal override int Send(Connection connection, ReadOnlySpan<byte> bytes)
    {
        // A queued send is under way: order demands that everything waits behind it.
        State state = StateOf(connection);
        if (state.Sending) return WouldBlock;
        int sent = state.Socket.Send(bytes, SocketFlags.None, out SocketError error);
        return error == SocketError.Success ? sent : Result(error);
    }

    internal override void SetInterest(Connection connection, bool read, bool write)
    {
        State state = StateOf(connection);
        if (read) ArmReceive(connection, state);
        if (write) ArmSend(connection, state);
    }

    internal override void ShutdownSend(Connection connection)
    {
        try
        {
            SocketOf(connection).Shutdown(SocketShutdown.Send);
        }
        catch (SocketException)
        {
            // The peer was faster.
        }
    }

    internal override void Close(Connection connection)
    {
        // Its operations end with an error; their completions find the connection closing.
        Socket socket = SocketOf(connection);
        try
        {
            socket.Shutdown(SocketShutdown.Both);
        }
        catch (SocketException)
        {
            // The peer was faster.
        }

        socket.Dispose();
    }

    public override void Dispose()
    {
        StopListening();
        _signal.Dispose();
    }

    private static State StateOf(Connection connection) => (State)connection.TransportState!;

    // A connection that is not registered yet has only its socket.
    private static Socket SocketOf(Connection connection) => connection.TransportState as Socket ?? StateOf(connection).Socket;

    private static int Result(SocketError error) =>
        error is SocketError.WouldBlock or SocketError.IOPending or SocketError.Interrupted ? WouldBlock : Failed;

    private void ArmReceive(Connection connection, State state)
    {
        if (state.Receiving || !connection.IsReading) return;
        state.Receiving = true;
        try
        {
            if (!state.Socket.ReceiveAsync(state.Receive)) Ready(connection, write: false);
        }
        catch (ObjectDisposedException)
        {
            connection.Close();
        }
    }

    // The runtime does not report writability, so it is given the head of the queue to send.
    private static void ArmSend(Connection connection, State state)
    {
        if (state.Sending || connection.IsClosing || connection.NextForWire is not { Length: > 0 } output) return;
        state.Sending = true;
        byte[] chunk = state.Chunk ??= new byte[SendChunkBytes];
        int bytes = Math.Min(output.Length, chunk.Length);
        output[..bytes].CopyTo(chunk);
        state.Send.SetBuffer(chunk, 0, bytes);
        if (!state.Socket.SendAsync(state.Send)) state.Transport.Ready(connection, write: true);
    }

    private static void SendCompleted(Connection connection, State state)
    {
        state.Sending = false;
        if (connection.IsClosing) return;
        if (state.Send.SocketError != SocketError.Success)
        {
            connection.Close();
            return;
        }

        connection.SentToWire(state.Send.BytesTransferred);
        connection.Flush();
        if (connection.NextForWire.IsEmpty) state.Chunk = null;
        else ArmSend(connection, state);
    }

    private void AcceptNext(ListeningSocket listener, SocketAsyncEventArgs arguments, bool completed)
    {
        while (_listening)
        {
            if (completed && arguments is { SocketError: SocketError.Success, AcceptSocket: { } socket })
            {
                Accept(socket, listener);
            }
            else if (completed)
            {
                if (!listener.IsListening) return;
                Interlocked.Increment(ref _acceptFailures);
                Signal();

                // Too many open files, most likely: trying again at once would spin until one is closed.
                Thread.Sleep(AcceptRetryMs);
            }

            arguments.AcceptSocket = null;
            while (loop.Sockets.IsFull && _listening) Thread.Sleep(AcceptRetryMs);
            try
            {
                if (listener.Socket.AcceptAsync(arguments)) return;
            }
            catch (ObjectDisposedException)
            {
                return; // The listener was closed.
            }

            completed = true;
        }

        arguments.AcceptSocket?.Dispose(); // It arrived after the listener was closed.
        arguments.Dispose();
    }

    // On a thread of the runtime, so that a loop that executes for long delays no other loop's new connections.
    private void Accept(Socket socket, ListeningSocket listener)
    {
        try
        {
            socket.Blocking = false;
            PeerAddress remote = listener.UnixPath is null ? PeerAddress.From(socket.RemoteEndPoint, null) : PeerAddress.Unix(listener.UnixPath);
            PeerAddress local = listener.UnixPath is null ? PeerAddress.From(socket.LocalEndPoint, null) : PeerAddress.Unix(listener.UnixPath);
            if (!remote.IsUnix) socket.NoDelay = true;
            loop.AcceptedBeside(new Connection((int)socket.Handle, socket, remote, local, listener.NewLayer?.Invoke()));
        }
        catch (SocketException)
        {
            socket.Dispose(); // The peer was gone before it was looked at.
        }
    }

    private void Ready(Connection connection, bool write)
    {
        _ready.Enqueue((connection, write));
        Signal();
    }

    private void Signal()
    {
        if (Interlocked.Exchange(ref _signaled, 1) != 0) return;
        try
        {
            _signal.Release();
        }
        catch (ObjectDisposedException)
        {
            // A completion that arrived after the loop's end.
        }
    }

    private sealed class State
    {
        internal State(Connection connection, Socket socket, SocketsTransport transport)
        {
            Socket = socket;
            Transport = transport;
            Receive.SetBuffer(Array.Empty<byte>(), 0, 0);
            Receive.Completed += (_, _) => transport.Ready(connection, write: false);
            Send.Completed += (_, _) => transport.Ready(connection, write: true);
        }

        internal Socket Socket { get; }

        internal SocketsTransport Transport { get; }

        internal SocketAsyncEventArgs Receive { get; } = new();

        internal SocketAsyncEventArgs Send { get; } = new();

        internal bool Receiving { get; set; }

        internal bool Sending { get; set; }

        internal byte[]? Chunk { get; set; }
    }
}
