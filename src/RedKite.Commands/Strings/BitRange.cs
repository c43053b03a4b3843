using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Strings;

/// <summary>The range of BITCOUNT and BITPOS in bytes or bits. Negative positions count from the string's end.</summary>
internal struct BitRange
{
    private const int ArgumentsMax = 3;

    private long _start;
    private long _end;
    private bool _inBits;

    /// <summary>Whether the request has an explicit end.</summary>
    internal bool HasEnd { get; private set; }

    /// <summary>Whether both positions are negative and the start is behind the end, even if both lie before the first byte.</summary>
    internal readonly bool IsReversed => _start < 0 && _end < 0 && _start > _end;

    /// <summary>Parses BITCOUNT's "[start end [BYTE | BIT]]": the numbers before the unit.</summary>
    internal static bool TryParseForCountOrReply(scoped in CommandContext cmd, out BitRange range)
    {
        range = new BitRange { _end = -1 };
        var options = new OptionReader(cmd, first: 2);
        if (!options.More) return true;
        if (options.Left is 1 or > ArgumentsMax) return SyntaxError(cmd);
        options.TakeAny(out int start);
        options.TakeAny(out int end);
        return cmd.TryIntegerOrReply(start, out range._start) && cmd.TryIntegerOrReply(end, out range._end) && range.TryUnitOrReply(cmd, ref options);
    }

    /// <summary>Parses BITPOS's "[start [end [BYTE | BIT]]]": the unit before the end.</summary>
    internal static bool TryParseForPositionOrReply(scoped in CommandContext cmd, out BitRange range)
    {
        range = new BitRange { _end = -1 };
        var options = new OptionReader(cmd, first: 3);
        if (options.Left > ArgumentsMax) return SyntaxError(cmd);
        if (!options.TakeAny(out int start)) return true;
        if (!cmd.TryIntegerOrReply(start, out range._start)) return false;
        range.HasEnd = options.TakeAny(out int end);
        return !range.HasEnd || (range.TryUnitOrReply(cmd, ref options) && cmd.TryIntegerOrReply(end, out range._end));
    }

    /// <summary>Parses BITRANGEINTARRAY's "start end [BYTE | BIT] [LIMIT count] [ZEROS]".</summary>
    internal static bool TryParseForOffsetsOrReply(scoped in CommandContext cmd, out BitRange range, out long limit, out bool zeros)
    {
        range = default;
        limit = 0;
        zeros = false;
        if (!cmd.TryIntegerOrReply(2, out range._start) || !cmd.TryIntegerOrReply(3, out range._end)) return false;
        bool hasUnit = false;
        var options = new OptionReader(cmd, first: 4);
        while (options.More)
        {
            if (options.Take("ZEROS"u8))
            {
                zeros = true;
            }
            else if (options.TakeWithValue("LIMIT"u8, out int argument))
            {
                if (!cmd.TryCountOrReply(argument, "ERR LIMIT can't be negative"u8, out limit)) return false;
            }
            else if (hasUnit || !(options.Take("BYTE"u8) || (range._inBits = options.Take("BIT"u8))))
            {
                return SyntaxError(cmd);
            }
            else
            {
                hasUnit = true;
            }
        }

        if (limit == 0) limit = long.MaxValue;
        return true;
    }

    /// <summary>Locates the first and last bit of the range in a string; false if the range is empty.</summary>
    internal readonly bool TryLocate(int bytes, out long firstBit, out long lastBit)
    {
        long length = _inBits ? bytes * 8L : bytes;
        long first = _start < 0 ? Math.Max(0, length + _start) : _start;
        long last = Math.Min(_end < 0 ? Math.Max(0, length + _end) : _end, length - 1);
        firstBit = _inBits ? first : first * 8;
        lastBit = _inBits ? last : (last * 8) + 7;
        return first <= last;
    }

    private bool TryUnitOrReply(scoped in CommandContext cmd, ref OptionReader options)
    {
        _inBits = options.Take("BIT"u8);
        return _inBits || options.Take("BYTE"u8) || !options.More || SyntaxError(cmd);
    }

    private static bool SyntaxError(scoped in CommandContext cmd)
    {
        cmd.ReplySyntaxError();
        return false;
    }
}
