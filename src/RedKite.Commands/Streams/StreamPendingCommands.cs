using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Memory;
using RedKite.Store.Values.Streams;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Streams;

/// <summary>
/// Stream commands on entries that were delivered to consumers and not acknowledged. The table is their single declaration and
/// this file's contents.
/// </summary>
internal static class StreamPendingCommands
{
    // XAUTOCLAIM visits at most this many pending entries for each that it may return.
    private const long AttemptsPerEntry = 10;

    // The idle time of an entry that no consumer has, because XNACK has refused it.
    private const long RefusedIdle = -1;

    // The limit of Redis.
    private const long AutoClaimCountMax = long.MaxValue / 16;
    private const long AutoClaimCountUsual = 100;

    internal static readonly CommandFamily Family = new("stream", "stream",
    [
        new("XACK", -4, Write | Fast, KeySpecs.One(1, ReadWrite | Update), XAck,
            new("5.0.0", "O(1) for each message ID processed.", "Acknowledges entries that are pending in a consumer group.", "key group id [id ...]")),
        new("XPENDING", -3, CommandFlags.ReadOnly, KeySpecs.One(1, KeyFlags.ReadOnly | Access), XPending,
            new("5.0.0", "O(N) with N being the number of entries returned or passed over because of IDLE; the summary is O(N) with N being the number of consumers.",
                "Returns a summary or a list of the entries that are pending in a consumer group.", "key group [filters:([IDLE@6.2.0 min-idle-time:integer] start:string end:string count [consumer])]") { History = [("6.2.0", "Adds `IDLE` and exclusive ranges.")] }) { Tips = ["nondeterministic_output"] },
        new("XCLAIM", -6, Write | Fast, KeySpecs.One(1, ReadWrite | Update), XClaim,
            new("5.0.0", "O(log N) with N being the number of the group's pending entries.", "Transfers pending entries to another consumer of the group.",
                "key group consumer min-idle-time id [id ...] [IDLE ms] [TIME unix-time-milliseconds] [RETRYCOUNT count] [FORCE] [JUSTID] [LASTID lastid]")) { Tips = ["nondeterministic_output"] },
        new("XAUTOCLAIM", -6, Write | Fast, KeySpecs.One(1, ReadWrite | Delete), XAutoClaim,
            new("6.2.0", "O(1) if COUNT is small.", "Transfers entries that have been pending for a time to another consumer of the group.",
                "key group consumer min-idle-time start:string [COUNT count] [JUSTID]") { History = [("7.0.0", "Also returns the ids of pending entries that no longer exist.")] }) { Tips = ["nondeterministic_output"] },
    ]);

    // XACK key group id [id ...]
    private static void XAck(ref CommandContext cmd)
    {
        cmd.Find(1); // counts a hit or a miss, as for a read
        if (!cmd.OpenToWriteStreamOrReply(1, out StreamValue stream)) return;
        StreamGroup group = stream.FindGroup(cmd[2]);
        if (!group.Exists)
        {
            cmd.Reply.Integer(0);
            return;
        }

        for (int i = 3; i < cmd.Count; i++)
        {
            if (!StreamIdArgument.TryReadOrReply(cmd, i, out _)) return;
        }

        int acknowledged = 0;
        for (int i = 3; i < cmd.Count; i++)
        {
            StreamIdArgument.TryRead(cmd, i, out StreamId id);
            if (group.RemovePending(id)) acknowledged++;
        }

        if (acknowledged > 0) cmd.Changed(1, KeyEvent.Bookkeeping, acknowledged);
        cmd.Reply.Integer(acknowledged);
    }

    // XPENDING key group [[IDLE min-idle-time] start end count [consumer]]
    private static void XPending(ref CommandContext cmd)
    {
        if (cmd.Count == 3)
        {
            if (TryFindGroupOrReply(cmd, out _, out StreamGroup summed)) ReplySummary(cmd.Reply, summed);
            return;
        }

        if (cmd.Count is < 6 or > 9)
        {
            cmd.ReplySyntaxError();
            return;
        }

        long minIdleMs = 0;
        var options = new OptionReader(cmd, first: 3);
        if (options.TakeWithValue("IDLE"u8, out int idle))
        {
            if (!cmd.TryIntegerOrReply(idle, out minIdleMs)) return;
            if (options.Left < 3)
            {
                cmd.ReplySyntaxError();
                return;
            }
        }

        int first = options.Position;
        if (!cmd.TryIntegerOrReply(first + 2, out long countMax)) return;
        if (!StreamIdArgument.TryReadLowOrReply(cmd, first, out StreamId low)) return;
        if (!StreamIdArgument.TryReadHighOrReply(cmd, first + 1, out StreamId high)) return;
        if (TryFindGroupOrReply(cmd, out _, out StreamGroup group)) ReplyPending(cmd, group, low, high, countMax, minIdleMs, consumerArgument: first + 3);
    }

    // XCLAIM key group consumer min-idle-time id [id ...] [IDLE ms] [TIME unix-time-milliseconds] [RETRYCOUNT count] [FORCE] [JUSTID] [LASTID id]
    private static void XClaim(ref CommandContext cmd)
    {
        if (!TryOpenGroupToWriteOrReply(cmd, out StreamValue stream, out StreamGroup group)) return;
        if (!ClaimOptions.TryParseOrReply(cmd, out ClaimOptions options)) return;
        cmd.ReplaceEffect();
        bool movesGroup = options.LastId > group.LastId;
        if (movesGroup)
        {
            group.SetLastId(options.LastId);
            StreamEffects.SetGroup(cmd, 1, group);
        }

        StreamConsumer consumer = FindConsumer(cmd, group);
        Span<byte> scratch = stackalloc byte[CompactText.ScratchBytes];
        long start = cmd.Reply.Length;
        int count = 0;
        for (int i = ClaimOptions.FirstId; i < options.IdsEnd; i++)
        {
            StreamIdArgument.TryRead(cmd, i, out StreamId id);
            PendingEntry pending = group.FindPending(id);
            if (!stream.TryFind(id, out StreamFields fields))
            {
                if (pending.Exists && group.RemovePending(id)) NoteForgotten(cmd, id);
                continue;
            }

            if (!pending.Exists)
            {
                if (!options.Force) continue;
                group.AddPending(id, consumer, options.DeliveredMs, deliveries: 1);
                pending = group.FindPending(id);
            }
            else if (options.MinIdleMs > 0 && cmd.NowMs - pending.DeliveredMs < options.MinIdleMs)
            {
                continue;
            }

            long deliveries = options.Deliveries >= 0 ? options.Deliveries : options.JustId ? pending.Deliveries : pending.DeliveriesWithNext;
            group.GivePending(id, pending, consumer, options.DeliveredMs, deliveries);
            NoteClaimed(cmd, id, options.DeliveredMs, deliveries);
            if (options.JustId) StreamReplies.Id(cmd.Reply, id);
            else StreamReplies.Entry(cmd.Reply, id, fields, scratch);
            count++;
        }

        // As in Redis, a new last id is a change of its own only if nothing was claimed with it.
        if (count > 0) consumer.GotSomething(cmd.NowMs);
        else if (movesGroup) cmd.Changed(1, KeyEvent.Bookkeeping);
        StreamReplies.ArrayHead(cmd.Reply, start, count);
    }

    // XAUTOCLAIM key group consumer min-idle-time start [COUNT count] [JUSTID]
    private static void XAutoClaim(ref CommandContext cmd)
    {
        if (!TryReadAutoClaimOrReply(cmd, out long minIdleMs, out StreamId low, out long countMax, out bool justId))
        {
            cmd.Find(1); // counts: Redis looks it up first
            return;
        }

        if (!TryOpenGroupToWriteOrReply(cmd, out StreamValue stream, out StreamGroup group)) return;
        cmd.ReplaceEffect();
        AutoClaim(cmd, stream, group, low, countMax, minIdleMs, justId);
    }

    private static bool TryReadAutoClaimOrReply(scoped in CommandContext cmd, out long minIdleMs, out StreamId low, out long countMax, out bool justId)
    {
        countMax = AutoClaimCountUsual;
        justId = false;
        low = default;
        if (!TryMinIdleOrReply(cmd, "XAUTOCLAIM", out minIdleMs)) return false;
        if (!StreamIdArgument.TryReadLowOrReply(cmd, 5, out low)) return false;
        var options = new OptionReader(cmd, first: 6);
        while (options.More)
        {
            if (options.TakeWithValue("COUNT"u8, out int argument))
            {
                if (RespNumber.TryParseInt64(cmd[argument], out countMax) && countMax is > 0 and <= AutoClaimCountMax) continue;
                cmd.Reply.Error("ERR COUNT must be > 0"u8);
                return false;
            }

            if (!options.Take("JUSTID"u8))
            {
                cmd.ReplySyntaxError();
                return false;
            }

            justId = true;
        }

        return true;
    }

    // The ids of deleted entries are an array of their own after the claimed ones; where there is no memory for more of them, the client continues from there. The head is written last, because it holds the
    // next id and the count, and moved to the front.
    private static void AutoClaim(scoped in CommandContext cmd, StreamValue stream, StreamGroup group, StreamId low, long countMax, long minIdleMs, bool justId)
    {
        StreamConsumer consumer = FindConsumer(cmd, group);
        Span<byte> scratch = stackalloc byte[CompactText.ScratchBytes];
        long attempts = countMax > long.MaxValue / AttemptsPerEntry ? long.MaxValue : countMax * AttemptsPerEntry;
        PendingCursor cursor = group.Pending(low);
        bool more = cursor.MoveNext();
        var deleted = new NativeList<StreamId>();
        long start = cmd.Reply.Length;
        int count = 0;
        for (; more && attempts > 0 && countMax > 0 && NativeList<StreamId>.HasRoom(2L * (deleted.Count + 1)); attempts--, more = cursor.MoveNext())
        {
            StreamId id = cursor.Id;
            PendingEntry pending = cursor.Entry;
            if (!stream.TryFind(id, out StreamFields fields))
            {
                group.RemovePending(id);
                NoteForgotten(cmd, id);
                deleted.Add(id);
                countMax--;
                continue;
            }

            if (minIdleMs > 0 && cmd.NowMs - pending.DeliveredMs < minIdleMs) continue;
            countMax--;
            long deliveries = justId ? pending.Deliveries : pending.DeliveriesWithNext;
            group.GivePending(id, pending, consumer, cmd.NowMs, deliveries);
            NoteClaimed(cmd, id, cmd.NowMs, deliveries);
            if (justId) StreamReplies.Id(cmd.Reply, id);
            else StreamReplies.Entry(cmd.Reply, id, fields, scratch);
            count++;
        }

        long end = cmd.Reply.Length;
        cmd.Reply.Array(3);
        StreamReplies.Id(cmd.Reply, more ? cursor.Id : default);
        cmd.Reply.Array(count);
        cmd.Reply.MoveToFront(start, end);
        cmd.Reply.Array(deleted.Count);
        foreach (StreamId id in deleted.Items) StreamReplies.Id(cmd.Reply, id);
        deleted.Dispose();
        if (count > 0) consumer.GotSomething(cmd.NowMs);
    }

    private static void NoteClaimed(scoped in CommandContext cmd, in StreamId id, long deliveredMs, long deliveries)
    {
        StreamEffects.Claim(cmd, 1, 2, 3, [id], deliveredMs, deliveries);
        cmd.Changed(1, KeyEvent.Bookkeeping);
    }

    // A deleted entry cannot be claimed: it is no longer pending.
    private static void NoteForgotten(scoped in CommandContext cmd, in StreamId id)
    {
        StreamEffects.Forget(cmd, 1, 2, id);
        cmd.Changed(1, KeyEvent.Bookkeeping);
    }

    private static void ReplySummary(ReplyWriter reply, StreamGroup group)
    {
        reply.Array(4);
        reply.Integer(group.PendingCount);
        PendingCursor first = group.Pending(default);
        if (!first.MoveNext())
        {
            reply.Null();
            reply.Null();
            reply.NullArray();
            return;
        }

        StreamReplies.Id(reply, first.Id);
        StreamReplies.Id(reply, group.LastPendingId);
        long start = reply.Length;
        int consumers = 0;
        for (int i = 0; i < group.ConsumerCount; i++)
        {
            StreamConsumer consumer = group.ConsumerAt(i);
            if (consumer.PendingCount == 0) continue;
            reply.Array(2);
            reply.Bulk(consumer.Name);
            reply.BulkInteger(consumer.PendingCount);
            consumers++;
        }

        StreamReplies.ArrayHead(reply, start, consumers);
    }

    private static void ReplyPending(
        scoped in CommandContext cmd, StreamGroup group, StreamId low, StreamId high, long countMax, long minIdleMs, int consumerArgument)
    {
        ReplyWriter reply = cmd.Reply;
        StreamConsumer wanted = consumerArgument < cmd.Count ? group.FindConsumer(cmd[consumerArgument]) : default;
        if (consumerArgument < cmd.Count && !wanted.Exists)
        {
            reply.Array(0);
            return;
        }

        long start = reply.Length;
        int count = 0;
        PendingCursor cursor = wanted.Exists ? group.PendingOf(wanted, low) : group.Pending(low);
        while (count < countMax && cursor.MoveNext() && cursor.Id <= high)
        {
            PendingEntry pending = cursor.Entry;
            long idleMs = Math.Max(0, cmd.NowMs - pending.DeliveredMs);
            if (minIdleMs > 0 && idleMs < minIdleMs) continue;
            reply.Array(4);
            StreamReplies.Id(reply, cursor.Id);
            reply.Bulk(pending.Consumer.Name);
            reply.Integer(pending.DeliveredMs == 0 && pending.Consumer.Name.IsEmpty ? RefusedIdle : idleMs);
            reply.Integer(pending.Deliveries);
            count++;
        }

        StreamReplies.ArrayHead(reply, start, count);
    }

    private static StreamConsumer FindConsumer(scoped in CommandContext cmd, StreamGroup group)
    {
        StreamConsumer consumer = group.FindOrCreateConsumer(cmd[3], cmd.NowMs, out bool isNew);
        consumer.Seen(cmd.NowMs);
        if (isNew)
        {
            StreamEffects.CreateConsumer(cmd, 1, 2, 3);
            cmd.Changed(1, KeyEvent.XGroupCreateConsumer);
        }

        return consumer;
    }

    // Counts a hit or miss, as in Redis, and then opens the stream to change it.
    private static bool TryOpenGroupToWriteOrReply(scoped in CommandContext cmd, out StreamValue stream, out StreamGroup group)
    {
        if (!TryFindGroupOrReply(cmd, out _, out group))
        {
            stream = default;
            return false;
        }

        cmd.OpenToWriteStreamOrReply(1, out stream);
        group = stream.FindGroup(cmd[2]);
        return true;
    }

    private static bool TryFindGroupOrReply(scoped in CommandContext cmd, out StreamValue stream, out StreamGroup group)
    {
        group = default;
        if (!cmd.OpenToReadStreamOrReply(1, out stream)) return false;
        group = stream.FindGroup(cmd[2]);
        if (group.Exists) return true;
        cmd.ReplyNoGroup(1, 2);
        return false;
    }

    private static bool TryMinIdleOrReply(scoped in CommandContext cmd, string command, out long minIdleMs)
    {
        if (RespNumber.TryParseInt64(cmd[4], out minIdleMs)) return true;
        cmd.Reply.Error($"ERR Invalid min-idle-time argument for {command}");
        return false;
    }

    /// <summary>The ids and options of XCLAIM. The ids come first; the first argument that is not an id begins the options.</summary>
    private struct ClaimOptions
    {
        internal const int FirstId = 5;

        private const long Unset = -1;

        internal long MinIdleMs { get; private set; }

        /// <summary>The argument after the last id.</summary>
        internal int IdsEnd { get; private set; }

        internal bool Force { get; private set; }

        internal bool JustId { get; private set; }

        /// <summary>The delivery time of the claimed entries.</summary>
        internal long DeliveredMs { get; private set; }

        /// <summary>The number of deliveries of the claimed entries; negative if each has one more than before.</summary>
        internal long Deliveries { get; private set; }

        internal StreamId LastId { get; private set; }

        internal static bool TryParseOrReply(scoped in CommandContext cmd, out ClaimOptions result)
        {
            result = new ClaimOptions { DeliveredMs = Unset, Deliveries = Unset };
            if (!TryMinIdleOrReply(cmd, "XCLAIM", out long minIdleMs)) return false;
            result.MinIdleMs = minIdleMs;
            result.IdsEnd = FirstId;
            while (result.IdsEnd < cmd.Count && StreamIdArgument.TryRead(cmd, result.IdsEnd, out _)) result.IdsEnd++;
            var options = new OptionReader(cmd, result.IdsEnd);
            while (options.More)
            {
                if (!result.TryTakeOrReply(cmd, ref options)) return false;
            }

            // An entry with a delivery time in the future would not become idle.
            if (result.DeliveredMs < 0 || result.DeliveredMs > cmd.NowMs) result.DeliveredMs = cmd.NowMs;
            return true;
        }

        private bool TryTakeOrReply(scoped in CommandContext cmd, ref OptionReader options)
        {
            if (options.Take("FORCE"u8)) return Force = true;
            if (options.Take("JUSTID"u8)) return JustId = true;
            if (options.TakeWithValue("IDLE"u8, out int argument))
            {
                if (!TryNumberOrReply(cmd, argument, "IDLE", out long idleMs)) return false;
                DeliveredMs = unchecked(cmd.NowMs - idleMs);
                return true;
            }

            if (options.TakeWithValue("TIME"u8, out argument))
            {
                bool isNumber = TryNumberOrReply(cmd, argument, "TIME", out long timeMs);
                DeliveredMs = timeMs;
                return isNumber;
            }

            if (options.TakeWithValue("RETRYCOUNT"u8, out argument))
            {
                bool isNumber = TryNumberOrReply(cmd, argument, "RETRYCOUNT", out long deliveries);
                Deliveries = deliveries;
                return isNumber;
            }

            if (options.TakeWithValue("LASTID"u8, out argument))
            {
                bool isId = StreamIdArgument.TryReadOrReply(cmd, argument, out StreamId lastId);
                LastId = lastId;
                return isId;
            }

            cmd.Reply.Error($"ERR Unrecognized XCLAIM option '{cmd.ShownText(options.Position)}'");
            return false;
        }

        private static bool TryNumberOrReply(scoped in CommandContext cmd, int argument, string option, out long number)
        {
            if (RespNumber.TryParseInt64(cmd[argument], out number)) return true;
            cmd.Reply.Error($"ERR Invalid {option} option argument for XCLAIM");
            return false;
        }
    }
}
