using System.Runtime.Intrinsics.X86;
using RedKite.Store.Memory;

namespace RedKite.Store.Values.Streams;

/// <summary>
/// Removes the oldest entries of a stream: all beyond a length, or all below an id. Whole nodes where that is enough;
/// in the one node that is left in part its entries are marked as deleted, unless the trimming need not be exact.
/// </summary>
internal readonly record struct StreamTrimming
{
    // The number of nodes that are freed at once, for reuse by new entries; further ones are freed in slices.
    private const int NodesAtOnce = 16;

    /// <summary>By length or by id.</summary>
    internal bool ByLength { get; init; }

    /// <summary>The number of entries that stay.</summary>
    internal long LengthMax { get; init; }

    /// <summary>The lowest id that stays.</summary>
    internal StreamId MinId { get; init; }

    /// <summary>Only whole nodes are removed.</summary>
    internal bool IsApproximate { get; init; }

    /// <summary>The maximum number of removed entries; 0: no limit.</summary>
    internal long DeletedMax { get; init; }

    /// <summary>Trims a stream and returns the number of removed entries.</summary>
    internal unsafe long Trim(StreamData* data, Arena arena)
    {
        long lengthBefore = data->Length;
        int nodesLeft = NodesAtOnce;
        bool goesOn = true;
        while (goesOn && NeedsMore(data) && data->Nodes.SeekFirst(out IdTree.IdPlace place)) goesOn = TrimLeaf(data, arena, place, lengthBefore, ref nodesLeft);
        if (data->Length < lengthBefore) StreamData.FindFirstId(data);
        return lengthBefore - data->Length;
    }

    // Trims nodes of the tree's first leaf, which are removed from the tree together. Returns whether it reached the leaf's end.
    private unsafe bool TrimLeaf(StreamData* data, Arena arena, IdTree.IdPlace place, long lengthBefore, ref int nodesLeft)
    {
        int removed = 0;
        int records = place.CountInLeaf;
        if (Sse.IsSupported && nodesLeft <= 0) Prefetch(place, records);
        for (; removed < records && NeedsMore(data); removed++, place.MoveWithin(1))
        {
            byte* node = *(byte**)place.Value;
            int alive = StreamNode.Alive(node);
            if (DeletedMax > 0 && lengthBefore - data->Length + alive > DeletedMax) break;
            if (!CanRemoveWhole(data, place, isLastInLeaf: removed + 1 == records))
            {
                if (!IsApproximate) TrimNode(data, node, place.Id);
                break;
            }

            data->Length -= alive;
            StreamData.FreeNode(data, arena, node, later: --nodesLeft < 0);
        }

        if (removed > 0) data->Nodes.RemoveFirst(arena, removed);
        return removed == records;
    }

    private static unsafe void Prefetch(IdTree.IdPlace place, int records)
    {
        for (int i = 0; i < records; i++, place.MoveWithin(1)) Sse.Prefetch0(*(byte**)place.Value);
    }

    private unsafe bool NeedsMore(StreamData* data) => !ByLength || data->Length > LengthMax;

    private unsafe bool CanRemoveWhole(StreamData* data, IdTree.IdPlace place, bool isLastInLeaf)
    {
        byte* node = *(byte**)place.Value;
        if (ByLength) return data->Length - StreamNode.Alive(node) >= LengthMax;
        StreamId key = place.Id;
        if (key >= MinId) return false;
        if (!isLastInLeaf && !data->HasLoweredLastId)
        {
            // All ids are below the next node's.
            place.MoveWithin(1);
            if (place.Id <= MinId) return true;
        }

        var reader = new StreamNodeReader(node, key);
        while (reader.MoveNext())
        {
        }

        return reader.Id < MinId;
    }

    // If only deleted entries are beyond the id, the node stays without existing entries, as in Redis.
    private unsafe void TrimNode(StreamData* data, byte* node, StreamId key)
    {
        var reader = new StreamNodeReader(node, key);
        while (reader.MoveNext())
        {
            if (ByLength ? data->Length <= LengthMax : reader.Id >= MinId) break;
            if (reader.IsDeleted) continue;
            reader.MarkDeleted();
            data->Length--;
        }
    }
}
