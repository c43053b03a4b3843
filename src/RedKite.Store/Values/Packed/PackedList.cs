using System.Buffers.Binary;
using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace RedKite.Store.Values.Packed;

/// <summary>
/// A list of byte strings and integers in consecutive bytes, in the format that Redis calls listpack, so that dumps are copies. The
/// caller owns the bytes: it queries the size of a change, resizes, and then applies the change.
/// <code>
/// 0 u32 total bytes   4 u16 elements, 65535 = unknown   6 elements   last: 0xFF
///
/// element: header, text (if any), then the length of both, to be read backwards (7 bits per byte, the last byte first)
///   0xxxxxxx             number 0..127             11110000 u32   text of this length
///   10xxxxxx             text of up to 63 bytes    11110001 i16   number
///   110xxxxx xxxxxxxx    number of 13 bits         11110010 i24   number
///   1110xxxx xxxxxxxx    text of up to 4095 bytes  11110011 i32   number    11110100 i64   number
/// </code>
/// A position in the list is an offset; <see cref="EndOf"/> is the offset after the last element.
/// </summary>
internal static unsafe class PackedList
{
    /// <summary>Bytes of a list without elements.</summary>
    internal const int EmptyBytes = HeaderBytes + 1;

    /// <summary>The offset of the first element, or of the end.</summary>
    internal const int Start = HeaderBytes;

    private const int HeaderBytes = 6;
    private const int CountUnknown = ushort.MaxValue;
    private const byte End = 0xFF;

    private const int Text6Max = 63;
    private const int Text12Max = 4095;

    internal static void Initialize(byte* list)
    {
        WriteBytes(list, EmptyBytes);
        WriteCount(list, 0);
        list[HeaderBytes] = End;
    }

    /// <summary>Bytes of the whole list.</summary>
    internal static int Bytes(byte* list) => (int)BinaryPrimitives.ReadUInt32LittleEndian(new(list, 4));

    /// <summary>The offset after the last element.</summary>
    internal static int EndOf(byte* list) => Bytes(list) - 1;

    internal static bool IsEnd(byte* list, int offset) => list[offset] == End;

    /// <summary>How many elements there are. A list of 65,535 and more counts them each time.</summary>
    internal static int Count(byte* list)
    {
        int count = BinaryPrimitives.ReadUInt16LittleEndian(new(list + 4, 2));
        return count == CountUnknown ? CountElements(list) : count;
    }

    /// <summary>The offset of the next element, or of the end.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static int Next(byte* list, int offset)
    {
        // Small numbers and short texts, by far the most common elements, have a length of one byte after them.
        int head = list[offset];
        return head < 0x80 ? offset + 2 : head < 0xC0 ? offset + 2 + (head & 63) : NextOfLong(list, offset);
    }

    /// <summary>The offset of the element before this one (or before the end); -1 for the first.</summary>
    internal static int Previous(byte* list, int offset)
    {
        if (offset == Start) return -1;
        byte* at = list + offset - 1;
        int bytes = 0;
        for (int shift = 0; ; shift += 7)
        {
            bytes |= (*at & 127) << shift;
            if ((*at & 128) == 0) break;
            at--;
        }

        return offset - bytes - BackLengthBytes(bytes);
    }

    /// <summary>The offset of the last element; -1 for an empty list.</summary>
    internal static int Last(byte* list) => Previous(list, EndOf(list));

    /// <summary>The offset of an element by its index, a negative one counting from the end; -1 when there is none.</summary>
    internal static int At(byte* list, int index)
    {
        int count = BinaryPrimitives.ReadUInt16LittleEndian(new(list + 4, 2));
        if (count != CountUnknown)
        {
            if (index < 0) index += count;
            if (index < 0 || index >= count) return -1;
            if (index > count / 2) index -= count; // nearer to the end
        }

        if (index < 0)
        {
            int fromEnd = EndOf(list);
            for (; index < 0 && fromEnd >= 0; index++) fromEnd = Previous(list, fromEnd);
            return fromEnd;
        }

        int offset = Start;
        for (; index > 0 && list[offset] != End; index--) offset = Next(list, offset);
        return list[offset] == End ? -1 : offset;
    }

    internal static PackedElement Read(byte* list, int offset)
    {
        byte* at = list + offset;
        int head = *at;
        if (head < 0x80) return new PackedElement(head);
        if (head < 0xC0) return new PackedElement(at + 1, head & 63);
        if (head < 0xE0) return new PackedElement(((((head & 31) << 8) | at[1]) << 19) >> 19); // 13 bits with their sign
        if (head < 0xF0) return new PackedElement(at + 2, ((head & 15) << 8) | at[1]);
        return head switch
        {
            0xF0 => new PackedElement(at + 5, (int)BinaryPrimitives.ReadUInt32LittleEndian(new(at + 1, 4))),
            0xF1 => new PackedElement(BinaryPrimitives.ReadInt16LittleEndian(new(at + 1, 2))),
            0xF2 => new PackedElement(at[1] | (at[2] << 8) | ((sbyte)at[3] << 16)),
            0xF3 => new PackedElement(BinaryPrimitives.ReadInt32LittleEndian(new(at + 1, 4))),
            _ => new PackedElement(BinaryPrimitives.ReadInt64LittleEndian(new(at + 1, 8))),
        };
    }

    /// <summary>
    /// The offset of the first element with these bytes, looking at every <paramref name="step"/>th one from
    /// <paramref name="offset"/> on (2: only the fields of pairs); -1 when there is none.
    /// </summary>
    internal static int Find(byte* list, int offset, ReadOnlySpan<byte> bytes, int step = 1)
    {
        bool isNumber = CanonicalInteger.TryParse(bytes, out long number);
        if (!isNumber && bytes.Length <= Text6Max) return FindShortText(list, offset, bytes, step);
        while (list[offset] != End)
        {
            PackedElement element = Read(list, offset);
            if (element.IsNumber ? isNumber && element.Number == number : !isNumber && element.Equals(bytes)) return offset;
            for (int i = 0; i < step && list[offset] != End; i++) offset = Next(list, offset);
        }

        return -1;
    }

    // A text has only one form: an element with another head is different.
    private static int FindShortText(byte* list, int offset, ReadOnlySpan<byte> text, int step)
    {
        int head = 0x80 | text.Length;
        while (list[offset] != End)
        {
            if (list[offset] == head && new ReadOnlySpan<byte>(list + offset + 1, text.Length).SequenceEqual(text)) return offset;
            for (int i = 0; i < step && list[offset] != End; i++) offset = Next(list, offset);
        }

        return -1;
    }

    /// <summary>The size of an element with these bytes.</summary>
    internal static int ElementBytes(ReadOnlySpan<byte> bytes)
    {
        int body = CanonicalInteger.TryParse(bytes, out long number) ? NumberBytes(number) : TextBytes(bytes.Length);
        return body + BackLengthBytes(body);
    }

    /// <summary>The size of an element that is a number.</summary>
    internal static int ElementBytes(long number)
    {
        int body = NumberBytes(number);
        return body + BackLengthBytes(body);
    }

    /// <summary>The size of an element with a text of this length that is not a number.</summary>
    internal static int TextElementBytes(int length)
    {
        int body = TextBytes(length);
        return body + BackLengthBytes(body);
    }

    /// <summary>The size of the element at an offset.</summary>
    internal static int ElementBytes(byte* list, int offset) => Next(list, offset) - offset;

    /// <summary>Inserts an element at an offset. The caller has reserved <see cref="ElementBytes(ReadOnlySpan{byte})"/> more bytes.</summary>
    internal static void Insert(byte* list, int offset, ReadOnlySpan<byte> bytes)
    {
        if (CanonicalInteger.TryParse(bytes, out long number))
        {
            Insert(list, offset, number);
            return;
        }

        int body = TextBytes(bytes.Length);
        OpenGap(list, offset, removed: 0, added: body + BackLengthBytes(body), elements: 1);
        WriteText(list + offset, bytes, body);
    }

    /// <summary>Inserts a number at an offset. The caller has reserved <see cref="ElementBytes(long)"/> more bytes.</summary>
    internal static void Insert(byte* list, int offset, long number)
    {
        int body = NumberBytes(number);
        OpenGap(list, offset, removed: 0, added: body + BackLengthBytes(body), elements: 1);
        WriteNumber(list + offset, number, body);
    }

    /// <summary>Replaces an element. The caller has reserved the difference of the sizes.</summary>
    internal static void Replace(byte* list, int offset, ReadOnlySpan<byte> bytes)
    {
        if (CanonicalInteger.TryParse(bytes, out long number))
        {
            Replace(list, offset, number);
            return;
        }

        int body = TextBytes(bytes.Length);
        OpenGap(list, offset, ElementBytes(list, offset), body + BackLengthBytes(body), elements: 0);
        WriteText(list + offset, bytes, body);
    }

    /// <summary>Replaces an element by a number. The caller has reserved the difference of the sizes.</summary>
    internal static void Replace(byte* list, int offset, long number)
    {
        int body = NumberBytes(number);
        OpenGap(list, offset, ElementBytes(list, offset), body + BackLengthBytes(body), elements: 0);
        WriteNumber(list + offset, number, body);
    }

    /// <summary>Removes a number of elements at an offset; the elements after them move up.</summary>
    internal static void Remove(byte* list, int offset, int count = 1)
    {
        int end = offset;
        int removed = 0;
        for (; removed < count && list[end] != End; removed++) end = Next(list, end);
        OpenGap(list, offset, removed: end - offset, added: 0, elements: -removed);
    }

    /// <summary>Removes a limited number of elements that equal a value, from the front or from the back.</summary>
    /// <returns>How many were removed.</returns>
    internal static int RemoveEqual(byte* list, ReadOnlySpan<byte> bytes, long most, bool backwards)
    {
        int removed = 0;
        int at = backwards ? Last(list) : Find(list, Start, bytes);
        while (at >= 0 && removed < most)
        {
            int previous = backwards ? Previous(list, at) : -1;
            if (!backwards || Read(list, at).Equals(bytes))
            {
                Remove(list, at);
                removed++;
            }

            at = backwards ? previous : Find(list, at, bytes);
        }

        return removed;
    }

    /// <summary>
    /// Inserts an element before all others without moving them: the list starts earlier, where the caller has reserved
    /// <see cref="ElementBytes(ReadOnlySpan{byte})"/> bytes.
    /// </summary>
    /// <returns>The new start of the list.</returns>
    internal static byte* Prepend(byte* list, ReadOnlySpan<byte> bytes)
    {
        bool isNumber = CanonicalInteger.TryParse(bytes, out long number);
        int body = isNumber ? NumberBytes(number) : TextBytes(bytes.Length);
        byte* moved = MoveHeader(list, -(body + BackLengthBytes(body)), elements: 1);
        if (isNumber) WriteNumber(moved + HeaderBytes, number, body);
        else WriteText(moved + HeaderBytes, bytes, body);
        return moved;
    }

    /// <summary>Removes a number of elements from the front without moving the others: the list starts later.</summary>
    /// <returns>Where the list begins now.</returns>
    internal static byte* RemoveFirst(byte* list, int count)
    {
        int offset = Start;
        int removed = 0;
        for (; removed < count && list[offset] != End; removed++) offset = Next(list, offset);
        return MoveHeader(list, offset - Start, -removed);
    }

    /// <summary>Appends an element to a list under construction; <see cref="Finish"/> completes the header at the end.</summary>
    /// <returns>The offset after it.</returns>
    internal static int Append(byte* list, int offset, ReadOnlySpan<byte> bytes)
    {
        bool isNumber = CanonicalInteger.TryParse(bytes, out long number);
        int body = isNumber ? NumberBytes(number) : TextBytes(bytes.Length);
        if (isNumber) WriteNumber(list + offset, number, body);
        else WriteText(list + offset, bytes, body);
        return offset + body + BackLengthBytes(body);
    }

    /// <summary>The same for an element that is a number.</summary>
    internal static int Append(byte* list, int offset, long number)
    {
        int body = NumberBytes(number);
        WriteNumber(list + offset, number, body);
        return offset + body + BackLengthBytes(body);
    }

    /// <summary>Ends a list whose elements were appended.</summary>
    internal static void Finish(byte* list, int end, int count)
    {
        list[end] = End;
        WriteBytes(list, end + 1);
        WriteCount(list, Math.Min(count, CountUnknown));
    }

    /// <summary>Copies elements from one list into another, before an offset. The caller has reserved their bytes.</summary>
    /// <param name="target">The list that grows.</param>
    /// <param name="offset">Where the elements go.</param>
    /// <param name="elements">The elements' bytes, as they are in the other list.</param>
    /// <param name="count">How many elements they are.</param>
    internal static void InsertRaw(byte* target, int offset, ReadOnlySpan<byte> elements, int count)
    {
        OpenGap(target, offset, removed: 0, added: elements.Length, elements: count);
        elements.CopyTo(new Span<byte>(target + offset, elements.Length));
    }

    /// <summary>Whether untrusted bytes are a complete and valid list, so that no operation on it reads or writes outside it.</summary>
    /// <param name="bytes">All of the list's bytes.</param>
    /// <param name="count">How many elements there are.</param>
    internal static bool IsSound(ReadOnlySpan<byte> bytes, out int count, out bool statesCount)
    {
        count = 0;
        statesCount = false;
        if (bytes.Length < EmptyBytes || BinaryPrimitives.ReadUInt32LittleEndian(bytes) != (uint)bytes.Length) return false;
        if (bytes[^1] != End) return false;
        fixed (byte* list = bytes)
        {
            int offset = Start;
            int end = bytes.Length - 1;
            while (offset < end)
            {
                if (!TryBodyBytes(bytes[offset..end], out long body)) return false;
                long next = offset + body + BackLengthBytes((int)Math.Min(body, int.MaxValue));
                if (next > end || !HasBackLength(list + offset + body, (int)body)) return false;
                offset = (int)next;
                count++;
            }

            int stated = BinaryPrimitives.ReadUInt16LittleEndian(bytes[4..]);
            statesCount = stated == CountUnknown || stated == count;
            return true;
        }
    }

    private static int NextOfLong(byte* list, int offset)
    {
        int bytes = BodyBytes(list + offset);
        return offset + bytes + BackLengthBytes(bytes);
    }

    private static int CountElements(byte* list)
    {
        int count = 0;
        for (int offset = Start; list[offset] != End; offset = Next(list, offset)) count++;
        if (count < CountUnknown) WriteCount(list, count);
        return count;
    }

    // Inserts a gap at an offset: the following bytes move, and the header gets the new size.
    private static void OpenGap(byte* list, int offset, int removed, int added, int elements)
    {
        int bytes = Bytes(list);
        Debug.Assert(offset + removed < bytes, "A change lies inside the list.");
        if (removed != added)
        {
            int tail = bytes - offset - removed;
            Buffer.MemoryCopy(list + offset + removed, list + offset + added, tail, tail);
            WriteBytes(list, bytes - removed + added);
        }

        if (elements == 0) return;
        int count = BinaryPrimitives.ReadUInt16LittleEndian(new(list + 4, 2));
        if (count != CountUnknown) WriteCount(list, Math.Min(count + elements, CountUnknown));
    }

    private static byte* MoveHeader(byte* list, int distance, int elements)
    {
        int bytes = Bytes(list);
        int count = BinaryPrimitives.ReadUInt16LittleEndian(new(list + 4, 2));
        byte* moved = list + distance;
        WriteBytes(moved, bytes - distance);
        WriteCount(moved, count == CountUnknown ? CountUnknown : Math.Min(count + elements, CountUnknown));
        return moved;
    }

    private static void WriteBytes(byte* list, int bytes) => BinaryPrimitives.WriteUInt32LittleEndian(new(list, 4), (uint)bytes);

    private static void WriteCount(byte* list, int count) => BinaryPrimitives.WriteUInt16LittleEndian(new(list + 4, 2), (ushort)count);

    // Bytes of an element's header and text or number, without the length after it.
    private static int BodyBytes(byte* element)
    {
        int head = *element;
        if (head < 0x80) return 1;
        if (head < 0xC0) return 1 + (head & 63);
        if (head < 0xE0) return 2;
        if (head < 0xF0) return 2 + (((head & 15) << 8) | element[1]);
        return head switch
        {
            0xF0 => 5 + (int)BinaryPrimitives.ReadUInt32LittleEndian(new(element + 1, 4)),
            0xF1 => 3,
            0xF2 => 4,
            0xF3 => 5,
            _ => 9,
        };
    }

    // The same of bytes that may be anything.
    private static bool TryBodyBytes(ReadOnlySpan<byte> element, out long bytes)
    {
        int head = element[0];
        bytes = 0;
        if (head > 0xF4) return false;
        if (head is >= 0xE0 and < 0xF0 && element.Length < 2) return false;
        if (head == 0xF0)
        {
            if (element.Length < 5) return false;
            bytes = 5 + (long)BinaryPrimitives.ReadUInt32LittleEndian(element[1..]);
            return bytes < element.Length;
        }

        fixed (byte* at = element) bytes = BodyBytes(at);
        return bytes < element.Length;
    }

    private static int TextBytes(int length) => length + (length <= Text6Max ? 1 : length <= Text12Max ? 2 : 5);

    private static int NumberBytes(long number) => number switch
    {
        >= 0 and <= 127 => 1,
        >= -4096 and <= 4095 => 2,
        >= short.MinValue and <= short.MaxValue => 3,
        >= -(1 << 23) and < 1 << 23 => 4,
        >= int.MinValue and <= int.MaxValue => 5,
        _ => 9,
    };

    private static void WriteText(byte* at, ReadOnlySpan<byte> text, int body)
    {
        int length = text.Length;
        if (length <= Text6Max)
        {
            at[0] = (byte)(0x80 | length);
        }
        else if (length <= Text12Max)
        {
            at[0] = (byte)(0xE0 | (length >> 8));
            at[1] = (byte)length;
        }
        else
        {
            at[0] = 0xF0;
            BinaryPrimitives.WriteUInt32LittleEndian(new(at + 1, 4), (uint)length);
        }

        text.CopyTo(new Span<byte>(at + body - length, length));
        WriteBackLength(at + body, body);
    }

    private static void WriteNumber(byte* at, long number, int body)
    {
        switch (body)
        {
            case 1:
                at[0] = (byte)number;
                break;
            case 2:
                at[0] = (byte)(0xC0 | ((number >> 8) & 31));
                at[1] = (byte)number;
                break;
            default:
                at[0] = body == 9 ? (byte)0xF4 : (byte)(0xF1 + body - 3);
                for (int i = 1; i < body; i++) at[i] = (byte)(number >> ((i - 1) * 8));
                break;
        }

        WriteBackLength(at + body, body);
    }

    private static int BackLengthBytes(int body) => body switch
    {
        <= 127 => 1,
        < 16383 => 2,
        < 2097151 => 3,
        < 268435455 => 4,
        _ => 5,
    };

    // The lowest seven bits come last; a byte with its top bit set is preceded by another.
    private static void WriteBackLength(byte* at, int body)
    {
        for (int i = BackLengthBytes(body) - 1; i >= 0; i--)
        {
            at[i] = (byte)((body & 127) | (i > 0 ? 128 : 0));
            body >>= 7;
        }
    }

    private static bool HasBackLength(byte* at, int body)
    {
        byte* expected = stackalloc byte[5];
        WriteBackLength(expected, body);
        int bytes = BackLengthBytes(body);
        return new ReadOnlySpan<byte>(at, bytes).SequenceEqual(new ReadOnlySpan<byte>(expected, bytes));
    }
}
