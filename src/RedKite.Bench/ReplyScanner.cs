namespace RedKite.Bench;

/// <summary>What a reply is, as far as the load generator needs to know.</summary>
internal enum ReplyKind
{
    Value,
    Null,
    Error,
    Push,
    Malformed,
}

/// <summary>
/// Finds where replies end, RESP2 and RESP3, and builds nothing from them. It resumes: what it has passed need not be seen
/// again, so a long reply is never buffered; only a header line that has not come whole is.
/// </summary>
internal struct ReplyScanner
{
    private const int SizeDigitsMax = 18;

    private long _items; // that the reply under way still needs; 0: at a reply's start
    private long _skip;  // bytes of the item under way
    private ReplyKind _kind;

    /// <summary>Moves <paramref name="at"/> behind the next reply, or as far towards its end as the input goes.</summary>
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

    // A header line: counts the items or bytes that it announces.
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
            case (byte)'|': // stands before an item and is none
                if (!TrySize(line, out size)) return false;
                _items += 2 * size;
                return true;
            default:
                return false;
        }
    }

    // Inside an array a null is an item like others; alone it is the reply.
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
