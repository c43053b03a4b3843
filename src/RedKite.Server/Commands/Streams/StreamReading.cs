using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Streams;

namespace RedKite.Server.Commands.Streams;

/// <summary>
/// XREAD and XREADGROUP: what is in streams behind an id, for oneself or for a consumer of a group. First all ids are
/// resolved, which can fail, then all streams are served, which cannot: <see cref="Serve"/> may be called again later with
/// the same ids, for a client that waited.
/// </summary>
internal static class StreamReading
{
    /// <summary>Stands for the group's last id: what nobody had yet. No entry follows it, so nobody can mean it otherwise.</summary>
    private static readonly StreamId NewEntries = StreamId.Max;

    // More streams than this at once need memory for their ids.
    private const int StreamsOnStack = 32;

    // XREAD [COUNT count] [BLOCK milliseconds] STREAMS key [key ...] id [id ...]
    internal static void XRead(ref CommandContext cmd) => Read(cmd, isGroupRead: false);

    // XREADGROUP GROUP group consumer [COUNT count] [BLOCK milliseconds] [NOACK] STREAMS key [key ...] id [id ...]
    internal static void XReadGroup(ref CommandContext cmd) => Read(cmd, isGroupRead: true);

    /// <summary>Replies with what the streams have behind their ids; false, and nothing is replied, if they have nothing.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="options">Its options.</param>
    /// <param name="ids">For each stream the id behind which it is read.</param>
    internal static bool Serve(scoped in CommandContext cmd, in StreamReadOptions options, scoped ReadOnlySpan<StreamId> ids)
    {
        ReplyWriter reply = cmd.Reply;
        long start = reply.Length;
        int served = 0;
        for (int i = 0; i < ids.Length; i++)
        {
            int key = options.FirstKey + i;
            Entry entry = cmd.Peek(key);
            if (!entry.Exists || entry.Type != DataType.Stream) continue;
            StreamValue stream = StreamValue.Of(cmd.Database, entry);
            if (options.HasGroup ? ServeGroup(cmd, options, key, stream, ids[i]) : ServeReader(reply, options, cmd[key], stream, ids[i])) served++;
        }

        if (served == 0) return false;
        long end = reply.Length;
        if (reply.Resp3) reply.Map(served);
        else reply.Array(served);
        reply.MoveToFront(start, end);
        return true;
    }

    private static void Read(scoped in CommandContext cmd, bool isGroupRead)
    {
        if (!StreamReadOptions.TryParseOrReply(cmd, isGroupRead, out StreamReadOptions options)) return;
        Span<StreamId> ids = options.StreamCount <= StreamsOnStack ? stackalloc StreamId[options.StreamCount] : new StreamId[options.StreamCount];
        for (int i = 0; i < ids.Length; i++)
        {
            if (!TryResolveOrReply(cmd, options, i, out ids[i])) return;
        }

        if (Serve(cmd, options, ids)) return;
        if (options.BlockMs == StreamReadOptions.DoesNotBlock) cmd.Reply.NullArray();
        else Wait(cmd, options, ids);
    }

    // A later execution has the same ids: $ means what was last now.
    private static void Wait(scoped in CommandContext cmd, in StreamReadOptions options, scoped ReadOnlySpan<StreamId> ids)
    {
        long deadlineMs = TimeoutArgument.DeadlineOf(cmd, options.BlockMs);
        bool isNew = !cmd.IsServed;
        if (!cmd.WaitForKeys(DataType.Stream, deadlineMs, wakesWhenGone: options.HasGroup))
        {
            cmd.Reply.NullArray();
            return;
        }

        Span<byte> text = stackalloc byte[StreamId.TextMax];
        for (int i = 0; isNew && i < ids.Length; i++)
        {
            if (cmd[options.IdArgument(i)] is [(byte)'$'] or [(byte)'+']) cmd.ReplaceAwaitingArgument(options.IdArgument(i), text[..ids[i].Format(text)]);
        }
    }

    private static bool TryResolveOrReply(scoped in CommandContext cmd, in StreamReadOptions options, int index, out StreamId id)
    {
        id = default;
        int key = options.FirstKey + index;
        int argument = options.IdArgument(index);
        Entry entry = cmd.Find(key);
        if (!cmd.IsStreamOrReply(entry, out StreamValue stream)) return false;
        if (options.HasGroup && !stream.FindGroup(cmd[options.GroupArgument]).Exists)
        {
            cmd.Reply.Error($"NOGROUP No such key '{cmd.ShownText(key)}' or consumer group '{cmd.ShownText(options.GroupArgument)}' in XREADGROUP with GROUP option");
            return false;
        }

        switch (cmd[argument])
        {
            case [(byte)'$'] when options.HasGroup:
                cmd.Reply.Error("ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying a proper ID, or use the > ID to get new messages. The $ ID would just return an empty result set."u8);
                return false;
            case [(byte)'+'] when options.HasGroup:
                cmd.Reply.Error("ERR The + ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying a proper ID, or use the > ID to get new messages. The + ID would just return an empty result set."u8);
                return false;
            case [(byte)'>'] when !options.HasGroup:
                cmd.Reply.Error("ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option."u8);
                return false;
            case [(byte)'$']:
                id = stream.LastId;
                return true;
            case [(byte)'+']:
                // Just before the last entry, so that this is what is read; an empty stream is read from its beginning.
                if (stream.TryLastEntryId(out StreamId last)) last.TryPrevious(out id);
                return true;
            case [(byte)'>']:
                id = NewEntries;
                return true;
            default:
                return StreamIdArgument.TryReadOrReply(cmd, argument, out id);
        }
    }

    private static bool ServeReader(ReplyWriter reply, in StreamReadOptions options, ReadOnlySpan<byte> key, StreamValue stream, StreamId after)
    {
        if (!stream.TryLastEntryId(out StreamId last) || last <= after) return false;
        BeginStream(reply, key);
        after.TryNext(out StreamId low);
        StreamReplies.Range(reply, stream, low, StreamId.Max, options.CountMax);
        return true;
    }

    private static bool ServeGroup(scoped in CommandContext cmd, in StreamReadOptions options, int key, StreamValue stream, StreamId after)
    {
        StreamGroup group = stream.FindGroup(cmd[options.GroupArgument]);
        if (!group.Exists) return false;
        StreamConsumer consumer = group.FindOrCreateConsumer(cmd[options.ConsumerArgument], cmd.NowMs, out bool isNew);
        consumer.Seen(cmd.NowMs);
        if (isNew) cmd.Changed();
        if (after != NewEntries)
        {
            BeginStream(cmd.Reply, cmd[key]);
            ReplyHistory(cmd, options, stream, group, consumer, after);
            return true;
        }

        if (!stream.TryLastEntryId(out StreamId last) || last <= group.LastId) return false;
        BeginStream(cmd.Reply, cmd[key]);
        ReplyNewEntries(cmd, options, stream, group, consumer);
        return true;
    }

    // A stream's name; its entries follow.
    private static void BeginStream(ReplyWriter reply, ReadOnlySpan<byte> key)
    {
        if (!reply.Resp3) reply.Array(2);
        reply.Bulk(key);
    }

    private static void ReplyNewEntries(scoped in CommandContext cmd, in StreamReadOptions options, StreamValue stream, StreamGroup group, StreamConsumer consumer)
    {
        Span<byte> scratch = stackalloc byte[CompactText.ScratchBytes];
        long start = cmd.Reply.Length;
        int count = 0;
        group.LastId.TryNext(out StreamId low);
        StreamCursor cursor = stream.Range(low, StreamId.Max);
        while ((options.CountMax == 0 || count < options.CountMax) && cursor.MoveNext())
        {
            StreamId id = cursor.Id;
            StreamReplies.Entry(cmd.Reply, id, cursor.Fields, scratch);
            group.Advance(id);
            if (!options.NoAck) Deliver(group, consumer, id, cmd.NowMs);
            count++;
        }

        if (!options.NoAck) consumer.GotSomething(cmd.NowMs);
        cmd.Changed(count);
        StreamReplies.ArrayHead(cmd.Reply, start, count);
    }

    // An id may be pending already, where XGROUP SETID moved the group back: then it begins anew.
    private static void Deliver(StreamGroup group, StreamConsumer consumer, in StreamId id, long nowMs)
    {
        PendingEntry pending = group.FindPending(id);
        if (pending.Exists) group.GivePending(id, pending, consumer, nowMs, deliveries: 1);
        else group.AddPending(id, consumer, nowMs, deliveries: 1);
    }

    // What is pending for the consumer behind an id; of deleted entries the id alone.
    private static void ReplyHistory(
        scoped in CommandContext cmd, in StreamReadOptions options, StreamValue stream, StreamGroup group, StreamConsumer consumer, StreamId after)
    {
        Span<byte> scratch = stackalloc byte[CompactText.ScratchBytes];
        long start = cmd.Reply.Length;
        int count = 0;
        after.TryNext(out StreamId low);
        PendingCursor cursor = group.PendingOf(consumer, low);
        while ((options.CountMax == 0 || count < options.CountMax) && cursor.MoveNext())
        {
            StreamId id = cursor.Id;
            if (stream.TryFind(id, out StreamFields fields))
            {
                StreamReplies.Entry(cmd.Reply, id, fields, scratch);
                cursor.Entry.DeliveredAgain(cmd.NowMs);
            }
            else
            {
                cmd.Reply.Array(2);
                StreamReplies.Id(cmd.Reply, id);
                cmd.Reply.NullArray();
            }

            count++;
        }

        cmd.Changed(count);
        StreamReplies.ArrayHead(cmd.Reply, start, count);
    }
}
