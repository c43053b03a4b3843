namespace RedKite.Server.Following;

/// <summary>
/// What a primary's stream has sent while the data is received and loaded: in memory, up to a limit beyond which nothing more is read, so that
/// the primary keeps it. One thread adds, and another takes when that has ended.
/// </summary>
internal sealed class StreamBuffer
{
    private readonly Queue<byte[]> _chunks = new();
    private int _taken; // of the first chunk
    private long _bytes;
    private long _peak;

    /// <summary>Bytes that wait.</summary>
    internal long Bytes => Volatile.Read(ref _bytes);

    /// <summary>The most that have waited.</summary>
    internal long PeakBytes => Volatile.Read(ref _peak);

    internal void Add(ReadOnlySpan<byte> bytes)
    {
        _chunks.Enqueue(bytes.ToArray());
        Volatile.Write(ref _bytes, _bytes + bytes.Length);
        Volatile.Write(ref _peak, Math.Max(_peak, _bytes));
    }

    /// <summary>Takes the first bytes.</summary>
    internal int Take(Span<byte> target)
    {
        if (!_chunks.TryPeek(out byte[]? chunk)) return 0;
        int length = Math.Min(target.Length, chunk.Length - _taken);
        chunk.AsSpan(_taken, length).CopyTo(target);
        _taken += length;
        if (_taken == chunk.Length)
        {
            _chunks.Dequeue();
            _taken = 0;
        }

        Volatile.Write(ref _bytes, _bytes - length);
        return length;
    }
}
