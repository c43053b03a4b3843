using RedKite.Server.Changes;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.TimeSeries.Ranges;
using RedKite.TimeSeries.Store;

namespace RedKite.TimeSeries.Compaction;

/// <summary>
/// What follows from a change of a series with rules. All stripes are locked (<see cref="NeedsAllStripes"/>). A destination has the value of the open bucket as well,
/// apart from its samples, so that LATEST reads one key.
/// </summary>
internal static class Compactor
{
    private static readonly KeyEvent Compacted = KeyEvents.Add("ts.add:dest");

    /// <summary>Whether a request that changes series may have to change further ones.</summary>
    internal static bool NeedsAllStripes(scoped in CommandContext cmd) => SeriesRules.Exist || cmd.Settings.SeriesCompactions.Rules.Length > 0;

    /// <summary>Whether the stripes of all destinations are locked; otherwise replies that the client may try again: the first rule of the process was created meanwhile.</summary>
    internal static bool IsReadyOrReply(scoped in CommandContext cmd, scoped Series series)
    {
        return !series.Exists || series.Rules.IsEmpty || HoldsAllStripesOrReply(cmd);
    }

    internal static bool HoldsAllStripesOrReply(scoped in CommandContext cmd)
    {
        if (cmd.Environment.HeldStripes.Equals(cmd.Keyspace.AllStripes)) return true;
        cmd.Reply.Error("TRYAGAIN a compaction rule was created meanwhile"u8);
        return false;
    }

    /// <summary>
    /// Whether the buckets of rules that a change behind the newest sample concerns may be computed anew; otherwise replies that they have too many samples. In a
    /// transaction or script that is work as any other.
    /// </summary>
    internal static bool MayRecomputeOrReply(scoped in CommandContext cmd, scoped Series series, long from, long to)
    {
        if (series.Rules.IsEmpty || from > series.LastTime || cmd.WasAccepted) return true;
        long samples = 0;
        var rules = new SeriesRules(series.Rules);
        for (int at = 0; at < rules.Length; at = rules.Next(at))
        {
            Rule rule = rules[at];
            long first = RangeOptions.StartOf(from, rule.Duration, rule.Align), last = Math.Min(rule.Start, RangeOptions.StartOf(to, rule.Duration, rule.Align));
            if (rule.Start == Rule.NoBucket || first > rule.Start) continue;
            samples += series.CountAbout(first, EndOf(rule, first));
            if (last > first) samples += series.CountAbout(last, EndOf(rule, last));
        }

        long steps = samples * RangeQuery.SampleSteps;
        if (cmd.Environment.IsInUnit) return cmd.MayTakeOrReply(steps);
        if (steps <= cmd.Environment.UnitWork.Limits.Command) return true;
        cmd.Reply.Error("ERR TSDB: the buckets of the compaction rules have too many samples to be computed anew"u8);
        return false;
    }

    /// <summary>A sample was added, or has another value.</summary>
    internal static void NoteAdded(scoped in CommandContext cmd, ReadOnlySpan<byte> source, scoped Series series, in Sample sample)
    {
        if (series.Rules.IsEmpty) return;
        var rules = new SeriesRules(series.Rules);
        bool isGone = false;
        for (int at = 0; at < rules.Length; at = rules.Next(at))
        {
            if (!TryOpen(cmd, source, rules.Key(at), out Series destination))
            {
                isGone = true;
                continue;
            }

            Rule rule = rules[at];
            long start = RangeOptions.StartOf(sample.Time, rule.Duration, rule.Align);
            if (rule.Start == Rule.NoBucket || start > rule.Start)
            {
                if (rule.Start != Rule.NoBucket) Write(cmd, destination, rules.Key(at), rule.Start, rule.Bucket.Value(rule.Aggregator, EndOf(rule, rule.Start), sample));
                (rule.Start, rule.Bucket) = (start, default);
                if (rule.Aggregator == Aggregator.Twa && series.TryBefore(sample.Time, out Sample before)) rule.Bucket.BeginArea(start, before, sample);
                rule.Bucket.Add(sample);
            }
            else if (start < rule.Start)
            {
                Recompute(cmd, series, destination, rules.Key(at), rule, start);
                continue;
            }
            else if (sample.Time == series.LastTime && (rule.Bucket.IsEmpty || sample.Time > rule.Bucket.Last.Time))
            {
                rule.Bucket.Add(sample);
            }
            else
            {
                rule.Bucket = Collect(series, rule, start);
            }

            rules[at] = rule;
            SetPending(cmd, destination, rules.Key(at), rule);
        }

        if (isGone) RemoveGone(cmd, source, series);
    }

    /// <summary>Samples of a range were removed.</summary>
    internal static void NoteRemoved(scoped in CommandContext cmd, ReadOnlySpan<byte> source, scoped Series series, long from, long to)
    {
        if (series.Rules.IsEmpty) return;
        var rules = new SeriesRules(series.Rules);
        for (int at = 0; at < rules.Length; at = rules.Next(at))
        {
            Rule rule = rules[at];
            if (rule.Start == Rule.NoBucket || !TryOpen(cmd, source, rules.Key(at), out Series destination)) continue;
            long first = RangeOptions.StartOf(from, rule.Duration, rule.Align), last = Math.Min(rule.Start, RangeOptions.StartOf(to, rule.Duration, rule.Align));
            if (last == rule.Start)
            {
                rule.Bucket = Collect(series, rule, rule.Start);
                rules[at] = rule;
                SetPending(cmd, destination, rules.Key(at), rule);
            }

            long removed = destination.Remove(Math.Max(0, first), Math.Min(Math.Max(0, last), Math.Max(0, rule.Start) - 1));
            if (removed > 0) cmd.Changed(cmd.Database, rules.Key(at), cmd.Keyspace.Hash(rules.Key(at)), Compacted, 0);
            if (first < rule.Start) Recompute(cmd, series, destination, rules.Key(at), rule, first);
            if (last < rule.Start && last != first) Recompute(cmd, series, destination, rules.Key(at), rule, last);
        }
    }

    /// <summary>Opens a destination of a series to change it, unless the key has another value.</summary>
    internal static bool TryOpen(scoped in CommandContext cmd, ReadOnlySpan<byte> source, ReadOnlySpan<byte> key, out Series destination)
    {
        destination = default;
        Entry entry = cmd.Database.OpenToWrite(key, cmd.Keyspace.Hash(key), cmd.Expiry);
        if (!entry.Exists || entry.Type != SeriesType.Instance.Number) return false;
        destination = Series.Of(cmd.Database, entry);
        return destination.Source.SequenceEqual(source);
    }

    // The samples of a bucket as they are now.
    private static Bucket Collect(scoped Series series, in Rule rule, long start)
    {
        Bucket bucket = default;
        var options = new RangeOptions { From = Math.Max(0, start), To = EndOf(rule, start) - 1 };
        using var query = new RangeQuery(options, series);
        query.RunAll(series);
        foreach (ref readonly Sample sample in query.Results)
        {
            if (bucket.IsEmpty && rule.Aggregator == Aggregator.Twa && series.TryBefore(sample.Time, out Sample before)) bucket.BeginArea(start, before, sample);
            bucket.Add(sample);
        }

        return bucket;
    }

    private static void Recompute(scoped in CommandContext cmd, scoped Series series, scoped Series destination, ReadOnlySpan<byte> key, in Rule rule, long start)
    {
        long end = EndOf(rule, start);
        Bucket bucket = Collect(series, rule, start);
        if (bucket.IsEmpty) return;
        Write(cmd, destination, key, start, bucket.Value(rule.Aggregator, end, series.TryFrom(end, out Sample after) ? after : null));
    }

    private static void Write(scoped in CommandContext cmd, scoped Series destination, ReadOnlySpan<byte> key, long start, double value)
    {
        if (double.IsInfinity(value)) value = double.NaN;
        destination.Put(Math.Max(0, start), value);
        cmd.Changed(cmd.Database, key, cmd.Keyspace.Hash(key), Compacted, 0);
    }

    private static void SetPending(scoped in CommandContext cmd, scoped Series destination, ReadOnlySpan<byte> key, in Rule rule)
    {
        if (rule.Bucket.IsEmpty) destination.SetPending(null);
        else destination.SetPending(new Sample(Math.Max(0, rule.Start), rule.Bucket.Value(rule.Aggregator, EndOf(rule, rule.Start), null)));
        cmd.Changed(cmd.Database, key, cmd.Keyspace.Hash(key), KeyEvent.Bookkeeping, 0);
    }

    // A rule ends with its destination.
    private static void RemoveGone(scoped in CommandContext cmd, ReadOnlySpan<byte> source, scoped Series series)
    {
        for (int at = 0; at < series.Rules.Length;)
        {
            var rules = new SeriesRules(series.Rules);
            if (TryOpen(cmd, source, rules.Key(at), out _)) at = rules.Next(at);
            else RuleCommands.Remove(series, at);
        }
    }

    private static long EndOf(in Rule rule, long start) => start > long.MaxValue - rule.Duration ? long.MaxValue : start + rule.Duration;
}
