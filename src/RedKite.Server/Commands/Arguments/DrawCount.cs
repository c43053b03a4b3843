using RedKite.Server.Model;

namespace RedKite.Server.Commands.Arguments;

/// <summary>What HRANDFIELD and ZRANDMEMBER want several of: a count, negative where one may be drawn repeatedly, and more of each or not.</summary>
internal static class DrawCount
{
    /// <param name="cmd">The command, with the count as argument 2.</param>
    /// <param name="option">The option for more of each.</param>
    /// <param name="count">How many are drawn.</param>
    /// <param name="withMore">Whether the option is there.</param>
    internal static bool TryReadOrReply(scoped in CommandContext cmd, ReadOnlySpan<byte> option, out long count, out bool withMore)
    {
        withMore = false;
        if (!cmd.TrySignedOrReply(2, out count)) return false;
        var options = new OptionReader(cmd, first: 3);
        withMore = options.Take(option);
        if (options.More)
        {
            cmd.ReplySyntaxError();
            return false;
        }

        if (!withMore || count is >= -(long.MaxValue / 2) and <= long.MaxValue / 2) return true;
        cmd.Reply.Error("ERR value is out of range"u8);
        return false;
    }
}
