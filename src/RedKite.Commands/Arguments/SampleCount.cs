using RedKite.Server.Model;

namespace RedKite.Server.Commands.Arguments;

/// <summary>Reads the count of HRANDFIELD and ZRANDMEMBER, which is negative for a sample with repetition, and their option.</summary>
internal static class SampleCount
{
    /// <param name="cmd">The command, with the count as argument 2.</param>
    /// <param name="option">The option that adds values or scores.</param>
    /// <param name="count">The size of the sample.</param>
    /// <param name="withMore">Whether the option is given.</param>
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
