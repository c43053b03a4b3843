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

    /// <summary>An entry: its id, and its names and values in turn.</summary>
    internal static void Entry(ReplyWriter reply, in StreamId id, StreamFields fields)
    {
        Span<byte> scratch = stackalloc byte[CompactText.ScratchBytes];
        Entry(reply, id, fields, scratch);
    }

    /// <summary>The entries between two ids, as an array.</summary>
    /// <param name="reply">Where to.</param>
    /// <param name="stream">The stream.</param>
    /// <param name="low">The lowest id.</param>
    /// <param name="high">The highest id.</param>
    /// <param name="countMax">How many at most; 0: all.</param>
    /// <param name="reverse">From the highest to the lowest.</param>
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

    /// <summary>Puts the head of an array in front of its elements, which are written already.</summary>
    internal static void ArrayHead(ReplyWriter reply, long start, int count)
    {
        long end = reply.Length;
        reply.Array(count);
        reply.MoveToFront(start, end);
    }

    internal static void Entry(ReplyWriter reply, in StreamId id, StreamFields fields, Span<byte> scratch)
    {
        reply.Array(2);
        Id(reply, id);
        reply.Array(fields.Count * 2);
        for (int i = 0; i < fields.Count; i++)
        {
            reply.Bulk(fields.Name().Bytes(scratch));
            reply.Bulk(fields.Value().Bytes(scratch));
        }
    }
}
