namespace RedKite.Persistence.Files;

/// <summary>
/// Data that a primary is sending, read as if it were a file, while it arrives: so a replica loads what never was on its disk. One thread reads on, and receives for that;
/// others may read again what has arrived, until it is released.
/// </summary>
internal sealed class ArrivingFile : IOpenFile
{
    /// <summary>How much may be kept for values that are not built yet. A larger value is kept as a whole while it is built.</summary>
    internal const long KeptBytesMax = 64L << 20;

    // Below the size from which on the runtime's heap never moves an array.
    private const int ChunkBytes = 64 * 1024;
    private const int FreeChunksMax = 16;

    private readonly Func<bool> _receive;
    private readonly Lock _lock = new();
    private readonly Queue<byte[]> _free = new();
    private readonly List<byte[]> _chunks = [];
    private long _start; // of the first chunk
    private long _end;
    private volatile bool _isWhole;

    /// <param name="name">What errors call it.</param>
    /// <param name="receive">Waits for more of it, and hands that to <see cref="Add"/>; false: there is no more.</param>
    internal ArrivingFile(string name, Func<bool> receive)
    {
        Path = name;
        _receive = receive;
    }

    public string Path { get; }

    /// <summary>The length, if it is known in advance; 0: it is not.</summary>
    internal long KnownLength { get; set; }

    /// <summary>Without a known length as large as a number can be, until all has arrived.</summary>
    public long Length => _isWhole ? Volatile.Read(ref _end) : KnownLength > 0 ? KnownLength : long.MaxValue;

    /// <summary>Bytes that are kept.</summary>
    internal long KeptBytes
    {
        get
        {
            lock (_lock) return _chunks.Count * (long)ChunkBytes;
        }
    }

    /// <summary>Adds what has arrived.</summary>
    internal void Add(ReadOnlySpan<byte> bytes)
    {
        lock (_lock)
        {
            while (!bytes.IsEmpty)
            {
                int used = (int)(_end - _start - ((_chunks.Count - 1) * (long)ChunkBytes));
                if (_chunks.Count == 0 || used == ChunkBytes)
                {
                    _chunks.Add(_free.TryDequeue(out byte[]? chunk) ? chunk : GC.AllocateUninitializedArray<byte>(ChunkBytes));
                    used = 0;
                }

                int length = Math.Min(bytes.Length, ChunkBytes - used);
                bytes[..length].CopyTo(_chunks[^1].AsSpan(used));
                Volatile.Write(ref _end, _end + length);
                bytes = bytes[length..];
            }
        }
    }

    /// <summary>Releases what precedes a position: it is not read again.</summary>
    internal void Release(long position)
    {
        lock (_lock)
        {
            int chunks = (int)((Math.Min(position, _end) - _start) / ChunkBytes);
            for (int i = 0; i < chunks && _free.Count < FreeChunksMax; i++) _free.Enqueue(_chunks[i]);
            _chunks.RemoveRange(0, chunks);
            _start += chunks * (long)ChunkBytes;
        }
    }

    /// <summary>Receives what is left, and releases it.</summary>
    internal void Drain()
    {
        while (ReceiveMore()) Release(_end);
    }

    /// <summary>Reads; what has not arrived is waited for.</summary>
    /// <exception cref="IOException">The connection has ended.</exception>
    public int Read(long position, Span<byte> target)
    {
        while (Volatile.Read(ref _end) < position + target.Length && ReceiveMore())
        {
        }

        lock (_lock)
        {
            ArgumentOutOfRangeException.ThrowIfLessThan(position, _start);
            int read = 0;
            while (read < target.Length && position + read < _end)
            {
                long inside = position + read - _start;
                int offset = (int)(inside % ChunkBytes);
                int length = (int)Math.Min(Math.Min(target.Length - read, ChunkBytes - offset), _end - position - read);
                _chunks[(int)(inside / ChunkBytes)].AsSpan(offset, length).CopyTo(target[read..]);
                read += length;
            }

            return read;
        }
    }

    public void Write(long position, ReadOnlySpan<byte> bytes) => throw new NotSupportedException();

    public void SetLength(long bytes) => throw new NotSupportedException();

    public void SyncData() => throw new NotSupportedException();

    public void Dispose()
    {
    }

    private bool ReceiveMore()
    {
        if (_isWhole) return false;
        if (_receive()) return true;
        _isWhole = true;
        return false;
    }
}
