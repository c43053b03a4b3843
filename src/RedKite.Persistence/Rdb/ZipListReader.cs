using System.Buffers.Binary;
using RedKite.Store.Values.Packed;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// Reads a ziplist, the packed form of small values before Redis 7.0, from front to back. The whole list is validated when it is
/// opened, so reading cannot fail.
/// <code>
/// 0 u32 total bytes   4 u32 offset of the last element   8 u16 elements, 65535 = unknown   10 elements   last: 0xFF
///
/// element: length of the previous element (1 byte, or 0xFE and u32), then
///   00llllll  text of up to 63 bytes                11000000 i16   11010000 i32   11100000 i64
///   01llllll llllllll  text of up to 16383 bytes    11110000 i24   11111110 i8
///   10------ u32 (big-endian)  longer text          1111nnnn, n from 1 to 13: the number n - 1
/// </code>
/// </summary>
internal ref struct ZipListReader : IElementReader
{
    private const int HeaderBytes = 10;
    private const int CountUnknown = ushort.MaxValue;
    private const byte End = 0xFF;
    private const byte LongPrevious = 0xFE;

    private readonly ReadOnlySpan<byte> _bytes;
    private int _next;
    private int _textStart;
    private int _textLength; // -1: a number
    private long _number;

    private ZipListReader(ReadOnlySpan<byte> bytes)
    {
        _bytes = bytes;
        _next = HeaderBytes;
    }

    /// <summary>The number of elements in the list.</summary>
    internal int Count { get; private set; }

    /// <summary>Opens a list; false if the bytes are invalid.</summary>
    internal static bool TryOpen(ReadOnlySpan<byte> bytes, out ZipListReader reader)
    {
        reader = new ZipListReader(bytes);
        if (bytes.Length <= HeaderBytes || BinaryPrimitives.ReadUInt32LittleEndian(bytes) != (uint)bytes.Length || bytes[^1] != End) return false;
        uint tail = BinaryPrimitives.ReadUInt32LittleEndian(bytes[4..]);
        int stated = BinaryPrimitives.ReadUInt16LittleEndian(bytes[8..]);
        int count = 0;
        int previous = HeaderBytes;
        ZipListReader check = reader;
        while (check._next < bytes.Length - 1)
        {
            int start = check._next;
            if (!check.TryElement(start - previous)) return false;
            previous = start;
            count++;
        }

        reader.Count = count;
        return check._next == bytes.Length - 1 && tail == previous && (stated == CountUnknown || stated == count);
    }

    public bool MoveNext() => _next < _bytes.Length - 1 && TryElement(previousBytes: -1);

    public readonly ReadOnlySpan<byte> Bytes(Span<byte> digits) =>
        _textLength >= 0 ? _bytes.Slice(_textStart, _textLength) : digits[..CanonicalInteger.Format(_number, digits)];

    // Reads the next element. It is invalid if it crosses the end, or if its length of the previous element is wrong (-1: not checked).
    private bool TryElement(int previousBytes)
    {
        ReadOnlySpan<byte> rest = _bytes[_next..^1];
        int previous = rest[0];
        int at = 1;
        if (previous >= LongPrevious)
        {
            if (previous != LongPrevious || rest.Length < 1 + sizeof(uint)) return false;
            uint stated = BinaryPrimitives.ReadUInt32LittleEndian(rest[1..]);
            if (stated > int.MaxValue) return false;
            previous = (int)stated;
            at += sizeof(uint);
        }

        if (previousBytes >= 0 && previous != previousBytes) return false;
        rest = rest[at..];
        if (rest.IsEmpty || !TryHead(rest, out int head, out uint body) || body > rest.Length - head) return false;
        _textStart = _next + at + head;
        if (_textLength < 0) _number = body == 0 ? (rest[0] & 15) - 1 : Number(rest.Slice(head, (int)body));
        _next = _textStart + (int)body;
        return true;
    }

    // Parses the header: its length and the content's. The text length is -1 for a number.
    private bool TryHead(ReadOnlySpan<byte> element, out int head, out uint body)
    {
        head = 1;
        body = 0;
        int kind = element[0];
        _textLength = -1;
        switch (kind >> 6)
        {
            case 0:
                body = (uint)kind;
                break;
            case 1:
                head = 2;
                if (element.Length < head) return false;
                body = BinaryPrimitives.ReadUInt16BigEndian(element) & 0x3FFFu;
                break;
            case 2:
                head = 1 + sizeof(uint);
                if (element.Length < head) return false;
                body = BinaryPrimitives.ReadUInt32BigEndian(element[1..]);
                break;
            default:
                body = kind switch { 0xC0 => 2, 0xD0 => 4, 0xE0 => 8, 0xF0 => 3, 0xFE => 1, _ => 0 };
                return body > 0 || kind is >= 0xF1 and <= 0xFD;
        }

        _textLength = (int)Math.Min(body, int.MaxValue);
        return true;
    }

    // Little-endian; the sign is in the last byte.
    private static long Number(ReadOnlySpan<byte> bytes)
    {
        long number = (sbyte)bytes[^1];
        for (int i = bytes.Length - 2; i >= 0; i--) number = (number << 8) | bytes[i];
        return number;
    }
}
