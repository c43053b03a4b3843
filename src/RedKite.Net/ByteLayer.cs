namespace RedKite.Net;

/// <summary>
/// What stands between a connection's bytes and the wire's, such as TLS. A connection without one sends and receives as it
/// is. The layer is called on the connection's loop alone and never blocks: what it cannot do yet it does when more bytes have
/// come, or when its own work elsewhere has called <see cref="Progressed"/>. Bytes for the wire (a handshake's too) go to
/// <see cref="SendToWire"/>.
/// </summary>
public abstract class ByteLayer : IDisposable
{
    private Connection? _connection;

    /// <summary>Whether the peer has said that it sends nothing more.</summary>
    public abstract bool HasEnded { get; }

    /// <summary>Whether <see cref="Read"/> has bytes.</summary>
    public abstract bool HasInput { get; }

    /// <summary>Whether the layer's handshake is in progress.</summary>
    public virtual bool IsEstablishing => false;

    /// <summary>Memory of the layer's buffers. A snapshot when read by another thread.</summary>
    public virtual int BufferBytes => 0;

    /// <summary>The connection belongs to its loop now. The side that speaks first does so.</summary>
    public abstract void Begin();

    /// <summary>Takes bytes that came from the wire; none after <see cref="Progressed"/>, to go on with those before.</summary>
    /// <returns>False when they break the layer's protocol: the connection ends.</returns>
    public abstract bool TryReceive(ReadOnlySpan<byte> wire);

    /// <summary>Hands over bytes for the session.</summary>
    /// <returns>Their count; 0: none are there now.</returns>
    public abstract int Read(Span<byte> destination);

    /// <summary>Sends bytes of the session.</summary>
    /// <returns>How many were taken; 0: none for now, because the handshake is not over.</returns>
    public abstract int Send(ReadOnlySpan<byte> bytes);

    /// <summary>Everything was sent: signals the end to the peer.</summary>
    public abstract void Finish();

    /// <inheritdoc/>
    public void Dispose()
    {
        Dispose(disposing: true);
        GC.SuppressFinalize(this);
    }

    /// <summary>What the layer has made of the output, whose head may be half sent; null: nothing waits.</summary>
    internal OutputQueue? Wire { get; set; }

    /// <summary>Whether <see cref="Finish"/> was called.</summary>
    internal bool IsFinished { get; set; }

    internal void Attach(Connection connection) => _connection = connection;

    internal void ConsumeWire(int bytes)
    {
        Wire!.Consume(bytes);
        if (Wire.Length > 0) return;
        Wire.Dispose();
        Wire = null;
    }

    /// <summary>Releases what the layer holds.</summary>
    protected abstract void Dispose(bool disposing);

    /// <summary>Queues bytes for the wire. They are sent when the call that the layer is in has returned.</summary>
    protected void SendToWire(ReadOnlySpan<byte> bytes) => _connection!.QueueForWire(this, bytes);

    /// <summary>Stops or resumes receiving from the wire, while the session has had nothing yet. On the connection's loop.</summary>
    protected void SetReading(bool reading) => _connection!.SetReading(reading);

    /// <summary>Something may go on that could not before. From any thread.</summary>
    protected void Progressed()
    {
        Connection connection = _connection!;
        connection.Loop.Post(connection.ContinueLayer);
    }
}
