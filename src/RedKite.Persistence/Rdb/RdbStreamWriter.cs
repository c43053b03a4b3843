using RedKite.Store.Memory;
using RedKite.Store.Values.Streams;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// Writes a stream with its groups: each node's key and packed list, the ids and counters, then the groups. A group has its
/// pending entries with times and counts; each consumer has only the ids of its pending entries.
/// </summary>
internal static class RdbStreamWriter
{
    internal static void Write(RdbOutput output, StreamValue stream, NativeBuffer scratch)
    {
        var nodes = new StreamListPacks(stream);
        output.Length(nodes.Count);
        scratch.Clear();
        while (nodes.MoveNext(scratch))
        {
            output.Length(RdbFormat.StreamIdBytes);
            output.RawId(nodes.Key);
            output.String(scratch.Written);
            scratch.Clear();
        }

        output.Length(stream.Length);
        WriteId(output, stream.LastId);
        WriteId(output, stream.FirstId);
        WriteId(output, stream.MaxDeletedId);
        output.Length(stream.EntriesAdded);
        output.Length(stream.GroupCount);
        for (int i = 0; i < stream.GroupCount; i++) WriteGroup(output, stream.GroupAt(i));
    }

    private static void WriteGroup(RdbOutput output, StreamGroup group)
    {
        output.String(group.Name);
        WriteId(output, group.LastId);
        output.Length((ulong)group.EntriesRead); // -1 has all bits
        output.Length(group.PendingCount);
        PendingCursor pending = group.Pending(default);
        while (pending.MoveNext())
        {
            output.RawId(pending.Id);
            output.Int64(pending.Entry.DeliveredMs);
            output.Length(pending.Entry.Deliveries);
        }

        output.Length(group.ConsumerCount);
        for (int i = 0; i < group.ConsumerCount; i++) WriteConsumer(output, group, group.ConsumerAt(i));
    }

    private static void WriteConsumer(RdbOutput output, StreamGroup group, StreamConsumer consumer)
    {
        output.String(consumer.Name);
        output.Int64(consumer.SeenMs);
        output.Int64(consumer.ActiveMs);
        output.Length(consumer.PendingCount);
        PendingCursor pending = group.PendingOf(consumer, default);
        while (pending.MoveNext()) output.RawId(pending.Id);
    }

    private static void WriteId(RdbOutput output, StreamId id)
    {
        output.Length(id.Ms);
        output.Length(id.Sequence);
    }
}
