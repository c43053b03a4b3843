using System.Buffers.Binary;
using RedKite.Store.Memory;
using RedKite.Store.Values.Packed;
using RedKite.Store.Values.Streams;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// Reads the elements of the RDB format from untrusted bytes in order: from bytes in memory, or through an <see cref="RdbFeed"/>'s
/// window from a file. Every length is checked before use, and nothing is allocated that the remaining bytes could not fill.
/// </summary>
internal ref struct RdbInput
{
    // Redis's limit for a string, and the store's.
    private const int TextBytesMax = 1 << 30;

    private readonly RdbFeed? _feed;
    private ReadOnlySpan<byte> _bytes;
    private int _position;

    internal RdbInput(ReadOnlySpan<byte> bytes) => _bytes = bytes;

    internal RdbInput(RdbFeed feed) => _feed = feed;

    /// <summary>The number of unread bytes.</summary>
    internal readonly long Left => Here + (_feed?.Left ?? 0);

    /// <summary>Whether a read failed because it reaches beyond the input's end; the bytes up to there may be valid.</summary>
    internal bool Starved { get; private set; }

    /// <summary>The number of bytes read from bytes in memory.</summary>
    internal readonly int Position => _position;

    /// <summary>The number of unread bytes that are in memory.</summary>
    internal readonly int Here => _bytes.Length - _position;

    /// <summary>Reads bytes. They are valid until the next read.</summary>
    internal bool TryRaw(int bytes, out ReadOnlySpan<byte> raw)
    {
        raw = default;
        if (!TryHave(bytes)) return false;
        raw = _bytes.Slice(_position, bytes);
        _position += bytes;
        return true;
    }

    internal bool TryByte(out byte value)
    {
        value = 0;
        if (!TryHave(1)) return false;
        value = _bytes[_position++];
        return true;
    }

    /// <summary>Passes over bytes.</summary>
    internal bool TrySkip(long bytes)
    {
        if (bytes > Left) return Starve();
        while (bytes > Here)
        {
            bytes -= Here;
            _position = _bytes.Length;
            TryHave((int)Math.Min(bytes, RdbFeed.WindowBytes));
        }

        _position += (int)bytes;
        return true;
    }

    /// <summary>Passes over a string.</summary>
    internal bool TrySkipString()
    {
        if (!TryHave(1)) return false;
        int head = _bytes[_position];
        if (head < RdbFormat.Integer8) return TryLength(out long length) && length <= TextBytesMax && TrySkip(length);
        _position++;
        if (head <= RdbFormat.Integer32) return TrySkip(1 << (head - RdbFormat.Integer8));
        return head == RdbFormat.Compressed && TryLength(out long compressed) && TryLength(out ulong _) && TrySkip(compressed);
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
    internal bool TryCount(out long count) => TryLength(out count) && (count <= Left || Starve());

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
    /// <param name="scratch">Receives the string if it has to be decoded or comes from a file; its contents are overwritten.</param>
    /// <param name="text">The string, valid until the scratch buffer is reused.</param>
    internal bool TryString(NativeBuffer scratch, out ReadOnlySpan<byte> text)
    {
        text = default;
        if (!TryHave(1)) return false;
        int head = _bytes[_position];
        if (head < RdbFormat.Integer8) return TryLength(out long length) && length <= TextBytesMax && TryLiteral((int)length, scratch, out text);
        _position++;
        scratch.Clear();
        if (!(head == RdbFormat.Compressed ? TryCompressed(scratch) : TryInteger(head, scratch))) return false;
        text = scratch.Written;
        return true;
    }

    // The window moves with the next read, so what comes through it is copied.
    private bool TryLiteral(int length, NativeBuffer scratch, out ReadOnlySpan<byte> text)
    {
        if (_feed is null) return TryRaw(length, out text);
        text = default;
        if (length > Left) return Starve();
        scratch.Clear();
        int left = length;
        while (left > 0)
        {
            TryHave(1);
            int part = Math.Min(left, Here);
            scratch.Write(_bytes.Slice(_position, part));
            _position += part;
            left -= part;
        }

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
        if (compressed > Left) return Starve();
        if (length is 0 or > TextBytesMax || compressed > TextBytesMax || !Lzf.CanHold(compressed, length)) return false;
        TryRaw((int)compressed, out ReadOnlySpan<byte> raw);
        if (!Lzf.TryDecompress(raw, scratch.Room((int)length))) return false;
        scratch.Advance((int)length);
        return true;
    }

    // Makes the next bytes contiguous.
    private bool TryHave(int bytes)
    {
        if (bytes <= Here) return true;
        if (_feed is null || bytes > Left) return Starve();
        _bytes = _feed.Refill(_bytes[_position..], bytes);
        _position = 0;
        return true;
    }

    private bool Starve()
    {
        Starved = true;
        return false;
    }
}
