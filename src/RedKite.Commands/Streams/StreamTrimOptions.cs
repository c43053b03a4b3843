using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Values.Streams;

namespace RedKite.Server.Commands.Streams;

/// <summary>The options of XADD before the id, and those of XTRIM: how a stream is trimmed.</summary>
internal struct StreamTrimOptions
{
    // The maximum number of entries that an approximate trimming without a LIMIT deletes at once: that of 100 nodes, within these bounds.
    private const long NodesPerTrim = 100;
    private const long LimitWithoutNodes = 10_000;
    private const long LimitMax = 1_000_000;

    private bool _hasLimit;

    /// <summary>NOMKSTREAM: the entry is added only if the key exists.</summary>
    internal bool OnlyExisting { get; private set; }

    /// <summary>Whether the stream is trimmed.</summary>
    internal bool Trims { get; private set; }

    /// <summary>Whether a policy for references of groups is named, which Redis 8.0 does not know.</summary>
    internal bool NamesPolicy { get; private set; }

    /// <summary>IDMP and IDMPAUTO: by what the entry is recognised if it is added twice.</summary>
    internal ProducerArguments Producer { get; private set; }

    /// <summary>How the stream is trimmed.</summary>
    internal StreamTrimming Trimming { get; private set; }

    /// <summary>Reads XADD's options, up to the first argument that is not an option.</summary>
    internal static bool TryParseAddOrReply(scoped in CommandContext cmd, out StreamTrimOptions result, out int position)
    {
        result = default;
        var options = new OptionReader(cmd, first: 2);
        while (options.More)
        {
            if (options.Take("NOMKSTREAM"u8))
            {
                result.OnlyExisting = true;
                continue;
            }

            if (ProducerArguments.TryTake(ref options, out ProducerArguments producer))
            {
                if (!producer.IsValidOrReply(cmd, isRepeated: result.Producer.Exist))
                {
                    position = 0;
                    return false;
                }

                result.Producer = producer;
                continue;
            }

            if (!result.TryTakeOrReply(cmd, ref options, out bool taken))
            {
                position = 0;
                return false;
            }

            if (!taken) break;
        }

        position = options.Position;
        return true;
    }

    /// <summary>Reads XTRIM's options.</summary>
    internal static bool TryParseTrimOrReply(scoped in CommandContext cmd, out StreamTrimOptions result)
    {
        result = default;
        var options = new OptionReader(cmd, first: 2);
        while (options.More)
        {
            if (!result.TryTakeOrReply(cmd, ref options, out bool taken)) return false;
            if (taken) continue;
            cmd.ReplySyntaxError();
            return false;
        }

        return result.TryCompleteOrReply(cmd, mustTrim: true);
    }

    /// <summary>Checks the combination of options, and sets the default limit.</summary>
    internal bool TryCompleteOrReply(scoped in CommandContext cmd, bool mustTrim = false)
    {
        if (!Trims && _hasLimit && Trimming.DeletedMax > 0)
        {
            cmd.Reply.Error("ERR syntax error, LIMIT cannot be used without specifying a trimming strategy"u8);
            return false;
        }

        if (!Trims && mustTrim)
        {
            cmd.ReplySyntaxError();
            return false;
        }

        if (_hasLimit && !Trimming.IsApproximate)
        {
            cmd.Reply.Error("ERR syntax error, LIMIT cannot be used without the special ~ option"u8);
            return false;
        }

        if (!_hasLimit && Trimming.IsApproximate)
        {
            long nodeEntries = Math.Min(cmd.Settings.StreamNodeMaxEntries, LimitMax);
            long limit = nodeEntries == 0 ? LimitWithoutNodes : Math.Min(NodesPerTrim * nodeEntries, LimitMax);
            Trimming = Trimming with { DeletedMax = limit };
        }

        return true;
    }

    private bool TryTakeOrReply(scoped in CommandContext cmd, ref OptionReader options, out bool taken)
    {
        taken = true;
        if (!NamesPolicy && StreamIdBlock.TryTakePolicy(ref options, out StreamReferencePolicy policy)) // as in Redis, a second one is no option
        {
            NamesPolicy = true;
            Trimming = Trimming with { Policy = policy };
            return true;
        }

        bool byLength = options.TakeWithValue("MAXLEN"u8, out int threshold);
        if (byLength || options.TakeWithValue("MINID"u8, out threshold)) return TryThresholdOrReply(cmd, ref options, byLength, threshold);
        if (options.TakeWithValue("LIMIT"u8, out int limit)) return TryLimitOrReply(cmd, limit);
        taken = false;
        return true;
    }

    private bool TryThresholdOrReply(scoped in CommandContext cmd, ref OptionReader options, bool byLength, int threshold)
    {
        if (Trims)
        {
            cmd.Reply.Error("ERR syntax error, MAXLEN and MINID options at the same time are not compatible"u8);
            return false;
        }

        Trims = true;
        bool isApproximate = cmd[threshold] is [(byte)'~'];
        if ((isApproximate || cmd[threshold] is [(byte)'=']) && options.TakeAny(out int behindSign)) threshold = behindSign;

        long lengthMax = 0;
        StreamId minId = default;
        if (byLength ? !cmd.TryIntegerOrReply(threshold, out lengthMax) : !StreamIdArgument.TryReadOrReply(cmd, threshold, out minId)) return false;
        if (lengthMax < 0)
        {
            cmd.Reply.Error("ERR The MAXLEN argument must be >= 0."u8);
            return false;
        }

        Trimming = Trimming with { ByLength = byLength, LengthMax = lengthMax, MinId = minId, IsApproximate = isApproximate };
        return true;
    }

    private bool TryLimitOrReply(scoped in CommandContext cmd, int argument)
    {
        if (!cmd.TryIntegerOrReply(argument, out long limit)) return false;
        if (limit < 0)
        {
            cmd.Reply.Error("ERR The LIMIT argument must be >= 0."u8);
            return false;
        }

        _hasLimit = true;
        Trimming = Trimming with { DeletedMax = limit };
        return true;
    }
}
