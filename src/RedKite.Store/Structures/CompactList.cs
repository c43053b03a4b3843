using System.Buffers.Binary;
using System.Runtime.CompilerServices;

namespace RedKite.Store.Structures;

/// <summary>
/// The elements of a <see cref="PackedList"/> in fewer bytes, for reading alone: what an element has in common with the
/// one in front of it is left out, and the rest takes as few bits a character as there are different ones. Whoever
/// changes an element unpacks the list first.
/// <code>
///  0 u16 bytes of the packed list   2 u16 elements   4 u8 bits a character   5 u8 different characters
///  6 u16 offset of each group of 16 elements, then the characters by their code, then the elements:
///
///  shared (4 bits, up to 14), length of the rest (4 bits), the rest's bits
///  0xF0, u8 shared, u8 length of the rest, the rest's bits
///
///  at the end 8 bytes that are read and not used
/// </code>
/// A group's first element shares nothing, so that any element is found by reading one group.
/// </summary>
/// <remarks>
/// A million elements of twelve characters take 14.1 bytes each as packed lists, and 2 to 10 here: random digits 6.6,
/// "member:000123" in its order 2.6. General compression (LZF, as Redis has for lists on demand) was rejected: nothing
/// can be read without unpacking all of a node.
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

    /// <summary>Elements.</summary>
    internal static int Count(byte* compact) => BinaryPrimitives.ReadUInt16LittleEndian(new(compact + 2, 2));

    /// <summary>Bytes of the packed list that it stands for.</summary>
    internal static int PackedBytes(byte* compact) => BinaryPrimitives.ReadUInt16LittleEndian(new(compact, 2));

    /// <summary>How many bytes a packed list would take here; 0 if it cannot be compacted or it saves less than an eighth.</summary>
    [SkipLocalsInit]
    internal static int Measure(byte* packed, out CompactAlphabet alphabet)
    {
        alphabet = default;
        int packedBytes = PackedList.Bytes(packed);
        if (packedBytes > ushort.MaxValue) return 0;
        int* rests = stackalloc int[ElementBytesMax + 1];
        new Span<int>(rests, ElementBytesMax + 1).Clear();
        Span<byte> text = stackalloc byte[2 * ElementBytesMax];
        int previousLength = 0;
        int current = 0;
        int count = 0;
        int bytes = 0;
        for (int offset = PackedList.Start; !PackedList.IsEnd(packed, offset); offset = PackedList.Next(packed, offset))
        {
            PackedElement element = PackedList.Read(packed, offset);
            if (element.TextLength > ElementBytesMax) return 0;
            Span<byte> own = text.Slice(current, ElementBytesMax);
            ReadOnlySpan<byte> elementBytes = element.Bytes(own);
            if (!element.IsNumber) elementBytes.CopyTo(own);
            int shared = count % GroupElements == 0 ? 0 : text.Slice(current ^ ElementBytesMax, previousLength).CommonPrefixLength(elementBytes);
            int rest = elementBytes.Length - shared;
            bytes += shared <= ShortSharedMax && rest <= ShortRestMax ? 1 : 3;
            rests[rest]++;
            for (int i = shared; i < elementBytes.Length; i++) alphabet.Add(elementBytes[i]);
            previousLength = elementBytes.Length;
            current ^= ElementBytesMax;
            count++;
        }

        alphabet.Number();
        int bits = alphabet.Bits;
        for (int rest = 1; rest <= ElementBytesMax; rest++) bytes += rests[rest] * BytesOf(rest, bits);
        bytes += DataOffset(count, alphabet.Count) + ReadBeyondBytes;
        return bytes <= packedBytes - (packedBytes / 8) ? bytes : 0;
    }

    /// <summary>Writes a packed list's elements; <see cref="Measure"/> has told the bytes and the alphabet.</summary>
    [SkipLocalsInit]
    internal static void Write(byte* packed, byte* compact, in CompactAlphabet alphabet)
    {
        int count = PackedList.Count(packed);
        BinaryPrimitives.WriteUInt16LittleEndian(new(compact, 2), (ushort)PackedList.Bytes(packed));
        BinaryPrimitives.WriteUInt16LittleEndian(new(compact + 2, 2), (ushort)count);
        compact[4] = (byte)alphabet.Bits;
        compact[5] = (byte)alphabet.Count;
        alphabet.WriteTo(compact + HeaderBytes + (2 * Groups(count)));
        Span<byte> text = stackalloc byte[2 * ElementBytesMax];
        byte* at = compact + DataOffset(count, alphabet.Count);
        int previousLength = 0;
        int current = 0;
        int index = 0;
        for (int offset = PackedList.Start; !PackedList.IsEnd(packed, offset); offset = PackedList.Next(packed, offset), index++)
        {
            PackedElement element = PackedList.Read(packed, offset);
            Span<byte> own = text.Slice(current, ElementBytesMax);
            ReadOnlySpan<byte> elementBytes = element.Bytes(own);
            if (!element.IsNumber) elementBytes.CopyTo(own);
            int shared = 0;
            if (index % GroupElements == 0) WriteOffset(compact, index / GroupElements, (int)(at - compact));
            else shared = text.Slice(current ^ ElementBytesMax, previousLength).CommonPrefixLength(elementBytes);
            int rest = elementBytes.Length - shared;
            if (shared <= ShortSharedMax && rest <= ShortRestMax)
            {
                *at++ = (byte)((shared << 4) | rest);
            }
            else
            {
                *at++ = LongForm;
                *at++ = (byte)shared;
                *at++ = (byte)rest;
            }

            at = WriteRest(at, elementBytes[shared..], alphabet);
            previousLength = elementBytes.Length;
            current ^= ElementBytesMax;
        }
    }

    /// <summary>Writes the packed list again; there is room for <see cref="PackedBytes"/>.</summary>
    [SkipLocalsInit]
    internal static void Unpack(byte* compact, byte* packed)
    {
        Span<byte> text = stackalloc byte[GroupBytesMax];
        Span<ushort> ends = stackalloc ushort[GroupElements];
        PackedList.Initialize(packed);
        int groups = Groups(Count(compact));
        for (int group = 0; group < groups; group++)
        {
            int count = ReadGroup(compact, group, text, ends);
            int start = 0;
            for (int i = 0; i < count; i++)
            {
                PackedList.Insert(packed, PackedList.EndOf(packed), text[start..ends[i]]);
                start = ends[i];
            }
        }
    }

    /// <summary>Reads a group's elements, one behind the other.</summary>
    /// <param name="compact">The list.</param>
    /// <param name="group">The index of the first element, by <see cref="GroupElements"/>.</param>
    /// <param name="text">The elements' text: has room for <see cref="GroupBytesMax"/>.</param>
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
    /// Whether an element has these bytes. Of most elements only the head is read: how much the value shares with the one
    /// in front tells that they differ.
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
        int matching = 0; // characters that the value shares with the element in front
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

    private static byte* WriteRest(byte* at, ReadOnlySpan<byte> rest, in CompactAlphabet alphabet)
    {
        int bits = alphabet.Bits;
        ulong word = 0;
        int held = 0;
        foreach (byte character in rest)
        {
            word |= (ulong)alphabet.CodeOf(character) << held;
            held += bits;
            if (held < 32) continue;
            BinaryPrimitives.WriteUInt32LittleEndian(new(at, 4), (uint)word);
            at += 4;
            word >>= 32;
            held -= 32;
        }

        for (; held > 0; held -= 8, word >>= 8) *at++ = (byte)word;
        return at;
    }

    private static byte* ReadRest(byte* at, Span<byte> rest, byte* alphabet, int bits)
    {
        if (bits == 8)
        {
            new ReadOnlySpan<byte>(at, rest.Length).CopyTo(rest);
            return at + rest.Length;
        }

        // Eight characters take as many bytes as one takes bits.
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
