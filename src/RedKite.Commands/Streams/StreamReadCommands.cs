using System.Buffers;
using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Streams;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Streams;

/// <summary>
/// XREAD and XREADGROUP: the entries of streams after an id, for a client or for a consumer of a group. First all ids are
/// resolved, which can fail, then all streams are served, which cannot. A blocked client's command is executed again with the
/// resolved ids.
/// </summary>
internal static class StreamReadCommands
{
    // Stands for the group's last id. No entry follows this id, so it has no other meaning.
    private static readonly StreamId NewEntries = StreamId.Max;

    // The ids of up to this many streams are on the stack.
    private const int StreamsOnStack = 32;

    /// <summary>A client that waits with CLAIM is looked at no more often than this.</summary>
    internal const long LookMsMin = 10;

    /// <summary>The same while nothing is pending.</summary>
    internal const long LookMsWithoutPending = 100;

    /// <summary>And at least so often.</summary>
    internal const long LookMsMax = 1_000;

    // To look up a pending entry in its stream takes as long as reading so many elements.
    private const int ElementsForEachPending = 4;

    private const string GroupComplexity =
        "For each stream O(M) with M being the number of entries returned. With BLOCK, the XADD that ends the wait pays O(N) for N blocked clients.";

    internal static readonly CommandFamily Family = new("stream", "stream",
    [
        new("XREAD", -4, CommandFlags.ReadOnly | CommandFlags.Blocking, Keys(startFrom: 1, needsGroup: false), XRead,
            new("5.0.0", "", "Returns the entries of one or more streams after an id. Optionally blocks until there are some.",
                "[COUNT count] [MAXCOUNT@8.10.0 maxcount:integer] [MAXSIZE@8.10.0 maxsize:integer] [BLOCK milliseconds] streams:<STREAMS (key [key ...] id [id ...])>")),
        new("XREADGROUP", -7, Write | CommandFlags.Blocking, Keys(startFrom: 4, needsGroup: true), XReadGroup,
            new("5.0.0", GroupComplexity, "Returns entries that a consumer group has not read yet, or those that are pending for a consumer. Optionally blocks until there are some.",
                "GROUP group-block:(group consumer) [COUNT count] [MAXCOUNT@8.10.0 maxcount:integer] [MAXSIZE@8.10.0 maxsize:integer] [BLOCK milliseconds] [CLAIM@8.4.0 min-idle-time:integer] [NOACK] streams:<STREAMS (key [key ...] id [id ...])>")),
    ]);

    // The first half of the arguments after STREAMS.
    private static KeySpec[] Keys(int startFrom, bool needsGroup) =>
        [new(1, -1, 1, KeyFlags.ReadOnly | Access | Incomplete, Notes: "an option's value, a group or a consumer may be named STREAMS too") { Keyword = "STREAMS", StartFrom = startFrom, Limit = 2, FindsKeyword = (scoped in cmd, start) => StreamReadOptions.FindStreams(cmd, start, needsGroup) }];

    // XREAD [COUNT count] [MAXCOUNT maxcount] [MAXSIZE maxsize] [BLOCK milliseconds] STREAMS key [key ...] id [id ...]
    private static void XRead(ref CommandContext cmd) => Read(cmd, isGroupRead: false);

    // XREADGROUP GROUP group consumer [COUNT count] [MAXCOUNT maxcount] [MAXSIZE maxsize] [BLOCK milliseconds] [CLAIM min-idle-time] [NOACK]
    //   STREAMS key [key ...] id [id ...]
    private static void XReadGroup(ref CommandContext cmd) => Read(cmd, isGroupRead: true);

    // Replies the entries after the ids. If there are none, nothing is replied.
    private static bool Serve(scoped in CommandContext cmd, in StreamReadOptions options, scoped ReadOnlySpan<StreamId> ids)
    {
        ReplyWriter reply = cmd.Reply;
        long start = reply.Length;
        int served = options.HasGroup ? ServeGroup(cmd, options, ids) : ServeReader(cmd, options, ids);
        if (served == 0) return false;
        long end = reply.Length;
        if (reply.Resp3) reply.Map(served);
        else reply.Array(served);
        reply.MoveToFront(start, end);
        return true;
    }

    private static int ServeReader(scoped in CommandContext cmd, in StreamReadOptions options, scoped ReadOnlySpan<StreamId> ids)
    {
        int served = 0;
        var budget = new StreamReadBudget(options, cmd.Reply.Length);
        for (int i = 0; i < ids.Length && !budget.IsSpent; i++)
        {
            int key = options.FirstKey + i;
            // A second hit or miss, after that of the id: clients see both as notifications.
            Entry entry = cmd.Find(key);
            if (!entry.Exists || entry.Type != DataType.Stream) continue;
            StreamValue stream = StreamValue.Of(cmd.Database, entry);
            if (!stream.TryLastEntryId(out StreamId last) || last <= ids[i]) continue;
            long start = cmd.Reply.Length;
            BeginStream(cmd.Reply, cmd[key]);
            ids[i].TryNext(out StreamId low);
            if (ReplyRange(cmd.Reply, stream, low, options.CountMax, ref budget)) served++;
            else cmd.Reply.Truncate(start);
        }

        return served;
    }

    private static int ServeGroup(scoped in CommandContext cmd, in StreamReadOptions options, scoped ReadOnlySpan<StreamId> ids)
    {
        cmd.ReplaceEffect();
        var deliveries = new StreamDeliveries();
        int served = 0;
        var budget = new StreamReadBudget(options, cmd.Reply.Length);
        for (int i = 0; i < ids.Length && !cmd.Reply.Overflowed && !budget.IsSpent; i++)
        {
            int key = options.FirstKey + i;
            // A second hit, after that of the id, as for XREAD.
            Entry entry = cmd.FindToWrite(key);
            if (entry.Exists) cmd.Metrics.CountHit();
            if (!TryFindGroup(cmd, entry, options, out StreamValue stream, out StreamGroup group)) continue;
            if (ids[i] != NewEntries)
            {
                // The history may include entries that this command has replied before.
                deliveries.Add(new StreamDelivery(key, 0, group.LastId, group.EntriesRead));
                Deliver(cmd, options, ref deliveries);
                long historyStart = cmd.Reply.Length;
                BeginStream(cmd.Reply, cmd[key]);
                if (!ReplyHistory(cmd, options, stream, group, group.FindConsumer(cmd[options.ConsumerArgument]), ids[i], ref budget))
                {
                    cmd.Reply.Truncate(historyStart);
                    break;
                }

                served++;
                continue;
            }

            // The same stream may have been read before: its claims are carried out first.
            if (options.MinIdleMs is not null && i > 0) Deliver(cmd, options, ref deliveries);
            var before = new StreamDelivery(key, 0, group.LastId, group.EntriesRead);
            int entries = 0, claimed = 0;
            using IdleEntries idle = options.MinIdleMs is { } minIdleMs ? IdleEntries.Find(stream, group, cmd.NowMs - minIdleMs, budget.CountMax(options.CountMax)) : default;
            bool hasNew = stream.TryLastEntryId(out StreamId last) && last > group.LastId;
            if (hasNew || idle.Entries.Length > 0)
            {
                long beginning = cmd.Reply.Length;
                BeginStream(cmd.Reply, cmd[key]);
                long start = cmd.Reply.Length;
                claimed = ReplyIdleEntries(cmd, stream, group, idle.Entries, ref deliveries, ref budget);
                entries = hasNew ? ReplyNewEntries(cmd, options, claimed, stream, group, ref deliveries, ref budget) : claimed;
                StreamReplies.ArrayHead(cmd.Reply, start, entries);
                if (entries == 0) cmd.Reply.Truncate(beginning);
                else served++;
            }

            deliveries.Add(before with { Entries = entries, Claimed = claimed });
        }

        if (cmd.Reply.Overflowed) Undo(cmd, options, ref deliveries);
        else Deliver(cmd, options, ref deliveries);
        deliveries.Release();
        return served;
    }

    private static bool TryFindGroup(scoped in CommandContext cmd, Entry entry, in StreamReadOptions options, out StreamValue stream, out StreamGroup group)
    {
        stream = default;
        group = default;
        if (!entry.Exists || entry.Type != DataType.Stream) return false;
        stream = StreamValue.Of(cmd.Database, entry);
        group = stream.FindGroup(cmd[options.GroupArgument]);
        return group.Exists;
    }

    private static void Read(scoped in CommandContext cmd, bool isGroupRead)
    {
        if (!StreamReadOptions.TryParseOrReply(cmd, isGroupRead, out StreamReadOptions options)) return;
        Span<StreamId> ids = options.StreamCount <= StreamsOnStack ? stackalloc StreamId[options.StreamCount] : new StreamId[options.StreamCount];
        for (int i = 0; i < ids.Length; i++)
        {
            if (!TryResolveOrReply(cmd, options, i, out ids[i])) return;
        }

        if (options.MinIdleMs is not null && ids.Length > 1 && !RepeatedClaimsFitOrReply(cmd, options)) return;
        if (Serve(cmd, options, ids)) return;
        if (options.DeadlineMs is { } deadlineMs) Wait(cmd, options, deadlineMs, ids);
        else cmd.Reply.NullArray();
    }

    // Each time that a stream is named, all entries that are pending in its group are looked at.
    private static bool RepeatedClaimsFitOrReply(scoped in CommandContext cmd, in StreamReadOptions options)
    {
        long[] pending = ArrayPool<long>.Shared.Rent(options.StreamCount);
        for (int i = 0; i < options.StreamCount; i++)
        {
            pending[i] = TryFindGroup(cmd, cmd.Peek(options.FirstKey + i), options, out _, out StreamGroup group) ? group.PendingCount * ElementsForEachPending : 0;
        }

        bool fit = RepeatedKeys.FitOrReply(cmd, options.FirstKey, pending.AsSpan(0, options.StreamCount));
        ArrayPool<long>.Shared.Return(pending);
        return fit;
    }

    // A later execution uses the same ids: $ stands for the current last id.
    private static void Wait(scoped in CommandContext cmd, in StreamReadOptions options, long deadlineMs, scoped ReadOnlySpan<StreamId> ids)
    {
        bool isNew = !cmd.Environment.Blocking.IsServing;
        if (!cmd.BlockOnKeys(DataType.Stream, deadlineMs, wakesWhenGone: options.HasGroup, looksAgainMs: NextLookMs(cmd, options, ids)))
        {
            cmd.Reply.NullArray();
            return;
        }

        Span<byte> text = stackalloc byte[StreamId.TextMax];
        for (int i = 0; isNew && i < ids.Length; i++)
        {
            if (cmd[options.IdArgument(i)] is [(byte)'$']) cmd.ReplaceArgument(options.IdArgument(i), text[..ids[i].Format(text)]);
        }
    }

    // When an entry of the groups may be idle for long enough, by the steady clock; null: the command claims none. What is delivered from now on is so no
    // earlier than that time from now. XCLAIM may say that an entry is older than it is, and the system's clock may be set: so it is not long until then.
    private static long? NextLookMs(scoped in CommandContext cmd, in StreamReadOptions options, scoped ReadOnlySpan<StreamId> ids)
    {
        if (options.MinIdleMs is not { } minIdleMs) return null;
        long waitMs = Math.Clamp(minIdleMs, LookMsWithoutPending, LookMsMax);
        for (int i = 0; i < ids.Length; i++)
        {
            if (ids[i] != NewEntries || !TryFindGroup(cmd, cmd.Peek(options.FirstKey + i), options, out _, out StreamGroup group)) continue;
            long deliveredMs = group.EarliestDeliveryMs;
            if (deliveredMs <= cmd.NowMs) waitMs = Math.Min(waitMs, Math.Max(LookMsMin, minIdleMs - (cmd.NowMs - deliveredMs)));
        }

        return cmd.Time.SteadyMs + waitMs;
    }

    private static bool TryResolveOrReply(scoped in CommandContext cmd, in StreamReadOptions options, int index, out StreamId id)
    {
        id = default;
        int key = options.FirstKey + index;
        int argument = options.IdArgument(index);
        if (!cmd.OpenToReadStreamOrReply(key, out StreamValue stream)) return false;
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
                // The id before the last entry, so that exactly this entry is read. An empty stream is read from its beginning.
                if (stream.TryLastEntryId(out StreamId last)) last.TryPrevious(out id);
                return true;
            case [(byte)'>']:
                id = NewEntries;
                return true;
            default:
                return StreamIdArgument.TryReadOrReply(cmd, argument, out id);
        }
    }

    // The entries of a stream from an id on; false if there is no room for any.
    private static bool ReplyRange(ReplyWriter reply, StreamValue stream, in StreamId low, long countMax, ref StreamReadBudget budget)
    {
        Span<byte> scratch = stackalloc byte[CompactText.ScratchBytes];
        long start = reply.Length;
        int count = 0;
        StreamCursor cursor = stream.Range(low, StreamId.Max);
        while ((countMax == 0 || count < countMax) && !budget.IsSpent && cursor.MoveNext())
        {
            long entryStart = reply.Length;
            StreamReplies.Entry(reply, cursor.Id, cursor.Fields, scratch);
            if (!budget.Keeps(reply, entryStart)) break;
            count++;
        }

        StreamReplies.ArrayHead(reply, start, count);
        return count > 0 || !budget.IsSpent;
    }

    // A stream's name; its entries follow.
    private static void BeginStream(ReplyWriter reply, ReadOnlySpan<byte> key)
    {
        if (!reply.Resp3) reply.Array(2);
        reply.Bulk(key);
    }

    // Replies entries that are pending for longer than the option CLAIM says.
    private static int ReplyIdleEntries(
        scoped in CommandContext cmd, StreamValue stream, StreamGroup group, ReadOnlySpan<IdleEntry> idle, ref StreamDeliveries deliveries, ref StreamReadBudget budget)
    {
        Span<byte> scratch = stackalloc byte[CompactText.ScratchBytes];
        int count = 0;
        foreach (IdleEntry entry in idle)
        {
            if (!deliveries.HasRoom) break;
            if (!stream.TryFind(entry.Id, out StreamFields fields)) continue;
            long start = cmd.Reply.Length;
            StreamReplies.Claimed(cmd.Reply, entry.Id, fields, scratch, Math.Max(0, cmd.NowMs - entry.DeliveredMs), group.FindPending(entry.Id).Deliveries);
            if (!budget.Keeps(cmd.Reply, start)) break;
            deliveries.Add(entry.Id);
            count++;
        }

        return count;
    }

    // Replies the entries that the group has not read yet behind those that are claimed, and moves the group behind them. Returns the number of both.
    private static int ReplyNewEntries(
        scoped in CommandContext cmd, in StreamReadOptions options, int claimed, StreamValue stream, StreamGroup group, ref StreamDeliveries deliveries, ref StreamReadBudget budget)
    {
        Span<byte> scratch = stackalloc byte[CompactText.ScratchBytes];
        int count = claimed;
        group.LastId.TryNext(out StreamId low);
        StreamCursor cursor = stream.Range(low, StreamId.Max);
        while ((options.CountMax == 0 || count < options.CountMax) && !budget.IsSpent && deliveries.HasRoom && cursor.MoveNext())
        {
            StreamId id = cursor.Id;
            long start = cmd.Reply.Length;
            // With CLAIM, all entries have the form of those that are claimed.
            if (options.MinIdleMs is null) StreamReplies.Entry(cmd.Reply, id, cursor.Fields, scratch);
            else StreamReplies.Claimed(cmd.Reply, id, cursor.Fields, scratch, idleMs: 0, deliveries: 0);
            if (!budget.Keeps(cmd.Reply, start)) break;
            group.Advance(id);
            deliveries.Add(id);
            count++;
        }

        return count;
    }

    // Makes the replied entries pending for the consumer, which is created if it does not exist.
    private static void Deliver(scoped in CommandContext cmd, in StreamReadOptions options, ref StreamDeliveries deliveries)
    {
        while (deliveries.TryTakeFirst(out StreamDelivery delivery, out ReadOnlySpan<StreamId> ids))
        {
            int key = delivery.Key;
            TryFindGroup(cmd, cmd.Peek(key), options, out _, out StreamGroup group);
            StreamConsumer consumer = group.FindOrCreateConsumer(cmd[options.ConsumerArgument], cmd.NowMs, out bool isNew);
            consumer.Seen(cmd.NowMs);
            if (isNew)
            {
                StreamEffects.CreateConsumer(cmd, key, options.GroupArgument, options.ConsumerArgument);
                cmd.Changed(key, KeyEvent.XGroupCreateConsumer);
            }

            if (ids.Length == 0) continue;
            foreach (StreamId id in ids[..delivery.Claimed])
            {
                PendingEntry pending = group.FindPending(id);
                long times = pending.DeliveriesWithNext;
                group.GivePending(id, pending, consumer, cmd.NowMs, times);
                StreamEffects.Claim(cmd, key, options.GroupArgument, options.ConsumerArgument, [id], cmd.NowMs, times);
            }

            if (delivery.Claimed > 0) consumer.GotSomething(cmd.NowMs);
            ids = ids[delivery.Claimed..];
            if (ids.Length == 0)
            {
                cmd.Changed(key, KeyEvent.Bookkeeping);
                continue;
            }

            if (!options.NoAck)
            {
                foreach (StreamId id in ids) MakePending(group, consumer, id, cmd.NowMs);
                consumer.GotSomething(cmd.NowMs);
                StreamEffects.Claim(cmd, key, options.GroupArgument, options.ConsumerArgument, ids, cmd.NowMs, deliveries: 1);
            }

            StreamEffects.SetGroup(cmd, key, group);
            cmd.Changed(key, KeyEvent.Bookkeeping);
        }
    }

    // An id may be pending already, if XGROUP SETID has moved the group back: then its history starts again.
    private static void MakePending(StreamGroup group, StreamConsumer consumer, in StreamId id, long nowMs)
    {
        PendingEntry pending = group.FindPending(id);
        if (pending.Exists) group.GivePending(id, pending, consumer, nowMs, deliveries: 1);
        else group.AddPending(id, consumer, nowMs, deliveries: 1);
    }

    // Moves the groups back to where they were: the reply is not delivered.
    private static void Undo(scoped in CommandContext cmd, in StreamReadOptions options, ref StreamDeliveries deliveries)
    {
        while (deliveries.TryTakeLast(out StreamDelivery delivery))
        {
            TryFindGroup(cmd, cmd.Peek(delivery.Key), options, out _, out StreamGroup group);
            group.SetLastId(delivery.LastId);
            group.SetEntriesRead(delivery.EntriesRead);
        }
    }

    // Replies the entries after an id that are pending for the consumer; for deleted entries, the id alone. Like Redis, this counts
    // another delivery of each entry but no change. False if there is no room for any.
    private static bool ReplyHistory(
        scoped in CommandContext cmd, in StreamReadOptions options, StreamValue stream, StreamGroup group, StreamConsumer consumer, StreamId after, ref StreamReadBudget budget)
    {
        Span<byte> scratch = stackalloc byte[CompactText.ScratchBytes];
        long start = cmd.Reply.Length;
        int count = 0;
        after.TryNext(out StreamId low);
        PendingCursor cursor = group.PendingOf(consumer, low);
        while ((options.CountMax == 0 || count < options.CountMax) && !budget.IsSpent && cursor.MoveNext())
        {
            StreamId id = cursor.Id;
            long entryStart = cmd.Reply.Length;
            bool isThere = stream.TryFind(id, out StreamFields fields);
            if (isThere)
            {
                StreamReplies.Entry(cmd.Reply, id, fields, scratch);
            }
            else
            {
                cmd.Reply.Array(2);
                StreamReplies.Id(cmd.Reply, id);
                cmd.Reply.NullArray();
            }

            if (!budget.Keeps(cmd.Reply, entryStart)) break;
            if (isThere) cursor.Entry.DeliveredAgain(cmd.NowMs);

            count++;
        }

        StreamReplies.ArrayHead(cmd.Reply, start, count);
        return count > 0 || !budget.IsSpent;
    }
}
