namespace RedKite.Protocol;

/// <summary>The type of a reply, read without building it.</summary>
internal enum ReplyClass
{
    /// <summary>Any other value, whatever it contains.</summary>
    Value,

    /// <summary>No value.</summary>
    Null,

    /// <summary>An error.</summary>
    Error,

    /// <summary>An out-of-band message, which answers no request.</summary>
    Push,

    /// <summary>Not RESP: nothing after it can be read.</summary>
    Malformed,
}

/// <summary>
/// One element of a reply: a scalar, a piece of a string, or the head of an aggregate, whose elements follow.
/// </summary>
internal readonly ref struct ReplyElement
{
    /// <summary>The element's first character on the wire; 0: the input is not RESP.</summary>
    public byte Marker { get; init; }

    /// <summary>
    /// An integer's value; a string's length, with a verbatim string's format; of an aggregate, how many elements follow
    /// (a map's keys and values both count). -1: a null.
    /// </summary>
    public long Number { get; init; }

    /// <summary>A line's text, or the next piece of a string. Valid until the input changes.</summary>
    public ReadOnlySpan<byte> Bytes { get; init; }

    /// <summary>Whether the element is complete; only strings may have further pieces.</summary>
    public bool IsWhole { get; init; }

    /// <summary>The error in input that is not RESP.</summary>
    public string? Problem { get; init; }

    /// <summary>Whether the element is the head of an aggregate.</summary>
    public bool IsAggregate => Marker is (byte)'*' or (byte)'~' or (byte)'>' or (byte)'%' or (byte)'|';

    /// <summary>Whether the element is a string that comes in pieces.</summary>
    public bool IsString => Marker is (byte)'$' or (byte)'=' or (byte)'!';
}

/// <summary>
/// Reads replies of RESP2 and RESP3, the one reader for tools, replicas and tests. It resumes wherever the input was cut and
/// buffers nothing: input that it has passed is not needed again, except for an incomplete header line. Either
/// <see cref="TrySkip"/> finds where replies end, or <see cref="TryRead"/> hands over their elements; the two are not mixed within a
/// reply.
/// </summary>
internal struct ReplyReader
{
    private const int SizeDigitsMax = 16;

    // The longest line; a longer size is malformed.
    private const int LineBytesMax = 64 * 1024 * 1024;

    private long _items; // that the reply under way still needs; 0: at a reply's start
    private long _skip;  // bytes of the string under way, with its line end
    private long _length; // of the string under way
    private byte _marker; // of the string under way
    private ReplyClass _class;

    /// <summary>Moves <paramref name="at"/> behind the next reply, or as far towards its end as the input goes.</summary>
    public bool TrySkip(ReadOnlySpan<byte> input, ref int at, out ReplyClass replyClass)
    {
        replyClass = ReplyClass.Value;
        while (true)
        {
            if (_skip > 0)
            {
                int taken = (int)Math.Min(_skip, input.Length - at);
                at += taken;
                _skip -= taken;
                if (_skip > 0) return false;
                if (--_items > 0) continue;
                replyClass = _class;
                return true;
            }

            int length = input[at..].IndexOf((byte)'\n');
            if (length < 0) return false;
            ReadOnlySpan<byte> line = input.Slice(at, length);
            at += length + 1;
            if (!TryEnter(line))
            {
                replyClass = ReplyClass.Malformed;
                return true;
            }

            if (_items > 0) continue;
            replyClass = _class;
            return true;
        }
    }

    /// <summary>
    /// Reads the next element, or the next piece of a string, and moves <paramref name="at"/> behind it. False: more input is
    /// needed, from <paramref name="at"/> on. Stricter than <see cref="TrySkip"/>: what the protocol does not allow is
    /// malformed.
    /// </summary>
    public bool TryRead(ReadOnlySpan<byte> input, scoped ref int at, out ReplyElement element)
    {
        element = default;
        if (_skip == 0)
        {
            ReadOnlySpan<byte> rest = input[at..];
            int feed = rest.IndexOf((byte)'\n');
            if (feed < 0)
            {
                if (rest.Length > LineBytesMax) element = Malformed("a line without an end");
                return rest.Length > LineBytesMax;
            }

            at += feed + 1;
            if (feed == 0 || rest[feed - 1] != '\r') element = Malformed("LF without CR");
            else element = ReadLine(rest[..(feed - 1)]);
            if (!element.IsString || element.Number < 0) return true;
            (_marker, _length, _skip) = (element.Marker, element.Number, element.Number + 2);
        }

        return TryReadPiece(input, ref at, out element);
    }

    private bool TryReadPiece(ReadOnlySpan<byte> input, scoped ref int at, out ReplyElement element)
    {
        element = default;
        int length = (int)Math.Min(_skip - 2, input.Length - at);
        bool isWhole = input.Length - at >= _skip;
        if (length <= 0 && !isWhole) return false;
        length = Math.Max(length, 0);
        ReadOnlySpan<byte> bytes = input.Slice(at, length);
        at += length;
        _skip -= length;
        if (isWhole)
        {
            bool ends = input[at] == '\r' && input[at + 1] == '\n';
            at += 2;
            _skip = 0;
            if (!ends)
            {
                element = Malformed("no CRLF after a string");
                return true;
            }
        }

        element = new ReplyElement { Marker = _marker, Number = _length, Bytes = bytes, IsWhole = isWhole };
        return true;
    }

    // A header line: counts the items or bytes that it announces.
    private bool TryEnter(ReadOnlySpan<byte> line)
    {
        if (line.Length < 2 || line[^1] != '\r') return false;
        byte marker = line[0];
        bool isFirst = _items == 0;
        if (isFirst)
        {
            _items = 1;
            _class = marker switch
            {
                (byte)'-' or (byte)'!' => ReplyClass.Error,
                (byte)'_' => ReplyClass.Null,
                (byte)'>' => ReplyClass.Push,
                _ => ReplyClass.Value,
            };
        }

        ReadOnlySpan<byte> digits = line[1..^1];
        switch (marker)
        {
            case (byte)'+' or (byte)'-' or (byte)':' or (byte)'_' or (byte)',' or (byte)'#' or (byte)'(':
                _items--;
                return true;
            case (byte)'$' or (byte)'=' or (byte)'!':
                if (!TrySize(digits, out long size)) return false;
                if (size < 0) EndNull(isFirst);
                else _skip = size + 2;
                return true;
            case (byte)'*' or (byte)'~' or (byte)'>':
                if (!TrySize(digits, out size)) return false;
                if (size < 0) EndNull(isFirst);
                else _items += size - 1;
                return true;
            case (byte)'%':
                if (!TrySize(digits, out size)) return false;
                _items += (2 * size) - 1;
                return true;
            case (byte)'|': // precedes an item and is not an item itself
                if (!TrySize(digits, out size)) return false;
                _items += 2 * size;
                return true;
            default:
                return false;
        }
    }

    // Inside an array a null is an item like others; alone it is the reply.
    private void EndNull(bool isFirst)
    {
        if (isFirst) _class = ReplyClass.Null;
        _items--;
    }

    private static ReplyElement ReadLine(ReadOnlySpan<byte> line)
    {
        if (line.IsEmpty) return Malformed("an empty header");
        if (line.Contains((byte)'\r')) return Malformed("CR inside a line");
        byte marker = line[0];
        ReadOnlySpan<byte> text = line[1..];
        long number = 0;
        switch (marker)
        {
            case (byte)'+' or (byte)'-' or (byte)',' or (byte)'(':
                break;
            case (byte)':':
                if (!RespNumber.TryParseInt64(text is [(byte)'+', ..] ? text[1..] : text, out number)) return Malformed("a bad integer");
                break;
            case (byte)'#':
                if (text is not ([(byte)'t'] or [(byte)'f'])) return Malformed("a bad boolean");
                break;
            case (byte)'_':
                if (!text.IsEmpty) return Malformed("a bad null");
                number = -1;
                break;
            case (byte)'$' or (byte)'*':
                if (!TrySize(text, out number)) return Malformed("a bad length");
                break;
            case (byte)'=' or (byte)'!' or (byte)'~' or (byte)'>':
                if (!TrySize(text, out number) || number < 0) return Malformed("a bad length");
                break;
            case (byte)'%' or (byte)'|':
                if (!TrySize(text, out number) || number < 0) return Malformed("a bad length");
                number *= 2;
                break;
            default:
                return Malformed("an unknown marker");
        }

        return new ReplyElement { Marker = marker, Number = number, Bytes = text, IsWhole = true };
    }

    private static bool TrySize(ReadOnlySpan<byte> digits, out long size)
    {
        size = 0;
        if (digits is [(byte)'-', (byte)'1'])
        {
            size = -1;
            return true;
        }

        if (digits.Length is < 1 or > SizeDigitsMax) return false;
        foreach (byte character in digits)
        {
            int digit = character - '0';
            if ((uint)digit > 9) return false;
            size = (size * 10) + digit;
        }

        return true;
    }

    private static ReplyElement Malformed(string problem) => new() { IsWhole = true, Problem = problem };
}
