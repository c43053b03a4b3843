using System.ComponentModel;
using System.Net.Security;
using System.Security.Authentication;
using System.Security.Cryptography;

namespace RedKite.Net.Tls;

/// <summary>
/// TLS between a connection and the wire. The handshake's work is done on the thread pool; afterwards the loop encrypts and decrypts
/// whole records by itself.
/// </summary>
/// <remarks>
/// SslStream's shutdown takes no lock: beside a read or a write on another thread it damages the heap of the process. Here nothing
/// else runs then: it is called on the loop, after the handshake.
/// </remarks>
internal sealed class TlsLayer : ByteLayer, IHandshake, IWireOwner
{
    private const int RecordBytesMax = 16 * 1024; // of plain text
    private const int UnreadBytesMax = 64 * 1024; // during the handshake: more stay in the socket

    [ThreadStatic]
    private static byte[]? _decrypted;

    private readonly TlsServer _server;
    private readonly TlsWire _wire;
    private readonly TlsServerStream _ssl;
    private volatile Phase _phase; // the state that the thread pool has reached
    private bool _isOpen; // the state that the loop has seen
    private bool _hasEnded;
    private bool _endWasRead;
    private volatile bool _isDisposed;
    private volatile bool _isShed; // given up for another one
    private volatile bool _isPaused; // too much came during the handshake
    private ValueTask<int> _reading; // of a record that was no data, such as a new key
    private byte[]? _readingBuffer;
    private byte[] _plain = [];
    private int _plainStart;
    private int _plainEnd;

    internal TlsLayer(TlsServer server)
    {
        _server = server;
        _wire = new TlsWire(this);
        _ssl = new TlsServerStream(_wire);
    }

    private enum Phase
    {
        Refused,
        Handshake,
        Established,
        Failed,
    }

    public override int BufferBytes => _wire.BufferBytes + _plain.Length + (_readingBuffer?.Length ?? 0);

    public override bool IsEstablishing => _phase == Phase.Handshake;

    public override bool HasSaidWhy => _ssl.Refusal is not null;

    public override bool HasEnded => _hasEnded && _plainStart == _plainEnd;

    public override bool HasInput
    {
        get
        {
            if (_plainStart < _plainEnd) return true;
            if (_hasEnded) return !_endWasRead;
            return _isOpen && (_readingBuffer is not null ? _reading.IsCompleted : _wire.HasRecord || _wire.HasNoRecord);
        }
    }

    public override void Begin()
    {
        if (!_server.TryBegin(this))
        {
            _hasEnded = true;
            Progressed();
            return;
        }

        _phase = Phase.Handshake;
        _ = Handshake();
    }

    public override bool TryReceive(ReadOnlySpan<byte> wire)
    {
        int unread = _hasEnded ? 0 : _wire.Feed(wire);
        if (_isOpen) return true;
        if (unread > UnreadBytesMax && !_isPaused)
        {
            _isPaused = true;
            SetReading(false);
            unread = _wire.Feed([]); // some may have been taken before it could say so
        }

        if (_isPaused && unread <= UnreadBytesMax)
        {
            _isPaused = false;
            SetReading(true);
        }

        Phase phase = _isShed ? Phase.Failed : _phase; // first: what was kept before it changed is sent now
        _wire.SendKept();
        if (phase == Phase.Handshake) return true;
        if (phase == Phase.Established)
        {
            _wire.Open();
            _isOpen = true;
        }
        else
        {
            _hasEnded = true;
        }

        _isPaused = false;
        SetReading(true); // the end is read too
        return true;
    }

    public override int Read(Span<byte> destination)
    {
        int read = 0;
        while (read < destination.Length)
        {
            if (_plainStart == _plainEnd && !TryDecrypt(destination[read..], ref read)) break;
            int count = Math.Min(_plainEnd - _plainStart, destination.Length - read);
            _plain.AsSpan(_plainStart, count).CopyTo(destination[read..]);
            _plainStart += count;
            read += count;
        }

        if (_plainStart == _plainEnd) (_plain, _plainStart, _plainEnd) = ([], 0, 0);
        _endWasRead |= read == 0 && _hasEnded;
        return read;
    }

    public override int Send(ReadOnlySpan<byte> bytes)
    {
        if (!_isOpen) return 0;
        try
        {
            _ssl.Write(bytes);
        }
        catch (Exception failure)
        {
            End(failure);
        }

        return bytes.Length;
    }

    public override void Finish()
    {
        if (!_isOpen) return;
        try
        {
            Task shutdown = _ssl.ShutdownAsync();
            if (!shutdown.IsCompletedSuccessfully) _hasEnded = true;
        }
        catch (Exception failure)
        {
            End(failure);
        }
    }

    void IWireOwner.ToWire(ReadOnlySpan<byte> bytes) => SendToWire(bytes);

    void IWireOwner.NoteProgress() => Progressed();

    /// <inheritdoc/>
    public void Shed()
    {
        _isShed = true;
        Progressed();
    }

    void IWireOwner.NoteTaken(int unread)
    {
        if (_isPaused && unread <= UnreadBytesMax) Progressed();
    }

    protected override void Dispose(bool disposing)
    {
        _isDisposed = true;
        _hasEnded = true;
        _plainStart = _plainEnd = 0;
        _wire.EndInput(); // the handshake ends by it
        Interlocked.MemoryBarrier(); // either this sees the handshake's end, or the other thread sees this
        if (_phase != Phase.Handshake) _ssl.Dispose();
    }

    private async Task Handshake()
    {
        TlsFailure? failure = null;
        try
        {
            SslServerAuthenticationOptions options = _server.Options!;
            await _ssl.AuthenticateAsServerAsync(options).ConfigureAwait(false);
            if (!_ssl.IsVettedAsIn(options)) throw new AuthenticationException("the client's certificate was not checked");
            if (_ssl.Refusal is { } refusal)
            {
                failure = new TlsFailure(RemoteAddress, refusal.Reason) { Refusal = refusal };
                await SayWhy(refusal).ConfigureAwait(false);
            }
        }
        catch (Exception exception)
        {
            // Whatever it is, it is this connection's alone, and the number of handshakes in progress must become right.
            failure ??= new TlsFailure(RemoteAddress, exception.InnerException is null ? exception.Message : $"{exception.Message} {exception.GetBaseException().Message}") { IsPlain = _wire.IsPlain };
        }

        bool wasKept = _server.End(this, failure);
        _phase = failure is null && wasKept ? Phase.Established : Phase.Failed;
        Interlocked.MemoryBarrier(); // as in Dispose
        if (_isDisposed) await _ssl.DisposeAsync().ConfigureAwait(false);
        else Progressed();
    }

    // The loop sends it with the end of the handshake: the connection is not open, and becomes so no more.
    private async Task SayWhy(TlsRefusal refusal)
    {
        await _ssl.WriteAsync(System.Text.Encoding.ASCII.GetBytes($"-ERR the TLS client is refused: {refusal.Reason}\r\n")).ConfigureAwait(false);
        await _ssl.ShutdownAsync().ConfigureAwait(false);
    }

    // Decrypts a record: into the destination if it has room for one, otherwise to be copied from here.
    private bool TryDecrypt(Span<byte> destination, ref int read)
    {
        if (!_isOpen || _hasEnded) return false;
        try
        {
            byte[] buffer;
            int count;
            if (_readingBuffer is not null)
            {
                if (!_reading.IsCompleted) return false;
                buffer = _readingBuffer;
                _readingBuffer = null;
                count = _reading.GetAwaiter().GetResult();
            }
            else
            {
                if (_wire.HasNoRecord)
                {
                    _hasEnded = true;
                    return false;
                }

                if (!_wire.HasRecord) return false;
                buffer = _decrypted ??= new byte[RecordBytesMax];
                ValueTask<int> reading = _ssl.ReadAsync(buffer.AsMemory());
                if (!reading.IsCompleted)
                {
                    _reading = reading;
                    _readingBuffer = buffer;
                    _decrypted = null; // it belongs to the read
                    return false;
                }

                count = reading.GetAwaiter().GetResult();
            }

            if (count == 0)
            {
                _hasEnded = true;
                return false;
            }

            int fits = Math.Min(count, destination.Length);
            buffer.AsSpan(0, fits).CopyTo(destination);
            read += fits;
            if (fits == count) return true;
            _plain = buffer.AsSpan(fits, count - fits).ToArray();
            _plainStart = 0;
            _plainEnd = count - fits;
            return true;
        }
        catch (Exception failure)
        {
            End(failure);
            return false;
        }
    }

    // SslStream's exceptions end only their connection. Those that neither a peer nor the connection's end can cause are logged.
    private void End(Exception failure)
    {
        _hasEnded = true;
        if (failure is not (IOException or AuthenticationException or CryptographicException or Win32Exception or ObjectDisposedException or OperationCanceledException)) _server.NoteUnexpected(failure);
    }
}
