using System.Runtime.InteropServices;

namespace RedKite.Store.Memory;

/// <summary>
/// Bytes outside the managed heap that grow at their end, for what is put together piece by piece and may be large: dumps,
/// unpacked text. It belongs to whoever made it and is no part of any arena's count, so it is emptied after each use.
/// </summary>
internal sealed unsafe class NativeBuffer : IDisposable
{
    private const int FirstBytes = 4096;

    // What one use blew up is not kept for the next.
    private const int KeptBytesMax = 1 << 20;

    private byte* _bytes;
    private int _capacity;

    ~NativeBuffer() => Free();

    /// <summary>Bytes written.</summary>
    internal int Length { get; private set; }

    internal ReadOnlySpan<byte> Written => new(_bytes, Length);

    /// <summary>Where the bytes begin, until the next call that makes room.</summary>
    internal byte* Start => _bytes;

    /// <summary>Makes room for so many bytes behind what is written; they count once <see cref="Advance"/> is told.</summary>
    /// <exception cref="InsufficientMemoryException">They would be more than 2 GiB together.</exception>
    internal Span<byte> Room(int bytes)
    {
        long needed = (long)Length + bytes;
        if (needed > _capacity) Grow(needed);
        return new Span<byte>(_bytes + Length, bytes);
    }

    /// <summary>Counts bytes that were written into the room.</summary>
    internal void Advance(int bytes) => Length += bytes;

    /// <summary>Bytes that were written before, to be changed.</summary>
    internal Span<byte> Slice(int start, int length) => new Span<byte>(_bytes, Length).Slice(start, length);

    internal void Write(ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(Room(bytes.Length));
        Length += bytes.Length;
    }

    /// <summary>Forgets what was written, and gives the memory back if it was much.</summary>
    internal void Clear()
    {
        Length = 0;
        if (_capacity > KeptBytesMax) Free();
    }

    public void Dispose()
    {
        Free();
        GC.SuppressFinalize(this);
    }

    private void Grow(long needed)
    {
        if (needed > int.MaxValue) throw new InsufficientMemoryException("A buffer holds no more than 2 GiB.");
        long capacity = Math.Min(int.MaxValue, Math.Max(needed, Math.Max(FirstBytes, _capacity * 2L)));
        _bytes = (byte*)NativeMemory.Realloc(_bytes, (nuint)capacity);
        _capacity = (int)capacity;
    }

    private void Free()
    {
        NativeMemory.Free(_bytes);
        _bytes = null;
        _capacity = 0;
        Length = 0;
    }
}
