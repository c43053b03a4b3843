using System.Buffers.Binary;
using System.Buffers.Text;
using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Config;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.TimeSeries.Compaction;
using RedKite.TimeSeries.Ranges;
using RedKite.TimeSeries.Store;

namespace RedKite.TimeSeries;

/// <summary>
/// Creates series. What the settings <c>ts-*</c> of this server determine is in the effects, with a TS.CREATE for each series and a TS.CREATERULE for each rule, so
/// that replicas and the log do not depend on theirs.
/// </summary>
internal static class SeriesCreation
{
    internal static readonly KeyEvent Created = KeyEvents.Add("ts.create");

    private const int NumberBytesMax = 20;

    [ThreadStatic]
    private static NativeBuffer? _key;
    [ThreadStatic]
    private static NativeBuffer? _labels;

    /// <summary>Creates a series at the missing first key.</summary>
    internal static Series Create(scoped in CommandContext cmd, scoped in SeriesOptions options)
    {
        Series series = Series.Create(cmd.Database, cmd[1], cmd.HashOf(1), cmd.Accesses.NewClock, options.Settings);
        options.SetLabels(cmd, series);
        WriteEffect(cmd, cmd[1], series);
        return series;
    }

    /// <summary>Creates a series at the missing first key, and those into which <c>ts-compaction-policy</c> compacts it.</summary>
    /// <returns>False: the setting was given rules meanwhile, so that not all stripes are locked; the client may try again.</returns>
    internal static bool TryCreateCompactedOrReply(scoped in CommandContext cmd, scoped in SeriesOptions options, out Series series)
    {
        series = default;
        CompactionPolicyRule[] rules = cmd.Settings.SeriesCompactions.Rules;
        if (rules.Length > 0 && !Compactor.HoldsAllStripesOrReply(cmd)) return false;
        series = Create(cmd, options);
        foreach (CompactionPolicyRule rule in rules) Compact(cmd, series, rule);
        return true;
    }

    // A key that exists stays as it is, and one of another slot may be another node's: then there is no such rule.
    private static void Compact(scoped in CommandContext cmd, scoped Series series, CompactionPolicyRule rule)
    {
        NativeBuffer key = _key ??= new NativeBuffer();
        key.Clear();
        key.Write(cmd[1]);
        WriteText(key, "_");
        WriteText(key, rule.Aggregator);
        WriteText(key, "_");
        WriteNumber(key, rule.Duration);
        if (rule.Align > 0)
        {
            WriteText(key, "_");
            WriteNumber(key, rule.Align);
        }

        ulong hash = cmd.Keyspace.Hash(key.Written);
        if (cmd.Keyspace.UsesSlots && KeySlot.Of(key.Written) != KeySlot.Of(cmd[1])) return;
        if (cmd.Database.OpenToWrite(key.Written, hash, cmd.Expiry).Exists) return;
        var settings = new SeriesSettings
        {
            Retention = rule.Retention,
            ChunkBytes = cmd.Settings.SeriesChunkBytes,
            IsCompressed = !cmd.Settings.SeriesCompactionsUncompressed,
            Policy = DuplicatePolicies.At(cmd.Settings.SeriesDuplicatePolicy),
        };
        Series destination = Series.Create(cmd.Database, key.Written, hash, cmd.Accesses.NewClock, settings);
        SetLabels(destination, series.Labels, rule);
        WriteEffect(cmd, key.Written, destination);
        cmd.Changed(cmd.Database, key.Written, hash, Created);

        _ = Aggregators.TryFind(System.Text.Encoding.ASCII.GetBytes(rule.Aggregator), out Aggregator aggregator);
        RuleCommands.Add(series, destination, cmd[1], key.Written, new Rule { Aggregator = aggregator, Duration = rule.Duration, Align = rule.Align });
        cmd.Effect("TS.CREATERULE"u8, 7).Argument(cmd[1]).Argument(key.Written).Argument("AGGREGATION"u8).Argument(System.Text.Encoding.ASCII.GetBytes(rule.Aggregator)).Argument(rule.Duration).Argument(rule.Align);
        cmd.Changed(1, RuleCommands.CreatedAtSource, 0);
        cmd.Changed(cmd.Database, key.Written, hash, RuleCommands.CreatedAtDestination, 0);
    }

    // Those of the source, and what the compaction is.
    private static void SetLabels(scoped Series destination, SeriesLabels labels, CompactionPolicyRule rule)
    {
        NativeBuffer all = _labels ??= new NativeBuffer();
        all.Clear();
        all.Write(labels.Bytes);
        WriteHead(all, "aggregation".Length, rule.Aggregator.Length);
        WriteText(all, "aggregation");
        WriteText(all, rule.Aggregator);
        Span<byte> duration = stackalloc byte[NumberBytesMax];
        Utf8Formatter.TryFormat(rule.Duration, duration, out int length);
        WriteHead(all, "time_bucket".Length, length);
        WriteText(all, "time_bucket");
        all.Write(duration[..length]);
        destination.SetLabels(all.Written);
    }

    private static void WriteHead(NativeBuffer labels, int name, int value)
    {
        Span<byte> head = labels.Room(SeriesLabels.HeadBytes);
        BinaryPrimitives.WriteInt32LittleEndian(head, name);
        BinaryPrimitives.WriteInt32LittleEndian(head[4..], value);
        labels.Advance(SeriesLabels.HeadBytes);
    }

    private static void WriteText(NativeBuffer buffer, string text)
    {
        Span<byte> room = buffer.Room(text.Length);
        System.Text.Encoding.ASCII.GetBytes(text, room);
        buffer.Advance(text.Length);
    }

    private static void WriteNumber(NativeBuffer buffer, long number)
    {
        Utf8Formatter.TryFormat(number, buffer.Room(NumberBytesMax), out int length);
        buffer.Advance(length);
    }

    private static void WriteEffect(scoped in CommandContext cmd, scoped ReadOnlySpan<byte> key, scoped Series series)
    {
        ref readonly SeriesSettings settings = ref series.Settings;
        SeriesLabels labels = series.Labels;
        int count = labels.Count;
        EffectArguments effect = cmd.Effect("TS.CREATE"u8, count == 0 ? 13 : 14 + (2 * count)).Argument(key)
            .Argument("RETENTION"u8).Argument(settings.Retention)
            .Argument("ENCODING"u8).Argument(settings.IsCompressed ? "COMPRESSED"u8 : "UNCOMPRESSED"u8)
            .Argument("CHUNK_SIZE"u8).Argument(settings.ChunkBytes)
            .Argument("DUPLICATE_POLICY"u8).Argument(System.Text.Encoding.ASCII.GetBytes(DuplicatePolicies.NameOf(settings.Policy)))
            .Argument("IGNORE"u8).Argument(settings.IgnoredTime);
        if (!effect.IsRecording) return;
        Span<byte> value = stackalloc byte[RespDouble.TextMax];
        effect = effect.Argument(value[..RespDouble.Format(settings.IgnoredValue, value)]);
        if (count == 0) return;
        effect = effect.Argument("LABELS"u8);
        foreach (SeriesLabels.Label label in labels) effect = effect.Argument(label.Name).Argument(label.Value);
    }
}
