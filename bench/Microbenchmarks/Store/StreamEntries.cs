using RedKite.Store.Memory;
using RedKite.Store.Values.Streams;

namespace RedKite.Microbenchmarks;

/// <summary>Entries of two fields for the measured streams, in nodes of the default size.</summary>
internal static unsafe class StreamEntries
{
    /// <summary>The default of stream-node-max-bytes.</summary>
    internal const long NodeBytesMax = 4_096;

    /// <summary>The default of stream-node-max-entries.</summary>
    internal const long NodeEntriesMax = 100;

    private static ReadOnlySpan<byte> First => "first"u8;

    private static ReadOnlySpan<byte> Second => "second"u8;

    /// <summary>Appends an entry whose id is a time after the last one.</summary>
    internal static void Append(Arena arena, StreamData* data, ulong ms, ReadOnlySpan<byte> first, ReadOnlySpan<byte> second)
    {
        int textBytes = First.Length + first.Length + Second.Length + second.Length;
        var entry = new StreamAppender(arena, data, new StreamId(ms, 0), 2, textBytes, NodeBytesMax, NodeEntriesMax);
        entry.Name(First);
        entry.Name(Second);
        entry.Pair(First, first);
        entry.Pair(Second, second);
        entry.End();
    }
}
