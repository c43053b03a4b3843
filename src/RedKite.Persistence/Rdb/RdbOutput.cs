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
/// <remarks>
/// A collector (<see cref="NewCollector"/>) is for data that is locked: it only copies strings, long ones piece by piece, and
/// <see cref="MoveTo"/> compresses them when the lock is released.
/// </remarks>
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

    // Compressing needs all of a string at once, so a longer one that comes in pieces is written literally.
    private const int GatheredBytesMax = 64 << 20;

    private readonly NativeBuffer _buffer = new();
    private readonly RdbSink? _sink;
    private readonly List<StringPiece>? _pieces; // a collector's strings
    private readonly int _pieceBytes;
    private int[]? _slots;
    private RdbOpenString _open;
    private int _moved;
    private int _movedPieces;
    private NativeBuffer? _gathered;

    internal RdbOutput(RdbSink? sink = null) => _sink = sink;

    private RdbOutput(int pieceBytes)
    {
        _pieces = [];
        _pieceBytes = pieceBytes;
    }

    /// <summary>Makes an output that collects strings as they are. A string longer than a piece is outside the managed heap and stays until all of it is copied.</summary>
    internal static RdbOutput NewCollector(int pieceBytes = PieceBytes) => new(pieceBytes);

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
        _pieces?.Clear();
        _moved = _movedPieces = 0;
        Overflowed = false;
    }

    /// <summary>Copies the next piece of a string of which the last step has copied only the first. Anything else that is written copies the rest first.</summary>
    /// <returns>False if there is no such string.</returns>
    internal bool ContinueString()
    {
        RdbOpenString open = _open;
        if (open.Rest.Length == 0) return false;
        _open = default;
        AddPiece(open);
        return true;
    }

    /// <summary>Ends a slice: the rest of its last string is for the next one.</summary>
    internal RdbOpenString Suspend()
    {
        RdbOpenString open = _open;
        _open = default;
        return open;
    }

    /// <summary>Begins a slice with what the last one left.</summary>
    internal void Resume(RdbOpenString open) => _open = open;

    /// <summary>Writes what a collector has, from where the last move ended to a position, to an output that compresses strings.</summary>
    internal void MoveTo(RdbOutput target, int end)
    {
        for (; _movedPieces < _pieces!.Count && _pieces[_movedPieces].Start < end; _movedPieces++)
        {
            StringPiece piece = _pieces[_movedPieces];
            target.Raw(Written[_moved..piece.Start]);
            _moved = piece.Start + piece.Bytes;
            target.Piece(Written[piece.Start.._moved], piece);
        }

        target.Raw(Written[_moved..end]);
        _moved = end;
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

        if (_pieces is not null && text.Length >= CompressedTextMin)
        {
            Room(0); // what is open comes first
            AddPiece(new RdbOpenString(new NativeSpan(text), text.Length));
            return;
        }

        if (Compresses && text.Length >= CompressedTextMin && TryCompressed(text)) return;
        Length(text.Length);
        Raw(text);
    }

    public void Dispose()
    {
        _buffer.Dispose();
        _gathered?.Dispose();
    }

    private void AddPiece(RdbOpenString text)
    {
        int bytes = Math.Min(text.Rest.Length, _pieceBytes);
        _pieces!.Add(new StringPiece(_buffer.Length, bytes, text.Rest.Length - bytes, text.WholeBytes));
        Raw(text.Rest.Bytes[..bytes]);
        _open = new RdbOpenString(text.Rest.From(bytes), text.WholeBytes);
    }

    private void Piece(ReadOnlySpan<byte> bytes, in StringPiece piece)
    {
        if (bytes.Length == piece.WholeBytes)
        {
            String(bytes);
            return;
        }

        bool gathers = Compresses && piece.WholeBytes <= GatheredBytesMax;
        if (!gathers && piece.IsFirst) Length(piece.WholeBytes);
        if (!gathers)
        {
            Raw(bytes);
            return;
        }

        _gathered ??= new NativeBuffer();
        _gathered.Write(bytes);
        if (piece.Left > 0) return;
        String(_gathered.Written);
        _gathered.Clear();
    }

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
        int compressed = Lzf.Compress(text, target.Slice(HeadMax, text.Length - SavedMin), _slots ??= new int[Lzf.TableSlots]);
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
        while (_open.Rest.Length > 0) ContinueString();
        if (_sink is null && (long)_buffer.Length + bytes > CollectedBytesMax)
        {
            Overflowed = true;
            _buffer.Clear();
            _pieces?.Clear();
        }

        return _buffer.Room(bytes);
    }

    private void Advance(int bytes)
    {
        _buffer.Advance(bytes);
        if (_sink is not null && _buffer.Length >= PieceBytes) Flush();
    }

    // A string in a collector, or a piece of it.
    private readonly record struct StringPiece(int Start, int Bytes, int Left, int WholeBytes)
    {
        internal bool IsFirst => Bytes + Left == WholeBytes;
    }
}

/// <summary>What a collector has still to copy of a string.</summary>
internal readonly record struct RdbOpenString(NativeSpan Rest, int WholeBytes);
