using System.Runtime.InteropServices;
using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.TimeSeries.Ranges;
using RedKite.TimeSeries.Store;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.TimeSeries.Compaction;

/// <summary>TS.CREATERULE and TS.DELETERULE. The table is their single declaration and this file's contents.</summary>
internal static class RuleCommands
{
    internal static readonly KeyEvent CreatedAtSource = KeyEvents.Add("ts.createrule:src");
    internal static readonly KeyEvent CreatedAtDestination = KeyEvents.Add("ts.createrule:dest");
    private static readonly KeyEvent DeletedAtSource = KeyEvents.Add("ts.deleterule:src");
    private static readonly KeyEvent DeletedAtDestination = KeyEvents.Add("ts.deleterule:dest");

    private static readonly KeySpec[] Keys = KeySpecs.Range(1, 2, 1, ReadWrite | Update);

    internal static readonly CommandFamily Family = new(SeriesCommands.Group, SeriesCommands.Category,
    [
        new("TS.CREATERULE", -6, Write | DenyOom | Fast | AllStripes, Keys, CreateRule,
            new("1.0.0", "O(1)", "Compacts the samples that are added to a series from now on into another one.", "sourceKey:key destKey:key AGGREGATION aggregator:<AVG | FIRST | LAST | MIN | MAX | SUM | RANGE | COUNT | STD.P | STD.S | VAR.P | VAR.S | TWA | COUNTNAN | COUNTALL> bucketDuration:integer [alignTimestamp:integer]")) { Module = ServerModule.TimeSeries },
        new("TS.DELETERULE", 3, Write | Fast | AllStripes, Keys, DeleteRule,
            new("1.0.0", "O(1)", "Deletes a compaction rule.", "sourceKey:key destKey:key")) { Module = ServerModule.TimeSeries },
    ]);

    /// <summary>Adds a rule to a series whose destination is another one.</summary>
    internal static void Add(scoped Series source, scoped Series destination, scoped ReadOnlySpan<byte> sourceKey, scoped ReadOnlySpan<byte> destinationKey, Rule rule)
    {
        SeriesRules.NoteExistence();
        int old = source.Rules.Length;
        (rule.KeyLength, rule.Start) = (destinationKey.Length, Rule.NoBucket);
        source.GrowRules(SeriesRules.HeadBytes + destinationKey.Length);
        MemoryMarshal.Write(source.Rules[old..], rule);
        destinationKey.CopyTo(source.Rules[(old + SeriesRules.HeadBytes)..]);
        destination.SetSource(sourceKey);
        destination.SetPending(null);
    }

    /// <summary>Removes a rule at a position.</summary>
    internal static void Remove(scoped Series series, int at)
    {
        int end = new SeriesRules(series.Rules).Next(at);
        series.Rules[end..].CopyTo(series.Rules[at..]);
        series.ShrinkRules(end - at);
    }

    // TS.CREATERULE source destination AGGREGATION aggregator duration [align]
    private static void CreateRule(ref CommandContext cmd)
    {
        long align = 0;
        if (cmd.Count > 7 || !cmd.Is(3, "AGGREGATION"u8))
        {
            cmd.Reply.Error($"ERR wrong number of arguments for '{cmd.Command.Name}' command");
            return;
        }

        if (!RangeOptions.TryAggregationOrReply(cmd, 3, out Aggregator aggregator, out long duration)) return;
        if (cmd.Count == 7 && (!RespNumber.TryParseInt64(cmd[6], out align) || align < 0))
        {
            cmd.Reply.Error("ERR TSDB: Couldn't parse alignTimestamp"u8);
            return;
        }

        if (cmd[1].SequenceEqual(cmd[2]))
        {
            cmd.Reply.Error("ERR TSDB: the source key and destination key should be different"u8);
            return;
        }

        if (!cmd.OpenExistingOrReply(out Series source) || !cmd.OpenExistingOrReply(out Series destination, 2)) return;
        if (IsLinked(cmd, cmd[1], source))
        {
            cmd.Reply.Error("ERR TSDB: the source key already has a source rule"u8);
            return;
        }

        if (!destination.Rules.IsEmpty)
        {
            cmd.Reply.Error("ERR TSDB: the destination key already has a dst rule"u8);
            return;
        }

        if (IsLinked(cmd, cmd[2], destination))
        {
            cmd.Reply.Error("ERR TSDB: the destination key already has a src rule"u8);
            return;
        }

        var rules = new SeriesRules(source.Rules);
        if (rules.Count == SeriesRules.CountMax)
        {
            cmd.Reply.Error($"ERR TSDB: a series has at most {SeriesRules.CountMax} rules");
            return;
        }

        int stale = rules.Find(cmd[2]);
        if (stale >= 0) Remove(source, stale); // of a destination that was deleted
        source.SetSource(default);
        Add(source, destination, cmd[1], cmd[2], new Rule { Aggregator = aggregator, Duration = duration, Align = align });
        cmd.Changed(1, CreatedAtSource);
        cmd.Changed(2, CreatedAtDestination);
        cmd.Reply.Ok();
    }

    // TS.DELETERULE source destination
    private static void DeleteRule(ref CommandContext cmd)
    {
        if (!cmd.OpenExistingOrReply(out Series source) || !cmd.OpenExistingOrReply(out Series destination, 2)) return;
        int at = new SeriesRules(source.Rules).Find(cmd[2]);
        if (at < 0)
        {
            cmd.Reply.Error("ERR TSDB: compaction rule does not exist"u8);
            return;
        }

        Remove(source, at);
        if (destination.Source.SequenceEqual(cmd[1])) destination.SetSource(default);
        destination.SetPending(null);
        cmd.Changed(1, DeletedAtSource);
        cmd.Changed(2, DeletedAtDestination);
        cmd.Reply.Ok();
    }

    // Whether the series that a key names as its source has a rule for it: not if that was deleted meanwhile.
    private static bool IsLinked(scoped in CommandContext cmd, ReadOnlySpan<byte> key, scoped Series series)
    {
        if (series.Source.IsEmpty) return false;
        Entry entry = cmd.Database.Find(series.Source, cmd.Keyspace.Hash(series.Source), cmd.Expiry);
        return entry.Exists && entry.Type == SeriesType.Instance.Number && new SeriesRules(Series.Of(cmd.Database, entry).Rules).Find(key) >= 0;
    }
}
