using System.Net.Sockets;
using RedKite.Net.Interop;

namespace RedKite.Net;

/// <summary>
/// A client's connection, owned by one event loop at a time: only that loop's thread touches it. Others post to the loop. While it
/// has nothing waiting, it has no buffer of its own.
/// </summary>
/// <remarks>
/// Output leaves in one of two ways. The reply to what was just received is sent at once with <see cref="Send"/>, from the
/// caller's own buffer, as long as nothing waits. Everything else is queued (<see cref="Queue(ReadOnlySpan{byte})"/>), and the loop
/// sends each connection's queue once at the end of its iteration.
/// </remarks>
internal sealed partial class Connection
{
    // How many bytes a layer gets at a time, so that its output does not pile up in front of a slow peer.
    private const int LayerBytesMax = 32 * 1024;

    // Shorter messages are copied if the peer is slow.
    private const int CopiedBytesMax = 1024;

    // If this many bytes are queued within one iteration, they are sent before its end, so that a slow peer is noticed early.
    private const long FlushedBytesMin = 256 * 1024;

    // What a connection sends in one iteration of its loop, about a millisecond, although its peer would take more: other connections go on then. A layer sends
    // everything, because it says only what waits for its peer.
    private const long FlushedBytesMax = 4 * 1024 * 1024;

    private const long NotNotified = -1;

    private EventLoop _loop = null!;
    private OutputQueue? _output;
    private OutputQueue? _gated; // since the loop's iteration in which _awaiting was held, or in this iteration
    private OutputQueue? _awaiting; // until the log is synced up to a position
    private long _drainedBytes = NotNotified;
    private long _postedBytes;
    private bool _readInterest = true;
    private bool _writeInterest;
    private bool _isUnflushed;
    private long _flushedCycle; // the loop's iteration in which the connection was flushed last
    private long _flushedBytes; // in that iteration

    internal Connection(int descriptor, Socket? socket, PeerAddress remote, PeerAddress local, ByteLayer? layer)
    {
        Descriptor = descriptor;
        TransportState = socket;
        RemoteAddress = remote;
        LocalAddress = local;
        Layer = layer;
        layer?.Attach(this);
    }

    /// <summary>The system's number of the connection.</summary>
    public int Descriptor { get; }

    /// <summary>The client's end.</summary>
    public PeerAddress RemoteAddress { get; }

    /// <summary>The server's end.</summary>
    public PeerAddress LocalAddress { get; }

    /// <summary>The loop that owns the connection.</summary>
    public EventLoop Loop
    {
        get => Volatile.Read(ref _loop);
        internal set => Volatile.Write(ref _loop, value);
    }

    /// <summary>The handler's state for the connection.</summary>
    public object? State { get; set; }

    /// <summary>Whether the connection is ending; nothing is received or sent any more.</summary>
    public bool IsClosing { get; private set; }

    /// <summary>Whether the connection has a layer, such as TLS.</summary>
    public bool HasLayer => Layer is not null;

    /// <summary>Whether the handshake of the connection's layer is in progress.</summary>
    public bool IsEstablishing => Layer is { IsEstablishing: true };

    /// <summary>Bytes of unfinished requests. A snapshot when read by another thread.</summary>
    public long InputBytes => Math.Max(0, Input?.Length ?? 0);

    /// <summary>Bytes of output that the peer has not taken. A snapshot when read by another thread.</summary>
    public long OutputBytes => (_output?.Length ?? 0) + (Layer?.Wire?.Length ?? 0) + (_gated?.Length ?? 0) + (_awaiting?.Length ?? 0) + (_unacked?.Bytes ?? 0);

    /// <summary>Memory of the output that the peer has not taken. A snapshot when read by another thread.</summary>
    public long OutputCapacityBytes => (_output?.Capacity ?? 0) + (Layer?.Wire?.Capacity ?? 0) + (_gated?.Capacity ?? 0) + (_awaiting?.Capacity ?? 0) + (_unacked?.CapacityBytes ?? 0);

    /// <summary>The number of blocks in which output waits.</summary>
    public long OutputBlocks => (_output?.Count ?? 0) + (Layer?.Wire?.Count ?? 0) + (_gated?.Count ?? 0) + (_awaiting?.Count ?? 0) + (_unacked?.Blocks ?? 0);

    /// <summary>Memory of the connection's buffers. A snapshot when read by another thread.</summary>
    public long BufferBytes => (Input?.HeldBytes ?? 0) + OutputCapacityBytes + (Layer?.BufferBytes ?? 0);

    /// <summary>Bytes that other threads have posted to the connection and its loop has not handled yet. From any thread.</summary>
    public long PostedBytes => Interlocked.Read(ref _postedBytes);

    /// <summary>
    /// When the last bytes arrived at the system, in microseconds of its monotonic clock and exact to one of its ticks (4 ms with 250 per
    /// second); null if it does not say: it does for TCP on Linux. Takes two system calls; on the loop's thread.
    /// </summary>
    public long? LastReceivedMicroseconds => OperatingSystem.IsLinux() && !IsClosing && LinuxCalls.TryGetLastReceived(Descriptor, out long microseconds) ? microseconds : null;

    /// <summary>Now, by the clock of <see cref="LastReceivedMicroseconds"/>: that of the last tick.</summary>
    public static long ReceivingMicroseconds => OperatingSystem.IsLinux() ? LinuxCalls.CoarseMicroseconds() : Environment.TickCount64 * 1000;

    /// <summary>Bytes received so far.</summary>
    public long BytesReceived { get; internal set; }

    internal ByteLayer? Layer { get; }

    internal ByteQueue? Input { get; set; }

    internal bool ClosesAfterSend { get; private set; }

    /// <summary>The transport's state for the connection: at first its socket, if it has one.</summary>
    internal object? TransportState { get; set; }

    /// <summary>Sends bytes at once, or queues what the peer cannot take now. They are copied if they have to wait.</summary>
    public void Send(ReadOnlySpan<byte> bytes)
    {
        if (IsClosing || bytes.IsEmpty) return;
        if (_output is null && _unacked is null && !MustGate)
        {
            if (HasEnded) return;
            int sent = Layer is null ? Loop.Transport.Send(this, bytes) : SendThroughLayer(Layer, bytes);
            if (sent == bytes.Length && Layer?.Wire is null) return;
            if (sent == Transport.Failed)
            {
                Fail();
                return;
            }

            if (sent > 0) bytes = bytes[sent..];
            if (!bytes.IsEmpty) Output().Append(bytes);
            AfterFlush();
            return;
        }

        Queue(bytes);
    }

    /// <summary>Queues a copy of bytes; they are sent at the end of the loop's iteration.</summary>
    public void Queue(ReadOnlySpan<byte> bytes)
    {
        if (HasEnded || bytes.IsEmpty) return;
        if (_unacked is not null)
        {
            _unacked.Append(bytes);
            UnackedMore();
            return;
        }

        if (MustGate)
        {
            Gated().Append(bytes);
            OnGated();
            return;
        }

        Output().Append(bytes);
        Queued();
    }

    /// <summary>Queues a part of a shared buffer without a copy; it is sent at the end of the loop's iteration. The caller keeps its own reference.</summary>
    public void Queue(SharedBuffer buffer, int start, int length)
    {
        if (HasEnded || length == 0) return;
        if (_unacked is not null)
        {
            _unacked.Append(buffer, start, length);
            UnackedMore();
            return;
        }

        if (MustGate)
        {
            Gated().Append(buffer, start, length);
            OnGated();
            return;
        }

        // Output that waits for a slow peer must not keep a shared buffer alive.
        if (_writeInterest && length < CopiedBytesMax && buffer.Capacity > CopiedBytesMax) Output().Append(buffer.GetSpan().Slice(start, length));
        else Output().Append(buffer, start, length);
        Queued();
    }

    /// <summary>Sends queued output now, as far as the peer takes it; of much, a part in each iteration of the loop.</summary>
    public void Flush()
    {
        if (_isUnflushed && HasEnded) return;
        _isUnflushed = false;
        ForgetDeadline();
        if (IsClosing) return;
        if (_flushedCycle != Loop.Cycles) (_flushedCycle, _flushedBytes) = (Loop.Cycles, 0);
        while (_output is { } output && (_flushedBytes < FlushedBytesMax || Layer is not null))
        {
            int sent = Layer is null ? Loop.Transport.Send(this, output) : SendThroughLayer(Layer, output.First);
            if (sent == Transport.WouldBlock) break;
            if (sent == Transport.Failed)
            {
                Fail();
                return;
            }

            _flushedBytes += sent;
            Consume(output, sent);
        }

        // If output is left, the wire was full: trying it again might empty it, and then nothing would wake the rest.
        if (_output is null && Layer is not null && !TrySendWire(Layer)) Fail();
        else AfterFlush();
    }

    /// <summary>Whether output waits for the loop's next iteration because much was sent in this one: the peer might take more.</summary>
    public bool IsResting => _output is not null && Layer is null && _flushedBytes >= FlushedBytesMax && _flushedCycle == Loop.Cycles;

    /// <summary>Sends on what rests, as far as the peer takes it.</summary>
    public void FlushOn()
    {
        _flushedBytes = long.MinValue; // without a limit in this iteration
        Flush();
    }

    /// <summary>
    /// Calls <see cref="IConnectionHandler.OnOutputDrained"/> once, when the waiting output has shrunk to a number of bytes. If that is
    /// so already, it is not called.
    /// </summary>
    public void NotifyWhenDrained(long bytes) => _drainedBytes = OutputBytes > bytes ? bytes : NotNotified;

    /// <summary>Stops or resumes receiving. Bytes that were received but not consumed are handed to the handler again on resuming.</summary>
    public void SetReading(bool reading)
    {
        if (IsClosing || reading == _readInterest || (reading && ClosesAfterSend)) return;
        SetInterest(reading, _writeInterest);
        if (reading) ReprocessInput();
    }

    /// <summary>Soon hands unconsumed input to the handler again, because it may be able to consume it now.</summary>
    public void ReprocessInput()
    {
        if (!IsClosing && (Input is not null || Layer is not null)) Loop.Resume(this);
    }

    /// <summary>Ends the connection at once.</summary>
    public void Close()
    {
        if (IsClosing) return;
        IsClosing = true;
        Loop.Closing(this);
    }

    /// <summary>Ends the connection when waiting output has been sent; nothing more is received.</summary>
    public void CloseAfterSend()
    {
        if (IsClosing) return;
        ClosesAfterSend = true;
        Flush();
        SetReading(false);
    }

    /// <summary>Ends the connection at the end of its input.</summary>
    internal void CloseAtEnd()
    {
        if (Layer is { HasSaidWhy: true }) CloseAfterSend();
        else Close();
    }

    /// <summary>Enables TCP keepalive.</summary>
    public void SetKeepAlive(int seconds) => Loop.Transport.SetKeepAlive(this, seconds);

    /// <summary>Sets whether small packets are sent at once (TCP_NODELAY), which they are at first.</summary>
    public void SetNoDelay(bool on)
    {
        if (!RemoteAddress.IsUnix) Loop.Transport.SetNoDelay(this, on);
    }

    /// <summary>Whether everything was sent, and input is only read and discarded until the peer ends its side too.</summary>
    internal bool IsLingering { get; private set; }

    /// <summary>Whether the connection is idle: it has no unfinished request and no waiting output.</summary>
    internal bool IsIdle =>
        !IsClosing && !ClosesAfterSend && _readInterest && !_writeInterest && !_isUnflushed && Layer is null && Input is null && OutputBytes == 0;

    internal bool IsReading => _readInterest && (!IsClosing || IsLingering);

    /// <summary>Whether the layer has bytes that the session may get now.</summary>
    internal bool HasDecodedInput => IsReading && !IsClosing && Layer is { HasInput: true };

    /// <summary>The next bytes for the wire.</summary>
    internal ReadOnlySpan<byte> NextForWire
    {
        get
        {
            OutputQueue? queue = Layer is null ? _output : Layer.Wire;
            return queue is null ? [] : queue.First;
        }
    }

    internal void BeginLingering()
    {
        IsLingering = true;
        SetInterest(read: true, write: false);
    }

    internal void EndLingering() => IsLingering = false;

    internal void BeginLayer()
    {
        if (Layer is null) return;
        Layer.Begin();
        Flush();
    }

    /// <summary>Receives bytes for the session. Results as of <see cref="Transport.Receive"/>.</summary>
    internal int Receive(Span<byte> buffer) => Layer is null ? Loop.Transport.Receive(this, buffer) : ReceiveThroughLayer(Layer, buffer);

    internal void QueueForWire(ByteLayer layer, ReadOnlySpan<byte> bytes)
    {
        if (!IsClosing) (layer.Wire ??= new OutputQueue(Loop.Pool)).Append(bytes);
    }

    /// <summary>The transport has sent some of <see cref="NextForWire"/> by itself.</summary>
    internal void SentToWire(int bytes)
    {
        if (Layer is null) Consume(_output!, bytes);
        else Layer.ConsumeWire(bytes);
    }

    /// <summary>The layer can continue.</summary>
    internal void ContinueLayer()
    {
        if (IsClosing) return;
        if (!Layer!.TryReceive([])) Fail();
        Flush();
        Loop.ReceiveDecoded(this);
    }

    /// <summary>Sends the output that was queued in the loop's iteration, at its end, unless it was sent already.</summary>
    internal void FlushQueued()
    {
        if (_isUnflushed) Flush();
    }

    /// <summary>Notes that bytes were posted, or that posted ones were handled.</summary>
    internal void NotePosted(long bytes) => Interlocked.Add(ref _postedBytes, bytes);

    internal void ReleaseBuffers()
    {
        Input?.Dispose();
        _output?.Dispose();
        _gated?.Dispose();
        _awaiting?.Dispose();
        if (_unacked is not null) Loop.Keep(_unacked);
        Layer?.Wire?.Dispose();
        Layer?.Dispose();
        Input = null;
        _output = _gated = _awaiting = null;
        _unacked = null;
        if (Layer is not null) Layer.Wire = null;
    }

    /// <summary>
    /// At the end of an iteration: what was held in it awaits the log's position of now, unless earlier output still awaits one. Then it
    /// follows when that has left, so that a connection with output in every iteration is not held forever.
    /// </summary>
    /// <returns>Whether the connection begins to wait.</returns>
    internal bool AwaitGated()
    {
        if (IsClosing || _awaiting is not null || _gated is null) return false;
        (_awaiting, _gated) = (_gated, null);
        return true;
    }

    /// <summary>Sends what has awaited a position that the log has reached.</summary>
    internal void ReleaseAwaited()
    {
        if (HasEnded || _awaiting is not { } released) return;
        _awaiting = null;
        if (_output is null) _output = released;
        else _output.AppendAll(released);
        if (_gated is not null) Loop.GateThisIteration(this);
        ForgetDeadline();
        Flush();
    }

    private OutputQueue Output() => _output ??= Loop.TakeQueue();

    private OutputQueue Gated()
    {
        if (_gated is null && _awaiting is null) Loop.GateThisIteration(this);
        return _gated ??= new OutputQueue(Loop.Pool, OutputQueue.FirstGatedBytes);
    }

    // Output behind held output is held, too: it stays in order.
    private bool MustGate => Loop.OutputGate is not null && (_gated is not null || _awaiting is not null || Loop.GatesOutput);

    private void OnGated()
    {
        if (_gated!.Length >= FlushedBytesMin) Loop.Handler.OnOutputBuffered(this);
    }

    private void Queued()
    {
        if (_writeInterest)
        {
            Loop.Handler.OnOutputBuffered(this);
        }
        else if (!_isUnflushed)
        {
            _isUnflushed = true;
            Loop.FlushThisIteration(this);
        }
        else if (_output!.Length >= FlushedBytesMin)
        {
            Flush();
        }
    }

    private void Consume(OutputQueue output, int bytes)
    {
        output.Consume(bytes);
        if (output.Length > 0) return;
        _output = null;
        Loop.Keep(output);
    }

    // Everything that can be sent now was sent.
    private void AfterFlush()
    {
        if (_output is null && _gated is null && _awaiting is null && _unacked is null && ClosesAfterSend && HasEndedLayer())
        {
            Close();
            return;
        }

        // Bytes that a layer does not take yet wait for the peer's bytes, not for the socket.
        bool waits = Layer is null ? _output is not null : Layer.Wire is not null;
        if (waits != _writeInterest) SetInterest(_readInterest, waits);
        if (_drainedBytes != NotNotified && OutputBytes <= _drainedBytes)
        {
            _drainedBytes = NotNotified;
            Loop.Handler.OnOutputDrained(this);
        }

        if (_output is not null) Loop.Handler.OnOutputBuffered(this);
    }

    // Whether the layer's end signal is on the wire, if there is one.
    private bool HasEndedLayer()
    {
        if (Layer is null) return true;
        if (!Layer.IsFinished)
        {
            Layer.IsFinished = true;
            Layer.Finish();
            if (!TrySendWire(Layer)) return true;
        }

        return Layer.Wire is null;
    }

    private void Fail()
    {
        ClosesAfterSend = false; // the peer no longer reads
        Close();
    }

    // Bytes that the layer took, or as of Transport.Send. What it made of them may still wait for the wire.
    private int SendThroughLayer(ByteLayer layer, ReadOnlySpan<byte> bytes)
    {
        int taken = 0;
        while (true)
        {
            if (!TrySendWire(layer)) return Transport.Failed;
            if (taken == bytes.Length) return taken;
            int count = layer.Wire is null ? layer.Send(bytes.Slice(taken, Math.Min(bytes.Length - taken, LayerBytesMax))) : 0;
            if (count == 0) return taken > 0 ? taken : Transport.WouldBlock;
            taken += count;
        }
    }

    // False when the connection is broken.
    private bool TrySendWire(ByteLayer layer)
    {
        while (layer.Wire is { } wire)
        {
            int sent = Loop.Transport.Send(this, wire);
            if (sent == Transport.Failed) return false;
            if (sent == Transport.WouldBlock) return true;
            layer.ConsumeWire(sent);
        }

        return true;
    }

    private int ReceiveThroughLayer(ByteLayer layer, Span<byte> buffer)
    {
        if (!layer.HasInput)
        {
            int received = Loop.Transport.Receive(this, Loop.WireBuffer);
            if (received <= 0) return received;
            bool isSound = layer.TryReceive(Loop.WireBuffer.AsSpan(0, received));
            Flush(); // what it answers, and what it may encode now
            if (!isSound) return Transport.Failed;
            if (IsClosing) return Transport.WouldBlock;
        }

        int read = layer.Read(buffer);
        if (read > 0) return read;
        return layer.HasEnded ? 0 : Transport.WouldBlock;
    }

    private void SetInterest(bool read, bool write)
    {
        _readInterest = read;
        _writeInterest = write;
        Loop.Transport.SetInterest(this, read, write);
    }
}
