using RedKite.Protocol;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Strings;

/// <summary>Parses a bit offset: a number of bits or, after a hash sign, a number of fields.</summary>
internal static class BitOffset
{
    internal static bool TryParseOrReply(scoped in CommandContext cmd, int argument, out long bit) => TryParseOrReply(cmd, argument, 0, out bit);

    /// <param name="cmd">The command.</param>
    /// <param name="argument">The argument.</param>
    /// <param name="bits">The width of a field for the form with a hash sign; 0 if that form is not allowed.</param>
    /// <param name="bit">The bit, which lies within the maximum length of a string.</param>
    internal static bool TryParseOrReply(scoped in CommandContext cmd, int argument, int bits, out long bit)
    {
        ReadOnlySpan<byte> text = cmd[argument];
        bool isMultiple = bits > 0 && text is [(byte)'#', ..];
        long bitsMax = StringCommands.BytesMaxOf(cmd) * 8;
        if (RespNumber.TryParseInt64(isMultiple ? text[1..] : text, out bit) && bit >= 0 && bit < bitsMax)
        {
            if (isMultiple) bit *= bits;
            if (bit < bitsMax) return true;
        }

        cmd.Reply.Error("ERR bit offset is not an integer or out of range"u8);
        return false;
    }
}
