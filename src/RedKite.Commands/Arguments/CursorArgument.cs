using RedKite.Protocol;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Arguments;

/// <summary>
/// Reads the cursor of SCAN, HSCAN, SSCAN and ZSCAN: an unsigned 64-bit number as C parses it (leading blanks, a sign, leading
/// zeros, and an end at a zero byte), except that plain negative numbers are refused.
/// </summary>
internal static class CursorArgument
{
    internal static bool TryReadOrReply(scoped in CommandContext cmd, int argument, out ulong cursor)
    {
        if (TryRead(cmd[argument], out cursor)) return true;
        cmd.Reply.Error("ERR invalid cursor"u8);
        return false;
    }

    private static bool TryRead(ReadOnlySpan<byte> text, out ulong cursor)
    {
        int end = text.IndexOf((byte)0);
        if (end >= 0) text = text[..end];
        if (RespNumber.TryParseInt64(text, out long canonical))
        {
            cursor = (ulong)canonical;
            return canonical >= 0;
        }

        text = text.TrimStart(" \t\n\v\f\r"u8);
        bool negated = text is [(byte)'-', ..];
        if (text is [(byte)'-' or (byte)'+', ..]) text = text[1..];
        cursor = 0;
        foreach (byte character in text)
        {
            uint digit = character - (uint)'0';
            if (digit > 9 || cursor > (ulong.MaxValue - digit) / 10) return false;
            cursor = (cursor * 10) + digit;
        }

        if (negated) cursor = 0 - cursor;
        return text.Length > 0;
    }
}
