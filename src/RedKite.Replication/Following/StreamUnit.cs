using RedKite.Server.Replication;

namespace RedKite.Server.Following;

/// <summary>
/// The requests of a unit of a primary's stream that has begun: they become part of the server's own stream when it has ended. In chunks, because a primary's
/// transaction may be large: an array that doubles holds up to three times of it, and is kept afterwards.
/// </summary>
internal sealed class StreamUnit
{
    private const int ChunkBytesMin = 4 * 1024;
    private const int ChunkBytesMax = 1024 * 1024;

    private readonly List<byte[]> _chunks = [];
    private long _bytes; // read by other threads
    private long _memory;
    private int _used; // of the last chunk

    internal long Bytes => Volatile.Read(ref _bytes);

    /// <summary>Memory of the chunks.</summary>
    internal long MemoryBytes => Volatile.Read(ref _memory);

    internal void Add(ReadOnlySpan<byte> requests)
    {
        while (!requests.IsEmpty)
        {
            if (_chunks.Count == 0 || _used == _chunks[^1].Length)
            {
                _chunks.Add(GC.AllocateUninitializedArray<byte>((int)Math.Clamp(Math.Max(_memory, requests.Length), ChunkBytesMin, ChunkBytesMax)));
                _used = 0;
                Volatile.Write(ref _memory, _memory + _chunks[^1].Length);
            }

            int length = Math.Min(requests.Length, _chunks[^1].Length - _used);
            requests[..length].CopyTo(_chunks[^1].AsSpan(_used));
            _used += length;
            Volatile.Write(ref _bytes, _bytes + length);
            requests = requests[length..];
        }
    }

    /// <summary>Appends the requests to a stream, and releases them.</summary>
    internal void MoveTo(ReplicationStream stream)
    {
        for (int i = 0; i < _chunks.Count; i++) stream.Append(i + 1 < _chunks.Count ? _chunks[i] : _chunks[i].AsSpan(0, _used));
        if (_chunks.Count == 0) return;

        // The first one is kept, so that small units allocate nothing.
        byte[] kept = _chunks[0];
        _chunks.Clear();
        if (_chunks.Capacity > ChunkBytesMin) _chunks.Capacity = 0;
        if (kept.Length == ChunkBytesMin) _chunks.Add(kept);
        _used = 0;
        Volatile.Write(ref _memory, _chunks.Count * (long)ChunkBytesMin);
        Volatile.Write(ref _bytes, 0);
    }
}
