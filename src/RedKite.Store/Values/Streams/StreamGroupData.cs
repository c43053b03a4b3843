using System.Runtime.InteropServices;
using RedKite.Store.Memory;

namespace RedKite.Store.Values.Streams;

/// <summary>
/// A consumer group: how far it has read, what was delivered and not acknowledged yet, and its consumers. A pending entry
/// is in the group's tree with all that is known of it, and as a bare id in its consumer's.
/// </summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct StreamGroupData
{
    internal int NameBytes;  // required by NamedTable
    internal int NameOffset;
    internal StreamId LastId;

    /// <summary>How many of the stream's entries the group has read, counted from the first that was ever added; -1: unknown.</summary>
    internal long EntriesRead;

    /// <summary>No pending entry was delivered before; 0: unknown. Reads that claim idle entries look for them only then.</summary>
    internal long DeliveredMsMin;

    internal IdTree Pending;       // values: StreamPending
    internal NamedTable Consumers; // of StreamConsumerData

    internal static StreamGroupData* Create(Arena arena, ReadOnlySpan<byte> name, in StreamId lastId, long entriesRead)
    {
        var group = (StreamGroupData*)NamedTable.AllocateItem(arena, sizeof(StreamGroupData), name);
        group->LastId = lastId;
        group->EntriesRead = entriesRead;
        group->DeliveredMsMin = 0;
        group->Pending = IdTree.Empty(sizeof(StreamPending));
        group->Consumers = default;
        return group;
    }

    /// <summary>Notes that a pending entry was delivered at a time.</summary>
    internal void NoteDelivery(long deliveredMs) => DeliveredMsMin = Math.Min(DeliveredMsMin, deliveredMs);

    internal static long Bytes(StreamGroupData* group)
    {
        long bytes = BlockSize.RoundUp(NamedTable.ItemBytes((byte*)group)) + group->Pending.Bytes + group->Consumers.Bytes;
        for (int i = 0; i < group->Consumers.Count; i++)
        {
            byte* consumer = group->Consumers[i];
            bytes += BlockSize.RoundUp(NamedTable.ItemBytes(consumer)) + ((StreamConsumerData*)consumer)->Pending.Bytes;
        }

        return bytes;
    }

    /// <summary>Frees about <paramref name="blocksMax"/> blocks at most, the whole group if it has no more.</summary>
    /// <returns>Whether something is left.</returns>
    internal static bool FreeSlice(StreamGroupData* group, Arena arena, ref int blocksMax)
    {
        while (group->Consumers.Count > 0)
        {
            int last = group->Consumers.Count - 1;
            var consumer = (StreamConsumerData*)group->Consumers[last];
            if (FreeTree(ref consumer->Pending, arena, ref blocksMax)) return true;
            NamedTable.FreeItem(arena, (byte*)consumer);
            group->Consumers.RemoveAt(arena, last);
            blocksMax--;
        }

        if (FreeTree(ref group->Pending, arena, ref blocksMax)) return true;
        NamedTable.FreeItem(arena, (byte*)group);
        blocksMax--;
        return false;
    }

    /// <summary>Notes that an entry was delivered to a consumer. It is not pending yet.</summary>
    internal static void AddPending(StreamGroupData* group, Arena arena, in StreamId id, StreamConsumerData* consumer, long deliveredMs, long deliveries)
    {
        *(StreamPending*)group->Pending.Add(arena, id) = new StreamPending { Consumer = consumer, DeliveredMs = deliveredMs, Deliveries = deliveries };
        consumer->Pending.Add(arena, id);
        group->NoteDelivery(deliveredMs);
    }

    /// <summary>Notes a delivery of which the consumer is not known yet; false if the id is pending already.</summary>
    internal static bool TryAddPending(StreamGroupData* group, Arena arena, in StreamId id, long deliveredMs, long deliveries)
    {
        if (group->Pending.Find(id) != null) return false;
        *(StreamPending*)group->Pending.Add(arena, id) = new StreamPending { DeliveredMs = deliveredMs, Deliveries = deliveries };
        group->NoteDelivery(deliveredMs);
        return true;
    }

    /// <summary>Sets the consumer of a delivery; false if it has one already or nothing was delivered.</summary>
    internal static bool TryAssignPending(StreamGroupData* group, Arena arena, in StreamId id, StreamConsumerData* consumer)
    {
        var pending = (StreamPending*)group->Pending.Find(id);
        if (pending == null || pending->Consumer != null) return false;
        pending->Consumer = consumer;
        consumer->Pending.Add(arena, id);
        return true;
    }

    /// <summary>Gives a pending entry to another consumer.</summary>
    internal static void MovePending(Arena arena, in StreamId id, StreamPending* pending, StreamConsumerData* consumer)
    {
        if (pending->Consumer == consumer) return;
        pending->Consumer->Pending.Remove(arena, id);
        consumer->Pending.Add(arena, id);
        pending->Consumer = consumer;
    }

    /// <summary>Forgets a pending entry; false if it is none.</summary>
    internal static bool RemovePending(StreamGroupData* group, Arena arena, in StreamId id)
    {
        var pending = (StreamPending*)group->Pending.Find(id);
        if (pending == null) return false;
        pending->Consumer->Pending.Remove(arena, id);
        return group->Pending.Remove(arena, id);
    }

    /// <summary>Removes a consumer with all that is pending for it.</summary>
    internal static void RemoveConsumer(StreamGroupData* group, Arena arena, int index)
    {
        var consumer = (StreamConsumerData*)group->Consumers[index];
        while (consumer->Pending.SeekLast(out IdTree.IdPosition position))
        {
            bool inLeaf = true;
            while (inLeaf)
            {
                group->Pending.Remove(arena, position.Id);
                inLeaf = position.Index > 0 && position.MoveWithin(-1);
            }

            consumer->Pending.RemoveLastLeaf(arena);
        }

        NamedTable.FreeItem(arena, (byte*)consumer);
        group->Consumers.RemoveAt(arena, index);
    }

    /// <summary>Removes the consumer for which all is pending that is, and gives it with that as a group of its own.</summary>
    internal static StreamGroupData* SplitConsumer(StreamGroupData* group, Arena arena, int index)
    {
        StreamGroupData* split = Create(arena, default, default, 0);
        split->Consumers.Insert(arena, 0, group->Consumers[index]);
        group->Consumers.RemoveAt(arena, index);
        (split->Pending, group->Pending) = (group->Pending, split->Pending);
        return split;
    }

    private static bool FreeTree(ref IdTree tree, Arena arena, ref int blocksMax)
    {
        while (tree.Count > 0)
        {
            if (blocksMax <= 0) return true;
            tree.RemoveLastLeaf(arena);
            blocksMax--;
        }

        return false;
    }
}

/// <summary>An entry that was delivered and not acknowledged.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct StreamPending
{
    internal StreamConsumerData* Consumer;
    internal long DeliveredMs;
    internal long Deliveries;
}

/// <summary>A consumer of a group.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct StreamConsumerData
{
    internal int NameBytes;
    internal int NameOffset;

    /// <summary>When it last tried to read or claim, in Unix milliseconds.</summary>
    internal long SeenMs;

    /// <summary>When it last received an entry; -1: never.</summary>
    internal long ActiveMs;

    internal IdTree Pending; // no values

    internal static StreamConsumerData* Create(Arena arena, ReadOnlySpan<byte> name, long seenMs)
    {
        var consumer = (StreamConsumerData*)NamedTable.AllocateItem(arena, sizeof(StreamConsumerData), name);
        consumer->SeenMs = seenMs;
        consumer->ActiveMs = -1;
        consumer->Pending = IdTree.Empty(0);
        return consumer;
    }

    internal static byte* CopyWithoutPending(byte* item, Arena arena)
    {
        var source = (StreamConsumerData*)item;
        StreamConsumerData* copy = Create(arena, NamedTable.NameOf(item), source->SeenMs);
        copy->ActiveMs = source->ActiveMs;
        return (byte*)copy;
    }
}
