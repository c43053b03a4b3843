namespace RedKite.Bench;

/// <summary>The reply kinds that the load generator distinguishes.</summary>
internal enum ReplyKind
{
    Value,
    Null,
    Error,
    Push,
    Malformed,
}

/// <summary>
/// Finds the ends of RESP2 and RESP3 replies without parsing their contents. It can resume, so a long reply is never
/// buffered; only an incomplete header line is.
/// </summary>
internal struct ReplyScanner
{
    private const int SizeDigitsMax = 18;

    private long _items; // still missing from the current reply; 0: at the start of a reply
    private long _skip;  // bytes left of the current item
    private ReplyKind _kind;

    /// <summary>Moves <paramref name="at"/> to the end of the next reply, or to the end of the input.</summary>
    internal bool TryFinish(ReadOnlySpan<byte> input, ref int at, out ReplyKind kind)
    {
        kind = ReplyKind.Value;
        while (true)
        {
            if (_skip > 0)
            {
                int taken = (int)Math.Min(_skip, input.Length - at);
                at += taken;
                _skip -= taken;
                if (_skip > 0) return false;
                if (--_items > 0) continue;
                kind = _kind;
                return true;
            }

            int length = input[at..].IndexOf((byte)'\n');
            if (length < 0) return false;
            ReadOnlySpan<byte> line = input.Slice(at, length);
            at += length + 1;
            if (!TryEnter(line))
            {
                kind = ReplyKind.Malformed;
                return true;
            }

            if (_items > 0) continue;
            kind = _kind;
            return true;
        }
    }

    // A header line: counts the items or bytes that it declares.
    private bool TryEnter(ReadOnlySpan<byte> line)
    {
        if (line.Length < 2 || line[^1] != '\r') return false;
        byte marker = line[0];
        bool isFirst = _items == 0;
        if (isFirst)
        {
            _items = 1;
            _kind = marker switch
            {
                (byte)'-' or (byte)'!' => ReplyKind.Error,
                (byte)'_' => ReplyKind.Null,
                (byte)'>' => ReplyKind.Push,
                _ => ReplyKind.Value,
            };
        }

        switch (marker)
        {
            case (byte)'+' or (byte)'-' or (byte)':' or (byte)'_' or (byte)',' or (byte)'#' or (byte)'(':
                _items--;
                return true;
            case (byte)'$' or (byte)'=' or (byte)'!':
                if (!TrySize(line, out long size)) return false;
                if (size < 0) EndNull(isFirst);
                else _skip = size + 2;
                return true;
            case (byte)'*' or (byte)'~' or (byte)'>':
                if (!TrySize(line, out size)) return false;
                if (size < 0) EndNull(isFirst);
                else _items += size - 1;
                return true;
            case (byte)'%':
                if (!TrySize(line, out size)) return false;
                _items += (2 * size) - 1;
                return true;
            case (byte)'|': // precedes an item and does not count as one
                if (!TrySize(line, out size)) return false;
                _items += 2 * size;
                return true;
            default:
                return false;
        }
    }

    // Inside an array a null is an ordinary item; alone it is the reply.
    private void EndNull(bool isFirst)
    {
        if (isFirst) _kind = ReplyKind.Null;
        _items--;
    }

    private static bool TrySize(ReadOnlySpan<byte> line, out long size)
    {
        size = 0;
        if (line.Length == 4 && line[1] == '-' && line[2] == '1')
        {
            size = -1;
            return true;
        }

        if (line.Length is < 3 or > SizeDigitsMax) return false;
        for (int i = 1; i < line.Length - 1; i++)
        {
            int digit = line[i] - '0';
            if ((uint)digit > 9) return false;
            size = (size * 10) + digit;
        }

        return true;
    }
}
