using System.Net.Sockets;
using RedKite.Net.Interop;

namespace RedKite.Net;

/// <summary>
/// A client's connection, owned by one event loop: only that loop's thread touches it. Others post to the loop. While
/// nothing waits it has no buffer of its own.
/// </summary>
public sealed class Connection
{
    private bool _readInterest = true;
    private bool _writeInterest;

    internal Connection(int descriptor, Socket? socket, PeerAddress remote, PeerAddress local)
    {
        Descriptor = descriptor;
        Socket = socket;
        RemoteAddress = remote;
        LocalAddress = local;
    }

    /// <summary>The system's number of the connection.</summary>
    public int Descriptor { get; }

    /// <summary>The client's end.</summary>
    public PeerAddress RemoteAddress { get; }

    /// <summary>The server's end.</summary>
    public PeerAddress LocalAddress { get; }

    /// <summary>The loop that owns the connection.</summary>
    public EventLoop Loop { get; internal set; } = null!;

    /// <summary>What the handler keeps with the connection.</summary>
    public object? State { get; set; }

    /// <summary>Whether the connection is ending; nothing is received or sent any more.</summary>
    public bool IsClosing { get; private set; }

    /// <summary>Bytes of unfinished requests. A snapshot when read by another thread.</summary>
    public long InputBytes => Math.Max(0, Input?.Length ?? 0);

    /// <summary>Bytes of replies that the peer has not taken. A snapshot when read by another thread.</summary>
    public long OutputBytes => Math.Max(0, Output?.Length ?? 0);

    /// <summary>Memory of the replies that the peer has not taken. A snapshot when read by another thread.</summary>
    public long OutputCapacityBytes => Output?.Capacity ?? 0;

    /// <summary>Memory of the connection's buffers. A snapshot when read by another thread.</summary>
    public long BufferBytes => (Input?.Capacity ?? 0) + (Output?.Capacity ?? 0);

    /// <summary>Bytes received so far.</summary>
    public long BytesReceived { get; internal set; }

    internal Socket? Socket { get; }

    internal ByteQueue? Input { get; set; }

    internal ByteQueue? Output { get; private set; }

    internal bool ClosesAfterSend { get; private set; }

    /// <summary>What the sockets transport keeps with the connection.</summary>
    internal object? TransportState { get; set; }

    /// <summary>Sends bytes, or queues what the peer cannot take now.</summary>
    public void Send(ReadOnlySpan<byte> bytes)
    {
        if (IsClosing || bytes.IsEmpty) return;
        if (Output is null)
        {
            int sent = Loop.Transport.Send(this, bytes);
            if (sent == bytes.Length) return;
            if (sent == Transport.Failed)
            {
                Close();
                return;
            }

            if (sent > 0) bytes = bytes[sent..];
            Output = new ByteQueue(Math.Max(bytes.Length, 16 * 1024));
        }

        Output.Append(bytes);
        if (!_writeInterest) SetInterest(_readInterest, write: true);
        Loop.Handler.OutputWaits(this);
    }

    /// <summary>Stops or resumes receiving. Bytes that came before and were not consumed are handed in again on resuming.</summary>
    public void SetReading(bool reading)
    {
        if (IsClosing || reading == _readInterest) return;
        SetInterest(reading, _writeInterest);
        if (reading && Input is not null) Loop.Resume(this);
    }

    /// <summary>Hands in again what the handler did not consume, soon: it may be wanted now.</summary>
    public void HandInAgain()
    {
        if (!IsClosing && Input is not null) Loop.Resume(this);
    }

    /// <summary>Ends the connection at once.</summary>
    public void Close()
    {
        if (IsClosing) return;
        IsClosing = true;
        Loop.Closing(this);
    }

    /// <summary>Ends the connection when what waits has been sent; nothing is received any more.</summary>
    public void CloseAfterSend()
    {
        if (IsClosing) return;
        ClosesAfterSend = true;
        if (Output is null) Close();
        else SetReading(false);
    }

    /// <summary>Tells the system to probe a silent peer.</summary>
    public void SetKeepAlive(int seconds) => Loop.Transport.SetKeepAlive(this, seconds);

    /// <summary>Whether all was sent, and input is only read to be discarded until the peer ends its side too.</summary>
    internal bool IsLingering { get; private set; }

    internal bool IsReading => _readInterest && (!IsClosing || IsLingering);

    internal void BeginLingering()
    {
        IsLingering = true;
        SetInterest(read: true, write: false);
    }

    internal void EndLingering() => IsLingering = false;

    /// <summary>Sends what waits, as far as the peer takes it.</summary>
    internal void Flush()
    {
        while (!IsClosing && Output is { Length: > 0 })
        {
            int sent = Loop.Transport.Send(this, Output.Bytes);
            if (sent == Transport.WouldBlock) return;
            if (sent == Transport.Failed)
            {
                ClosesAfterSend = false; // nobody is left to read it
                Close();
                return;
            }

            Output.Consume(sent);
        }

        if (IsClosing || Output is null) return;
        Output.Dispose();
        Output = null;
        if (ClosesAfterSend) Close();
        else SetInterest(_readInterest, write: false);
    }

    internal void ReleaseBuffers()
    {
        Input?.Dispose();
        Output?.Dispose();
        Input = Output = null;
    }

    private void SetInterest(bool read, bool write)
    {
        _readInterest = read;
        _writeInterest = write;
        Loop.Transport.SetInterest(this, read, write);
    }
}
