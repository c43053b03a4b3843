using System.Buffers.Binary;
using System.Numerics;
using System.Runtime.CompilerServices;
using RedKite.Store.Values.Packed;

namespace RedKite.Store.Values.Lists;

/// <summary>
/// The elements of a <see cref="PackedList"/> in fewer bytes, read-only: the prefix that an element shares with the previous one is
/// left out, and the rest takes the minimum bits per character for the number of distinct characters. A change unpacks the list
/// first.
/// <code>
///  0 u16 bytes of the packed list   2 u16 elements   4 u8 bits per character   5 u8 distinct characters
///  6 u16 offset of each group of 16 elements, then the characters in the order of their codes, then the elements:
///
///  shared (4 bits, up to 14), length of the rest (4 bits), the rest's bits
///  0xF0, u8 shared, u8 length of the rest, the rest's bits
///
///  at the end 8 bytes of padding, which are read but not used
/// </code>
/// A group's first element shares nothing, so that any element is found by reading one group.
/// </summary>
/// <remarks>
/// Measured with a million elements of twelve or thirteen characters, used_memory per element (redis-server's in brackets):
/// "member:000123" in order 2.7 bytes (15.2), random digits 7.5 (10.5), hexadecimal digits 8.0 (14.1), letters and digits 10.7
/// (14.1), numbers up to a million 4.4 (5.0); random bytes 14.1 (14.1), which stay unpacked. General compression (LZF, an option for
/// lists in Redis) was rejected: reading an element would require unpacking its whole node.
/// </remarks>
internal static unsafe class CompactList
{
    /// <summary>Elements that are read at once.</summary>
    internal const int GroupElements = 16;

    /// <summary>A list with a longer element is not compacted: there is little to win.</summary>
    internal const int ElementBytesMax = 64;

    /// <summary>The text of a group's elements, at most.</summary>
    internal const int GroupBytesMax = GroupElements * ElementBytesMax;

    private const int HeaderBytes = 6;
    private const int LongForm = 0xF0;
    private const int ShortSharedMax = 14;
    private const int ShortRestMax = 15;
    private const int ReadBeyondBytes = 8;
    private const int DigitsBytes = 24;

    /// <summary>Elements.</summary>
    internal static int Count(byte* compact) => BinaryPrimitives.ReadUInt16LittleEndian(new(compact + 2, 2));

    /// <summary>Bytes of the packed list that it represents.</summary>
    internal static int PackedBytes(byte* compact) => BinaryPrimitives.ReadUInt16LittleEndian(new(compact, 2));

    /// <summary>The size of a packed list in this format; 0 if it cannot be compacted or it saves less than an eighth.</summary>
    /// <param name="packed">The list.</param>
    /// <param name="shared">Receives the length of the prefix that each element shares with the previous one; one slot per element.</param>
    /// <param name="alphabet">The characters of the rests.</param>
    [SkipLocalsInit]
    internal static int Measure(byte* packed, Span<byte> shared, out CompactAlphabet alphabet)
    {
        alphabet = default;
        int packedBytes = PackedList.Bytes(packed);
        if (packedBytes > ushort.MaxValue) return 0;
        int* rests = stackalloc int[ElementBytesMax + 1];
        new Span<int>(rests, ElementBytesMax + 1).Clear();
        byte* seen = stackalloc byte[256];
        new Span<byte>(seen, 256).Clear();
        byte* digits = stackalloc byte[2 * DigitsBytes]; // of this element and the previous one, alternating
        byte* previous = digits;
        int previousLength = 0;
        int count = 0;
        int bytes = 0;
        for (int offset = PackedList.Start; !PackedList.IsEnd(packed, offset); offset = PackedList.Next(packed, offset))
        {
            byte* text = PackedList.Read(packed, offset).Text(digits + ((count & 1) * DigitsBytes), out int length);
            if (length > ElementBytesMax) return 0;
            int common = count % GroupElements == 0 ? 0 : CommonPrefix(previous, text, Math.Min(previousLength, length));
            int rest = length - common;
            shared[count++] = (byte)common;
            bytes += common <= ShortSharedMax && rest <= ShortRestMax ? 1 : 3;
            rests[rest]++;
            for (int i = common; i < length; i++) seen[text[i]] = 1;
            previous = text;
            previousLength = length;
        }

        alphabet = new CompactAlphabet(seen);
        int bits = alphabet.Bits;
        for (int rest = 1; rest <= ElementBytesMax; rest++) bytes += rests[rest] * BytesOf(rest, bits);
        bytes += DataOffset(count, alphabet.Count) + ReadBeyondBytes;
        return bytes <= packedBytes - (packedBytes / 8) ? bytes : 0;
    }

    /// <summary>Writes a packed list's elements, with the results of <see cref="Measure"/>.</summary>
    [SkipLocalsInit]
    internal static void Write(byte* packed, byte* compact, ReadOnlySpan<byte> shared, ref CompactAlphabet alphabet)
    {
        int count = PackedList.Count(packed);
        BinaryPrimitives.WriteUInt16LittleEndian(new(compact, 2), (ushort)PackedList.Bytes(packed));
        BinaryPrimitives.WriteUInt16LittleEndian(new(compact + 2, 2), (ushort)count);
        compact[4] = (byte)alphabet.Bits;
        compact[5] = (byte)alphabet.Count;
        alphabet.WriteTo(compact + HeaderBytes + (2 * Groups(count)));
        byte* digits = stackalloc byte[DigitsBytes];
        byte* at = compact + DataOffset(count, alphabet.Count);
        int offset = PackedList.Start;
        for (int index = 0; index < count; index++, offset = PackedList.Next(packed, offset))
        {
            byte* text = PackedList.Read(packed, offset).Text(digits, out int length);
            int common = shared[index];
            int rest = length - common;
            if (index % GroupElements == 0) WriteOffset(compact, index / GroupElements, (int)(at - compact));
            if (common <= ShortSharedMax && rest <= ShortRestMax)
            {
                *at++ = (byte)((common << 4) | rest);
            }
            else
            {
                *at++ = LongForm;
                *at++ = (byte)common;
                *at++ = (byte)rest;
            }

            at = alphabet.Encode(text + common, rest, at);
        }
    }

    /// <summary>Unpacks the list into <see cref="PackedBytes"/> reserved bytes.</summary>
    [SkipLocalsInit]
    internal static void Unpack(byte* compact, byte* packed)
    {
        Span<byte> text = stackalloc byte[GroupBytesMax];
        Span<ushort> ends = stackalloc ushort[GroupElements];
        int offset = PackedList.Start;
        int groups = Groups(Count(compact));
        for (int group = 0; group < groups; group++)
        {
            int count = ReadGroup(compact, group, text, ends);
            int start = 0;
            for (int i = 0; i < count; i++)
            {
                offset = PackedList.Append(packed, offset, text[start..ends[i]]);
                start = ends[i];
            }
        }

        PackedList.Finish(packed, offset, Count(compact));
    }

    /// <summary>Reads a group's elements in order.</summary>
    /// <param name="compact">The list.</param>
    /// <param name="group">The index of the first element, by <see cref="GroupElements"/>.</param>
    /// <param name="text">Receives the elements' text, up to <see cref="GroupBytesMax"/>.</param>
    /// <param name="ends">Where each element's text ends.</param>
    /// <returns>How many elements they are.</returns>
    internal static int ReadGroup(byte* compact, int group, Span<byte> text, Span<ushort> ends)
    {
        int count = Count(compact);
        int bits = compact[4];
        byte* alphabet = compact + HeaderBytes + (2 * Groups(count));
        byte* at = compact + BinaryPrimitives.ReadUInt16LittleEndian(new(compact + HeaderBytes + (2 * group), 2));
        int elements = Math.Min(count - (group * GroupElements), GroupElements);
        int start = 0;
        int end = 0;
        for (int i = 0; i < elements; i++)
        {
            int shared = *at >> 4;
            int rest = *at++ & 15;
            if (shared == LongForm >> 4)
            {
                shared = at[0];
                rest = at[1];
                at += 2;
            }

            Span<byte> own = text.Slice(end, shared + rest);
            text.Slice(start, shared).CopyTo(own);
            at = ReadRest(at, own[shared..], alphabet, bits);
            start = end;
            end += own.Length;
            ends[i] = (ushort)end;
        }

        return elements;
    }

    /// <summary>
    /// Whether an element has these bytes. Most elements are excluded by their header alone: by the length of the prefix that the
    /// value shares with the previous element.
    /// </summary>
    [SkipLocalsInit]
    internal static bool Contains(byte* compact, ReadOnlySpan<byte> value)
    {
        int count = Count(compact);
        int bits = compact[4];
        byte* alphabet = compact + HeaderBytes + (2 * Groups(count));
        if (value.Length > ElementBytesMax || (bits < 8 && value.IndexOfAnyExcept(new ReadOnlySpan<byte>(alphabet, compact[5])) >= 0)) return false;
        Span<byte> text = stackalloc byte[ElementBytesMax];
        byte* at = alphabet + compact[5];
        int matching = 0; // length of the prefix that the value shares with the previous element
        for (int i = 0; i < count; i++)
        {
            int shared = *at >> 4;
            int rest = *at++ & 15;
            if (shared == LongForm >> 4)
            {
                shared = at[0];
                rest = at[1];
                at += 2;
            }

            if (i % GroupElements == 0) matching = 0;
            if (shared != matching)
            {
                matching = Math.Min(shared, matching);
                at += BytesOf(rest, bits);
                continue;
            }

            Span<byte> own = text[..rest];
            at = ReadRest(at, own, alphabet, bits);
            matching += own.CommonPrefixLength(value[matching..]);
            if (matching == value.Length && shared + rest == matching) return true;
        }

        return false;
    }

    private static int Groups(int count) => (count + GroupElements - 1) / GroupElements;

    private static int DataOffset(int count, int characters) => HeaderBytes + (2 * Groups(count)) + characters;

    private static int BytesOf(int characters, int bits) => ((characters * bits) + 7) >> 3;

    private static void WriteOffset(byte* compact, int group, int offset) =>
        BinaryPrimitives.WriteUInt16LittleEndian(new(compact + HeaderBytes + (2 * group), 2), (ushort)offset);

    private static int CommonPrefix(byte* a, byte* b, int length)
    {
        int i = 0;
        for (; i + 8 <= length; i += 8)
        {
            ulong difference = *(ulong*)(a + i) ^ *(ulong*)(b + i);
            if (difference != 0) return i + (BitOperations.TrailingZeroCount(difference) >> 3);
        }

        while (i < length && a[i] == b[i]) i++;
        return i;
    }

    private static byte* ReadRest(byte* at, Span<byte> rest, byte* alphabet, int bits)
    {
        if (bits == 8)
        {
            new ReadOnlySpan<byte>(at, rest.Length).CopyTo(rest);
            return at + rest.Length;
        }

        // Eight characters take one byte per bit of a character.
        ulong mask = (1UL << bits) - 1;
        byte* from = at;
        for (int i = 0; i < rest.Length; from += bits)
        {
            ulong word = BinaryPrimitives.ReadUInt64LittleEndian(new(from, 8));
            int stop = Math.Min(rest.Length, i + 8);
            for (; i < stop; i++, word >>= bits) rest[i] = alphabet[word & mask];
        }

        return at + BytesOf(rest.Length, bits);
    }
}
