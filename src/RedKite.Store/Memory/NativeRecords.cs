using System.Runtime.InteropServices;

namespace RedKite.Store.Memory;

/// <summary>
/// Records outside the managed heap that are added one by one, read in their order, and released together. No record moves once another
/// has been added behind it.
/// </summary>
/// <remarks>
/// Chunks double up to 256 KiB; a larger record has one of its own. A chunk that a record did not fit into is cut to what it holds, so what is
/// reserved is what is used but for the last chunk. Each record begins at a multiple of eight:
/// <code>
/// length, 8 bytes | bytes, padded to a multiple of 8
/// </code>
/// The rejected alternative are arrays of the managed heap: they stay there until a collection of its oldest generation, which a server that
/// allocates nothing does not make for hours.
/// </remarks>
internal sealed unsafe class NativeRecords : IDisposable
{
    private const int FirstChunkBytes = 512;
    private const int ChunkBytesMax = 256 * 1024;
    private const int LengthBytes = sizeof(long);
    private const int SlackShare = 8; // of a chunk: less than this stays unused instead of being cut off

    private readonly List<Chunk> _chunks = [];
    private long _memory;

    ~NativeRecords() => Free();

    /// <summary>The number of records.</summary>
    internal int Count { get; private set; }

    /// <summary>Bytes reserved for the records. From any thread.</summary>
    internal long MemoryBytes => Volatile.Read(ref _memory);

    /// <summary>Adds a record.</summary>
    /// <returns>Its bytes, to be written.</returns>
    /// <exception cref="OutOfMemoryException">The system has no more; nothing was added.</exception>
    internal Span<byte> Add(int bytes)
    {
        nint needed = LengthBytes + (((nint)bytes + 7) & ~(nint)7);
        if (_chunks.Count == 0 || _chunks[^1].Capacity - _chunks[^1].Used < needed) AddChunk(needed);
        ref Chunk chunk = ref CollectionsMarshal.AsSpan(_chunks)[^1];
        byte* record = chunk.Start + chunk.Used;
        *(long*)record = bytes;
        chunk.Used += needed;
        Count++;
        return new Span<byte>(record + LengthBytes, bytes);
    }

    public Enumerator GetEnumerator() => new(this);

    public void Dispose()
    {
        Free();
        GC.SuppressFinalize(this);
    }

    private void AddChunk(nint needed)
    {
        nint capacity = Math.Max(needed, (nint)Math.Clamp(MemoryBytes, FirstChunkBytes, ChunkBytesMax));
        _chunks.EnsureCapacity(_chunks.Count + 1);
        byte* start = SystemMemory.Allocate((nuint)capacity);
        if (_chunks.Count > 0) Cut(ref CollectionsMarshal.AsSpan(_chunks)[^1]);
        _chunks.Add(new Chunk(start, capacity));
        Volatile.Write(ref _memory, _memory + capacity);
    }

    // No address in the chunk is known outside yet: records are only read when the last one has been added.
    private void Cut(ref Chunk chunk)
    {
        if (chunk.Capacity - chunk.Used <= chunk.Capacity / SlackShare) return;
        Volatile.Write(ref _memory, _memory - (chunk.Capacity - chunk.Used));
        chunk.Start = (byte*)NativeMemory.Realloc(chunk.Start, (nuint)chunk.Used);
        chunk.Capacity = chunk.Used;
    }

    private void Free()
    {
        foreach (Chunk chunk in _chunks) NativeMemory.Free(chunk.Start);
        _chunks.Clear();
        Count = 0;
        Volatile.Write(ref _memory, 0);
    }

    private struct Chunk(byte* start, nint capacity)
    {
        internal byte* Start = start;
        internal nint Capacity = capacity;
        internal nint Used;
    }

    /// <summary>Goes over the records. None may be added meanwhile.</summary>
    internal ref struct Enumerator(NativeRecords records)
    {
        private int _chunk;
        private nint _next;
        private byte* _record;

        public readonly Span<byte> Current => new(_record + LengthBytes, (int)*(long*)_record);

        public bool MoveNext()
        {
            while (_chunk < records._chunks.Count)
            {
                Chunk chunk = records._chunks[_chunk];
                if (_next < chunk.Used)
                {
                    _record = chunk.Start + _next;
                    _next += LengthBytes + (((nint)(*(long*)_record) + 7) & ~(nint)7);
                    return true;
                }

                _chunk++;
                _next = 0;
            }

            return false;
        }
    }
}
