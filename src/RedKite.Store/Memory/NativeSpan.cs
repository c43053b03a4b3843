using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace RedKite.Store.Memory;

/// <summary>Bytes outside the managed heap, to be kept where a span cannot be kept. Valid as long as what it was made of.</summary>
internal readonly unsafe struct NativeSpan
{
    private readonly byte* _start;

    /// <param name="bytes">Bytes outside the managed heap.</param>
    internal NativeSpan(ReadOnlySpan<byte> bytes)
        : this((byte*)Unsafe.AsPointer(ref MemoryMarshal.GetReference(bytes)), bytes.Length)
    {
    }

    private NativeSpan(byte* start, int length)
    {
        _start = start;
        Length = length;
    }

    internal int Length { get; }

    internal ReadOnlySpan<byte> Bytes => new(_start, Length);

    /// <summary>The bytes from a position on.</summary>
    internal NativeSpan From(int start) => new(_start + start, Length - start);
}
