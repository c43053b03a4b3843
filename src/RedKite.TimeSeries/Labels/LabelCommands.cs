using RedKite.Protocol;
using RedKite.Server.Model;
using RedKite.TimeSeries.Ranges;
using RedKite.TimeSeries.Store;

namespace RedKite.TimeSeries.Labels;

/// <summary>TS.MGET, TS.MRANGE, TS.MREVRANGE and TS.QUERYINDEX. The table is their single declaration and this file's contents.</summary>
internal sealed class LabelCommands
{
    // A series is read in slices of as many samples.
    private const int SamplesPerSlice = 64 << 10;
    private const int RestartsMax = 3;

    private const string LabelOptions = "[labels:<WITHLABELS | SELECTED_LABELS label [label ...]>]";
    private const string FilterSyntax = "FILTER filterExpr [filterExpr ...]";
    private const string RangeSyntax = $"fromTimestamp toTimestamp {RangeCommands.Options} {LabelOptions} {RangeCommands.AggregationOptions} {FilterSyntax} [groupby:(GROUPBY label REDUCE reducer)]";

    private readonly LabelIndex _index;

    internal LabelCommands(LabelIndex index)
    {
        _index = index;
        Family = new(SeriesCommands.Group, SeriesCommands.Category,
        [
            new("TS.MGET", -3, CommandFlags.ReadOnly | CommandFlags.WalksStripes, KeySpecs.None, MGet,
                new("1.0.0", "O(n) where n is the number of series that match", "Returns the newest samples of series by their labels.", $"[LATEST] {LabelOptions} {FilterSyntax}")) { Module = ServerModule.TimeSeries, ReadsUnnamedKeys = true },
            new("TS.MRANGE", -4, CommandFlags.ReadOnly | CommandFlags.WalksStripes, KeySpecs.None, MRange,
                new("1.0.0", RangeCommands.Complexity, "Returns a range of series by their labels, oldest first.", RangeSyntax)) { Module = ServerModule.TimeSeries, ReadsUnnamedKeys = true },
            new("TS.MREVRANGE", -4, CommandFlags.ReadOnly | CommandFlags.WalksStripes, KeySpecs.None, MRevRange,
                new("1.4.0", RangeCommands.Complexity, "Returns a range of series by their labels, newest first.", RangeSyntax)) { Module = ServerModule.TimeSeries, ReadsUnnamedKeys = true },
            new("TS.QUERYINDEX", -2, CommandFlags.ReadOnly | CommandFlags.WalksStripes, KeySpecs.None, QueryIndex,
                new("1.0.0", "O(n) where n is the number of series that match", "Returns the keys of series by their labels.", "filterExpr [filterExpr ...]")) { Module = ServerModule.TimeSeries, ReadsUnnamedKeys = true },
        ]);
    }

    internal CommandFamily Family { get; }

    // TS.QUERYINDEX filter [filter ...]
    private void QueryIndex(ref CommandContext cmd)
    {
        if (!LabelFilter.TryReadOrReply(cmd, 1, cmd.Count, out LabelFilter[] filters) || !SeriesSearch.TryFind(cmd, _index, filters, out List<byte[]> keys)) return;
        long start = cmd.Reply.Length;
        int count = 0;
        foreach (byte[] key in keys)
        {
            bool matches = SeriesSearch.TryEnter(cmd, key, filters, out bool isRefused, out _);
            if (isRefused) return;
            SeriesSearch.Exit(cmd, key);
            if (!matches) continue;
            cmd.Reply.Bulk(key);
            count++;
        }

        long end = cmd.Reply.Length;
        cmd.Reply.Set(count);
        cmd.Reply.MoveToFront(start, end);
    }

    // TS.MGET [LATEST] [WITHLABELS | SELECTED_LABELS label ...] FILTER filter ...
    private void MGet(ref CommandContext cmd)
    {
        var labels = new ShownLabels();
        bool latest = false;
        for (int i = 1; ;)
        {
            if (i < cmd.Count && cmd.Is(i, "LATEST"u8))
            {
                latest = true;
                i++;
            }
            else if (!labels.TryTakeOrReply(cmd, ref i, out bool isOption))
            {
                return;
            }
            else if (!isOption)
            {
                if (i < cmd.Count && cmd.Is(i, "FILTER"u8))
                {
                    MGet(cmd, labels, latest, i + 1);
                    return;
                }

                ReplyNoFilter(cmd);
                return;
            }
        }
    }

    private void MGet(scoped in CommandContext cmd, ShownLabels labels, bool latest, int filter)
    {
        if (!LabelFilter.TryReadOrReply(cmd, filter, cmd.Count, out LabelFilter[] filters) || !SeriesSearch.TryFind(cmd, _index, filters, out List<byte[]> keys) || !SeriesSearch.MayReadOrReply(cmd, keys)) return;
        ReplyWriter reply = cmd.Reply;
        long start = reply.Length;
        int count = 0;
        foreach (byte[] key in keys)
        {
            bool matches = SeriesSearch.TryEnter(cmd, key, filters, out bool isRefused, out Series series);
            if (isRefused) return;
            if (matches)
            {
                count++;
                BeginSeries(reply, key, parts: 2);
                labels.Reply(cmd, series.Labels);
                reply.Newest(series, latest);
            }

            SeriesSearch.Exit(cmd, key);
        }

        EndSeries(reply, start, count);
    }

    // TS.MRANGE from to [options] FILTER filter ... [GROUPBY label REDUCE reducer]
    private void MRange(ref CommandContext cmd) => Range(cmd, isReverse: false);

    // TS.MREVRANGE from to [options] FILTER filter ... [GROUPBY label REDUCE reducer]
    private void MRevRange(ref CommandContext cmd) => Range(cmd, isReverse: true);

    private void Range(scoped in CommandContext cmd, bool isReverse)
    {
        if (!RangeOptions.TryRangeOrReply(cmd, 1, out long from, out long to)) return;
        var options = new RangeOptions { From = from, To = to, IsReverse = isReverse };
        var labels = new ShownLabels();
        int align = 0, i = 3, end = cmd.Count;
        while (i < cmd.Count && !cmd.Is(i, "FILTER"u8))
        {
            if (!options.TryOptionOrReply(cmd, ref i, ref align, out bool isOption)) return;
            if (isOption) continue;
            if (!labels.TryTakeOrReply(cmd, ref i, out isOption)) return;
            if (isOption) continue;
            cmd.ReplySyntaxError();
            return;
        }

        if (i >= cmd.Count)
        {
            ReplyNoFilter(cmd);
            return;
        }

        SeriesGroups? groups = null;
        if (cmd.Count - i > 4 && cmd.Is(cmd.Count - 4, "GROUPBY"u8))
        {
            if (!cmd.Is(cmd.Count - 2, "REDUCE"u8))
            {
                cmd.Reply.Error("ERR TSDB: missing REDUCE argument"u8);
                return;
            }

            if (!Aggregators.TryFind(cmd[cmd.Count - 1], out Aggregator reducer) || reducer is Aggregator.Twa or Aggregator.First or Aggregator.Last)
            {
                cmd.Reply.Error("ERR TSDB: Invalid reducer type"u8);
                return;
            }

            end = cmd.Count - 4;
            groups = new SeriesGroups(cmd.Count - 3, reducer, isReverse);
        }

        using (groups)
        {
            if (!options.TryAlignOrReply(cmd, align, 1) || !LabelFilter.TryReadOrReply(cmd, i + 1, end, out LabelFilter[] filters)) return;
            if (!SeriesSearch.TryFind(cmd, _index, filters, out List<byte[]> keys) || !SeriesSearch.MayReadOrReply(cmd, keys)) return;
            long start = cmd.Reply.Length;
            var ranges = new SeriesRanges(filters, options, labels, groups, start);
            int count = 0;
            foreach (byte[] key in keys)
            {
                if (cmd.Reply.Overflowed) return;
                if (!TryReplyRange(cmd, key, ranges, ref count)) return;
            }

            if (groups is not null) count = groups.Reply(cmd, labels);
            EndSeries(cmd.Reply, start, count);
        }
    }

    // False: the handler ends; an error was replied, or will be.
    private static bool TryReplyRange(scoped in CommandContext cmd, byte[] key, SeriesRanges ranges, ref int count)
    {
        (LabelFilter[] filters, RangeOptions options, ShownLabels labels, SeriesGroups? groups, long start) = ranges;
        RangeQuery? query = null;
        try
        {
            for (int restarts = 0; ;)
            {
                bool matches = SeriesSearch.TryEnter(cmd, key, filters, out bool isRefused, out Series series);
                if (isRefused) return false;
                try
                {
                    if (!matches) return true;
                    if (query is null || query.Version != series.Version)
                    {
                        query?.Dispose();
                        query = new RangeQuery(options, series);
                        restarts++;
                    }

                    if (!query.Run(series, restarts > RestartsMax ? long.MaxValue : SamplesPerSlice)) continue;
                    if (query.IsTooLarge || (groups is not null && !groups.TryAdd(cmd, key, series.Labels, query.Results)))
                    {
                        cmd.Reply.Truncate(start);
                        cmd.ReplyTooLarge();
                        return false;
                    }

                    if (groups is not null) return true;
                    count++;
                    BeginSeries(cmd.Reply, key, parts: cmd.Reply.Resp3 ? 3 : 2);
                    labels.Reply(cmd, series.Labels);
                    if (cmd.Reply.Resp3)
                    {
                        cmd.Reply.Map(1);
                        cmd.Reply.Bulk("aggregators"u8);
                        cmd.Reply.Array(options.Aggregator == Aggregator.None ? 0 : 1);
                        if (options.Aggregator != Aggregator.None) cmd.Reply.Bulk(Aggregators.NameOf(options.Aggregator).ToLowerInvariant());
                    }
                }
                finally
                {
                    SeriesSearch.Exit(cmd, key);
                }

                cmd.Reply.Samples(query.Results);
                return true;
            }
        }
        finally
        {
            query?.Dispose();
        }
    }

    /// <summary>Begins the part of one series: over RESP2 an array with its key, over RESP3 an entry of a map.</summary>
    internal static void BeginSeries(ReplyWriter reply, ReadOnlySpan<byte> key, int parts)
    {
        if (!reply.Resp3) reply.Array(parts + 1);
        reply.Bulk(key);
        if (reply.Resp3) reply.Array(parts);
    }

    private static void EndSeries(ReplyWriter reply, long start, int count)
    {
        long end = reply.Length;
        if (reply.Resp3) reply.Map(count);
        else reply.Array(count);
        reply.MoveToFront(start, end);
    }

    private static void ReplyNoFilter(scoped in CommandContext cmd) => cmd.Reply.Error("ERR TSDB: missing FILTER argument"u8);

    /// <summary>What is asked of all series that match.</summary>
    /// <param name="Filters">Which match.</param>
    /// <param name="Options">Which samples.</param>
    /// <param name="Labels">Which labels are shown.</param>
    /// <param name="Groups">The groups that the series are joined in; null: each is replied by itself.</param>
    /// <param name="Start">Where the reply begins.</param>
    private sealed record SeriesRanges(LabelFilter[] Filters, RangeOptions Options, ShownLabels Labels, SeriesGroups? Groups, long Start);
}
