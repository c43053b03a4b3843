namespace RedKite.Net;

/// <summary>
/// A layer between a connection's bytes and the wire's, such as TLS. A connection without one sends and receives as it
/// is. The layer is called on the connection's loop alone and never blocks: work that it cannot do yet it does when more bytes
/// arrive, or when its own work elsewhere has called <see cref="Progressed"/>. Bytes for the wire (a handshake's too) go to
/// <see cref="SendToWire"/>.
/// </summary>
internal abstract class ByteLayer : IDisposable
{
    private Connection? _connection;

    /// <summary>Whether the peer has said that it sends nothing more.</summary>
    public abstract bool HasEnded { get; }

    /// <summary>Whether the layer has told the peer why it ends: the connection then stays until the peer has had time to read that.</summary>
    public virtual bool HasSaidWhy => false;

    /// <summary>Whether <see cref="Read"/> has bytes.</summary>
    public abstract bool HasInput { get; }

    /// <summary>Whether the layer's handshake is in progress.</summary>
    public virtual bool IsEstablishing => false;

    /// <summary>Memory of the layer's buffers. A snapshot when read by another thread.</summary>
    public virtual int BufferBytes => 0;

    /// <summary>Called when the connection belongs to its loop. The side that speaks first sends now.</summary>
    public abstract void Begin();

    /// <summary>Takes bytes from the wire; none after <see cref="Progressed"/>, to continue with earlier ones.</summary>
    /// <returns>False when they break the layer's protocol: the connection ends.</returns>
    public abstract bool TryReceive(ReadOnlySpan<byte> wire);

    /// <summary>Hands over bytes for the session.</summary>
    /// <returns>Their count; 0: none are there now.</returns>
    public abstract int Read(Span<byte> destination);

    /// <summary>Sends bytes of the session.</summary>
    /// <returns>How many were taken; 0: none for now, because the handshake is in progress.</returns>
    public abstract int Send(ReadOnlySpan<byte> bytes);

    /// <summary>Signals the end to the peer, after everything was sent.</summary>
    public abstract void Finish();

    /// <inheritdoc/>
    public void Dispose()
    {
        Dispose(disposing: true);
        GC.SuppressFinalize(this);
    }

    /// <summary>The output as the layer encoded it; its head may be partly sent. Null: nothing waits.</summary>
    internal OutputQueue? Wire { get; set; }

    /// <summary>Whether <see cref="Finish"/> was called.</summary>
    internal bool IsFinished { get; set; }

    /// <summary>The peer's address.</summary>
    internal PeerAddress RemoteAddress => _connection!.RemoteAddress;

    /// <summary>Where the connection comes from.</summary>
    public string Source => _connection!.RemoteAddress.Source;

    internal void Attach(Connection connection) => _connection = connection;

    internal void ConsumeWire(int bytes)
    {
        Wire!.Consume(bytes);
        if (Wire.Length > 0) return;
        Wire.Dispose();
        Wire = null;
    }

    /// <summary>Releases the layer's resources.</summary>
    protected abstract void Dispose(bool disposing);

    /// <summary>Queues bytes for the wire. They are sent when the current call into the layer has returned.</summary>
    protected void SendToWire(ReadOnlySpan<byte> bytes) => _connection!.QueueForWire(this, bytes);

    /// <summary>Stops or resumes receiving from the wire, before the session has received anything. On the connection's loop.</summary>
    protected void SetReading(bool reading) => _connection!.SetReading(reading);

    /// <summary>Notifies the loop that the layer can continue. From any thread.</summary>
    protected void Progressed()
    {
        Connection connection = _connection!;
        connection.Loop.Post(connection.ContinueLayer);
    }
}
