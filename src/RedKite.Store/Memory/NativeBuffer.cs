using System.Runtime.InteropServices;

namespace RedKite.Store.Memory;

/// <summary>
/// A growing buffer outside the managed heap for data that is composed in pieces and may be large: dumps, unpacked text. It belongs
/// to its creator and is not counted by an arena, so it is emptied after each use.
/// </summary>
internal sealed unsafe class NativeBuffer : IDisposable
{
    private const int FirstBytes = 4096;

    // A buffer that grew beyond this is not kept for the next use.
    private const int KeptBytesMax = 1 << 20;

    private byte* _bytes;
    private int _capacity;

    ~NativeBuffer() => Free();

    /// <summary>The number of bytes written.</summary>
    internal int Length { get; private set; }

    internal ReadOnlySpan<byte> Written => new(_bytes, Length);

    /// <summary>The address of the bytes, valid until the buffer grows.</summary>
    internal byte* Start => _bytes;

    /// <summary>Reserves bytes after the written ones; <see cref="Advance"/> adds them.</summary>
    /// <exception cref="InsufficientMemoryException">The buffer would exceed 2 GiB.</exception>
    internal Span<byte> Room(int bytes)
    {
        long needed = (long)Length + bytes;
        if (needed > _capacity) Grow(needed);
        return new Span<byte>(_bytes + Length, bytes);
    }

    /// <summary>Adds reserved bytes that have been written.</summary>
    internal void Advance(int bytes) => Length += bytes;

    /// <summary>Written bytes, to be changed.</summary>
    internal Span<byte> Slice(int start, int length) => new Span<byte>(_bytes, Length).Slice(start, length);

    internal void Write(ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(Room(bytes.Length));
        Length += bytes.Length;
    }

    /// <summary>Empties the buffer, and releases its memory if it is large.</summary>
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
