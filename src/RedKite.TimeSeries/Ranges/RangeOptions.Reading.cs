using RedKite.Protocol;
using RedKite.Server.Model;

namespace RedKite.TimeSeries.Ranges;

/// <content>Reads the arguments of ranges.</content>
internal sealed partial class RangeOptions
{
    /// <summary>Reads two ends: timestamps, or - and +.</summary>
    internal static bool TryRangeOrReply(scoped in CommandContext cmd, int argument, out long from, out long to)
    {
        to = long.MaxValue;
        from = 0;
        if (!cmd[argument].SequenceEqual("-"u8) && (!RespNumber.TryParseInt64(cmd[argument], out from) || from < 0)) return Fail(cmd, "ERR TSDB: wrong fromTimestamp"u8);
        if (cmd[argument + 1].SequenceEqual("+"u8)) return true;
        return (RespNumber.TryParseInt64(cmd[argument + 1], out to) && to >= 0) || Fail(cmd, "ERR TSDB: wrong toTimestamp"u8);
    }

    /// <summary>Reads one option of a range, if there is one.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="at">Its argument; then the one behind it.</param>
    /// <param name="align">The argument of ALIGN, which <see cref="TryAlignOrReply"/> reads in the end.</param>
    /// <param name="isOption">Whether there was one.</param>
    /// <returns>False: the error was replied.</returns>
    internal bool TryOptionOrReply(scoped in CommandContext cmd, ref int at, ref int align, out bool isOption)
    {
        isOption = true;
        int left = cmd.Count - at - 1;
        if (cmd.Is(at, "LATEST"u8))
        {
            Latest = true;
            at++;
        }
        else if (cmd.Is(at, "COUNT"u8))
        {
            if (left < 1 || !RespNumber.TryParseInt64(cmd[at + 1], out long count)) return Fail(cmd, "ERR TSDB: Couldn't parse COUNT"u8);
            if (count < 0) return Fail(cmd, "ERR TSDB: Invalid COUNT value"u8);
            Count = count;
            at += 2;
        }
        else if (cmd.Is(at, "FILTER_BY_VALUE"u8))
        {
            if (left < 2) return Fail(cmd, "ERR TSDB: FILTER_BY_VALUE one or more arguments are missing"u8);
            if (!FloatText.TryParse(cmd[at + 1], out double min)) return Fail(cmd, "ERR TSDB: Couldn't parse MIN"u8);
            if (!FloatText.TryParse(cmd[at + 2], out double max)) return Fail(cmd, "ERR TSDB: Couldn't parse MAX"u8);
            (Min, Max, FiltersValues) = (min, max, true);
            at += 3;
        }
        else if (cmd.Is(at, "FILTER_BY_TS"u8))
        {
            int end = at + 1;
            while (end < cmd.Count && end - at <= TimesMax && RespNumber.TryParseInt64(cmd[end], out _)) end++;
            if (end == at + 1) return Fail(cmd, "ERR TSDB: FILTER_BY_TS one or more arguments are missing"u8);
            long[] times = new long[end - at - 1];
            for (int i = 0; i < times.Length; i++) _ = RespNumber.TryParseInt64(cmd[at + 1 + i], out times[i]);
            Array.Sort(times);
            Times = times;
            at = end;
        }
        else if (cmd.Is(at, "ALIGN"u8))
        {
            if (left < 1) return Fail(cmd, "ERR TSDB: unknown ALIGN parameter"u8);
            align = at + 1;
            at += 2;
        }
        else if (cmd.Is(at, "AGGREGATION"u8))
        {
            if (!TryAggregationOrReply(cmd, at, out Aggregator aggregator, out long duration)) return false;
            (Aggregator, Duration) = (aggregator, duration);
            at += 3;
        }
        else if (cmd.Is(at, "BUCKETTIMESTAMP"u8))
        {
            if (left < 1) return Fail(cmd, "ERR TSDB: BUCKETTIMESTAMP parameter is missing"u8);
            if (cmd.Is(at + 1, "-"u8) || cmd.Is(at + 1, "start"u8)) BucketTime = BucketTime.Start;
            else if (cmd.Is(at + 1, "+"u8) || cmd.Is(at + 1, "end"u8)) BucketTime = BucketTime.End;
            else if (cmd.Is(at + 1, "~"u8) || cmd.Is(at + 1, "mid"u8)) BucketTime = BucketTime.Middle;
            else return Fail(cmd, "ERR TSDB: unknown BUCKETTIMESTAMP parameter"u8);
            at += 2;
        }
        else if (cmd.Is(at, "EMPTY"u8))
        {
            Empty = true;
            at++;
        }
        else
        {
            isOption = false;
        }

        return true;
    }

    /// <summary>Reads AGGREGATION's two values.</summary>
    internal static bool TryAggregationOrReply(scoped in CommandContext cmd, int at, out Aggregator aggregator, out long duration)
    {
        (aggregator, duration) = (Aggregator.None, 1);
        if (cmd.Count - at < 3) return Fail(cmd, "ERR TSDB: Couldn't parse AGGREGATION"u8);
        if (!Aggregators.TryFind(cmd[at + 1], out aggregator)) return Fail(cmd, "ERR TSDB: Unknown aggregation type"u8);
        if (!RespNumber.TryParseInt64(cmd[at + 2], out duration)) return Fail(cmd, "ERR TSDB: Couldn't parse bucketDuration"u8);
        return duration > 0 || Fail(cmd, "ERR TSDB: bucketDuration must be greater than zero"u8);
    }

    /// <summary>Reads the value of ALIGN, which depends on the range.</summary>
    internal bool TryAlignOrReply(scoped in CommandContext cmd, int align, int from)
    {
        if (align == 0) return true;
        if (Aggregator == Aggregator.None) return Fail(cmd, "ERR TSDB: ALIGN parameter can only be used with AGGREGATION"u8);
        if (cmd.Is(align, "-"u8) || cmd.Is(align, "start"u8))
        {
            if (cmd[from].SequenceEqual("-"u8)) return Fail(cmd, "ERR TSDB: start alignment can only be used with explicit start timestamp"u8);
            Align = From;
            return true;
        }

        if (cmd.Is(align, "+"u8) || cmd.Is(align, "end"u8))
        {
            if (cmd[from + 1].SequenceEqual("+"u8)) return Fail(cmd, "ERR TSDB: end alignment can only be used with explicit end timestamp"u8);
            Align = To;
            return true;
        }

        if (!RespNumber.TryParseInt64(cmd[align], out long time) || time < 0) return Fail(cmd, "ERR TSDB: unknown ALIGN parameter"u8);
        Align = time;
        return true;
    }

    private static bool Fail(scoped in CommandContext cmd, ReadOnlySpan<byte> error)
    {
        cmd.Reply.Error(error);
        return false;
    }
}
