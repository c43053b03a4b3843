using System.Buffers;
using System.Buffers.Text;
using RedKite.Persistence.Log;
using RedKite.Persistence.Rdb;
using RedKite.Store.Values.Packed;
using RedKite.Store.Values.Streams;

namespace RedKite.Persistence.Aof;

/// <summary>Writes commands in the protocol's form. A command is begun with its number of arguments, and then exactly those are written.</summary>
/// <param name="sink">Receives the bytes in pieces.</param>
internal sealed class CommandOutput(RdbSink sink)
{
    /// <summary>How many elements a command adds at most, as in Redis.</summary>
    internal const int ElementsMax = 64;

    private const int PieceBytes = 64 * 1024;

    // The longest of an argument besides its text: its length, and three line ends.
    private const int FrameBytes = 32;

    private readonly ArrayBufferWriter<byte> _buffer = new(PieceBytes);

    /// <summary>Begins a command.</summary>
    /// <param name="name">Its name.</param>
    /// <param name="arguments">How many arguments follow, the name excluded.</param>
    internal CommandOutput Begin(ReadOnlySpan<byte> name, long arguments)
    {
        Header((byte)'*', arguments + 1);
        return Argument(name);
    }

    /// <summary>Begins the next command of those that add a value's elements, if one is due: <see cref="ElementsMax"/> elements are in each.</summary>
    /// <param name="command">Its name.</param>
    /// <param name="key">The key.</param>
    /// <param name="written">Elements that are written.</param>
    /// <param name="left">Elements that are not.</param>
    /// <param name="each">Arguments for each element.</param>
    internal void BeginElements(ReadOnlySpan<byte> command, ReadOnlySpan<byte> key, long written, long left, int each)
    {
        if (written % ElementsMax == 0) Begin(command, 1 + (Math.Min(ElementsMax, left) * each)).Argument(key);
    }

    internal CommandOutput Argument(scoped ReadOnlySpan<byte> text)
    {
        Header((byte)'$', text.Length);
        if (text.Length >= PieceBytes)
        {
            Flush();
            sink(text);
        }
        else
        {
            _buffer.Write(text);
        }

        _buffer.Write("\r\n"u8);
        if (_buffer.WrittenCount >= PieceBytes - FrameBytes) Flush();
        return this;
    }

    internal CommandOutput Argument(long number)
    {
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        return Argument(digits[..CanonicalInteger.Format(number, digits)]);
    }

    /// <summary>An index of an array, or a size.</summary>
    internal CommandOutput Index(ulong number)
    {
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        Utf8Formatter.TryFormat(number, digits, out int length);
        return Argument(digits[..length]);
    }

    internal CommandOutput Argument(StreamId id)
    {
        Span<byte> text = stackalloc byte[StreamId.TextMax];
        return Argument(text[..id.Format(text)]);
    }

    /// <summary>Selects the database of the commands that follow.</summary>
    internal void Select(int database) => _buffer.Advance(SelectCommand.Format(database, _buffer.GetSpan(SelectCommand.LengthMax)));

    /// <summary>Writes a line as it is, between two commands.</summary>
    internal void Line(scoped ReadOnlySpan<byte> line) => _buffer.Write(line);

    /// <summary>Passes everything to the sink.</summary>
    internal void Flush()
    {
        if (_buffer.WrittenCount > 0) sink(_buffer.WrittenSpan);
        _buffer.ResetWrittenCount();
    }

    private void Header(byte kind, long count)
    {
        Span<byte> head = _buffer.GetSpan(FrameBytes);
        head[0] = kind;
        Utf8Formatter.TryFormat(count, head[1..], out int digits);
        "\r\n"u8.CopyTo(head[(1 + digits)..]);
        _buffer.Advance(1 + digits + 2);
    }
}
