using System.Buffers;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics;
using System.Text;

namespace RedKite.Protocol;

/// <summary>Events that a writer's owner must handle after a handler.</summary>
[Flags]
internal enum ReplyEvents
{
    /// <summary>Nothing: the normal case.</summary>
    None = 0,

    /// <summary>An error was replied.</summary>
    Error = 1,

    /// <summary>The replies became large, or larger than allowed: they must be sent before the next command.</summary>
    Large = 2,

    /// <summary>A message was delivered to the client whose command is running, to be sent after the reply.</summary>
    Delivery = 4,
}

/// <summary>
/// Writes replies, RESP2 or RESP3 as the client asked. A normal reply is written into one pinned buffer, which its owner
/// sends and clears. What grows beyond <see cref="ContiguousBytesMax"/> moves to a chain of chunks in front of that buffer
/// (<see cref="ReplyChain"/>), which its owner sends chunk by chunk; no large reply is ever held in one piece.
/// </summary>
internal sealed class ReplyWriter
{
    /// <summary>How large the buffer grows before its contents move to the chain.</summary>
    public const int ContiguousBytesMax = 1024 * 1024;

    /// <summary>
    /// What <see cref="RepeatedBytesMax"/> is at most, however large the machine: the elements are drawn with their key locked. The smallest
    /// ones, 44,000,000, take about a second.
    /// </summary>
    public const long RepeatedBytesMost = 256L * 1024 * 1024;

    private const int InitialBytes = 64 * 1024;

    // A string of this size or more is copied straight to the chain where the buffer has no room for it.
    private const int ChainedBulkBytesMin = 64 * 1024;

    // The head of a reply, array lengths and a cursor, has less than this.
    private const int HeadBytesMax = 128;

    // Redis looks for the space behind an error's first word within 32 bytes, the mark of errors among them.
    private const int CodeLengthMax = 30;

    private const int ShortBulkBytesMax = 999;

    // The head is written as eight bytes of which six may count; the line end behind the value is two more.
    private const int ShortBulkFrameBytes = 8 + 2;

    // The longest head of a bulk string, and its line end.
    private const int BulkFrameBytesMax = 32;

    // An empty bulk string.
    private const int BulkBytesMin = 6;

    private readonly ReplyChain _chain;
    private byte[] _buffer = GC.AllocateUninitializedArray<byte>(InitialBytes, pinned: true);
    private int _length; // in the buffer, behind the chain

    /// <param name="pool">Where the chunks of large replies come from; by default, from the runtime's shared arrays.</param>
    public ReplyWriter(MemoryPool<byte>? pool = null) => _chain = new ReplyChain(pool ?? MemoryPool<byte>.Shared);

    /// <summary>Whether replies have RESP3's types.</summary>
    public bool Resp3 { get; set; }

    /// <summary>
    /// The largest reply that its owner would deliver. A reply that needs memory beyond it (up to a buffer may be filled first) is
    /// dropped, and <see cref="Overflowed"/> is set.
    /// </summary>
    public long BytesMax { get; set; } = long.MaxValue;

    /// <summary>
    /// The largest reply whose size is a number that the client gives (<see cref="TryBeginRepeating"/>), together with what is before it and not
    /// sent yet.
    /// </summary>
    public long RepeatedBytesMax { get; set; } = RepeatedBytesMost;

    /// <summary>Bytes written since the last clear.</summary>
    public long Length => _chain.Bytes + _length;

    /// <summary>The size of the buffer that holds replies up to a MiB, and the tail of larger ones.</summary>
    public int BufferBytes => _buffer.Length;

    /// <summary>Whether a part of the replies is in <see cref="Chunks"/>.</summary>
    public bool IsChained => _chain.Bytes > 0;

    /// <summary>The first part of large replies, in order; <see cref="Tail"/> follows. Valid until the next write.</summary>
    public ReadOnlySpan<ReplyChunk> Chunks => _chain.Chunks;

    /// <summary>The bytes written after <see cref="Chunks"/>: normally, all of it.</summary>
    public ReadOnlySpan<byte> Tail => _buffer.AsSpan(0, _length);

    /// <summary>The reply in one piece; large ones are copied for that.</summary>
    public ReadOnlySpan<byte> Written => WrittenFrom(0);

    /// <summary>Errors written since this writer began.</summary>
    public long Errors { get; private set; }

    /// <summary>The events that the owner must handle after a handler. They stay until <see cref="TakeEvents"/>.</summary>
    public ReplyEvents Events { get; private set; }

    /// <summary>The last error's first word: the class that INFO counts. ERR if it is not a class.</summary>
    public string LastErrorCode { get; private set; } = "";

    /// <summary>Whether INFO has counted the last error already.</summary>
    public bool LastErrorWasCounted { get; private set; }

    /// <summary>Whether a reply grew beyond the limit. Nothing of it is left, and the client is to be closed.</summary>
    public bool Overflowed { get; private set; }

    /// <summary>Notes that a message is to follow the reply that is being written.</summary>
    public void NoteDelivery() => Events |= ReplyEvents.Delivery;

    /// <summary>Reads and resets <see cref="Events"/>.</summary>
    public ReplyEvents TakeEvents()
    {
        ReplyEvents events = Events;
        Events = ReplyEvents.None;
        return events;
    }

    /// <summary>Discards the contents and releases the chunks of large replies.</summary>
    public void Clear()
    {
        _length = 0;
        Overflowed = false;
        if (_chain.Bytes > 0) _chain.Clear();
        if (_buffer.Length > ContiguousBytesMax) _buffer = GC.AllocateUninitializedArray<byte>(InitialBytes, pinned: true);
    }

    /// <summary>
    /// Begins a reply that repeats elements as often as the client says, so that no data bounds it. One that cannot fit into
    /// <see cref="RepeatedBytesMax"/> overflows at once, before any work is done.
    /// </summary>
    /// <param name="elements">The elements.</param>
    /// <param name="bulks">The bulk strings of each.</param>
    public bool TryBeginRepeating(long elements, int bulks = 1)
    {
        long bytes = Math.Min(BytesMax, RepeatedBytesMax);
        if (elements <= (bytes - Length) / (BulkBytesMin * bulks)) return true;
        Overflow();
        return false;
    }

    /// <summary>Whether such a reply may get another element; one that has become too large overflows.</summary>
    public bool MayRepeat()
    {
        if (Length > RepeatedBytesMax) Overflow();
        return !Overflowed;
    }

    /// <summary>Discards the reply: it is larger than allowed.</summary>
    public void OverflowAtOnce() => Overflow();

    /// <summary>Discards everything written after a length noted before.</summary>
    public void Truncate(long length)
    {
        Debug.Assert(length <= Length, "A writer is cut back, not extended.");
        if (length >= _chain.Bytes)
        {
            _length = (int)(length - _chain.Bytes);
            return;
        }

        _length = 0;
        _chain.Truncate(length);
    }

    /// <summary>The reply from a position on, in one piece; if it reaches into the chain it is copied for that.</summary>
    public ReadOnlySpan<byte> WrittenFrom(long position)
    {
        if (position >= _chain.Bytes) return _buffer.AsSpan((int)(position - _chain.Bytes).._length);
        byte[] copy = GC.AllocateUninitializedArray<byte>(checked((int)(Length - position)));
        CopyFrom(position, copy);
        return copy;
    }

    /// <summary>Whether what was written at a position is an error.</summary>
    public bool StartsWithError(long position)
    {
        if (position >= Length) return false;
        Span<byte> marker = stackalloc byte[1];
        CopyFrom(position, marker);
        return marker[0] == '-';
    }

    /// <summary>Copies what was written from a position on, to the destination's end.</summary>
    public void CopyFrom(long position, Span<byte> destination)
    {
        int chained = (int)Math.Clamp(_chain.Bytes - position, 0, destination.Length);
        if (chained > 0) _chain.CopyFrom(position, destination[..chained]);
        if (chained == destination.Length) return;
        _buffer.AsSpan((int)Math.Max(0, position - _chain.Bytes), destination.Length - chained).CopyTo(destination[chained..]);
    }

    /// <summary>+OK</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Ok() => Raw("+OK\r\n"u8);

    /// <summary>A simple string, which must have no line ends.</summary>
    public void SimpleString(ReadOnlySpan<byte> text) => Line((byte)'+', text);

    /// <summary>An error: its class in capitals, a space, the text. Line ends become spaces.</summary>
    public void Error(ReadOnlySpan<byte> text)
    {
        Errors++;
        LastErrorWasCounted = false;
        Events |= ReplyEvents.Error;
        LastErrorCode = CodeName(text);
        if (!Line((byte)'-', text)) return;
        Span<byte> written = _buffer.AsSpan(_length - text.Length - 2, text.Length);
        written.Replace((byte)'\r', (byte)' ');
        written.Replace((byte)'\n', (byte)' ');
    }

    /// <summary>An error that INFO has counted already, where it arose.</summary>
    public void CountedError(ReadOnlySpan<byte> text)
    {
        Error(text);
        LastErrorWasCounted = true;
    }

    /// <summary>
    /// An error whose text is composed; its characters are bytes (Latin-1), so that binary arguments survive. Line ends
    /// that an argument left at its end are dropped.
    /// </summary>
    public void Error(string text) => Error(Encoding.Latin1.GetBytes(text.TrimEnd('\r', '\n')));

    /// <summary>An integer.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Integer(long value) => Number((byte)':', value);

    /// <summary>A bulk string.</summary>
    // Never inlined: a handler that contains all of it exceeds the JIT's inlining budget, and then its constructors and copies of
    // spans become calls. Together with the branch for short values: 82.5 to 74.7 ns for each GET (docs/performance-log.md, round
    // 8).
    [MethodImpl(MethodImplOptions.NoInlining)]
    public void Bulk(ReadOnlySpan<byte> value)
    {
        int length = value.Length;
        if (length > ShortBulkBytesMax || _buffer.Length - _length < length + ShortBulkFrameBytes)
        {
            LongBulk(value);
            return;
        }

        ref byte at = ref Unsafe.Add(ref MemoryMarshal.GetArrayDataReference(_buffer), _length);
        int head = WriteShortBulkHead(ref at, (uint)length);
        ref byte bytes = ref Unsafe.Add(ref at, head);
        CopyShort(ref MemoryMarshal.GetReference(value), ref bytes, (nuint)length);
        Unsafe.WriteUnaligned<ushort>(ref Unsafe.Add(ref bytes, length), '\r' | ('\n' << 8));
        _length += head + length + 2;
    }

    /// <summary>
    /// Writes the header of a bulk string that the caller fills in at once. Long ones are better written by
    /// <see cref="Bulk(ReadOnlySpan{byte})"/>.
    /// </summary>
    /// <returns>Where its bytes are to be written.</returns>
    public Span<byte> BulkSpan(int length)
    {
        if (!EnsureRoom((long)length + BulkFrameBytesMax)) return new byte[length];
        Number((byte)'$', length);
        Span<byte> value = _buffer.AsSpan(_length, length);
        _buffer[_length + length] = (byte)'\r';
        _buffer[_length + length + 1] = (byte)'\n';
        _length += length + 2;
        return value;
    }

    /// <summary>A bulk string of Latin-1 text.</summary>
    public void Bulk(string value)
    {
        if (value.Length < ChainedBulkBytesMin)
        {
            Encoding.Latin1.GetBytes(value, BulkSpan(value.Length));
            return;
        }

        Number((byte)'$', value.Length);
        for (int at = 0; at < value.Length; at += ChainedBulkBytesMin)
        {
            int length = Math.Min(ChainedBulkBytesMin, value.Length - at);
            if (!EnsureRoom(length)) return;
            _length += Encoding.Latin1.GetBytes(value.AsSpan(at, length), _buffer.AsSpan(_length));
        }

        Raw("\r\n"u8);
    }

    /// <summary>A bulk string of an integer's digits.</summary>
    public void BulkInteger(long value)
    {
        Span<byte> digits = stackalloc byte[RespNumber.Int64TextMax];
        Bulk(digits[..RespNumber.Format(value, digits)]);
    }

    /// <summary>The null of a missing value.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Null()
    {
        if (Resp3) Raw("_\r\n"u8);
        else Raw("$-1\r\n"u8);
    }

    /// <summary>The null of a missing array.</summary>
    public void NullArray()
    {
        if (Resp3) Raw("_\r\n"u8);
        else Raw("*-1\r\n"u8);
    }

    /// <summary>The header of an array of <paramref name="count"/> replies.</summary>
    public void Array(int count) => Number((byte)'*', count);

    /// <summary>Writes a map header for <paramref name="pairs"/> pairs; in RESP2 that of a flat array.</summary>
    public void Map(int pairs)
    {
        if (Resp3) Number((byte)'%', pairs);
        else Number((byte)'*', pairs * 2L);
    }

    /// <summary>Writes a set header for <paramref name="count"/> elements; in RESP2 that of an array.</summary>
    public void Set(int count) => Number(Resp3 ? (byte)'~' : (byte)'*', count);

    /// <summary>Writes a push header for <paramref name="count"/> elements; in RESP2 that of an array.</summary>
    public void Push(int count) => Number(Resp3 ? (byte)'>' : (byte)'*', count);

    /// <summary>A boolean; RESP2 has 1 or 0.</summary>
    public void Boolean(bool value)
    {
        if (Resp3) Raw(value ? "#t\r\n"u8 : "#f\r\n"u8);
        else Integer(value ? 1 : 0);
    }

    /// <summary>A floating-point number in its shortest form (see <see cref="RespDouble"/>); RESP2 has a bulk string.</summary>
    public void Double(double value)
    {
        Span<byte> text = stackalloc byte[RespDouble.TextMax];
        Double(text[..RespDouble.Format(value, text)]);
    }

    /// <summary>A floating-point number by its digits; RESP2 has a bulk string.</summary>
    public void Double(ReadOnlySpan<byte> text)
    {
        if (Resp3) Line((byte)',', text);
        else Bulk(text);
    }

    /// <summary>Text with a three-letter format ("txt", "mkd"); RESP2 has a bulk string.</summary>
    public void Verbatim(ReadOnlySpan<byte> format, ReadOnlySpan<byte> text)
    {
        if (!Resp3)
        {
            Bulk(text);
            return;
        }

        Number((byte)'=', text.Length + 4);
        Raw(format);
        Raw(":"u8);
        Raw(text);
        Raw("\r\n"u8);
    }

    /// <summary>
    /// Moves what was written after <paramref name="end"/> in front of what was written between <paramref name="start"/> and
    /// <paramref name="end"/>: the head of an array whose length is known once its elements are written. Within the buffer the
    /// elements are moved; in the chain the head becomes a chunk of its own.
    /// </summary>
    public void MoveToFront(long start, long end)
    {
        if (Overflowed) return;
        var headBytes = (int)(Length - end);
        Span<byte> head = stackalloc byte[HeadBytesMax];
        head = head[..headBytes];
        CopyFrom(end, head);
        if (start < _chain.Bytes)
        {
            Truncate(end);
            if (!_chain.TryInsert(start, head)) Overflow();
            return;
        }

        var at = (int)(start - _chain.Bytes);
        _buffer.AsSpan(at, (int)(end - start)).CopyTo(_buffer.AsSpan(at + headBytes));
        head.CopyTo(_buffer.AsSpan(at));
    }

    /// <summary>
    /// Takes everything that another writer has, which is empty then. The chunks of a large reply are not copied, so that this takes no longer than a small one's. Both have
    /// the same pool.
    /// </summary>
    public void Take(ReplyWriter other)
    {
        if (other.Overflowed || other.Length > BytesMax - Length)
        {
            Overflow();
        }
        else if (!other.IsChained || TrySpill())
        {
            _chain.Take(other._chain);
            Raw(other.Tail);
        }

        other.Clear();
    }

    /// <summary>Bytes that are protocol already.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Raw(ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length > _buffer.Length - _length)
        {
            LongRaw(bytes);
            return;
        }

        bytes.CopyTo(_buffer.AsSpan(_length));
        _length += bytes.Length;
    }

    // A large string that does not fit goes directly to the chain, after the buffer's contents.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private void LongRaw(ReadOnlySpan<byte> bytes)
    {
        if (FitsBuffer(bytes.Length) || bytes.Length < ChainedBulkBytesMin)
        {
            if (!EnsureRoom(bytes.Length)) return;
            bytes.CopyTo(_buffer.AsSpan(_length));
            _length += bytes.Length;
            return;
        }

        if (Overflowed || bytes.Length > BytesMax - Length) Overflow();
        else if (TrySpill() && !_chain.TryAppend(bytes)) Overflow();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void LongBulk(ReadOnlySpan<byte> value)
    {
        if (FitsBuffer((long)value.Length + BulkFrameBytesMax) || value.Length < ChainedBulkBytesMin)
        {
            value.CopyTo(BulkSpan(value.Length));
            return;
        }

        Number((byte)'$', value.Length);
        LongRaw(value);
        Raw("\r\n"u8);
    }

    private bool Line(byte type, ReadOnlySpan<byte> text)
    {
        if (!EnsureRoom(text.Length + 3L)) return false;
        _buffer[_length] = type;
        text.CopyTo(_buffer.AsSpan(_length + 1));
        _length += text.Length + 1;
        _buffer[_length++] = (byte)'\r';
        _buffer[_length++] = (byte)'\n';
        return true;
    }

    private void Number(byte type, long value)
    {
        if (_buffer.Length - _length < 32 && !EnsureRoom(32)) return;
        Span<byte> at = _buffer.AsSpan(_length, 32);
        at[0] = type;
        int digits;
        if ((ulong)value < 10)
        {
            at[1] = (byte)('0' + value);
            digits = 1;
        }
        else if ((ulong)value < 1000)
        {
            digits = value < 100 ? 2 : 3;
            var left = (uint)value;
            for (int i = digits; i > 0; i--, left /= 10) at[i] = (byte)('0' + (left % 10));
        }
        else
        {
            digits = RespNumber.Format(value, at[1..]);
        }

        at[digits + 1] = (byte)'\r';
        at[digits + 2] = (byte)'\n';
        _length += digits + 3;
    }

    // $, one to three digits and the line end, as one word.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static int WriteShortBulkHead(ref byte at, uint length)
    {
        const ulong LineEnd = '\r' | ((ulong)'\n' << 8);
        if (length < 10)
        {
            Unsafe.WriteUnaligned(ref at, '$' | ('0' + length) << 8 | LineEnd << 16);
            return 4;
        }

        if (length < 100)
        {
            Unsafe.WriteUnaligned(ref at, '$' | ('0' + (length / 10)) << 8 | ('0' + (length % 10)) << 16 | LineEnd << 24);
            return 5;
        }

        uint tens = length / 10;
        Unsafe.WriteUnaligned(ref at, '$' | ('0' + (tens / 10)) << 8 | ('0' + (tens % 10)) << 16 | ((ulong)'0' + (length % 10)) << 24 | LineEnd << 32);
        return 6;
    }

    // Eight to 32 bytes, as most members and elements have, are two moves that overlap in the middle, without a call.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static void CopyShort(ref byte source, ref byte destination, nuint length)
    {
        if (length - 16 <= 16)
        {
            Vector128<byte> last = Vector128.LoadUnsafe(ref source, length - 16);
            Vector128.LoadUnsafe(ref source).StoreUnsafe(ref destination);
            last.StoreUnsafe(ref destination, length - 16);
        }
        else if (length - 8 < 8)
        {
            ulong last = Unsafe.ReadUnaligned<ulong>(ref Unsafe.Add(ref source, length - 8));
            Unsafe.WriteUnaligned(ref destination, Unsafe.ReadUnaligned<ulong>(ref source));
            Unsafe.WriteUnaligned(ref Unsafe.Add(ref destination, length - 8), last);
        }
        else
        {
            Unsafe.CopyBlockUnaligned(ref destination, ref source, (uint)length);
        }
    }

    private bool EnsureRoom(long bytes)
    {
        if (_buffer.Length - _length >= bytes) return true;
        return Grow(bytes);
    }

    // Whether the buffer has the space, or may grow to have it.
    private bool FitsBuffer(long bytes) => _buffer.Length - _length >= bytes || (!IsChained && _length + bytes <= ContiguousBytesMax);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private bool Grow(long bytes)
    {
        if (Overflowed || bytes > BytesMax - Length)
        {
            Overflow();
            return bytes <= _buffer.Length;
        }

        if (FitsBuffer(bytes))
        {
            long doubled = Math.Min(Math.Min(_buffer.Length * 2L, BytesMax), ContiguousBytesMax);
            byte[] larger = GC.AllocateUninitializedArray<byte>((int)Math.Max(_length + bytes, doubled), pinned: true);
            _buffer.AsSpan(0, _length).CopyTo(larger);
            _buffer = larger;
            return true;
        }

        if (!TrySpill()) return bytes <= _buffer.Length;
        if (_buffer.Length < bytes) _buffer = GC.AllocateUninitializedArray<byte>((int)bytes, pinned: true);
        return true;
    }

    // Moves what the buffer holds to the chain.
    private bool TrySpill()
    {
        Events |= ReplyEvents.Large;
        if (_chain.TryAppend(_buffer.AsSpan(0, _length)))
        {
            _length = 0;
            return true;
        }

        Overflow();
        return false;
    }

    private void Overflow()
    {
        Events |= ReplyEvents.Large;
        Overflowed = true;
        _length = 0;
        _chain.Clear();
    }

    // As in Redis, ERR unless a short word is followed by more.
    private static string CodeName(ReadOnlySpan<byte> text)
    {
        int end = text[..Math.Min(text.Length, CodeLengthMax + 1)].IndexOfAny(" \r\n"u8);
        ReadOnlySpan<byte> code = end < 0 ? "ERR"u8 : text[..end];
        if (code.SequenceEqual("ERR"u8)) return "ERR";
        if (code.SequenceEqual("WRONGTYPE"u8)) return "WRONGTYPE";
        return Encoding.Latin1.GetString(code);
    }
}
