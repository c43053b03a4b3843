using System.Buffers;
using System.Text;

namespace RedKite.Ladder.Stages;

/// <summary>A request as slices of the pipe's buffer, without copying. A client reuses one instance.</summary>
internal sealed class ByteRequest
{
    private const int NameBytesMax = 3;

    private readonly ReadOnlySequence<byte>[] _arguments = new ReadOnlySequence<byte>[RequestLimits.ArgumentsMax];
    private int _count;

    internal CommandKind Kind { get; private set; }

    internal ref readonly ReadOnlySequence<byte> Key => ref _arguments[1];

    internal ref readonly ReadOnlySequence<byte> Value => ref _arguments[2];

    /// <summary>Removes the next complete request from the start of the input; returns false and keeps the input if there is none.</summary>
    /// <exception cref="ProtocolException">The input is not a request.</exception>
    internal bool TryCut(ref ReadOnlySequence<byte> input)
    {
        var reader = new SequenceReader<byte>(input);
        do
        {
            if (!TryReadHeader(ref reader, '*', "invalid multibulk length", out _count)) return false;
        }
        while (_count <= 0);

        RequestLimits.CheckArguments(_count);
        for (int i = 0; i < _count; i++)
        {
            if (!TryReadHeader(ref reader, '$', "invalid bulk length", out int length)) return false;
            RequestLimits.CheckLength(length);
            if (reader.Remaining < length + 2) return false;
            reader.TryReadExact(length, out _arguments[i]);
            reader.Advance(2);
        }

        input = reader.UnreadSequence;
        Kind = FindKind();
        return true;
    }

    /// <summary>The words of a rare command, one other than GET and SET.</summary>
    internal string[] ToText() => [.. _arguments.Take(_count).Select(argument => Encoding.Latin1.GetString(argument))];

    // As in Redis, an empty line between requests is ignored.
    private static bool TryReadHeader(ref SequenceReader<byte> reader, char marker, string otherwise, out int number)
    {
        number = 0;
        if (!reader.TryReadTo(out ReadOnlySequence<byte> line, "\r\n"u8)) return false;
        if (line.IsEmpty && marker == '*') return true;
        var digits = new SequenceReader<byte>(line);
        byte first = digits.TryRead(out byte read) ? read : (byte)'\r';
        if (first != marker) throw RequestLimits.Unexpected(marker, (char)first);

        bool isNegative = digits.IsNext((byte)'-', advancePast: true);
        if (digits.End) throw new ProtocolException(otherwise);
        while (digits.TryRead(out byte digit))
        {
            if (digit is < (byte)'0' or > (byte)'9' || number > RequestLimits.ArgumentBytesMax) throw new ProtocolException(otherwise);
            number = (number * 10) + digit - '0';
        }

        if (isNegative) number = -number;
        return true;
    }

    private CommandKind FindKind()
    {
        if (_count is not (2 or 3) || _arguments[0].Length != NameBytesMax) return CommandKind.Other;
        Span<byte> name = stackalloc byte[NameBytesMax];
        _arguments[0].CopyTo(name);
        if (_count == 2) return Ascii.EqualsIgnoreCase(name, "GET"u8) ? CommandKind.Get : CommandKind.Other;
        return Ascii.EqualsIgnoreCase(name, "SET"u8) ? CommandKind.Set : CommandKind.Other;
    }
}
