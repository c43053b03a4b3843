using RedKite.Protocol;
using RedKite.Store.Values.Streams;

namespace RedKite.Server.Commands.Streams;

/// <summary>Writes ids and entries of streams.</summary>
internal static class StreamReplies
{
    internal static void Id(ReplyWriter reply, in StreamId id)
    {
        Span<byte> text = stackalloc byte[StreamId.TextMax];
        reply.Bulk(text[..id.Format(text)]);
    }

    /// <summary>Writes an entry: its id and an array of its names and values.</summary>
    internal static void Entry(ReplyWriter reply, in StreamId id, StreamFields fields)
    {
        Span<byte> scratch = stackalloc byte[CompactText.ScratchBytes];
        Entry(reply, id, fields, scratch);
    }

    /// <summary>Writes an array of the entries in a range of ids.</summary>
    /// <param name="reply">The reply.</param>
    /// <param name="stream">The stream.</param>
    /// <param name="low">The lowest id.</param>
    /// <param name="high">The highest id.</param>
    /// <param name="countMax">The maximum number of entries; 0: all.</param>
    /// <param name="reverse">Whether the entries are in descending order.</param>
    internal static void Range(ReplyWriter reply, StreamValue stream, in StreamId low, in StreamId high, long countMax, bool reverse = false)
    {
        Span<byte> scratch = stackalloc byte[CompactText.ScratchBytes];
        long start = reply.Length;
        int count = 0;
        StreamCursor cursor = stream.Range(low, high, reverse);
        while ((countMax == 0 || count < countMax) && cursor.MoveNext())
        {
            Entry(reply, cursor.Id, cursor.Fields, scratch);
            count++;
        }

        ArrayHead(reply, start, count);
    }

    /// <summary>Inserts the header of an array before its elements, which have been written.</summary>
    internal static void ArrayHead(ReplyWriter reply, long start, int count)
    {
        long end = reply.Length;
        reply.Array(count);
        reply.MoveToFront(start, end);
    }

    /// <summary>Writes an entry that is claimed, with the milliseconds since its last delivery and the number of its deliveries.</summary>
    internal static void Claimed(ReplyWriter reply, in StreamId id, StreamFields fields, Span<byte> scratch, long idleMs, long deliveries)
    {
        reply.Array(4);
        IdAndFields(reply, id, fields, scratch);
        reply.Integer(idleMs);
        reply.Integer(deliveries);
    }

    internal static void Entry(ReplyWriter reply, in StreamId id, StreamFields fields, Span<byte> scratch)
    {
        reply.Array(2);
        IdAndFields(reply, id, fields, scratch);
    }

    private static void IdAndFields(ReplyWriter reply, in StreamId id, StreamFields fields, Span<byte> scratch)
    {
        Id(reply, id);
        reply.Array(fields.Count * 2);
        for (int i = 0; i < fields.Count; i++)
        {
            reply.Bulk(fields.Name().Bytes(scratch));
            reply.Bulk(fields.Value().Bytes(scratch));
        }
    }
}
