using RedKite.Store.Memory;
using RedKite.Store.Values.Packed;

namespace RedKite.Store.Values.Arrays;

/// <summary>
/// An element of an array in eight bytes. Each text has exactly one form:
/// <code>
/// ...1  an integer in canonical form, of 63 bits, shifted by one
/// ..10  a text of up to 7 bytes: its length in bits 2 to 4, its bytes in the upper 7
/// ..00  the address of a block: u32 length, text
/// </code>
/// A word of a block owns it.
/// </summary>
internal static unsafe class ArrayWord
{
    /// <summary>The empty text, which owns no block.</summary>
    internal const ulong Empty = ShortKind;

    private const ulong ShortKind = 2;
    private const int ShortMax = 7;
    private const int LengthShift = 2;
    private const int HeaderBytes = sizeof(uint);
    private const long IntegerMax = long.MaxValue >> 1;
    private const long IntegerMin = long.MinValue >> 1;

    /// <summary>Writes a text as a word, with a block if it needs one.</summary>
    internal static ulong Create(Arena arena, ReadOnlySpan<byte> text)
    {
        if (CanonicalInteger.TryParse(text, out long number) && number is >= IntegerMin and <= IntegerMax) return ((ulong)number << 1) | 1;
        if (text.Length <= ShortMax && BitConverter.IsLittleEndian)
        {
            ulong word = ShortKind | ((ulong)text.Length << LengthShift);
            text.CopyTo(new Span<byte>((byte*)&word + 1, ShortMax));
            return word;
        }

        byte* block = arena.Allocate((long)HeaderBytes + text.Length);
        *(uint*)block = (uint)text.Length;
        text.CopyTo(new Span<byte>(block + HeaderBytes, text.Length));
        return (ulong)block;
    }

    internal static bool IsBlock(ulong word) => (word & 3) == 0;

    internal static byte* Block(ulong word) => (byte*)word;

    /// <summary>The bytes in use of a word's block.</summary>
    internal static long UsedBytes(ulong word) => (long)HeaderBytes + *(uint*)word;

    /// <summary>The size of a word's block; 0 if it has none.</summary>
    internal static long BlockBytes(ulong word) => IsBlock(word) ? BlockSize.RoundUp(UsedBytes(word)) : 0;

    internal static void Free(Arena arena, ulong word)
    {
        if (IsBlock(word)) arena.Free(Block(word), UsedBytes(word));
    }

    /// <summary>The element of a word, valid until the word changes.</summary>
    internal static PackedElement Read(ulong* at)
    {
        ulong word = *at;
        if ((word & 1) != 0) return new PackedElement((long)word >> 1);
        return (word & ShortKind) != 0
            ? new PackedElement((byte*)at + 1, (int)(word >> LengthShift) & ShortMax)
            : new PackedElement(Block(word) + HeaderBytes, (int)*(uint*)word);
    }
}
