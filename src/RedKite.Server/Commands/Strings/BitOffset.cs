using RedKite.Protocol;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Strings;

/// <summary>Reads the offset of a bit: a number, or, where numbers of some bits are meant, one of those behind a hash sign.</summary>
internal static class BitOffset
{
    internal static bool TryParseOrReply(scoped in CommandContext cmd, int argument, out long bit) => TryParseOrReply(cmd, argument, 0, out bit);

    /// <param name="cmd">The command.</param>
    /// <param name="argument">The argument.</param>
    /// <param name="bits">How many bits "#1" is away from "#0"; 0: there is no such form.</param>
    /// <param name="bit">The bit; it lies within the longest string that there may be.</param>
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
