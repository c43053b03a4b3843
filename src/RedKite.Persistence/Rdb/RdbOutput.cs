using System.Buffers.Binary;
using RedKite.Store.Memory;
using RedKite.Store.Values.Packed;
using RedKite.Store.Values.Streams;

namespace RedKite.Persistence.Rdb;

/// <summary>Takes what was written of a file, piece by piece.</summary>
internal delegate void RdbSink(ReadOnlySpan<byte> piece);

/// <summary>
/// Writes the elements of the RDB format one behind the other: lengths, strings, numbers. They are collected outside the
/// managed heap; with a sink, pieces go there as they fill up, so that a value of any size needs little room.
/// </summary>
internal sealed class RdbOutput : IDisposable
{
    /// <summary>What is collected without a sink is no longer than this; <see cref="Overflowed"/> tells.</summary>
    internal const int CollectedBytesMax = 1 << 30;

    // A shorter text is no shorter compressed.
    private const int CompressedTextMin = 21;

    // At least so many bytes have to be saved.
    private const int SavedMin = 4;

    private const int IntegerTextMax = 11;
    private const int LengthBytesMax = 9;
    private const int PieceBytes = 64 * 1024;

    private readonly NativeBuffer _buffer = new();
    private readonly int[] _places = new int[Lzf.TablePlaces];
    private readonly RdbSink? _sink;

    internal RdbOutput(RdbSink? sink = null) => _sink = sink;

    /// <summary>Whether texts are compressed where that makes them shorter (rdbcompression).</summary>
    internal bool Compresses { get; set; } = true;

    /// <summary>Whether more was written than can be collected; what was written is no use then.</summary>
    internal bool Overflowed { get; private set; }

    /// <summary>What was written since the last clear and did not go to the sink.</summary>
    internal ReadOnlySpan<byte> Written => _buffer.Written;

    /// <summary>Forgets what was written.</summary>
    internal void Clear()
    {
        _buffer.Clear();
        Overflowed = false;
    }

    /// <summary>Hands the rest to the sink.</summary>
    internal void Flush()
    {
        _sink!(_buffer.Written);
        _buffer.Clear();
    }

    internal void Byte(int value)
    {
        Room(1)[0] = (byte)value;
        Advance(1);
    }

    internal void Raw(ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(Room(bytes.Length));
        Advance(bytes.Length);
    }

    /// <summary>A time in milliseconds, or whatever has 64 bits, the lowest first.</summary>
    internal void Int64(long value)
    {
        BinaryPrimitives.WriteInt64LittleEndian(Room(sizeof(long)), value);
        Advance(sizeof(long));
    }

    internal void Double(double value) => Int64(BitConverter.DoubleToInt64Bits(value));

    /// <summary>A length, a count, or another number that is not negative and mostly small.</summary>
    internal void Length(ulong value) => Advance(WriteLength(Room(LengthBytesMax), value));

    internal void Length(long value) => Length((ulong)value);

    /// <summary>A stream's id as a key: both numbers with the highest byte first.</summary>
    internal void RawId(StreamId id)
    {
        Span<byte> room = Room(RdbFormat.StreamIdBytes);
        BinaryPrimitives.WriteUInt64BigEndian(room, id.Ms);
        BinaryPrimitives.WriteUInt64BigEndian(room[sizeof(ulong)..], id.Sequence);
        Advance(RdbFormat.StreamIdBytes);
    }

    /// <summary>A string: as a number if it is one of 32 bits, compressed if that saves something, or as it is.</summary>
    internal void String(ReadOnlySpan<byte> text)
    {
        if (text.Length <= IntegerTextMax && CanonicalInteger.TryParse(text, out long number) && number is >= int.MinValue and <= int.MaxValue)
        {
            Integer((int)number);
            return;
        }

        if (Compresses && text.Length >= CompressedTextMin && TryCompressed(text)) return;
        Length(text.Length);
        Raw(text);
    }

    public void Dispose() => _buffer.Dispose();

    private void Integer(int number)
    {
        Span<byte> room = Room(1 + sizeof(int));
        switch (number)
        {
            case >= sbyte.MinValue and <= sbyte.MaxValue:
                room[0] = RdbFormat.Integer8;
                room[1] = (byte)number;
                Advance(1 + sizeof(sbyte));
                break;
            case >= short.MinValue and <= short.MaxValue:
                room[0] = RdbFormat.Integer16;
                BinaryPrimitives.WriteInt16LittleEndian(room[1..], (short)number);
                Advance(1 + sizeof(short));
                break;
            default:
                room[0] = RdbFormat.Integer32;
                BinaryPrimitives.WriteInt32LittleEndian(room[1..], number);
                Advance(1 + sizeof(int));
                break;
        }
    }

    // The head tells both lengths and stands in front, so the compressed bytes move once its own length is known.
    private bool TryCompressed(ReadOnlySpan<byte> text)
    {
        const int HeadMax = 1 + (2 * LengthBytesMax);
        Span<byte> room = Room(HeadMax + text.Length);
        int compressed = Lzf.Compress(text, room.Slice(HeadMax, text.Length - SavedMin), _places);
        if (compressed == 0) return false;
        room[0] = RdbFormat.Compressed;
        int head = 1 + WriteLength(room[1..], (ulong)compressed);
        head += WriteLength(room[head..], (ulong)text.Length);
        room.Slice(HeadMax, compressed).CopyTo(room[head..]);
        Advance(head + compressed);
        return true;
    }

    private static int WriteLength(Span<byte> room, ulong value)
    {
        switch (value)
        {
            case < 1 << 6:
                room[0] = (byte)value;
                return 1;
            case < 1 << 14:
                BinaryPrimitives.WriteUInt16BigEndian(room, (ushort)((RdbFormat.Length14 << 8) | (int)value));
                return sizeof(ushort);
            case <= uint.MaxValue:
                room[0] = RdbFormat.Length32;
                BinaryPrimitives.WriteUInt32BigEndian(room[1..], (uint)value);
                return 1 + sizeof(uint);
            default:
                room[0] = RdbFormat.Length64;
                BinaryPrimitives.WriteUInt64BigEndian(room[1..], value);
                return 1 + sizeof(ulong);
        }
    }

    private Span<byte> Room(int bytes)
    {
        if (_sink is null && (long)_buffer.Length + bytes > CollectedBytesMax)
        {
            Overflowed = true;
            _buffer.Clear();
        }

        return _buffer.Room(bytes);
    }

    private void Advance(int bytes)
    {
        _buffer.Advance(bytes);
        if (_sink is not null && _buffer.Length >= PieceBytes) Flush();
    }
}
