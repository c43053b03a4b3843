using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics;

namespace RedKite.Protocol;

/// <summary>
/// A name as words of eight ASCII letters, whichever encoding it came in: so one table and one comparison serve both.
/// Characters beyond ASCII become bytes above 127, which no ASCII name has.
/// </summary>
internal interface INameText
{
    int Length { get; }

    /// <summary>Eight letters.</summary>
    ulong Word(int start);

    /// <summary>Four letters at the start and four at the end, which overlap in a name of fewer than eight.</summary>
    ulong Ends();

    /// <summary>One letter.</summary>
    uint Letter(int index);
}

/// <summary>UTF-8: the bytes are the letters.</summary>
internal readonly ref struct Utf8NameText(ReadOnlySpan<byte> name) : INameText
{
    private readonly ref byte _start = ref MemoryMarshal.GetReference(name);

    public int Length { get; } = name.Length;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ulong Word(int start) => Unsafe.ReadUnaligned<ulong>(ref Unsafe.Add(ref _start, start));

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ulong Ends() =>
        Unsafe.ReadUnaligned<uint>(ref _start) | ((ulong)Unsafe.ReadUnaligned<uint>(ref Unsafe.Add(ref _start, Length - 4)) << 32);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public uint Letter(int index) => Unsafe.Add(ref _start, index);
}

/// <summary>UTF-16: eight characters become eight bytes at once; one above 255 becomes 255.</summary>
internal readonly ref struct Utf16NameText(ReadOnlySpan<char> name) : INameText
{
    private readonly ref ushort _start = ref Unsafe.As<char, ushort>(ref MemoryMarshal.GetReference(name));

    public int Length { get; } = name.Length;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ulong Word(int start) => Narrow(Vector128.LoadUnsafe(ref _start, (nuint)start));

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ulong Ends() => Narrow(Vector128.Create(FourAt(0), FourAt(Length - 4)).AsUInt16());

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public uint Letter(int index) => Math.Min(Unsafe.Add(ref _start, index), 0xFFu);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private ulong FourAt(int start) => Unsafe.ReadUnaligned<ulong>(ref Unsafe.As<ushort, byte>(ref Unsafe.Add(ref _start, start)));

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static ulong Narrow(Vector128<ushort> characters) =>
        Vector128.NarrowWithSaturation(characters, characters).AsUInt64().ToScalar();
}
