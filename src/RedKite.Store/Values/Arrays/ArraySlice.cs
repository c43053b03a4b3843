using System.Numerics;
using RedKite.Store.Memory;

namespace RedKite.Store.Values.Arrays;

/// <summary>
/// The elements of an array at 256 consecutive indexes, in one block that is as large as what it holds:
/// <code>
///  0 u64 × 4  which of the indexes have an element
/// 32 i64      bytes of the blocks that elements own
/// 40 u64 × n  the elements (<see cref="ArrayWord"/>), in the order of their indexes
/// </code>
/// A slice has at least one element. Rejected: two forms, one for many elements and one for few. A full slice takes half a byte for each element
/// beside its word, so there is nothing to gain from a second one.
/// </summary>
internal static unsafe class ArraySlice
{
    /// <summary>Indexes of a slice.</summary>
    internal const int Size = 256;

    internal const int SizeBits = 8;

    private const int MapWords = Size / 64;
    private const int OwnedOffset = MapWords * sizeof(ulong);
    private const int WordsOffset = OwnedOffset + sizeof(long);

    /// <summary>The bytes in use of a slice with so many elements.</summary>
    internal static long Bytes(int count) => WordsOffset + ((long)count * sizeof(ulong));

    internal static int Count(byte* slice) => Rank(slice, Size);

    /// <summary>Bytes of the blocks that elements own.</summary>
    internal static ref long OwnedBytes(byte* slice) => ref *(long*)(slice + OwnedOffset);

    internal static ulong* Words(byte* slice) => (ulong*)(slice + WordsOffset);

    internal static bool Has(byte* slice, int offset) => ((Map(slice)[offset >> 6] >> (offset & 63)) & 1) != 0;

    /// <summary>The number of elements below an offset, which may be <see cref="Size"/>.</summary>
    internal static int Rank(byte* slice, int offset)
    {
        ulong* map = Map(slice);
        int rank = 0;
        for (int i = 0; i < offset >> 6; i++) rank += BitOperations.PopCount(map[i]);
        if ((offset & 63) != 0) rank += BitOperations.PopCount(map[offset >> 6] & ((1UL << (offset & 63)) - 1));
        return rank;
    }

    /// <summary>The first offset with an element that is not below the given one; <see cref="Size"/> if there is none.</summary>
    internal static int NextAt(byte* slice, int offset)
    {
        if (offset >= Size) return Size;
        ulong* map = Map(slice);
        int i = offset >> 6;
        ulong bits = map[i] & (ulong.MaxValue << (offset & 63));
        while (bits == 0)
        {
            if (++i == MapWords) return Size;
            bits = map[i];
        }

        return (i << 6) + BitOperations.TrailingZeroCount(bits);
    }

    /// <summary>The last offset with an element that is not above the given one; -1 if there is none.</summary>
    internal static int PreviousAt(byte* slice, int offset)
    {
        if (offset < 0) return -1;
        ulong* map = Map(slice);
        int i = offset >> 6;
        ulong bits = map[i] & (ulong.MaxValue >> (63 - (offset & 63)));
        while (bits == 0)
        {
            if (--i < 0) return -1;
            bits = map[i];
        }

        return (i << 6) + 63 - BitOperations.LeadingZeroCount(bits);
    }

    /// <summary>Creates a slice with one element.</summary>
    internal static byte* Create(Arena arena, int offset, ulong word)
    {
        byte* slice = arena.Allocate(Bytes(1));
        new Span<byte>(slice, WordsOffset).Clear();
        Map(slice)[offset >> 6] = 1UL << (offset & 63);
        Words(slice)[0] = word;
        OwnedBytes(slice) = ArrayWord.BlockBytes(word);
        return slice;
    }

    /// <summary>Adds an element at an offset that has none.</summary>
    /// <returns>The slice, which may have moved.</returns>
    internal static byte* Insert(Arena arena, byte* slice, int offset, ulong word)
    {
        int count = Count(slice);
        int rank = Rank(slice, offset);
        slice = arena.Reallocate(slice, Bytes(count), Bytes(count + 1));
        ulong* at = Words(slice) + rank;
        long behind = (long)(count - rank) * sizeof(ulong);
        Buffer.MemoryCopy(at, at + 1, behind, behind);
        *at = word;
        Map(slice)[offset >> 6] |= 1UL << (offset & 63);
        OwnedBytes(slice) += ArrayWord.BlockBytes(word);
        return slice;
    }

    /// <summary>Frees the elements from one offset to another, but not all that the slice has.</summary>
    /// <returns>The slice, which may have moved.</returns>
    internal static byte* Remove(Arena arena, byte* slice, int low, int high)
    {
        int count = Count(slice);
        int from = Rank(slice, low);
        int to = Rank(slice, high + 1);
        ulong* words = Words(slice);
        for (int i = from; i < to; i++)
        {
            OwnedBytes(slice) -= ArrayWord.BlockBytes(words[i]);
            ArrayWord.Free(arena, words[i]);
        }

        long behind = (long)(count - to) * sizeof(ulong);
        Buffer.MemoryCopy(words + to, words + from, behind, behind);
        ulong* map = Map(slice);
        for (int i = 0; i < MapWords; i++)
        {
            int first = Math.Max(low - (i << 6), 0);
            int last = Math.Min(high - (i << 6), 63);
            if (first <= last) map[i] &= ~((ulong.MaxValue << first) & (ulong.MaxValue >> (63 - last)));
        }

        return arena.Reallocate(slice, Bytes(count), Bytes(count - (to - from)));
    }

    private static ulong* Map(byte* slice) => (ulong*)slice;
}
