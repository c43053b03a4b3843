using RedKite.Protocol;
using RedKite.Server.Model;
using RedKite.TimeSeries.Compaction;
using RedKite.TimeSeries.Ranges;
using RedKite.TimeSeries.Store;

namespace RedKite.TimeSeries;

/// <summary>TS.INFO.</summary>
internal static class SeriesInfoCommands
{
    internal static readonly CommandFamily Family = new(SeriesCommands.Group, SeriesCommands.Category,
    [
        new("TS.INFO", -2, CommandFlags.ReadOnly | CommandFlags.Fast, KeySpecs.One(1, KeyFlags.ReadOnly), Info,
            new("1.0.0", "O(1)", "Returns what a time series is like.", "key [DEBUG]")) { Module = ServerModule.TimeSeries },
    ]);

    // TS.INFO key [DEBUG]
    private static void Info(ref CommandContext cmd)
    {
        bool debug = cmd.Count == 3 && cmd.Is(2, "DEBUG"u8);
        if (cmd.Count > 3 || (cmd.Count == 3 && !debug))
        {
            cmd.Reply.Error($"ERR wrong number of arguments for '{cmd.Command.Name}' command");
            return;
        }

        if (!cmd.OpenToReadOrReply(out Series series)) return;
        ReplyWriter reply = cmd.Reply;
        reply.Map(debug ? 16 : 14);
        Field(reply, "totalSamples"u8, series.Count);
        Field(reply, "memoryUsage"u8, series.MemoryBytes);
        Field(reply, "firstTimestamp"u8, series.FirstTime);
        Field(reply, "lastTimestamp"u8, series.LastTime);
        Field(reply, "retentionTime"u8, series.Settings.Retention);
        Field(reply, "chunkCount"u8, Math.Max(1, series.ChunkCount));
        Field(reply, "chunkSize"u8, series.Settings.ChunkBytes);
        reply.SimpleString("chunkType"u8);
        reply.SimpleString(series.Settings.IsCompressed ? "compressed"u8 : "uncompressed"u8);
        reply.SimpleString("duplicatePolicy"u8);
        reply.SimpleString(System.Text.Encoding.ASCII.GetBytes(DuplicatePolicies.NameOf(series.Settings.Policy)));
        reply.SimpleString("labels"u8);
        reply.Labels(series.Labels);
        reply.SimpleString("sourceKey"u8);
        if (series.Source.IsEmpty) reply.Null();
        else reply.Bulk(series.Source);
        reply.SimpleString("rules"u8);
        ReplyRules(reply, series);
        Field(reply, "ignoreMaxTimeDiff"u8, series.Settings.IgnoredTime);
        reply.SimpleString("ignoreMaxValDiff"u8);
        reply.SampleValue(series.Settings.IgnoredValue);
        if (!debug) return;
        reply.SimpleString("keySelfName"u8);
        reply.Bulk(cmd[1]);
        reply.SimpleString("Chunks"u8);
        reply.Array(series.ChunkCount);
        for (int i = 0; i < series.ChunkCount; i++)
        {
            (long first, long last, int count, int bytes) = series.ChunkAt(i);
            reply.Map(5);
            Field(reply, "startTimestamp"u8, first);
            Field(reply, "endTimestamp"u8, last);
            Field(reply, "samples"u8, count);
            Field(reply, "size"u8, bytes);
            reply.SimpleString("bytesPerSample"u8);
            reply.Double((double)bytes / count);
        }
    }

    /// <summary>Replies labels: a map, or over RESP2 an array of pairs.</summary>
    internal static void Labels(this ReplyWriter reply, SeriesLabels labels)
    {
        if (reply.Resp3) reply.Map(labels.Count);
        else reply.Array(labels.Count);
        foreach (SeriesLabels.Label label in labels) reply.Label(label.Name, label.Value, exists: true);
    }

    /// <summary>Replies a label within a map, or an array of pairs.</summary>
    internal static void Label(this ReplyWriter reply, ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, bool exists)
    {
        if (!reply.Resp3) reply.Array(2);
        reply.Bulk(name);
        if (exists) reply.Bulk(value);
        else reply.Null();
    }

    private static void ReplyRules(ReplyWriter reply, scoped Series series)
    {
        var rules = new SeriesRules(series.Rules);
        if (reply.Resp3) reply.Map(rules.Count);
        else reply.Array(rules.Count);
        for (int at = 0; at < rules.Length; at = rules.Next(at))
        {
            if (!reply.Resp3) reply.Array(4);
            reply.Bulk(rules.Key(at));
            if (reply.Resp3) reply.Array(3);
            reply.Integer(rules[at].Duration);
            reply.SimpleString(System.Text.Encoding.ASCII.GetBytes(Aggregators.NameOf(rules[at].Aggregator)));
            reply.Integer(rules[at].Align);
        }
    }

    private static void Field(ReplyWriter reply, ReadOnlySpan<byte> name, long value)
    {
        reply.SimpleString(name);
        reply.Integer(value);
    }
}
