using System.Buffers;
using System.Buffers.Binary;
using System.Threading.Tasks.Sources;

namespace RedKite.Net.Tls;

/// <summary>The connection's side of a <see cref="TlsWire"/>.</summary>
internal interface IWireOwner
{
    /// <summary>Sends bytes. On the loop's thread.</summary>
    void ToWire(ReadOnlySpan<byte> bytes);

    /// <summary>Called when there are bytes to be sent. From any thread.</summary>
    void NoteProgress();

    /// <summary>Called when the handshake has taken some of the received bytes. From any thread.</summary>
    void NoteTaken(int unread);
}

/// <summary>
/// The stream below <see cref="System.Net.Security.SslStream"/>: takes from what the loop has received, never more than the rest of one
/// record at a time, so that what is not decrypted yet is known here; and hands over what is to be sent.
/// </summary>
/// <remarks>
/// The handshake runs on the thread pool, beside the loop: until <see cref="Open"/> everything is under a lock, and what is to be sent
/// is kept for the loop. From then on only the loop's thread is here.
/// </remarks>
internal sealed class TlsWire(IWireOwner owner) : Stream, IValueTaskSource<int>
{
    private const int HeaderBytes = 5;
    private const int FirstContentType = 20; // change_cipher_spec
    private const int HandshakeContentType = 22;
    private const int LastContentType = 23; // application_data
    private const int RecordBytesMax = (16 + 2) * 1024; // what encryption may add to the text included

    private readonly Lock _lock = new();
    private ManualResetValueTaskSourceCore<int> _read = new() { RunContinuationsAsynchronously = true };
    private byte[] _in = [];
    private int _start;
    private int _end;
    private int _recordLeft; // of a record that was taken in part
    private byte[] _kept = []; // to be sent by the loop
    private int _keptLength;
    private Memory<byte> _waiting;
    private bool _isWaiting;
    private bool _hasEnded;
    private bool _isOpen;
    private bool _hasBegun;

    /// <summary>Whether the rest of a record is here. On the loop's thread, after <see cref="Open"/>.</summary>
    internal bool HasRecord => Received > 0 && (_recordLeft > 0 ? Received >= _recordLeft : Received >= HeaderBytes && Received >= RecordBytes());

    /// <summary>Whether the next bytes cannot be a record, so that waiting for its end is pointless. On the loop's thread, after <see cref="Open"/>.</summary>
    internal bool HasNoRecord => Received > 0 && _recordLeft == 0 && (!StartsRecord() || (Received >= HeaderBytes && RecordBytes() > HeaderBytes + RecordBytesMax));

    /// <summary>Whether the first bytes were none of a TLS handshake: the client speaks another protocol.</summary>
    internal bool IsPlain { get; private set; }

    /// <summary>Memory of received bytes that were not taken yet. A snapshot when read by another thread.</summary>
    internal int BufferBytes => _in.Length + _kept.Length;

    public override bool CanRead => true;

    public override bool CanWrite => true;

    public override bool CanSeek => false;

    public override long Length => throw new NotSupportedException();

    public override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }

    public override ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
    {
        lock (_lock)
        {
            if (TryTake(buffer, out int count) || _hasEnded)
            {
                if (!_isOpen) owner.NoteTaken(Received);
                return new ValueTask<int>(count);
            }

            _read.Reset();
            _waiting = buffer;
            _isWaiting = true;
            return new ValueTask<int>(this, _read.Version);
        }
    }

    public override void Write(ReadOnlySpan<byte> buffer)
    {
        if (_isOpen)
        {
            owner.ToWire(buffer);
            return;
        }

        lock (_lock)
        {
            if (_kept.Length < _keptLength + buffer.Length) Array.Resize(ref _kept, Math.Max(_keptLength + buffer.Length, 4096));
            buffer.CopyTo(_kept.AsSpan(_keptLength));
            _keptLength += buffer.Length;
        }

        owner.NoteProgress();
    }

    public override void Write(byte[] buffer, int offset, int count) => Write(buffer.AsSpan(offset, count));

    public override ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
    {
        Write(buffer.Span);
        return default;
    }

    public override void Flush()
    {
    }

    public override Task FlushAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public override int Read(byte[] buffer, int offset, int count) => throw new NotSupportedException();

    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    public override void SetLength(long value) => throw new NotSupportedException();

    public int GetResult(short token) => _read.GetResult(token);

    public ValueTaskSourceStatus GetStatus(short token) => _read.GetStatus(token);

    public void OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _read.OnCompleted(continuation, state, token, flags);

    /// <summary>Ends the handshake: from now on everything happens on the loop's thread, inside the loop's calls.</summary>
    internal void Open()
    {
        _read.RunContinuationsAsynchronously = false;
        _isOpen = true;
        _kept = [];
    }

    /// <summary>Adds bytes that the loop has received, and resumes a read that waits for them.</summary>
    /// <returns>The bytes that are not taken yet.</returns>
    internal int Feed(ReadOnlySpan<byte> bytes)
    {
        int count;
        int unread;
        lock (_lock)
        {
            Append(bytes);
            if (!_isWaiting || !TryTake(_waiting, out count)) return Received;
            _isWaiting = false;
            unread = Received;
        }

        _read.SetResult(count);
        return unread;
    }

    /// <summary>Ends a waiting read, because no more bytes will be received.</summary>
    internal void EndInput()
    {
        lock (_lock)
        {
            _hasEnded = true;
            if (!_isWaiting) return;
            _isWaiting = false;
        }

        _read.SetResult(0);
    }

    /// <summary>Sends the bytes that were kept during the handshake. On the loop's thread.</summary>
    internal void SendKept()
    {
        lock (_lock)
        {
            if (_keptLength == 0) return;
            owner.ToWire(_kept.AsSpan(0, _keptLength));
            _keptLength = 0;
        }
    }

    protected override void Dispose(bool disposing)
    {
        lock (_lock)
        {
            _hasEnded = true;
            Release();
        }

        base.Dispose(disposing);
    }

    private int Received => _end - _start;

    private bool StartsRecord() => _in[_start] is >= FirstContentType and <= LastContentType;

    private int RecordBytes() => HeaderBytes + BinaryPrimitives.ReadUInt16BigEndian(_in.AsSpan(_start + 3));

    // A read of nothing waits until there is something.
    private bool TryTake(Memory<byte> destination, out int count)
    {
        count = Take(destination.Span);
        return count > 0 || (destination.IsEmpty && Received > 0);
    }

    private int Take(Span<byte> destination)
    {
        int count = Math.Min(Received, destination.Length);
        if (count == 0) return 0;
        if (_recordLeft == 0 && StartsRecord())
        {
            if (Received < HeaderBytes) return 0;
            _recordLeft = RecordBytes();
        }

        // Bytes that are not a record are passed on as they are: SslStream refuses them.
        if (_recordLeft > 0)
        {
            count = Math.Min(count, _recordLeft);
            _recordLeft -= count;
        }

        _in.AsSpan(_start, count).CopyTo(destination);
        _start += count;
        if (_start == _end) Release();
        return count;
    }

    private void Append(ReadOnlySpan<byte> bytes)
    {
        if (bytes.IsEmpty || _hasEnded) return;
        if (!_hasBegun)
        {
            _hasBegun = true;
            IsPlain = bytes[0] != HandshakeContentType;
        }

        if (_in.Length - _end < bytes.Length)
        {
            int length = Received;
            byte[] grown = length + bytes.Length <= _in.Length ? _in : ArrayPool<byte>.Shared.Rent(length + bytes.Length);
            _in.AsSpan(_start, length).CopyTo(grown);
            if (grown != _in && _in.Length > 0) ArrayPool<byte>.Shared.Return(_in);
            _in = grown;
            _start = 0;
            _end = length;
        }

        bytes.CopyTo(_in.AsSpan(_end));
        _end += bytes.Length;
    }

    // An idle connection has no buffer.
    private void Release()
    {
        if (_in.Length > 0) ArrayPool<byte>.Shared.Return(_in);
        _in = [];
        _start = _end = 0;
    }
}
