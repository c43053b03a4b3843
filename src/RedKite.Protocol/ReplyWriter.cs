using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics;
using System.Text;

namespace RedKite.Protocol;

/// <summary>
/// Writes replies, RESP2 or RESP3 as the client asked, into one growing buffer that its owner sends and clears. The
/// buffer is pinned from the start, so that a send needs no pinning of its own.
/// </summary>
public sealed class ReplyWriter
{
    private const int InitialBytes = 64 * 1024;

    // A buffer that one reply blew up is not kept for the small ones.
    private const int KeptBytesMax = 1024 * 1024;

    // The head of a reply, array lengths and a cursor, has less than this.
    private const int HeadBytesMax = 128;

    private const int ShortBulkBytesMax = 999;

    // The head is written as eight bytes of which six may count; the line end behind the value is two more.
    private const int ShortBulkFrameBytes = 8 + 2;

    // An empty bulk string.
    private const int BulkBytesMin = 6;

    private readonly int _bytesMax;
    private byte[] _buffer = GC.AllocateUninitializedArray<byte>(InitialBytes, pinned: true);
    private int _length;
    private int _lengthMax; // of what was cleared since the last release

    /// <param name="bytesMax">How large the replies of one command may get; beyond, <see cref="Overflowed"/> is set and nothing is kept.</param>
    public ReplyWriter(int bytesMax = 1 << 30) => _bytesMax = bytesMax;

    /// <summary>Whether replies have RESP3's types.</summary>
    public bool Resp3 { get; set; }

    /// <summary>Bytes written since the last clear.</summary>
    public int Length => _length;

    /// <summary>What was written.</summary>
    public ReadOnlySpan<byte> Written => _buffer.AsSpan(0, _length);

    /// <summary>What was written, as memory of the pinned buffer.</summary>
    public ReadOnlyMemory<byte> WrittenMemory => _buffer.AsMemory(0, _length);

    /// <summary>Errors written since this writer began.</summary>
    public long Errors { get; private set; }

    /// <summary>The last error's text, up to its end or its first 64 bytes: its first word is the class that INFO counts.</summary>
    public string LastErrorCode { get; private set; } = "";

    /// <summary>Whether a reply grew beyond the limit. The client is to be closed.</summary>
    public bool Overflowed { get; private set; }

    /// <summary>Forgets what was written.</summary>
    public void Clear()
    {
        _length = 0;
        Overflowed = false;
        if (_buffer.Length > KeptBytesMax) _buffer = GC.AllocateUninitializedArray<byte>(InitialBytes, pinned: true);
    }

    /// <summary>
    /// Forgets what was written, but keeps the room that it took for more of its kind: a new buffer for each of many large
    /// replies would be garbage as fast as they are written. <see cref="ReleaseRoom"/> gives it back later.
    /// </summary>
    public void ClearAndKeepRoom()
    {
        _lengthMax = Math.Max(_lengthMax, _length);
        _length = 0;
        Overflowed = false;
    }

    /// <summary>Gives up a large buffer that nothing needed since the last call; called between replies, now and then.</summary>
    /// <returns>The bytes given up.</returns>
    public int ReleaseRoom()
    {
        int needed = _lengthMax;
        _lengthMax = 0;
        if (needed > KeptBytesMax || _buffer.Length <= KeptBytesMax || _length > 0) return 0;
        int released = _buffer.Length;
        _buffer = GC.AllocateUninitializedArray<byte>(InitialBytes, pinned: true);
        return released;
    }

    /// <summary>
    /// Whether so many bulk strings can fit into the reply. Where they cannot, it overflows at once, before anything is
    /// spent on it: clients may ask for counts without bounds.
    /// </summary>
    public bool FitsOrOverflows(long bulks)
    {
        if (bulks <= (_bytesMax - _length) / BulkBytesMin) return true;
        Overflowed = true;
        _length = 0;
        return false;
    }

    /// <summary>Takes back everything written after a length noted before.</summary>
    public void Truncate(int length)
    {
        Debug.Assert(length <= _length, "A writer is cut back, not extended.");
        _length = length;
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
        int codeEnd = text.IndexOfAny(" \r\n"u8);
        LastErrorCode = CodeName(codeEnd < 0 ? text : text[..codeEnd]);
        if (!Line((byte)'-', text)) return;
        Span<byte> written = _buffer.AsSpan(_length - text.Length - 2, text.Length);
        written.Replace((byte)'\r', (byte)' ');
        written.Replace((byte)'\n', (byte)' ');
    }

    /// <summary>
    /// An error whose text is put together; its characters are bytes (Latin-1), so that binary arguments survive. Line ends
    /// that an argument left at its end are dropped.
    /// </summary>
    public void Error(string text) => Error(Encoding.Latin1.GetBytes(text.TrimEnd('\r', '\n')));

    /// <summary>An integer.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Integer(long value) => Number((byte)':', value);

    /// <summary>A bulk string.</summary>
    // Never inlined: a handler that has all of it inside is beyond the JIT's budget for inlining, and then the constructors and
    // copies of spans in it are calls. This and the short way: 82.5 to 74.7 ns for each GET (docs/performance-log.md, round 8).
    [MethodImpl(MethodImplOptions.NoInlining)]
    public void Bulk(ReadOnlySpan<byte> value)
    {
        int length = value.Length;
        if (length > ShortBulkBytesMax || _buffer.Length - _length < length + ShortBulkFrameBytes)
        {
            value.CopyTo(BulkSpan(length));
            return;
        }

        ref byte at = ref Unsafe.Add(ref MemoryMarshal.GetArrayDataReference(_buffer), _length);
        int head = WriteShortBulkHead(ref at, (uint)length);
        ref byte bytes = ref Unsafe.Add(ref at, head);
        CopyShort(ref MemoryMarshal.GetReference(value), ref bytes, (nuint)length);
        Unsafe.WriteUnaligned<ushort>(ref Unsafe.Add(ref bytes, length), '\r' | ('\n' << 8));
        _length += head + length + 2;
    }

    /// <summary>A bulk string that the caller fills in at once: what it must write is given back.</summary>
    public Span<byte> BulkSpan(int length)
    {
        if (!EnsureRoom(length + 32L)) return new byte[length];
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
        Span<byte> destination = BulkSpan(value.Length);
        Encoding.Latin1.GetBytes(value, destination);
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

    /// <summary>An array of so many replies, which follow.</summary>
    public void Array(int count) => Number((byte)'*', count);

    /// <summary>A map of so many pairs, which follow; RESP2 has a flat array.</summary>
    public void Map(int pairs)
    {
        if (Resp3) Number((byte)'%', pairs);
        else Number((byte)'*', pairs * 2L);
    }

    /// <summary>A set of so many replies, which follow; RESP2 has an array.</summary>
    public void Set(int count) => Number(Resp3 ? (byte)'~' : (byte)'*', count);

    /// <summary>An out-of-band message of so many replies, which follow; RESP2 has an array.</summary>
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
        text = text[..RespDouble.Format(value, text)];
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

        if (!EnsureRoom(text.Length + 40L)) return;
        Number((byte)'=', text.Length + 4);
        Raw(format);
        Raw(":"u8);
        Raw(text);
        Raw("\r\n"u8);
    }

    /// <summary>
    /// Puts what was written after <paramref name="end"/> in front of what was written between <paramref name="start"/> and
    /// there: the head of an array whose length is known once its elements are written. Copies the head twice and moves the rest.
    /// </summary>
    public void MoveToFront(int start, int end)
    {
        if (Overflowed) return;
        int headBytes = _length - end;
        Span<byte> head = stackalloc byte[HeadBytesMax];
        head = head[..headBytes];
        _buffer.AsSpan(end, headBytes).CopyTo(head);
        _buffer.AsSpan(start, end - start).CopyTo(_buffer.AsSpan(start + headBytes));
        head.CopyTo(_buffer.AsSpan(start));
    }

    /// <summary>Bytes that are protocol already.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Raw(ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length > _buffer.Length - _length && !EnsureRoom(bytes.Length)) return;
        bytes.CopyTo(_buffer.AsSpan(_length));
        _length += bytes.Length;
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

    [MethodImpl(MethodImplOptions.NoInlining)]
    private bool Grow(long bytes)
    {
        long needed = _length + bytes;
        if (Overflowed || needed > _bytesMax)
        {
            Overflowed = true;
            _length = 0;
            return bytes <= _buffer.Length;
        }

        long doubled = Math.Min(_buffer.Length * 2L, _bytesMax);
        byte[] larger = GC.AllocateUninitializedArray<byte>((int)Math.Max(needed, doubled), pinned: true);
        _buffer.AsSpan(0, _length).CopyTo(larger);
        _buffer = larger;
        return true;
    }

    private static string CodeName(ReadOnlySpan<byte> code)
    {
        if (code.SequenceEqual("ERR"u8)) return "ERR";
        if (code.SequenceEqual("WRONGTYPE"u8)) return "WRONGTYPE";
        return Encoding.Latin1.GetString(code[..Math.Min(code.Length, 64)]);
    }
}
