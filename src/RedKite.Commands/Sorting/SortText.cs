using System.Buffers;

namespace RedKite.Server.Commands.Sorting;

/// <summary>
/// The bytes of the elements that SORT sorts, and of their sort keys. They are kept in chunks that never move, so that a
/// million elements are a few objects and their total size has no limit but memory.
/// </summary>
internal sealed class SortText : IDisposable
{
    private const int FirstChunkBytes = 1024;
    private const int ChunkBytesMax = 16 * 1024 * 1024;

    private byte[][] _chunks = [ArrayPool<byte>.Shared.Rent(FirstChunkBytes)];
    private int _count = 1;
    private int _used; // of the last chunk

    internal ReadOnlySpan<byte> this[SortSlice slice] => _chunks[slice.Chunk].AsSpan(slice.Start, slice.Length);

    /// <summary>Copies bytes behind the others.</summary>
    internal SortSlice Add(ReadOnlySpan<byte> bytes)
    {
        if (_chunks[_count - 1].Length - _used < bytes.Length) AddChunk(bytes.Length);
        bytes.CopyTo(_chunks[_count - 1].AsSpan(_used));
        var slice = new SortSlice(_count - 1, _used, bytes.Length, Exists: true);
        _used += bytes.Length;
        return slice;
    }

    public void Dispose()
    {
        for (int i = 0; i < _count; i++) ArrayPool<byte>.Shared.Return(_chunks[i]);
        _chunks = [];
        _count = 0;
    }

    private void AddChunk(int bytesMin)
    {
        byte[] chunk = ArrayPool<byte>.Shared.Rent(Math.Max(bytesMin, Math.Min(_chunks[_count - 1].Length * 2, ChunkBytesMax)));
        if (_count == _chunks.Length) Array.Resize(ref _chunks, _count * 2);
        _chunks[_count++] = chunk;
        _used = 0;
    }
}

/// <summary>Some bytes of a <see cref="SortText"/>; the default is none, which differs from empty ones.</summary>
internal readonly record struct SortSlice(int Chunk, int Start, int Length, bool Exists);
