using RedKite.Store.Values.Streams;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// Reads a stream's groups. Every pending entry belongs to at most one consumer, and names are unique; a pending entry without a consumer, which
/// redis-server loads and then fails at, is left out.
/// </summary>
internal static class RdbStreamGroupReader
{
    /// <summary>
    /// Names of groups, consumers and producers are written in ascending order. So many may be out of order: of millions, each would move pointers of many
    /// chunks (<see cref="NamedTable"/>).
    /// </summary>
    internal const int OutOfOrderMax = 1024;

    internal static bool TryRead(RdbType type, ref RdbInput input, StreamValue stream, long nowMs, RdbScratch scratch)
    {
        if (!input.TryCount(out long groups)) return false;
        int outOfOrder = 0;
        for (; groups > 0; groups--)
        {
            if (!input.TryString(scratch.First, out ReadOnlySpan<byte> name) || !input.TryId(out StreamId lastId)) return false;
            long read = stream.EntriesUpTo(lastId); // for versions without the field
            if (type != RdbType.StreamOfListPacks)
            {
                if (!input.TryLength(out ulong number)) return false;
                read = (long)number; // the value given to XGROUP plus later reads can exceed the largest signed number
            }

            if (!stream.TryCreateGroup(name, lastId, read)) return false;
            int last = stream.GroupCount - 1;
            if (!stream.GroupAt(last).Name.SequenceEqual(name) && ++outOfOrder > OutOfOrderMax) return false;
            StreamGroup group = stream.FindGroup(name);
            if (!TryPending(ref input, group) || !TryConsumers(type, ref input, group, nowMs, scratch)) return false;

            // Pending entries without a consumer, which XNACK makes: there is no such state here.
            if (type == RdbType.StreamOfListPacks5 && (!input.TryLength(out ulong released) || released != 0)) return false;
        }

        return true;
    }

    private static bool TryPending(ref RdbInput input, StreamGroup group)
    {
        if (!input.TryCount(out long pending)) return false;
        for (; pending > 0; pending--)
        {
            if (!input.TryRawId(out StreamId id) || !input.TryInt64(out long deliveredMs) || !input.TryLength(out long deliveries)) return false;
            if (!group.TryAddPending(id, deliveredMs, deliveries)) return false;
        }

        return true;
    }

    private static bool TryConsumers(RdbType type, ref RdbInput input, StreamGroup group, long nowMs, RdbScratch scratch)
    {
        if (!input.TryCount(out long consumers)) return false;
        int outOfOrder = 0;
        long assigned = 0;
        for (; consumers > 0; consumers--)
        {
            if (!input.TryString(scratch.First, out ReadOnlySpan<byte> name) || !input.TryInt64(out long seenMs)) return false;

            // Without the field, the best estimate is the consumer's last attempt.
            long activeMs = seenMs;
            if (type >= RdbType.StreamOfListPacks3 && !input.TryInt64(out activeMs)) return false;
            StreamConsumer consumer = group.FindOrCreateConsumer(name, nowMs, out bool isNew);
            if (!isNew) return false;
            if (!group.ConsumerAt(group.ConsumerCount - 1).Name.SequenceEqual(name) && ++outOfOrder > OutOfOrderMax) return false;
            consumer.Seen(seenMs);
            consumer.GotSomething(activeMs);
            if (!input.TryCount(out long pending)) return false;
            assigned += pending;
            for (; pending > 0; pending--)
            {
                if (!input.TryRawId(out StreamId id) || !group.TryAssignPending(id, consumer)) return false;
            }
        }

        if (assigned == group.PendingCount) return true;
        if (!scratch.Corrects("pending entries that belong to no consumer")) return false;
        group.RemoveUnassigned();
        return true;
    }
}
