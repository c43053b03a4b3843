using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Streams;

namespace RedKite.Server.Commands.Streams;

/// <summary>XINFO: what a stream, its groups and their consumers have.</summary>
internal static class StreamInfoCommands
{
    private const long FullCountUsual = 10;

    // XINFO STREAM key [FULL [COUNT count]]
    internal static void Stream(ref CommandContext cmd)
    {
        if (!TryFindOrReply(cmd, out StreamValue stream)) return;
        if (cmd.Count == 3)
        {
            ReplyStream(cmd.Reply, stream);
            return;
        }

        long countMax = FullCountUsual;
        var options = new OptionReader(cmd, first: 3);
        bool fits = cmd.Count is 4 or 6 && options.Take("FULL"u8); // a word too many is told before a count that is none
        if (fits && options.TakeWithValue("COUNT"u8, out int count))
        {
            if (!cmd.TryIntegerOrReply(count, out countMax)) return;
            if (countMax < 0) countMax = FullCountUsual;
        }

        if (!fits || options.More)
        {
            cmd.ReplySubcommandSyntaxError("XINFO");
            return;
        }

        ReplyFull(cmd, stream, countMax);
    }

    // XINFO GROUPS key
    internal static void Groups(ref CommandContext cmd)
    {
        if (!TryFindOrReply(cmd, out StreamValue stream)) return;
        ReplyWriter reply = cmd.Reply;
        reply.Array(stream.GroupCount);
        for (int i = 0; i < stream.GroupCount; i++)
        {
            StreamGroup group = stream.GroupAt(i);
            reply.Map(6);
            reply.Bulk("name"u8);
            reply.Bulk(group.Name);
            Field(reply, "consumers"u8, group.ConsumerCount);
            Field(reply, "pending"u8, group.PendingCount);
            Field(reply, "last-delivered-id"u8, group.LastId);
            FieldOrNull(reply, "entries-read"u8, group.EntriesRead);
            FieldOrNull(reply, "lag"u8, group.Lag);
        }
    }

    // XINFO CONSUMERS key group
    internal static void Consumers(ref CommandContext cmd)
    {
        if (!TryFindOrReply(cmd, out StreamValue stream)) return;
        StreamGroup group = stream.FindGroup(cmd[3]);
        if (!group.Exists)
        {
            cmd.ReplyNoGroupOfKey(2, 3);
            return;
        }

        ReplyWriter reply = cmd.Reply;
        reply.Array(group.ConsumerCount);
        for (int i = 0; i < group.ConsumerCount; i++)
        {
            StreamConsumer consumer = group.ConsumerAt(i);
            reply.Map(4);
            reply.Bulk("name"u8);
            reply.Bulk(consumer.Name);
            Field(reply, "pending"u8, consumer.PendingCount);
            Field(reply, "idle"u8, Math.Max(0, cmd.NowMs - consumer.SeenMs));
            Field(reply, "inactive"u8, consumer.ActiveMs < 0 ? -1 : Math.Max(0, cmd.NowMs - consumer.ActiveMs));
        }
    }

    // XINFO HELP
    internal static void Help(ref CommandContext cmd) => HelpReply.Write(
        cmd.Reply, "XINFO",
        "CONSUMERS <key> <groupname>",
        "    The consumers of a group.",
        "GROUPS <key>",
        "    The groups of a stream.",
        "STREAM <key> [FULL [COUNT <count>]]",
        "    A stream's counters and ends; with FULL its entries and groups, too.");

    private static bool TryFindOrReply(scoped in CommandContext cmd, out StreamValue stream)
    {
        Entry entry = cmd.Find(2);
        if (!cmd.IsStreamOrReply(entry, out stream)) return false;
        if (entry.Exists) return true;
        cmd.Reply.Error("ERR no such key"u8);
        return false;
    }

    private static void ReplyStream(ReplyWriter reply, StreamValue stream)
    {
        reply.Map(10);
        ReplyCounters(reply, stream);
        Field(reply, "groups"u8, stream.GroupCount);
        reply.Bulk("first-entry"u8);
        ReplyEnd(reply, stream, reverse: false);
        reply.Bulk("last-entry"u8);
        ReplyEnd(reply, stream, reverse: true);
    }

    private static void ReplyCounters(ReplyWriter reply, StreamValue stream)
    {
        Field(reply, "length"u8, stream.Length);
        Field(reply, "radix-tree-keys"u8, stream.NodeCount);
        Field(reply, "radix-tree-nodes"u8, stream.NodeCount + 1); // the keys and the root: there is no radix tree here
        Field(reply, "last-generated-id"u8, stream.LastId);
        Field(reply, "max-deleted-entry-id"u8, stream.MaxDeletedId);
        Field(reply, "entries-added"u8, stream.EntriesAdded);
        Field(reply, "recorded-first-entry-id"u8, stream.FirstId);
    }

    private static void ReplyEnd(ReplyWriter reply, StreamValue stream, bool reverse)
    {
        StreamCursor cursor = stream.Range(default, StreamId.Max, reverse);
        if (cursor.MoveNext()) StreamReplies.Entry(reply, cursor.Id, cursor.Fields);
        else reply.Null();
    }

    private static void ReplyFull(scoped in CommandContext cmd, StreamValue stream, long countMax)
    {
        ReplyWriter reply = cmd.Reply;
        reply.Map(9);
        ReplyCounters(reply, stream);
        reply.Bulk("entries"u8);
        StreamReplies.Range(reply, stream, default, StreamId.Max, countMax);
        reply.Bulk("groups"u8);
        reply.Array(stream.GroupCount);
        for (int i = 0; i < stream.GroupCount; i++) ReplyFullGroup(reply, stream.GroupAt(i), countMax);
    }

    private static void ReplyFullGroup(ReplyWriter reply, StreamGroup group, long countMax)
    {
        reply.Map(7);
        reply.Bulk("name"u8);
        reply.Bulk(group.Name);
        Field(reply, "last-delivered-id"u8, group.LastId);
        FieldOrNull(reply, "entries-read"u8, group.EntriesRead);
        FieldOrNull(reply, "lag"u8, group.Lag);
        Field(reply, "pel-count"u8, group.PendingCount);
        reply.Bulk("pending"u8);
        ReplyPending(reply, group.Pending(default), countMax, withConsumer: true);
        reply.Bulk("consumers"u8);
        reply.Array(group.ConsumerCount);
        for (int i = 0; i < group.ConsumerCount; i++)
        {
            StreamConsumer consumer = group.ConsumerAt(i);
            reply.Map(5);
            reply.Bulk("name"u8);
            reply.Bulk(consumer.Name);
            Field(reply, "seen-time"u8, consumer.SeenMs);
            Field(reply, "active-time"u8, consumer.ActiveMs);
            Field(reply, "pel-count"u8, consumer.PendingCount);
            reply.Bulk("pending"u8);
            ReplyPending(reply, group.PendingOf(consumer, default), countMax, withConsumer: false);
        }
    }

    private static void ReplyPending(ReplyWriter reply, PendingCursor cursor, long countMax, bool withConsumer)
    {
        long start = reply.Length;
        int count = 0;
        while ((countMax == 0 || count < countMax) && cursor.MoveNext())
        {
            PendingEntry pending = cursor.Entry;
            reply.Array(withConsumer ? 4 : 3);
            StreamReplies.Id(reply, cursor.Id);
            if (withConsumer) reply.Bulk(pending.Consumer.Name);
            reply.Integer(pending.DeliveredMs);
            reply.Integer(pending.Deliveries);
            count++;
        }

        StreamReplies.ArrayHead(reply, start, count);
    }

    private static void Field(ReplyWriter reply, ReadOnlySpan<byte> name, long value)
    {
        reply.Bulk(name);
        reply.Integer(value);
    }

    private static void Field(ReplyWriter reply, ReadOnlySpan<byte> name, in StreamId id)
    {
        reply.Bulk(name);
        StreamReplies.Id(reply, id);
    }

    private static void FieldOrNull(ReplyWriter reply, ReadOnlySpan<byte> name, long value)
    {
        reply.Bulk(name);
        if (value < 0) reply.Null();
        else reply.Integer(value);
    }
}
