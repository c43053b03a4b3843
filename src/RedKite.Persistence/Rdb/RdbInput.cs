using System.Buffers.Binary;
using RedKite.Store.Memory;
using RedKite.Store.Values.Packed;
using RedKite.Store.Values.Streams;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// Reads the elements of the RDB format from untrusted bytes in order. Every length is checked before use, and nothing is
/// allocated that the remaining bytes could not fill.
/// </summary>
internal ref struct RdbInput
{
    // Redis's limit for a string, and the store's.
    private const int TextBytesMax = 1 << 30;

    private readonly ReadOnlySpan<byte> _bytes;
    private int _position;

    internal RdbInput(ReadOnlySpan<byte> bytes) => _bytes = bytes;

    /// <summary>The number of unread bytes.</summary>
    internal readonly int Left => _bytes.Length - _position;

    internal bool TryRaw(int bytes, out ReadOnlySpan<byte> raw)
    {
        raw = default;
        if (bytes > Left) return false;
        raw = _bytes.Slice(_position, bytes);
        _position += bytes;
        return true;
    }

    internal bool TryByte(out byte value)
    {
        value = 0;
        if (Left == 0) return false;
        value = _bytes[_position++];
        return true;
    }

    internal bool TryInt64(out long value)
    {
        bool there = TryRaw(sizeof(long), out ReadOnlySpan<byte> raw);
        value = there ? BinaryPrimitives.ReadInt64LittleEndian(raw) : 0;
        return there;
    }

    internal bool TryDouble(out double value)
    {
        bool there = TryInt64(out long bits);
        value = BitConverter.Int64BitsToDouble(bits);
        return there;
    }

    /// <summary>Reads a length or another unsigned number.</summary>
    internal bool TryLength(out ulong value)
    {
        value = 0;
        if (!TryByte(out byte head)) return false;
        switch (head >> 6)
        {
            case 0:
                value = head;
                return true;
            case 1:
                if (!TryByte(out byte low)) return false;
                value = ((ulong)(head & 0x3F) << 8) | low;
                return true;
        }

        int bytes = head switch { RdbFormat.Length32 => sizeof(uint), RdbFormat.Length64 => sizeof(ulong), _ => 0 };
        if (bytes == 0 || !TryRaw(bytes, out ReadOnlySpan<byte> raw)) return false;
        foreach (byte b in raw) value = (value << 8) | b;
        return true;
    }

    /// <summary>Reads an unsigned number that fits a signed one.</summary>
    internal bool TryLength(out long value)
    {
        bool there = TryLength(out ulong length);
        value = (long)length;
        return there && value >= 0;
    }

    /// <summary>Reads the number of elements that follow, each of at least one byte.</summary>
    internal bool TryCount(out long count) => TryLength(out count) && count <= Left;

    internal bool TryId(out StreamId id)
    {
        bool there = TryLength(out ulong ms);
        there &= TryLength(out ulong sequence);
        id = new StreamId(ms, sequence);
        return there;
    }

    /// <summary>Reads a stream id in the form of a node's key.</summary>
    internal bool TryRawId(out StreamId id)
    {
        bool there = TryRaw(RdbFormat.StreamIdBytes, out ReadOnlySpan<byte> raw);
        id = there ? IdOf(raw) : default;
        return there;
    }

    /// <summary>Converts a node's key to an id.</summary>
    internal static StreamId IdOf(ReadOnlySpan<byte> key) =>
        new(BinaryPrimitives.ReadUInt64BigEndian(key), BinaryPrimitives.ReadUInt64BigEndian(key[sizeof(ulong)..]));

    /// <summary>Reads a string.</summary>
    /// <param name="scratch">Receives the string if it has to be decoded; its contents are overwritten.</param>
    /// <param name="text">The string, valid until the scratch buffer is reused.</param>
    internal bool TryString(NativeBuffer scratch, out ReadOnlySpan<byte> text)
    {
        text = default;
        if (Left == 0) return false;
        int head = _bytes[_position];
        if (head < RdbFormat.Integer8) return TryLength(out long length) && length <= TextBytesMax && TryRaw((int)length, out text);
        _position++;
        scratch.Clear();
        if (!(head == RdbFormat.Compressed ? TryCompressed(scratch) : TryInteger(head, scratch))) return false;
        text = scratch.Written;
        return true;
    }

    private bool TryInteger(int head, NativeBuffer scratch)
    {
        long number;
        ReadOnlySpan<byte> raw;
        switch (head)
        {
            case RdbFormat.Integer8 when TryRaw(sizeof(sbyte), out raw):
                number = (sbyte)raw[0];
                break;
            case RdbFormat.Integer16 when TryRaw(sizeof(short), out raw):
                number = BinaryPrimitives.ReadInt16LittleEndian(raw);
                break;
            case RdbFormat.Integer32 when TryRaw(sizeof(int), out raw):
                number = BinaryPrimitives.ReadInt32LittleEndian(raw);
                break;
            default:
                return false;
        }

        scratch.Advance(CanonicalInteger.Format(number, scratch.Room(CanonicalInteger.TextBytesMax)));
        return true;
    }

    private bool TryCompressed(NativeBuffer scratch)
    {
        if (!TryLength(out long compressed) || !TryLength(out ulong length)) return false;
        if (length is 0 or > TextBytesMax || compressed > Left || !Lzf.CanHold(compressed, length)) return false;
        TryRaw((int)compressed, out ReadOnlySpan<byte> raw);
        if (!Lzf.TryDecompress(raw, scratch.Room((int)length))) return false;
        scratch.Advance((int)length);
        return true;
    }
}
