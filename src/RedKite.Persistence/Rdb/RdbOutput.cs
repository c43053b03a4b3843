using System.Buffers.Binary;
using RedKite.Store.Memory;
using RedKite.Store.Values.Packed;
using RedKite.Store.Values.Streams;

namespace RedKite.Persistence.Rdb;

/// <summary>Receives the written bytes of a file in pieces.</summary>
internal delegate void RdbSink(ReadOnlySpan<byte> piece);

/// <summary>
/// Writes the elements of the RDB format in order: lengths, strings, numbers. The bytes are collected outside the managed heap;
/// with a sink, full pieces are passed on, so that a value of any size needs little memory.
/// </summary>
internal sealed class RdbOutput : IDisposable
{
    /// <summary>The maximum number of bytes collected without a sink; beyond it, <see cref="Overflowed"/> is set.</summary>
    internal const int CollectedBytesMax = 1 << 30;

    // Shorter texts don't become shorter by compression.
    private const int CompressedTextMin = 21;

    // The minimum number of bytes to save.
    private const int SavedMin = 4;

    private const int IntegerTextMax = 11;
    private const int LengthBytesMax = 9;
    private const int PieceBytes = 64 * 1024;

    private readonly NativeBuffer _buffer = new();
    private readonly int[] _slots = new int[Lzf.TableSlots];
    private readonly RdbSink? _sink;

    internal RdbOutput(RdbSink? sink = null) => _sink = sink;

    /// <summary>Whether texts are compressed if that makes them shorter (rdbcompression).</summary>
    internal bool Compresses { get; set; } = true;

    /// <summary>Whether more was written than can be collected, so that the bytes are useless.</summary>
    internal bool Overflowed { get; private set; }

    /// <summary>The bytes written since the last clear and not passed to the sink.</summary>
    internal ReadOnlySpan<byte> Written => _buffer.Written;

    /// <summary>Discards the written bytes.</summary>
    internal void Clear()
    {
        _buffer.Clear();
        Overflowed = false;
    }

    /// <summary>Passes the remaining bytes to the sink.</summary>
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
        if (_sink is not null && bytes.Length >= PieceBytes)
        {
            Flush();
            _sink(bytes);
            return;
        }

        bytes.CopyTo(Room(bytes.Length));
        Advance(bytes.Length);
    }

    /// <summary>Writes a 64-bit number, such as a time in milliseconds, in little-endian order.</summary>
    internal void Int64(long value)
    {
        BinaryPrimitives.WriteInt64LittleEndian(Room(sizeof(long)), value);
        Advance(sizeof(long));
    }

    internal void Double(double value) => Int64(BitConverter.DoubleToInt64Bits(value));

    /// <summary>Writes a length, a count, or another number that is not negative and usually small.</summary>
    internal void Length(ulong value) => Advance(WriteLength(Room(LengthBytesMax), value));

    internal void Length(long value) => Length((ulong)value);

    /// <summary>Writes a stream id in the form of a node's key: both numbers in big-endian order.</summary>
    internal void RawId(StreamId id)
    {
        Span<byte> target = Room(RdbFormat.StreamIdBytes);
        BinaryPrimitives.WriteUInt64BigEndian(target, id.Ms);
        BinaryPrimitives.WriteUInt64BigEndian(target[sizeof(ulong)..], id.Sequence);
        Advance(RdbFormat.StreamIdBytes);
    }

    /// <summary>Writes a string: as a number if it is a 32-bit integer, compressed if that is shorter, or literally.</summary>
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
        Span<byte> target = Room(1 + sizeof(int));
        switch (number)
        {
            case >= sbyte.MinValue and <= sbyte.MaxValue:
                target[0] = RdbFormat.Integer8;
                target[1] = (byte)number;
                Advance(1 + sizeof(sbyte));
                break;
            case >= short.MinValue and <= short.MaxValue:
                target[0] = RdbFormat.Integer16;
                BinaryPrimitives.WriteInt16LittleEndian(target[1..], (short)number);
                Advance(1 + sizeof(short));
                break;
            default:
                target[0] = RdbFormat.Integer32;
                BinaryPrimitives.WriteInt32LittleEndian(target[1..], number);
                Advance(1 + sizeof(int));
                break;
        }
    }

    // The header precedes the compressed bytes and contains their length, so they move once the header's size is known.
    private bool TryCompressed(ReadOnlySpan<byte> text)
    {
        const int HeadMax = 1 + (2 * LengthBytesMax);
        Span<byte> target = Room(HeadMax + text.Length);
        int compressed = Lzf.Compress(text, target.Slice(HeadMax, text.Length - SavedMin), _slots);
        if (compressed == 0) return false;
        target[0] = RdbFormat.Compressed;
        int head = 1 + WriteLength(target[1..], (ulong)compressed);
        head += WriteLength(target[head..], (ulong)text.Length);
        target.Slice(HeadMax, compressed).CopyTo(target[head..]);
        Advance(head + compressed);
        return true;
    }

    private static int WriteLength(Span<byte> target, ulong value)
    {
        switch (value)
        {
            case < 1 << 6:
                target[0] = (byte)value;
                return 1;
            case < 1 << 14:
                BinaryPrimitives.WriteUInt16BigEndian(target, (ushort)((RdbFormat.Length14 << 8) | (int)value));
                return sizeof(ushort);
            case <= uint.MaxValue:
                target[0] = RdbFormat.Length32;
                BinaryPrimitives.WriteUInt32BigEndian(target[1..], (uint)value);
                return 1 + sizeof(uint);
            default:
                target[0] = RdbFormat.Length64;
                BinaryPrimitives.WriteUInt64BigEndian(target[1..], value);
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
