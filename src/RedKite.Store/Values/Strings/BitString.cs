using System.Buffers.Binary;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace RedKite.Store.Values.Strings;

/// <summary>
/// A string as an array of bits: bit 0 is the most significant one of the first byte. Counts bits, finds the first set or clear
/// bit, and reads and writes numbers of up to 64 bits at any offset. Bits beyond the end are clear.
/// </summary>
internal static class BitString
{
    // Vectors that one round of the counting tree takes in.
    private const int VectorsPerRound = 16;

    private const int WordBits = 64;

    /// <summary>How many bits are set.</summary>
    /// <remarks>
    /// A tree of carry-save adders (Harley and Seal): sixteen vectors are added up bit by bit, so that only every sixteenth needs
    /// its bits counted, plus three logical operations per vector.
    /// </remarks>
    internal static long Count(ReadOnlySpan<byte> bytes)
    {
        ReadOnlySpan<Vector<ulong>> vectors = MemoryMarshal.Cast<byte, Vector<ulong>>(bytes);
        vectors = vectors[..(vectors.Length / VectorsPerRound * VectorsPerRound)];
        ReadOnlySpan<byte> rest = bytes[(vectors.Length * Vector<byte>.Count)..];
        return (vectors.IsEmpty ? 0 : CountVectors(vectors)) + CountWords(rest);
    }

    /// <summary>How many bits are set between two bits, both included; they lie in the string and in order.</summary>
    internal static long Count(ReadOnlySpan<byte> bytes, long firstBit, long lastBit)
    {
        int first = (int)(firstBit >> 3);
        int last = (int)(lastBit >> 3);
        int headMask = 0xFF >> (int)(firstBit & 7);
        int tailMask = 0xFF << (7 - (int)(lastBit & 7)) & 0xFF;
        if (first == last) return BitOperations.PopCount((uint)(bytes[first] & headMask & tailMask));
        return BitOperations.PopCount((uint)(bytes[first] & headMask))
            + Count(bytes[(first + 1)..last])
            + BitOperations.PopCount((uint)(bytes[last] & tailMask));
    }

    /// <summary>The index of the first set or clear bit between two bits of the string, both included; -1: none.</summary>
    internal static long Find(ReadOnlySpan<byte> bytes, bool set, long firstBit, long lastBit)
    {
        int first = (int)(firstBit >> 3);
        int last = (int)(lastBit >> 3);

        // The bits before the first one are set so that they never match.
        int none = set ? 0 : 0xFF;
        int outside = 0xFF00 >> (int)(firstBit & 7) & 0xFF;
        int head = set ? bytes[first] & ~outside : bytes[first] | outside;
        long found;
        if (head != none)
        {
            found = ((long)first << 3) + FirstBitOf(head, set);
        }
        else
        {
            int at = bytes[(first + 1)..(last + 1)].IndexOfAnyExcept((byte)none);
            if (at < 0) return -1;
            at += first + 1;
            found = ((long)at << 3) + FirstBitOf(bytes[at], set);
        }

        return found <= lastBit ? found : -1;
    }

    /// <summary>Whether a bit is set.</summary>
    internal static bool IsSet(ReadOnlySpan<byte> bytes, long bit)
    {
        long at = bit >> 3;
        return at < bytes.Length && (bytes[(int)at] >> (7 - (int)(bit & 7)) & 1) != 0;
    }

    /// <summary>Sets or clears a bit of the string.</summary>
    /// <returns>Whether it was set before.</returns>
    internal static bool Write(Span<byte> bytes, long bit, bool set)
    {
        ref byte at = ref bytes[(int)(bit >> 3)];
        int mask = 0x80 >> (int)(bit & 7);
        int old = at;
        at = (byte)(set ? old | mask : old & ~mask);
        return (old & mask) != 0;
    }

    /// <summary>Reads an unsigned number of up to 64 bits, the most significant one first.</summary>
    internal static ulong ReadField(ReadOnlySpan<byte> bytes, long firstBit, int bits)
    {
        long start = firstBit >> 3;
        if (start >= bytes.Length) return 0;
        bytes = bytes[(int)start..];
        int end = (int)(firstBit & 7) + bits;
        ulong word = ReadWord(bytes);
        if (end <= WordBits) return (word >> (WordBits - end)) & MaskOf(bits);

        // The last of the number's bits are the first of a ninth byte.
        int beyond = end - WordBits;
        int ninth = bytes.Length > sizeof(ulong) ? bytes[sizeof(ulong)] : 0;
        return ((word << beyond) | ((uint)ninth >> (8 - beyond))) & MaskOf(bits);
    }

    /// <summary>Writes the low bits of a number, all within the string.</summary>
    internal static void WriteField(Span<byte> bytes, long firstBit, int bits, ulong value)
    {
        bytes = bytes[(int)(firstBit >> 3)..];
        int end = (int)(firstBit & 7) + bits;
        ulong mask = MaskOf(bits);
        value &= mask;
        if (end <= WordBits)
        {
            int shift = WordBits - end;
            WriteWord(bytes, (ReadWord(bytes) & ~(mask << shift)) | (value << shift));
            return;
        }

        int beyond = end - WordBits;
        WriteWord(bytes, (ReadWord(bytes) & ~(mask >> beyond)) | (value >> beyond));
        ref byte ninth = ref bytes[sizeof(ulong)];
        ninth = (byte)((ninth & (0xFF >> beyond)) | (int)(value << (8 - beyond)));
    }

    private static long CountVectors(ReadOnlySpan<Vector<ulong>> vectors)
    {
        Vector<ulong> ones = default, twos = default, fours = default, eights = default;
        long sixteens = 0;
        for (; vectors.Length >= VectorsPerRound; vectors = vectors[VectorsPerRound..])
        {
            Vector<ulong> twosA = Add(ref ones, vectors[0], vectors[1]);
            Vector<ulong> twosB = Add(ref ones, vectors[2], vectors[3]);
            Vector<ulong> foursA = Add(ref twos, twosA, twosB);
            twosA = Add(ref ones, vectors[4], vectors[5]);
            twosB = Add(ref ones, vectors[6], vectors[7]);
            Vector<ulong> foursB = Add(ref twos, twosA, twosB);
            Vector<ulong> eightsA = Add(ref fours, foursA, foursB);
            twosA = Add(ref ones, vectors[8], vectors[9]);
            twosB = Add(ref ones, vectors[10], vectors[11]);
            foursA = Add(ref twos, twosA, twosB);
            twosA = Add(ref ones, vectors[12], vectors[13]);
            twosB = Add(ref ones, vectors[14], vectors[15]);
            foursB = Add(ref twos, twosA, twosB);
            Vector<ulong> eightsB = Add(ref fours, foursA, foursB);
            sixteens += CountLanes(Add(ref eights, eightsA, eightsB));
        }

        return (16 * sixteens) + (8 * CountLanes(eights)) + (4 * CountLanes(fours)) + (2 * CountLanes(twos)) + CountLanes(ones);
    }

    // A full adder for each bit: the sum stays, the carry is returned.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static Vector<ulong> Add(ref Vector<ulong> sum, Vector<ulong> a, Vector<ulong> b)
    {
        Vector<ulong> either = sum ^ a;
        Vector<ulong> carry = (sum & a) | (either & b);
        sum = either ^ b;
        return carry;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static long CountLanes(Vector<ulong> vector)
    {
        long count = 0;
        for (int i = 0; i < Vector<ulong>.Count; i++) count += BitOperations.PopCount(vector[i]);
        return count;
    }

    private static long CountWords(ReadOnlySpan<byte> bytes)
    {
        long count = 0;
        foreach (ulong word in MemoryMarshal.Cast<byte, ulong>(bytes)) count += BitOperations.PopCount(word);
        foreach (byte last in bytes[(bytes.Length & ~7)..]) count += BitOperations.PopCount(last);
        return count;
    }

    private static int FirstBitOf(int value, bool set) => BitOperations.LeadingZeroCount((uint)(set ? value : ~value & 0xFF)) - 24;

    // The first eight bytes, with zeros beyond the end.
    private static ulong ReadWord(ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length >= sizeof(ulong)) return BinaryPrimitives.ReadUInt64BigEndian(bytes);
        ulong word = 0;
        for (int i = 0; i < bytes.Length; i++) word |= (ulong)bytes[i] << (WordBits - 8 - (8 * i));
        return word;
    }

    private static void WriteWord(Span<byte> bytes, ulong word)
    {
        if (bytes.Length >= sizeof(ulong)) BinaryPrimitives.WriteUInt64BigEndian(bytes, word);
        else for (int i = 0; i < bytes.Length; i++) bytes[i] = (byte)(word >> (WordBits - 8 - (8 * i)));
    }

    private static ulong MaskOf(int bits) => bits == 64 ? ulong.MaxValue : (1UL << bits) - 1;
}
