using RedKite.Protocol;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Arguments;

/// <summary>Reads the timeout of a blocking command: seconds with a fraction, or milliseconds; 0 means no timeout.</summary>
internal static class TimeoutArgument
{
    /// <summary>The deadline of a wait without a timeout.</summary>
    internal const long Never = long.MaxValue;

    /// <summary>Reads seconds (BLPOP and other commands on keys).</summary>
    internal static bool TrySecondsOrReply(scoped in CommandContext cmd, int argument, out long deadlineMs)
    {
        deadlineMs = Never;
        if (!ExtendedDouble.TryParse(cmd[argument], out ExtendedDouble seconds))
        {
            cmd.Reply.Error("ERR timeout is not a float or out of range"u8);
            return false;
        }

        bool negative = cmd[argument][0] == '-';
        if (!seconds.TryThousandfold(out long milliseconds)) return negative ? IsNegative(cmd) : IsOutOfRange(cmd);
        return TryDeadlineOrReply(cmd, milliseconds, out deadlineMs);
    }

    /// <summary>Reads milliseconds (WAIT, XREAD).</summary>
    internal static bool TryMillisecondsOrReply(scoped in CommandContext cmd, int argument, out long deadlineMs)
    {
        deadlineMs = Never;
        if (!RespNumber.TryParseInt64(cmd[argument], out long milliseconds))
        {
            cmd.Reply.Error("ERR timeout is not an integer or out of range"u8);
            return false;
        }

        return TryDeadlineOrReply(cmd, milliseconds, out deadlineMs);
    }

    private static bool TryDeadlineOrReply(scoped in CommandContext cmd, long milliseconds, out long deadlineMs)
    {
        deadlineMs = Never;
        if (milliseconds < 0) return IsNegative(cmd);
        if (milliseconds == 0) return true;
        long nowMs = cmd.Time.SteadyMs;
        if (milliseconds >= Never - nowMs) return IsOutOfRange(cmd);
        deadlineMs = nowMs + milliseconds;
        return true;
    }

    private static bool IsNegative(scoped in CommandContext cmd)
    {
        cmd.Reply.Error("ERR timeout is negative"u8);
        return false;
    }

    private static bool IsOutOfRange(scoped in CommandContext cmd)
    {
        cmd.Reply.Error("ERR timeout is out of range"u8);
        return false;
    }
}
