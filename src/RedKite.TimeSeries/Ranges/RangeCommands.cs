using RedKite.Protocol;
using RedKite.Server.Model;
using RedKite.TimeSeries.Store;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.TimeSeries.Ranges;

/// <summary>TS.RANGE and TS.REVRANGE. The table is their single declaration and this file's contents.</summary>
internal static class RangeCommands
{
    internal const string Options = "[LATEST] [FILTER_BY_TS Timestamp:integer [Timestamp ...]] [FILTER_BY_VALUE fbv:(min:double max:double)]";
    internal const string AggregationOptions = "[COUNT count:integer] [aggregation:([ALIGN value] AGGREGATION aggregator:<AVG | FIRST | LAST | MIN | MAX | SUM | RANGE | COUNT | STD.P | STD.S | VAR.P | VAR.S | TWA | COUNTNAN | COUNTALL> bucketDuration:integer [BUCKETTIMESTAMP bt] [EMPTY])]";

    internal const string TooLarge = "ERR TSDB: the range has too many samples or empty buckets, use COUNT or a longer bucketDuration";

    internal const string Complexity = "O(n/m+k) where n is the number of samples, m the samples of a chunk and k the samples in the range";

    private const string Syntax = $"key fromTimestamp toTimestamp {Options} {AggregationOptions}";

    private static readonly KeySpec[] Reads = KeySpecs.One(1, KeyFlags.ReadOnly | Access);

    internal static readonly CommandFamily Family = new(SeriesCommands.Group, SeriesCommands.Category,
    [
        new("TS.RANGE", -4, CommandFlags.ReadOnly, Reads, Range,
            new("1.0.0", Complexity, "Returns the samples of a range, oldest first.", Syntax)) { Module = ServerModule.TimeSeries },
        new("TS.REVRANGE", -4, CommandFlags.ReadOnly, Reads, RevRange,
            new("1.4.0", Complexity, "Returns the samples of a range, newest first.", Syntax)) { Module = ServerModule.TimeSeries },
    ]);

    // TS.RANGE key from to [options]
    private static void Range(ref CommandContext cmd) => Range(cmd, isReverse: false);

    // TS.REVRANGE key from to [options]
    private static void RevRange(ref CommandContext cmd) => Range(cmd, isReverse: true);

    private static void Range(scoped in CommandContext cmd, bool isReverse)
    {
        if (cmd.Environment.Blocking.CompleteWork is RangeWork complete)
        {
            complete.Reply(cmd);
            return;
        }

        if (!RangeOptions.TryRangeOrReply(cmd, 2, out long from, out long to)) return;
        var options = new RangeOptions { From = from, To = to, IsReverse = isReverse };
        int align = 0;
        for (int i = 4; i < cmd.Count;)
        {
            if (!options.TryOptionOrReply(cmd, ref i, ref align, out bool isOption)) return;
            if (isOption) continue;
            cmd.ReplySyntaxError();
            return;
        }

        if (!options.TryAlignOrReply(cmd, align, 2) || !cmd.OpenToReadOrReply(out Series series)) return;
        var query = new RangeQuery(options, series);
        if (TryComplete(cmd, series, options, query, out bool waits))
        {
            if (query.IsTooLarge) cmd.ReplyTooLarge();
            else cmd.Reply.Samples(query.Results);
        }

        if (!waits) query.Dispose();
    }

    // False: the client waits, or has an error because nothing may wait and the range would take too long.
    private static bool TryComplete(scoped in CommandContext cmd, scoped Series series, RangeOptions options, RangeQuery query, out bool waits)
    {
        long granted = cmd.StepsOfSlice(RangeQuery.SliceSteps), left = granted;
        bool isComplete = query.RunAndReply(series, ref left);
        cmd.EndSlice(RangeQuery.SliceSteps, granted - left);
        waits = false;
        if (isComplete) return true;
        var work = new RangeWork(cmd.Keyspace, cmd.Database, cmd.HashOf(1), options, query, new ReplyWriter(cmd.Environment.Buffers) { Resp3 = cmd.Reply.Resp3 });
        waits = cmd.BlockOnWork(work);
        if (waits)
        {
            work.Stop();
            return false;
        }

        granted = left = cmd.StepsAtOnce();
        isComplete = query.RunAndReply(series, ref left);
        return cmd.EndAtOnceOrReply(granted - left, isComplete);
    }

    /// <summary>Replies that a range has more than a reply may have.</summary>
    internal static void ReplyTooLarge(this scoped in CommandContext cmd) => cmd.Reply.Error(TooLarge);

}
