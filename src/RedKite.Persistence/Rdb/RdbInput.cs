using System.Buffers.Binary;
using RedKite.Store.Memory;
using RedKite.Store.Values.Packed;
using RedKite.Store.Values.Streams;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// Reads the elements of the RDB format one behind the other out of bytes that may be anything: nothing is believed before
/// it is checked, and no room is made that what is there could not fill.
/// </summary>
internal ref struct RdbInput
{
    // Redis's limit of a string, which is the store's too.
    private const int TextBytesMax = 1 << 30;

    private readonly ReadOnlySpan<byte> _bytes;
    private int _position;

    internal RdbInput(ReadOnlySpan<byte> bytes) => _bytes = bytes;

    /// <summary>Bytes that were not read yet.</summary>
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

    /// <summary>Reads a length or another number.</summary>
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

    /// <summary>Reads a number that a signed one can hold.</summary>
    internal bool TryLength(out long value)
    {
        bool there = TryLength(out ulong length);
        value = (long)length;
        return there && value >= 0;
    }

    /// <summary>Reads how many elements follow, each of which takes at least a byte.</summary>
    internal bool TryCount(out long count) => TryLength(out count) && count <= Left;

    internal bool TryId(out StreamId id)
    {
        bool there = TryLength(out ulong ms);
        there &= TryLength(out ulong sequence);
        id = new StreamId(ms, sequence);
        return there;
    }

    /// <summary>Reads a stream's id that is a key.</summary>
    internal bool TryRawId(out StreamId id)
    {
        bool there = TryRaw(RdbFormat.StreamIdBytes, out ReadOnlySpan<byte> raw);
        id = there ? IdOf(raw) : default;
        return there;
    }

    /// <summary>The id that a key's bytes are.</summary>
    internal static StreamId IdOf(ReadOnlySpan<byte> key) =>
        new(BinaryPrimitives.ReadUInt64BigEndian(key), BinaryPrimitives.ReadUInt64BigEndian(key[sizeof(ulong)..]));

    /// <summary>Reads a string.</summary>
    /// <param name="room">Where it is put if it is not there as it is; what that holds is forgotten.</param>
    /// <param name="text">The string, until the room is used again.</param>
    internal bool TryString(NativeBuffer room, out ReadOnlySpan<byte> text)
    {
        text = default;
        if (Left == 0) return false;
        int head = _bytes[_position];
        if (head < RdbFormat.Integer8) return TryLength(out long length) && length <= TextBytesMax && TryRaw((int)length, out text);
        _position++;
        room.Clear();
        if (!(head == RdbFormat.Compressed ? TryCompressed(room) : TryInteger(head, room))) return false;
        text = room.Written;
        return true;
    }

    private bool TryInteger(int head, NativeBuffer room)
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

        room.Advance(CanonicalInteger.Format(number, room.Room(CanonicalInteger.TextBytesMax)));
        return true;
    }

    private bool TryCompressed(NativeBuffer room)
    {
        if (!TryLength(out long compressed) || !TryLength(out ulong length)) return false;
        if (length is 0 or > TextBytesMax || compressed > Left || !Lzf.CanHold(compressed, length)) return false;
        TryRaw((int)compressed, out ReadOnlySpan<byte> raw);
        if (!Lzf.TryDecompress(raw, room.Room((int)length))) return false;
        room.Advance((int)length);
        return true;
    }
}
