using System.Collections.Concurrent;
using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using RedKite.Net.Interop;

namespace RedKite.Net;

/// <summary>
/// One thread that waits for its connections, receives, calls the handler, and sends. Other threads that need a connection
/// post to it here.
/// </summary>
internal sealed partial class EventLoop : IDisposable
{
    // One receive's worth: enough for a pipeline of 64 values of a kilobyte.
    private const int ReceiveBytes = 64 * 1024;

    // At the end of a connection: what a pipelining client had sent behind its QUIT, in turns, but no endless stream.
    private const int ReceivesDiscardedMax = 16;

    // How long a peer may take to end its side after its last reply, and how many connections may wait for that.
    private const int LingerMs = 3000;
    private const int LingeringMax = 1024;

    // Messages that are handled in one iteration. The rest waits for the next, so that a flood of them does not starve the clients.
    private const int MessagesPerIterationMax = 1024;

    // What a layer has decoded is also processed in bounded portions.
    private const int LayerReadsPerIterationMax = 16;

    /// <summary>How many files a loop has open besides its connections: its epoll set, wake-up event and timer.</summary>
    public const int OwnFilesMax = 3;

    // Timing a cycle takes two readings of the clock, some 50 ns. As long as there are few cycles all are timed; otherwise
    // one of this many, which counts for the others too. A prime number, because clients often work in multiples of two or ten.
    private const int CyclesOfOneTimed = 61;
    private const int FewCyclesPerMs = 5;
    private const int CyclesCountedEveryMs = 50;

    private readonly byte[] _receiveBuffer = GC.AllocateUninitializedArray<byte>(ReceiveBytes, pinned: true);
    private readonly ConcurrentQueue<Message> _mailbox = new();
    private readonly List<Connection> _unflushed = [];
    private readonly List<Connection> _closing = [];
    private readonly Dictionary<Connection, long> _lingering = []; // until when
    private readonly HashSet<Connection> _connections = [];
    private readonly Thread _thread;
    private bool _tickIsDue;
    private bool _tickIsSet;
    private bool _isHandlingMessages;
    private int _posted;
    private int _connectionCount;
    private long _cycles;
    private long _workTicks;
    private long _longestCycleTicks;
    private long _cycleStart; // of the cycle that is timed; 0: none is in progress
    private int _cycleWeight = 1;
    private int _nextCycleWeight = 1;
    private int _cyclesUntilTimed = 1;
    private long _cyclesCounted;
    private long _cyclesCountedMs;
    private volatile bool _stopping;
    private volatile bool _hasEnded;
    [ThreadStatic]
    private static bool _isOnLoop;

    private volatile bool _isDrained; // the mailbox was emptied for the last time

    /// <param name="name">The thread's name.</param>
    /// <param name="useSockets">Whether to use the runtime's sockets although epoll is there.</param>
    /// <param name="pool">The pool for waiting output; null: the process's shared pool.</param>
    public EventLoop(string name, bool useSockets, BufferPool? pool = null)
        : this(name, pool, loop => useSockets || !LinuxCalls.IsSupported ? new SocketsTransport(loop) : new EpollTransport())
    {
    }

    internal EventLoop(string name, BufferPool? pool, Func<EventLoop, Transport> newTransport)
    {
        Pool = pool ?? BufferPool.Process;
        Transport = newTransport(this);
        _thread = new Thread(Run) { Name = name, IsBackground = true };
    }

    /// <summary>The loop's number among the server's loops, from 0.</summary>
    public int Index { get; init; }

    /// <summary>Handles the loop's connections.</summary>
    public IConnectionHandler Handler { get; private set; } = null!;

    /// <summary>Chooses the loop that gets a connection that arrives here. Called from any thread.</summary>
    public Func<EventLoop>? Chooser { get; init; }

    /// <summary>Looks after connections that wait for another loop; set before the start; null: they wait.</summary>
    public ArrivalWatch? ArrivalWatch { get; init; }

    /// <summary>The open sockets of all loops together; by default without a limit.</summary>
    public OpenSockets Sockets { get; init; } = new(() => long.MaxValue);

    /// <summary>Has the loop's connections handled. Before the start.</summary>
    public void Serve(IConnectionHandler handler) => Handler = handler;

    /// <summary>Connections that the loop has or is about to get.</summary>
    public int ConnectionCount => Volatile.Read(ref _connectionCount);

    /// <summary>The loop's connections; on its own thread alone.</summary>
    public IReadOnlyCollection<Connection> Connections => _connections;

    /// <summary>How often accepting failed because the process has too many files open.</summary>
    public long AcceptFailures { get; private set; }

    /// <summary>Whether epoll can be used here.</summary>
    public static bool EpollIsSupported => LinuxCalls.IsSupported;

    /// <summary>How often the loop waited and worked.</summary>
    public long Cycles => Volatile.Read(ref _cycles);

    /// <summary>How long the loop worked between its waits, the cycle in progress included; with many cycles, as some of them were measured.</summary>
    public TimeSpan WorkTime
    {
        get
        {
            while (true)
            {
                long start = Volatile.Read(ref _cycleStart);
                long ticks = Volatile.Read(ref _workTicks);
                if (start != 0) ticks += Math.Max(0, Stopwatch.GetTimestamp() - start) * Volatile.Read(ref _cycleWeight);
                if (Volatile.Read(ref _cycleStart) == start) return Stopwatch.GetElapsedTime(0, ticks);
            }
        }
    }

    /// <summary>Whether messages from other threads wait to be handled. On the loop's thread.</summary>
    public bool HasMessages => !_mailbox.IsEmpty || _arrivals.Count > 0;

    /// <summary>Messages from other threads that wait to be handled.</summary>
    public int MessagesWaiting => _mailbox.Count + _arrivals.Count;

    /// <summary>The longest cycle of those that were timed since the last call. From one thread at a time.</summary>
    public TimeSpan TakeLongestCycle() => Stopwatch.GetElapsedTime(0, Interlocked.Exchange(ref _longestCycleTicks, 0));

    /// <summary>The exception that ended the loop, if one did.</summary>
    public Exception? Failure { get; private set; }

    /// <summary>Called when an exception ended the loop: a broken invariant.</summary>
    public Action<Exception>? Crashed { get; init; }

    /// <summary>The pool for waiting output.</summary>
    public BufferPool Pool { get; }

    internal Transport Transport { get; }

    /// <summary>Whether connections are accepted on threads of their own, so also while the loop works.</summary>
    public bool AcceptsBeside => Transport is SocketsTransport;

    /// <summary>The buffer for what layers decode; created when the first connection with a layer receives.</summary>
    internal byte[] WireBuffer => field ??= GC.AllocateUninitializedArray<byte>(ReceiveBytes, pinned: true);

    /// <summary>Starts the thread.</summary>
    public void Start() => _thread.Start();

    /// <summary>Accepts a listener's connections here. On the loop's thread or before the start.</summary>
    public void Listen(ListeningSocket listener) => Transport.Listen(listener);

    /// <summary>
    /// Connects to a server, waits until the connection is established, and hands it to this loop and its handler. From
    /// any thread.
    /// </summary>
    /// <param name="state">What <see cref="Connection.State"/> is to hold from the start.</param>
    /// <exception cref="SocketException">No peer accepts the connection.</exception>
    /// <param name="layer">The layer between the connection and the wire; null: none.</param>
    public void Connect(EndPoint server, object? state, ByteLayer? layer = null)
    {
        string? unixPath = server is UnixDomainSocketEndPoint ? server.ToString() : null;
        var socket = new Socket(server.AddressFamily, SocketType.Stream, unixPath is null ? ProtocolType.Tcp : ProtocolType.Unspecified);
        try
        {
            if (unixPath is null) socket.NoDelay = true;
            socket.Connect(server);
            socket.Blocking = false;
        }
        catch
        {
            socket.Dispose();
            throw;
        }

        var connection = new Connection(
            (int)socket.Handle, socket, PeerAddress.From(socket.RemoteEndPoint, unixPath), PeerAddress.From(socket.LocalEndPoint, unixPath), layer);
        connection.State = state;
        ArriveOrClose(connection);
    }

    /// <summary>
    /// Calls the handler's <see cref="IConnectionHandler.Tick"/> after a number of microseconds, in place of what was set before
    /// and of what the running Tick returns; 0: as soon as the connections that are ready were served. On the loop's thread.
    /// </summary>
    public void TickAfter(long microseconds)
    {
        _tickIsSet = true;
        Transport.SetTimer(microseconds);
    }

    /// <summary>Stops accepting. On the loop's thread.</summary>
    public void StopListening() => Transport.StopListening();

    /// <summary>Stops accepting at one listener, and disposes of it. On the loop's thread.</summary>
    public void StopListening(ListeningSocket listener) => Transport.StopListening(listener);

    /// <summary>Posts an action to the loop's thread. From any thread.</summary>
    public void Post(Action action) => Post(new Message(action, null, null, 0, 0));

    /// <summary>
    /// Posts an action that is executed in any case, once: on the loop's thread, or here, if the loop has ended, which handles nothing more. From any thread.
    /// </summary>
    public void PostOrRun(Action action)
    {
        int runs = 0;
        Post(RunOnce);
        if (_hasEnded) RunOnce(); // the loop looks at its mailbox once more after it has set this

        void RunOnce()
        {
            if (Interlocked.Exchange(ref runs, 1) == 0) action();
        }
    }

    /// <summary>
    /// Hands a part of a shared buffer to the handler for one of the loop's connections, and takes over a reference to it. From
    /// any thread.
    /// </summary>
    public void Post(Connection connection, SharedBuffer buffer, int start, int length)
    {
        connection.NotePosted(length);
        Post(new Message(null, connection, buffer, start, length));
    }

    /// <summary>Posts an action to the thread of the connection's loop, even if the connection moves meanwhile. From any thread.</summary>
    public static void Post(Connection connection, Action action) => connection.Loop.Post(new Message(action, connection, null, 0, 0));

    /// <summary>
    /// Posts an action that uses a shared buffer to the loop's thread, and takes over a reference to the buffer. From any thread.
    /// </summary>
    public void Post(Action action, SharedBuffer buffer) => Post(new Message(action, null, buffer, 0, 0));

    /// <summary>Whether the current thread is one of any event loop, which must not wait for what loops do.</summary>
    public static bool IsOnLoop => _isOnLoop;

    /// <summary>Whether the caller is the loop's own thread.</summary>
    public bool IsCurrent => Thread.CurrentThread == _thread;

    /// <summary>Ends the loop: its connections are closed, its thread is waited for (unless it is the caller).</summary>
    public void Stop()
    {
        _stopping = true;
        Transport.Wake();
        if (_thread.IsAlive && !IsCurrent) _thread.Join();
    }

    /// <summary>Frees the loop's system resources after <see cref="Stop"/>.</summary>
    public void Dispose() => Transport.Dispose();

    /// <summary>Called when the wait has ended.</summary>
    internal void BeginCycle()
    {
        Volatile.Write(ref _cycles, _cycles + 1);
        if (--_cyclesUntilTimed == 0) Volatile.Write(ref _cycleStart, Stopwatch.GetTimestamp());
    }

    internal void TimerFired() => _tickIsDue = true;

    internal void AcceptFailed() => AcceptFailures++;

    /// <summary>Passes a connection that has arrived to the loop that the chooser returns.</summary>
    internal void Accepted(Connection connection)
    {
        EventLoop owner = Chooser?.Invoke() ?? this;
        Sockets.Add();
        if (owner != this)
        {
            if (owner.TryArrive(connection, isNew: true))
            {
                ArrivalWatch?.Note();
                return;
            }
        }

        TakeBack(connection, isNew: true);
    }

    /// <summary>As <see cref="Accepted"/>, from any thread.</summary>
    internal void AcceptedBeside(Connection connection)
    {
        EventLoop owner = Chooser?.Invoke() ?? this;
        Sockets.Add();
        owner.ArriveOrClose(connection);
        ArrivalWatch?.Note();
    }

    internal void Readable(Connection connection)
    {
        if (!connection.IsReading) return;
        if (connection.IsLingering)
        {
            if (!DiscardInput(connection)) EndLingering(connection);
            return;
        }

        Receive(connection);
        if (connection.Layer is not null) ReceiveDecoded(connection);
    }

    // The system does not know what a layer still has.
    internal void ReceiveDecoded(Connection connection)
    {
        for (int left = LayerReadsPerIterationMax; connection.HasDecodedInput; left--)
        {
            if (left == 0)
            {
                Resume(connection);
                return;
            }

            Receive(connection);
        }
    }

    private void Receive(Connection connection)
    {
        if (connection.Input is not null)
        {
            ReceiveMore(connection, connection.Input);
            return;
        }

        int received = connection.Receive(_receiveBuffer);
        if (received <= 0)
        {
            if (received != Transport.WouldBlock) connection.CloseAtEnd();
            return;
        }

        _hasReceived = true;
        connection.BytesReceived += received;
        if (MessagesGoFirst)
        {
            connection.Input = new ByteQueue(received);
            connection.Input.Append(_receiveBuffer.AsSpan(0, received));
            ConsumeBehindMessages(connection);
            return;
        }

        int consumed = Handler.Received(connection, _receiveBuffer.AsSpan(0, received));
        if (consumed == received || connection.IsClosing) return;
        connection.Input = new ByteQueue(Math.Max(4096, received - consumed));
        connection.Input.Append(_receiveBuffer.AsSpan(consumed, received - consumed));
    }

    // A client may send a request because of another client's reply. Messages that were posted before that reply must precede this
    // request's reply: they were posted before the request was received.
    private bool MessagesGoFirst => Volatile.Read(ref _posted) != 0 && !_isHandlingMessages;

    private void ConsumeBehindMessages(Connection connection)
    {
        HandleMessages(MessagesPerIterationMax);
        if (connection is { IsReading: true, IsClosing: false, Input: { } input }) Consume(connection, input);
    }

    /// <summary>Hands unconsumed input to the handler again.</summary>
    internal void Resume(Connection connection) => Post(connection, () =>
    {
        if (connection is { IsReading: true, Input: not null }) Consume(connection, connection.Input);
        if (connection.Layer is not null) ReceiveDecoded(connection);
    });

    /// <summary>Schedules a connection's queued output to be sent at the end of this iteration.</summary>
    internal void FlushThisIteration(Connection connection) => _unflushed.Add(connection);

    internal void Closing(Connection connection) => _closing.Add(connection);

    private void ReceiveMore(Connection connection, ByteQueue input)
    {
        // At most twice the bytes received: a client cannot make the server reserve memory by announcing a size.
        long expected = Math.Min(Handler.BytesExpected(connection) - input.Length, Math.Max(input.Length, ReceiveBytes));
        Span<byte> room = input.Reserve((int)Math.Clamp(expected, 16 * 1024, 64 << 20));
        int received = connection.Receive(room);
        if (received <= 0)
        {
            if (received != Transport.WouldBlock) connection.Close();
            return;
        }

        input.Commit(received);
        _hasReceived = true;
        connection.BytesReceived += received;
        if (MessagesGoFirst) ConsumeBehindMessages(connection);
        else Consume(connection, input);
    }

    private void Consume(Connection connection, ByteQueue input)
    {
        int consumed = Handler.Received(connection, input.Bytes);
        if (connection.IsClosing) return;
        input.Consume(consumed);
        if (input.Length > 0) return;
        input.Dispose();
        connection.Input = null;
    }

    private void Run()
    {
        _isOnLoop = true;
        try
        {
            Tick();
            while (!_stopping)
            {
                Transport.Wait(this);
                if (Volatile.Read(ref _posted) != 0) HandleMessages(MessagesPerIterationMax);
                if (_unflushed.Count + _closing.Count + _gating.Count > 0) EndIteration();
                if (_tickIsDue)
                {
                    Tick();
                    EndIteration();
                }

                Handler.IterationEnded();
                if (_cyclesUntilTimed == 0) EndTimedCycle();
            }
        }
#pragma warning disable CA1031 // Whatever it is, the loop cannot continue, and the owner decides what that means.
        catch (Exception failure)
#pragma warning restore CA1031
        {
            Failure = failure;
            Crashed?.Invoke(failure);
        }
        finally
        {
            lock (_arriving) _hasEnded = true;
            Handler.IterationEnded();
            HandleMessages(int.MaxValue);
            _isDrained = true;
            Interlocked.MemoryBarrier();
            ReleaseMessages(); // those posted in between; later posters see the flag
            foreach (Connection connection in _connections) connection.Close();
            EndClosing();
            foreach (Connection connection in _lingering.Keys) EndLingering(connection);
        }
    }

    private void Tick()
    {
        _tickIsDue = _tickIsSet = false;
        Transport.ResumeAccepting();
        if (_lingering.Count > 0) EndOverdueLingering();
        int milliseconds = Handler.Tick();
        if (!_tickIsSet) Transport.SetTimer(Math.Max(1, milliseconds) * 1000L);
        CountCycles();
    }

    private void EndTimedCycle()
    {
        long ticks = Stopwatch.GetTimestamp() - _cycleStart;
        if (ticks > _longestCycleTicks) _longestCycleTicks = ticks;
        Volatile.Write(ref _workTicks, _workTicks + (ticks * _cycleWeight));
        Volatile.Write(ref _cycleStart, 0);
        _cyclesUntilTimed = _cycleWeight = _nextCycleWeight;
    }

    // Decides how many cycles the next one that is timed counts for.
    private void CountCycles()
    {
        long nowMs = Environment.TickCount64;
        long elapsedMs = nowMs - _cyclesCountedMs;
        if (elapsedMs < CyclesCountedEveryMs) return;
        bool few = Cycles - _cyclesCounted <= elapsedMs * FewCyclesPerMs;
        (_cyclesCounted, _cyclesCountedMs) = (Cycles, nowMs);
        _nextCycleWeight = few ? 1 : CyclesOfOneTimed;
    }

    private void Post(in Message message)
    {
        _mailbox.Enqueue(message);
        WakeUnlessPosted();
        if (_isDrained && message.Buffer is not null) ReleaseMessages();
    }

    private void WakeUnlessPosted()
    {
        if (Interlocked.Exchange(ref _posted, 1) == 0) Transport.Wake();
    }

    private void HandleMessages(int messagesMax)
    {
        Interlocked.Exchange(ref _posted, 0);
        Transport.SkipsWait = false;
        _isHandlingMessages = true;
        if (_arrivals.Count > 0) AdoptArrivals();
        while (_mailbox.TryDequeue(out Message message))
        {
            if (_arrivals.Count > 0) AdoptArrivals(); // the message may be for one of them
            if (message.Connection is { } moved && moved.Loop != this)
            {
                moved.Loop.Post(message);
            }
            else if (message.Action is { } action)
            {
                action();
                message.Buffer?.Release();
            }
            else
            {
                Deliver(message);
            }

            if (--messagesMax > 0) continue;

            // The rest follows in the next iteration: threads that post meanwhile need not wake the loop.
            Volatile.Write(ref _posted, 1);
            Transport.SkipsWait = true;
            break;
        }

        _isHandlingMessages = false;
    }

    private void Deliver(in Message message)
    {
        message.Connection!.NotePosted(-message.Length);
        if (!message.Connection.IsClosing) Handler.Deliver(message.Connection, message.Buffer!, message.Start, message.Length);
        message.Buffer!.Release();
    }

    // The loop has ended: nothing more is sent.
    private void ReleaseMessages()
    {
        while (_mailbox.TryDequeue(out Message message)) message.Buffer?.Release();
    }

    // A flush that fails closes, and closing may let the handler queue for others.
    private void EndIteration()
    {
        bool gathers = _gating.Count > 0 && GathersOn();
        while (_unflushed.Count + _closing.Count + (gathers ? 0 : _gating.Count) > 0)
        {
            if (!gathers && _gating.Count > 0) AwaitGated();
            for (int i = 0; i < _unflushed.Count; i++) _unflushed[i].FlushQueued();
            _unflushed.Clear();
            EndClosing();
        }
    }

    // Reads and discards input; false when the peer has ended its side.
    private bool DiscardInput(Connection connection)
    {
        int received = 1;
        for (int left = ReceivesDiscardedMax; left > 0 && received > 0; left--) received = Transport.Receive(connection, _receiveBuffer);
        return received is > 0 or Transport.WouldBlock;
    }

    // A socket that is closed with unread input, or gets more of it, is reset, and output that the system had not sent yet is lost.
    // So only the sending side ends, and the input is discarded until the peer has read our end and closes.
    private bool BeginsLingering(Connection connection)
    {
        if (!connection.ClosesAfterSend || _stopping || _lingering.Count >= LingeringMax || !Sockets.HasRoomToLinger) return false;
        Transport.ShutdownSend(connection);
        if (!DiscardInput(connection)) return false;
        connection.BeginLingering();
        _lingering.Add(connection, Environment.TickCount64 + LingerMs);
        return true;
    }

    private void EndLingering(Connection connection)
    {
        _lingering.Remove(connection);
        connection.EndLingering();
        CloseSocket(connection);
    }

    private void EndOverdueLingering()
    {
        long now = Environment.TickCount64;
        foreach ((Connection connection, long until) in _lingering)
        {
            if (now >= until) EndLingering(connection); // a dictionary may lose entries while it is walked
        }
    }

    private void EndClosing()
    {
        // Closed ones may close others.
        for (int i = 0; i < _closing.Count; i++)
        {
            Connection connection = _closing[i];
            _connections.Remove(connection);
            Interlocked.Decrement(ref _connectionCount);
            Handler.Closed(connection);
            connection.ReleaseBuffers();
            if (!BeginsLingering(connection)) CloseSocket(connection);
        }

        _closing.Clear();
    }

    private void CloseSocket(Connection connection)
    {
        Transport.Close(connection);
        Sockets.Remove();
    }

    // Something to run, or a part of a buffer to send, of which the message has a reference; if it names a connection, on that one's loop.
    private readonly record struct Message(Action? Action, Connection? Connection, SharedBuffer? Buffer, int Start, int Length);
}
