using RedKite.Server.Model;
using RedKite.Store.Values.Streams;

namespace RedKite.Server.Commands.Streams;

/// <summary>The part of an id that an argument specifies.</summary>
internal enum StreamIdForm
{
    /// <summary>Time and sequence, or a time alone where the sequence has a default.</summary>
    Whole,

    /// <summary>A time, and a sequence that the server chooses: <c>5-*</c>.</summary>
    AutoSequence,
}

/// <summary>
/// Reads ids of stream entries: <c>5-1</c>, <c>5</c>, the ends <c>-</c> and <c>+</c> of ranges, and bounds like <c>(5-1</c>.
/// Numbers are parsed as in C, with leading blanks, signs and zeros, and a zero byte ends the argument.
/// </summary>
internal static class StreamIdArgument
{
    private const int TextMax = 127;

    /// <summary>Reads an id, or replies that it is invalid. A missing sequence is 0.</summary>
    internal static bool TryReadOrReply(scoped in CommandContext cmd, int argument, out StreamId id) =>
        TryRead(cmd[argument], sequenceIfMissing: 0, out id, out _) || ReplyInvalid(cmd);

    /// <summary>Reads an id whose sequence may be left to the server, or replies that it is invalid.</summary>
    internal static bool TryReadNewOrReply(scoped in CommandContext cmd, int argument, out StreamId id, out StreamIdForm form) =>
        TryRead(cmd[argument], sequenceIfMissing: 0, out id, out form, mayBeAuto: true) || ReplyInvalid(cmd);

    /// <summary>Reads an id, if the argument is one.</summary>
    internal static bool TryRead(scoped in CommandContext cmd, int argument, out StreamId id) =>
        TryRead(cmd[argument], sequenceIfMissing: 0, out id, out _);

    /// <summary>Reads an id, or <c>-</c> or <c>+</c> for the lowest or highest possible one; otherwise replies that it is invalid.</summary>
    internal static bool TryReadAnyOrReply(scoped in CommandContext cmd, int argument, out StreamId id) =>
        TryReadEnd(UpToZero(cmd[argument]), out id) || TryReadOrReply(cmd, argument, out id);

    /// <summary>Reads the lower bound of a range, or replies why it is invalid.</summary>
    internal static bool TryReadLowOrReply(scoped in CommandContext cmd, int argument, out StreamId low)
    {
        if (!TryReadBoundOrReply(cmd, argument, sequenceIfMissing: 0, out low, out bool isExcluded)) return false;
        if (!isExcluded || low.TryNext(out low)) return true;
        cmd.Reply.Error("ERR invalid start ID for the interval"u8);
        return false;
    }

    /// <summary>Reads the upper bound of a range, or replies why it is invalid.</summary>
    internal static bool TryReadHighOrReply(scoped in CommandContext cmd, int argument, out StreamId high)
    {
        if (!TryReadBoundOrReply(cmd, argument, ulong.MaxValue, out high, out bool isExcluded)) return false;
        if (!isExcluded || high.TryPrevious(out high)) return true;
        cmd.Reply.Error("ERR invalid end ID for the interval"u8);
        return false;
    }

    private static bool TryReadBoundOrReply(scoped in CommandContext cmd, int argument, ulong sequenceIfMissing, out StreamId id, out bool isExcluded)
    {
        ReadOnlySpan<byte> text = cmd[argument];
        isExcluded = text.Length > 1 && text[0] == '(';
        if (isExcluded) return TryRead(text[1..], sequenceIfMissing, out id, out _) || ReplyInvalid(cmd);
        return TryReadEnd(UpToZero(text), out id) || TryRead(text, sequenceIfMissing, out id, out _) || ReplyInvalid(cmd);
    }

    private static bool TryReadEnd(ReadOnlySpan<byte> text, out StreamId id)
    {
        id = text is [(byte)'+'] ? StreamId.Max : default;
        return text is [(byte)'-' or (byte)'+'];
    }

    private static bool TryRead(ReadOnlySpan<byte> text, ulong sequenceIfMissing, out StreamId id, out StreamIdForm form, bool mayBeAuto = false)
    {
        id = default;
        form = StreamIdForm.Whole;
        if (text.Length > TextMax) return false;
        text = UpToZero(text);
        int hyphen = text.IndexOf((byte)'-');
        if (!TryReadNumber(hyphen < 0 ? text : text[..hyphen], out ulong ms)) return false;
        ulong sequence = sequenceIfMissing;
        if (hyphen >= 0)
        {
            ReadOnlySpan<byte> behind = text[(hyphen + 1)..];
            if (mayBeAuto && behind is [(byte)'*'])
            {
                form = StreamIdForm.AutoSequence;
                sequence = 0;
            }
            else if (!TryReadNumber(behind, out sequence))
            {
                return false;
            }
        }

        id = new StreamId(ms, sequence);
        return true;
    }

    private static bool TryReadNumber(ReadOnlySpan<byte> text, out ulong number)
    {
        number = 0;
        bool canBeNegative = text.IndexOf((byte)'-') > 0; // a leading sign is refused, one after blanks wraps around
        text = text.TrimStart(" \t\n\v\f\r"u8);
        bool negated = canBeNegative && text is [(byte)'-', ..];
        if (negated || text is [(byte)'+', ..]) text = text[1..];
        if (text.IsEmpty) return false;
        foreach (byte character in text)
        {
            uint digit = character - (uint)'0';
            if (digit > 9 || number > (ulong.MaxValue - digit) / 10) return false;
            number = (number * 10) + digit;
        }

        if (negated) number = 0 - number;
        return true;
    }

    private static ReadOnlySpan<byte> UpToZero(ReadOnlySpan<byte> text)
    {
        int end = text.IndexOf((byte)0);
        return end < 0 ? text : text[..end];
    }

    private static bool ReplyInvalid(scoped in CommandContext cmd)
    {
        cmd.Reply.Error("ERR Invalid stream ID specified as stream command argument"u8);
        return false;
    }
}
