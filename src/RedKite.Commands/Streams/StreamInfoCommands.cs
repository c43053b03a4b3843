using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Values.Streams;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Streams;

/// <summary>XINFO: describes a stream, its groups and their consumers. The table is the single declaration of its subcommands.</summary>
internal static class StreamInfoCommands
{
    private static readonly (string Version, string Change)[] StreamHistory =
    [
        ("6.0.0", "Adds `FULL`."),
        ("7.0.0", "Adds the fields `max-deleted-entry-id`, `entries-added`, `recorded-first-entry-id`, `entries-read` and `lag`."),
        ("7.2.0", "Adds the field `active-time`; `seen-time` is that of the last attempt to read."),
        ("8.6.0", "Adds the fields `idmp-duration`, `idmp-maxsize`, `pids-tracked`, `iids-tracked`, `iids-added` and `iids-duplicates`."),
    ];

    internal static readonly CommandFamily Family = new("stream", "stream",
    [
        new("XINFO", -2, CommandFlags.None, KeySpecs.None, Help, new("5.0.0", "Depends on subcommand.", "Returns information about streams, groups and consumers."),
        [
            new("CONSUMERS", 4, CommandFlags.ReadOnly, KeySpecs.One(2, KeyFlags.ReadOnly | Access), Consumers,
                new("5.0.0", "O(1)", "Returns the consumers of a consumer group.", "key group") { History = [("7.2.0", "Adds the field `inactive`; `idle` starts at the last attempt to read.")] }) { Tips = ["nondeterministic_output"] },
            new("GROUPS", 3, CommandFlags.ReadOnly, KeySpecs.One(2, KeyFlags.ReadOnly | Access), Groups,
                new("5.0.0", "O(1)", "Returns the consumer groups of a stream.", "key") { History = [("7.0.0", "Adds the fields `entries-read` and `lag`.")] }),
            new("HELP", 2, Loading | Stale, KeySpecs.None, Help, new("5.0.0", "O(1)", "Lists the subcommands.")),
            new("STREAM", -3, CommandFlags.ReadOnly, KeySpecs.One(2, KeyFlags.ReadOnly | Access), Stream,
                new("5.0.0", "O(1)", "Returns the counters and the first and last entry of a stream, or with FULL its entries, groups and consumers.", "key full-block:[FULL [COUNT count]]") { History = StreamHistory }),
        ]),
    ]);

    private const long FullCountUsual = 10;

    // XINFO STREAM key [FULL [COUNT count]]
    private static void Stream(ref CommandContext cmd)
    {
        if (!TryFindOrReply(cmd, out StreamValue stream)) return;
        if (cmd.Count == 3)
        {
            ReplyStream(cmd, stream);
            return;
        }

        long countMax = FullCountUsual;
        var options = new OptionReader(cmd, first: 3);
        bool fits = cmd.Count is 4 or 6 && options.Take("FULL"u8); // a surplus argument is reported before an invalid count
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
    private static void Groups(ref CommandContext cmd)
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
            ReplyProgress(reply, group);
        }
    }

    // XINFO CONSUMERS key group
    private static void Consumers(ref CommandContext cmd)
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
    private static void Help(ref CommandContext cmd) => HelpReply.Write(
        cmd,
        "CONSUMERS <key> <groupname>",
        "    Returns the consumers of a group.",
        "GROUPS <key>",
        "    Returns the groups of a stream.",
        "STREAM <key> [FULL [COUNT <count>]]",
        "    Returns the counters and the first and last entry of a stream, or with FULL its entries, groups and consumers.");

    private static bool TryFindOrReply(scoped in CommandContext cmd, out StreamValue stream)
    {
        if (!cmd.OpenToReadStreamOrReply(2, out stream)) return false;
        if (stream.Exists) return true;
        cmd.Reply.Error("ERR no such key"u8);
        return false;
    }

    private static void ReplyStream(scoped in CommandContext cmd, StreamValue stream)
    {
        ReplyWriter reply = cmd.Reply;
        reply.Map(16);
        ReplyCounters(reply, stream);
        ReplyProducers(cmd, stream);
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
        Field(reply, "radix-tree-nodes"u8, stream.NodeCount + 1); // the keys and the root: RedKite has no radix tree
        Field(reply, "last-generated-id"u8, stream.LastId);
        Field(reply, "max-deleted-entry-id"u8, stream.MaxDeletedId);
        Field(reply, "entries-added"u8, stream.EntriesAdded);
        Field(reply, "recorded-first-entry-id"u8, stream.FirstId);
    }

    // A stream that does not remember ids of producers yet takes the settings' numbers over when it begins to.
    private static void ReplyProducers(scoped in CommandContext cmd, StreamValue stream)
    {
        bool exist = stream.Producers.Exist;
        stream.Producers.Count(cmd.NowMs, out int producers, out long ids);
        Field(cmd.Reply, "idmp-duration"u8, exist ? stream.Producers.DurationSeconds : cmd.Settings.StreamIdmpDurationSeconds);
        Field(cmd.Reply, "idmp-maxsize"u8, exist ? stream.Producers.IdsMax : cmd.Settings.StreamIdmpMaxSize);
        Field(cmd.Reply, "pids-tracked"u8, producers);
        Field(cmd.Reply, "iids-tracked"u8, ids);
        Field(cmd.Reply, "iids-added"u8, stream.Producers.Added);
        Field(cmd.Reply, "iids-duplicates"u8, stream.Producers.Duplicates);
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
        reply.Map(15);
        ReplyCounters(reply, stream);
        ReplyProducers(cmd, stream);
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
        ReplyProgress(reply, group);
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

    private static void ReplyProgress(ReplyWriter reply, StreamGroup group)
    {
        Field(reply, "last-delivered-id"u8, group.LastId);
        FieldOrNull(reply, "entries-read"u8, group.EntriesRead == StreamProgress.Unknown ? null : group.EntriesRead);
        FieldOrNull(reply, "lag"u8, group.Lag);
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

    private static void FieldOrNull(ReplyWriter reply, ReadOnlySpan<byte> name, long? value)
    {
        reply.Bulk(name);
        if (value is { } number) reply.Integer(number);
        else reply.Null();
    }
}
