using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Streams;

/// <summary>The options of XREAD and XREADGROUP before the streams.</summary>
internal struct StreamReadOptions
{
    /// <summary>COUNT: the maximum number of entries of each stream; 0 if there is none.</summary>
    internal long CountMax { get; private set; }

    /// <summary>MAXCOUNT: the maximum number of entries of all streams together; null: there is none.</summary>
    internal long? TotalMax { get; private set; }

    /// <summary>MAXSIZE: the bytes of the reply beyond which no second entry is added; null: there is no such limit.</summary>
    internal long? BytesMax { get; private set; }

    /// <summary>BLOCK: when the wait for entries ends; null: it does not wait.</summary>
    internal long? DeadlineMs { get; private set; }

    /// <summary>The argument with the group's name, before the consumer's; 0 if there is none.</summary>
    internal int GroupArgument { get; private set; }

    internal readonly int ConsumerArgument => GroupArgument + 1;

    /// <summary>CLAIM: pending entries that are idle for so long are delivered first; null: none are.</summary>
    internal long? MinIdleMs { get; private set; }

    /// <summary>NOACK: delivered entries do not become pending.</summary>
    internal bool NoAck { get; private set; }

    /// <summary>The first stream's argument.</summary>
    internal int FirstKey { get; private set; }

    /// <summary>The number of streams, which is the number of ids too.</summary>
    internal int StreamCount { get; private set; }

    internal readonly bool HasGroup => GroupArgument > 0;

    /// <summary>The argument of the id after which a stream is read.</summary>
    internal readonly int IdArgument(int stream) => FirstKey + StreamCount + stream;

    /// <summary>Finds the word STREAMS as reading all options does, because a group may have the same name.</summary>
    /// <param name="cmd">The request.</param>
    /// <param name="start">The argument that is the command's name.</param>
    /// <param name="needsGroup">Whether the option GROUP comes before it.</param>
    /// <returns>The word's argument, or -1 if there is none.</returns>
    internal static int FindStreams(scoped in CommandContext cmd, int start, bool needsGroup)
    {
        var options = new OptionReader(cmd, start + 1);
        while (options.More)
        {
            if (options.TakeWithValue("STREAMS"u8, out int first)) return needsGroup ? -1 : first - 1;
            if (options.TakeWithValues("GROUP"u8, 2, out _)) needsGroup = false;
            else if (!options.TakeWithValue("COUNT"u8, out _) && !options.TakeWithValue("MAXCOUNT"u8, out _) && !options.TakeWithValue("MAXSIZE"u8, out _) && !options.TakeWithValue("BLOCK"u8, out _) && !options.TakeWithValue("CLAIM"u8, out _) && !options.Take("NOACK"u8)) return -1;
        }

        return -1;
    }

    internal static bool TryParseOrReply(scoped in CommandContext cmd, bool isGroupRead, out StreamReadOptions result)
    {
        result = default;
        var options = new OptionReader(cmd, first: 1);
        while (options.More)
        {
            if (options.TakeWithValue("BLOCK"u8, out int argument))
            {
                if (!TimeoutArgument.TryMillisecondsOrReply(cmd, argument, out long deadlineMs)) return false;
                result.DeadlineMs = deadlineMs;
            }
            else if (options.TakeWithValue("COUNT"u8, out argument))
            {
                if (!cmd.TryIntegerOrReply(argument, out long count)) return false;
                result.CountMax = Math.Max(0, count);
            }
            else if (options.TakeWithValue("MAXCOUNT"u8, out argument))
            {
                if (!TryLimitOrReply(cmd, argument, "ERR MAXCOUNT must be a positive integer"u8, out long totalMax)) return false;
                result.TotalMax = totalMax;
            }
            else if (options.TakeWithValue("MAXSIZE"u8, out argument))
            {
                if (!TryLimitOrReply(cmd, argument, "ERR MAXSIZE must be a positive integer"u8, out long bytesMax)) return false;
                result.BytesMax = bytesMax;
            }
            else if (options.TakeWithValue("STREAMS"u8, out argument))
            {
                result.FirstKey = argument;
                break;
            }
            else if (options.TakeWithValues("GROUP"u8, 2, out argument))
            {
                if (!isGroupRead) return ReplyGroupOnly(cmd, "GROUP");
                result.GroupArgument = argument;
            }
            else if (options.TakeWithValue("CLAIM"u8, out argument))
            {
                if (!isGroupRead) return ReplyGroupOnly(cmd, "CLAIM");
                if (!RespNumber.TryParseInt64(cmd[argument], out long minIdleMs)) return Refuse(cmd, "ERR min-idle-time is not an integer or out of range"u8);
                if (minIdleMs < 0) return Refuse(cmd, "ERR min-idle-time must be a positive integer"u8);
                result.MinIdleMs = minIdleMs;
            }
            else if (options.Take("NOACK"u8))
            {
                if (!isGroupRead) return ReplyGroupOnly(cmd, "NOACK");
                result.NoAck = true;
            }
            else
            {
                break;
            }
        }

        if (result.FirstKey == 0)
        {
            cmd.ReplySyntaxError();
            return false;
        }

        int left = cmd.Count - result.FirstKey;
        if (left % 2 != 0)
        {
            cmd.Reply.Error(isGroupRead
                ? "ERR Unbalanced 'xreadgroup' list of streams: for each stream key an ID or '>' must be specified."u8
                : "ERR Unbalanced 'xread' list of streams: for each stream key an ID, '+', or '$' must be specified."u8);
            return false;
        }

        result.StreamCount = left / 2;
        if (result.TotalMax < result.CountMax)
        {
            cmd.Reply.Error("ERR MAXCOUNT must not be less than COUNT"u8);
            return false;
        }

        if (!isGroupRead || result.HasGroup) return true;
        cmd.Reply.Error("ERR Missing GROUP option for XREADGROUP"u8);
        return false;
    }

    private static bool Refuse(scoped in CommandContext cmd, ReadOnlySpan<byte> error)
    {
        cmd.Reply.Error(error);
        return false;
    }

    private static bool TryLimitOrReply(scoped in CommandContext cmd, int argument, ReadOnlySpan<byte> error, out long limit)
    {
        return (RespNumber.TryParseInt64(cmd[argument], out limit) && limit > 0) || Refuse(cmd, error);
    }

    private static bool ReplyGroupOnly(scoped in CommandContext cmd, string option)
    {
        cmd.Reply.Error($"ERR The {option} option is only supported by XREADGROUP. You called XREAD instead.");
        return false;
    }
}
