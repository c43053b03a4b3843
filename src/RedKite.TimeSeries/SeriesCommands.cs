using RedKite.Server.Changes;
using RedKite.Server.Model;
using RedKite.TimeSeries.Compaction;
using RedKite.TimeSeries.Ranges;
using RedKite.TimeSeries.Store;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;
using ReadOnlyCommand = RedKite.Server.Model.CommandFlags;

namespace RedKite.TimeSeries;

/// <summary>Commands that create and change series. The table is their single declaration and this file's contents.</summary>
internal static class SeriesCommands
{
    internal const string Group = "module";
    internal const string Category = "timeseries";

    private const string CreateSyntax = "[RETENTION retentionPeriod:integer] [ENCODING enc:<UNCOMPRESSED | COMPRESSED>] [CHUNK_SIZE size:integer]";
    private const string PolicySyntax = "<BLOCK | FIRST | LAST | MIN | MAX | SUM>";
    private const string LabelsSyntax = "[IGNORE ignore:(ignoreMaxTimediff:integer ignoreMaxValDiff:double)] [LABELS labels:(label value) [label value ...]]";

    private static readonly KeyEvent Altered = KeyEvents.Add("ts.alter");
    private static readonly KeyEvent Added = KeyEvents.Add("ts.add");
    private static readonly KeyEvent Incremented = KeyEvents.Add("ts.incrby");
    private static readonly KeyEvent Decremented = KeyEvents.Add("ts.decrby");
    private static readonly KeyEvent Deleted = KeyEvents.Add("ts.del");

    private static readonly KeySpec[] Writes = KeySpecs.One(1, ReadWrite | Update);

    internal static readonly CommandFamily Family = new(Group, Category,
    [
        new("TS.CREATE", -2, Write | DenyOom | Fast, Writes, Create,
            new("1.0.0", "O(1)", "Creates a time series.", $"key {CreateSyntax} [DUPLICATE_POLICY policy:{PolicySyntax}] {LabelsSyntax}")) { Module = ServerModule.TimeSeries },
        new("TS.ALTER", -2, Write | DenyOom, Writes, Alter,
            new("1.0.0", "O(N) where N is the number of labels", "Changes the settings of a time series.", $"key [RETENTION retentionPeriod:integer] [CHUNK_SIZE size:integer] [DUPLICATE_POLICY policy:{PolicySyntax}] {LabelsSyntax}")) { Module = ServerModule.TimeSeries },
        new("TS.ADD", -4, Write | DenyOom, Writes, Add,
            new("1.0.0", "O(1), or O(M) where M is the number of compaction rules", "Adds a sample to a time series.", $"key timestamp value:double {CreateSyntax} [ON_DUPLICATE policy:{PolicySyntax}] {LabelsSyntax}")) { Module = ServerModule.TimeSeries, NeedsAllStripes = Compactor.NeedsAllStripes },
        new("TS.MADD", -4, Write | DenyOom, [new(1, -1, 3, ReadWrite | Update)], MAdd,
            new("1.0.0", "O(N) where N is the number of samples", "Adds samples to time series.", "ktv:(key timestamp value:double) [key timestamp value ...]")) { Module = ServerModule.TimeSeries, NeedsAllStripes = Compactor.NeedsAllStripes },
        new("TS.INCRBY", -3, Write | DenyOom, Writes, IncrBy,
            new("1.0.0", "O(1), or O(M) where M is the number of compaction rules", "Adds a sample that is the newest one plus a number.", $"key value:double [TIMESTAMP timestamp] {CreateSyntax} [DUPLICATE_POLICY policy:{PolicySyntax}] {LabelsSyntax}")) { Module = ServerModule.TimeSeries, NeedsAllStripes = Compactor.NeedsAllStripes },
        new("TS.DECRBY", -3, Write | DenyOom, Writes, DecrBy,
            new("1.0.0", "O(1), or O(M) where M is the number of compaction rules", "Adds a sample that is the newest one minus a number.", $"key value:double [TIMESTAMP timestamp] {CreateSyntax} [DUPLICATE_POLICY policy:{PolicySyntax}] {LabelsSyntax}")) { Module = ServerModule.TimeSeries, NeedsAllStripes = Compactor.NeedsAllStripes },
        new("TS.DEL", 4, Write, KeySpecs.One(1, ReadWrite | KeyFlags.Delete), Del,
            new("1.6.0", "O(N) where N is the number of samples in the range", "Removes the samples of a range.", "key from_timestamp:integer to_timestamp:integer")) { Module = ServerModule.TimeSeries, NeedsAllStripes = Compactor.NeedsAllStripes },
        new("TS.GET", -2, ReadOnlyCommand.ReadOnly | Fast, KeySpecs.One(1, KeyFlags.ReadOnly | Access), Get,
            new("1.0.0", "O(1)", "Returns the newest sample.", "key [LATEST]")) { Module = ServerModule.TimeSeries },
    ]);

    // TS.CREATE key [options]
    private static void Create(ref CommandContext cmd)
    {
        if (!SeriesOptions.TryReadOrReply(cmd, 2, out SeriesOptions options)) return;
        if (cmd.FindToWrite(1).Exists)
        {
            cmd.Reply.Error("ERR TSDB: key already exists"u8);
            return;
        }

        SeriesCreation.Create(cmd, options);
        cmd.Changed(1, SeriesCreation.Created);
        cmd.Reply.Ok();
    }

    // TS.ALTER key [options]
    private static void Alter(ref CommandContext cmd)
    {
        if (!SeriesOptions.TryReadOrReply(cmd, 2, out SeriesOptions options) || !cmd.OpenExistingOrReply(out Series series)) return;
        ref SeriesSettings settings = ref series.Settings;
        if (options.HasRetention) series.SetRetention(options.Settings.Retention);
        if (options.HasChunkBytes) settings.ChunkBytes = options.Settings.ChunkBytes;
        if (options.HasPolicy) settings.Policy = options.Settings.Policy;
        if (options.HasIgnore) (settings.IgnoredTime, settings.IgnoredValue) = (options.Settings.IgnoredTime, options.Settings.IgnoredValue);
        if (options.Labels > 0) options.SetLabels(cmd, series);
        cmd.Changed(1, Altered);
        cmd.Reply.Ok();
    }

    // TS.ADD key timestamp value [options]
    private static void Add(ref CommandContext cmd)
    {
        if (!cmd.TryTimeOrReply(2, out long time) || !cmd.TryValueOrReply(3, out double value) || !SeriesOptions.TryReadOrReply(cmd, 4, out SeriesOptions options)) return;
        if (!cmd.OpenToWriteOrReply(out Series series)) return;
        if (!Compactor.IsReadyOrReply(cmd, series)) return;
        bool isNew = !series.Exists;
        if (isNew && !SeriesCreation.TryCreateCompactedOrReply(cmd, options, out series)) return;
        long now = time;
        if (!TryAdd(cmd, series, 1, ref time, value, options.OnDuplicate)) return;
        if (isNew) cmd.Effect("TS.ADD"u8, 4).Argument(cmd[1]).Argument(time).Argument(cmd[3]);
        else if (cmd[2].SequenceEqual("*"u8) && time == now) EffectWithTime(cmd, 2, time);
        cmd.Reply.Integer(time);
    }

    // TS.MADD key timestamp value [key timestamp value ...]
    private static void MAdd(ref CommandContext cmd)
    {
        if (cmd.Count % 3 != 1)
        {
            cmd.Reply.Error($"ERR wrong number of arguments for '{cmd.Command.Name}' command");
            return;
        }

        cmd.Reply.Array(cmd.Count / 3);
        for (int i = 1; i < cmd.Count; i += 3)
        {
            if (!cmd.OpenExistingOrReply(out Series series, i) || !cmd.TryTimeOrReply(i + 1, out long time) || !cmd.TryValueOrReply(i + 2, out double value)) continue;
            if (!Compactor.IsReadyOrReply(cmd, series)) continue;
            long given = time;
            if (!TryAdd(cmd, series, i, ref time, value, DuplicatePolicy.None)) continue;
            cmd.Reply.Integer(time);
            cmd.Effect("TS.ADD"u8, 4).Argument(cmd[i]).Argument(given).Argument(cmd[i + 2]); // without those that were refused, and with the time of *
        }
    }

    // TS.INCRBY key value [TIMESTAMP timestamp] [options]
    private static void IncrBy(ref CommandContext cmd) => Increment(cmd, 1, Incremented);

    // TS.DECRBY key value [TIMESTAMP timestamp] [options]
    private static void DecrBy(ref CommandContext cmd) => Increment(cmd, -1, Decremented);

    // TS.DEL key from to
    private static void Del(ref CommandContext cmd)
    {
        if (!RangeOptions.TryRangeOrReply(cmd, 2, out long from, out long to) || !cmd.OpenExistingOrReply(out Series series) || !Compactor.IsReadyOrReply(cmd, series) || !Compactor.MayRecomputeOrReply(cmd, series, from, to)) return;
        long removed = series.Remove(from, to);
        if (removed > 0)
        {
            cmd.Changed(1, Deleted, removed);
            Compactor.NoteRemoved(cmd, cmd[1], series, from, to);
        }

        cmd.Reply.Integer(removed);
    }

    // TS.GET key [LATEST]
    private static void Get(ref CommandContext cmd)
    {
        if (cmd.Count > 3 || (cmd.Count == 3 && !cmd.Is(2, "LATEST"u8)))
        {
            cmd.Reply.Error($"ERR wrong number of arguments for '{cmd.Command.Name}' command");
            return;
        }

        if (!cmd.OpenToReadOrReply(out Series series)) return;
        cmd.Reply.Newest(series, latest: cmd.Count == 3);
    }

    private static void Increment(scoped in CommandContext cmd, int sign, KeyEvent keyEvent)
    {
        if (!cmd.TryValueOrReply(2, out double addend, mayBeNan: false) || !SeriesOptions.TryReadOrReply(cmd, 3, out SeriesOptions options)) return;
        long time = cmd.NowMs;
        if (options.Timestamp > 0 && !cmd.TryTimeOrReply(options.Timestamp, out time)) return;
        if (!cmd.OpenToWriteOrReply(out Series series) || !Compactor.IsReadyOrReply(cmd, series)) return;
        if (series.Exists && !series.IsEmpty && time < series.LastTime)
        {
            // The newest sample may have been written by a client whose clock was ahead.
            cmd.Reply.Error("ERR TSDB: timestamp must be equal to or higher than the maximum existing timestamp"u8);
            return;
        }

        double value = (series.Exists && !series.IsEmpty ? series.Last.Value : 0) + (sign * addend);
        if (double.IsInfinity(value))
        {
            cmd.Reply.Error("ERR TSDB: invalid value"u8);
            return;
        }

        bool isNew = !series.Exists;
        if (!isNew && !Compactor.MayRecomputeOrReply(cmd, series, time, time)) return;
        if (isNew && !SeriesCreation.TryCreateCompactedOrReply(cmd, options, out series)) return;
        if (SampleInsertion.IsIgnored(series, time, value))
        {
            cmd.Reply.Integer(series.LastTime);
            return;
        }

        Put(cmd, series, time, value);
        cmd.Changed(1, keyEvent);
        Compactor.NoteAdded(cmd, cmd[1], series, new Sample(time, value));
        if (isNew)
        {
            cmd.Effect(cmd[0], 5).Argument(cmd[1]).Argument(cmd[2]).Argument("TIMESTAMP"u8).Argument(time);
        }
        else if (options.Timestamp == 0)
        {
            EffectArguments effect = cmd.Effect(cmd[0], cmd.Count + 2).Argument(cmd[1]).Argument(cmd[2]).Argument("TIMESTAMP"u8).Argument(time);
            for (int i = 3; i < cmd.Count; i++) effect = effect.Argument(cmd[i]);
        }
        else if (cmd[options.Timestamp].SequenceEqual("*"u8))
        {
            EffectWithTime(cmd, options.Timestamp, time);
        }

        cmd.Reply.Integer(time);
    }

    // The time of a sample that is ignored becomes that of the newest one.
    private static bool TryAdd(scoped in CommandContext cmd, scoped Series series, int key, ref long time, double value, DuplicatePolicy policy)
    {
        if (SampleInsertion.IsIgnored(series, time, value))
        {
            time = series.LastTime;
            return true;
        }

        ReadOnlySpan<byte> error = SampleInsertion.Check(series, time, policy, ref value, out bool changes);
        if (!error.IsEmpty)
        {
            cmd.Reply.Error(error);
            return false;
        }

        if (!changes) return true;
        if (!Compactor.MayRecomputeOrReply(cmd, series, time, time)) return false;
        Put(cmd, series, time, value);
        cmd.Changed(key, Added);
        Compactor.NoteAdded(cmd, cmd[key], series, new Sample(time, value));
        return true;
    }

    private static void Put(scoped in CommandContext cmd, scoped Series series, long time, double value)
    {
        cmd.Metrics.CountSeriesSample(isLate: !series.IsEmpty && time <= series.LastTime);
        series.Put(time, value);
    }

    private static void EffectWithTime(scoped in CommandContext cmd, int argument, long time)
    {
        EffectArguments effect = cmd.Effect(cmd[0], cmd.Count);
        for (int i = 1; i < cmd.Count; i++) effect = i == argument ? effect.Argument(time) : effect.Argument(cmd[i]);
    }
}
