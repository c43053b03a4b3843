using System.Buffers.Binary;
using RedKite.Store.Values.Packed;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// Reads a zipmap, the packed form of small hashes before Redis 2.6: alternating fields and values. The whole map is validated
/// when it is opened, so reading cannot fail.
/// <code>
/// 0 u8 pairs, 254 = unknown   1 pairs: length, field, length, u8 unused bytes after the value, value, unused bytes   last: 0xFF
/// length: up to 253 one byte, otherwise 0xFE and u32
/// </code>
/// </summary>
internal ref struct ZipMapReader : IElementReader
{
    private const byte LongLength = 0xFE;
    private const byte End = 0xFF;

    private readonly ReadOnlySpan<byte> _bytes;
    private int _next;
    private bool _isValue;
    private int _start;
    private int _length;

    private ZipMapReader(ReadOnlySpan<byte> bytes)
    {
        _bytes = bytes;
        _next = 1;
        _isValue = true;
    }

    /// <summary>The number of fields and values together.</summary>
    internal int Count { get; private set; }

    /// <summary>Opens a map; false if the bytes are invalid.</summary>
    internal static bool TryOpen(ReadOnlySpan<byte> bytes, out ZipMapReader reader)
    {
        reader = new ZipMapReader(bytes);
        if (bytes.Length < 2 || bytes[^1] != End) return false;
        ZipMapReader check = reader;
        int count = 0;
        while (check._next < bytes.Length - 1)
        {
            if (!check.TryElement()) return false;
            count++;
        }

        reader.Count = count;
        return count % 2 == 0 && (bytes[0] == LongLength || bytes[0] == count / 2);
    }

    public bool MoveNext() => _next < _bytes.Length - 1 && TryElement();

    public readonly ReadOnlySpan<byte> Bytes(Span<byte> digits) => _bytes.Slice(_start, _length);

    private bool TryElement()
    {
        _isValue = !_isValue;
        ReadOnlySpan<byte> rest = _bytes[_next..^1];
        uint length = rest[0];
        int head = 1;
        if (length >= LongLength)
        {
            if (length != LongLength || rest.Length < 1 + sizeof(uint)) return false;
            length = BinaryPrimitives.ReadUInt32LittleEndian(rest[1..]);
            head += sizeof(uint);
        }

        int unused = 0;
        if (_isValue)
        {
            if (rest.Length <= head) return false;
            unused = rest[head++];
        }

        if ((long)length + unused > rest.Length - head) return false;
        _start = _next + head;
        _length = (int)length;
        _next = _start + _length + unused;
        return true;
    }
}
