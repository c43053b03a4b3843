using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Model;
using RedKite.TimeSeries.Ranges;

namespace RedKite.TimeSeries.Labels;

/// <summary>TS.MGET, TS.MRANGE, TS.MREVRANGE and TS.QUERYINDEX. The table is their single declaration and this file's contents.</summary>
internal sealed class LabelCommands
{
    private const string LabelOptions = "[labels:<WITHLABELS | SELECTED_LABELS label [label ...]>]";
    private const string FilterSyntax = "FILTER filterExpr [filterExpr ...]";
    private const string RangeSyntax = $"fromTimestamp toTimestamp {RangeCommands.Options} {LabelOptions} {RangeCommands.AggregationOptions} {FilterSyntax} [groupby:(GROUPBY label REDUCE reducer)]";

    // Made by the first query by labels: a start has no need of it.
    private readonly Lazy<LabelIndex> _index;

    internal LabelCommands(ChangePublisher changes)
    {
        _index = new(() => new(changes));
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
        if (IsComplete(cmd)) return;
        if (LabelFilter.TryReadOrReply(cmd, 1, cmd.Count, out LabelFilter[] filters)) Run(cmd, new KeysOfSeries(Query(cmd, filters, checksKeys: false), cmd.Reply.Length));
    }

    // TS.MGET [LATEST] [WITHLABELS | SELECTED_LABELS label ...] FILTER filter ...
    private void MGet(ref CommandContext cmd)
    {
        if (IsComplete(cmd)) return;
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
        if (LabelFilter.TryReadOrReply(cmd, filter, cmd.Count, out LabelFilter[] filters)) Run(cmd, new NewestOfSeries(Query(cmd, filters), cmd.Reply.Length, labels.Named(cmd), latest));
    }

    // TS.MRANGE from to [options] FILTER filter ... [GROUPBY label REDUCE reducer]
    private void MRange(ref CommandContext cmd) => Range(cmd, isReverse: false);

    // TS.MREVRANGE from to [options] FILTER filter ... [GROUPBY label REDUCE reducer]
    private void MRevRange(ref CommandContext cmd) => Range(cmd, isReverse: true);

    private void Range(scoped in CommandContext cmd, bool isReverse)
    {
        if (IsComplete(cmd) || !RangeOptions.TryRangeOrReply(cmd, 1, out long from, out long to)) return;
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
            groups = new SeriesGroups(cmd[cmd.Count - 3].ToArray(), reducer, cmd[cmd.Count - 1].ToArray(), isReverse);
        }

        if (!options.TryAlignOrReply(cmd, align, 1) || !LabelFilter.TryReadOrReply(cmd, i + 1, end, out LabelFilter[] filters)) return;
        Run(cmd, new RangesOfSeries(Query(cmd, filters), cmd.Reply.Length, labels.Named(cmd), options, groups));
    }

    private SeriesQuery Query(scoped in CommandContext cmd, LabelFilter[] filters, bool checksKeys = true) =>
        new(cmd.Keyspace, cmd.Database, cmd.Expiry, _index.Value, filters, cmd.Command, checksKeys ? cmd.Session.User.Permissions : null);

    // Whether the client has waited for the work, which is complete; then replies what was found.
    private static bool IsComplete(scoped in CommandContext cmd)
    {
        if (cmd.Environment.Blocking.CompleteWork is not SeriesWork work) return false;
        work.End(cmd.Reply);
        return true;
    }

    // What takes longer than a slice goes on while the client waits; then the command executes again.
    private static void Run(scoped in CommandContext cmd, SeriesWork work)
    {
        long granted = cmd.StepsOfSlice(RangeQuery.SliceSteps), left = granted;
        bool isComplete = work.Run(cmd.Environment, cmd.Reply, ref left);
        cmd.EndSlice(RangeQuery.SliceSteps, granted - left);
        if (!isComplete && !work.IsRefused)
        {
            if (cmd.BlockOnWork(work))
            {
                work.Stop(cmd.Reply, new ReplyWriter(cmd.Environment.Buffers));
                return;
            }

            granted = left = cmd.StepsAtOnce();
            isComplete = work.Run(cmd.Environment, cmd.Reply, ref left);
            if (!isComplete) work.TakeBack();
            if (!work.IsRefused) cmd.EndAtOnceOrReply(granted - left, isComplete);
        }

        if (isComplete) work.End(cmd.Reply);
        work.Discard();
    }

    private static void ReplyNoFilter(scoped in CommandContext cmd) => cmd.Reply.Error("ERR TSDB: missing FILTER argument"u8);
}
