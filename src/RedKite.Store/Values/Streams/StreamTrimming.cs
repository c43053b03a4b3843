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

    // The number of entries that are found before they are deleted.
    private const int FoundAtOnce = 64;

    /// <summary>By length or by id.</summary>
    internal bool ByLength { get; init; }

    /// <summary>The number of entries that stay.</summary>
    internal long LengthMax { get; init; }

    /// <summary>The lowest id that stays.</summary>
    internal StreamId MinId { get; init; }

    /// <summary>Only whole nodes are removed, unless groups' references matter.</summary>
    internal bool IsApproximate { get; init; }

    /// <summary>The maximum number of removed entries, in whole nodes: those of a node that may be beyond it all stay; 0: no limit.</summary>
    internal long DeletedMax { get; init; }

    /// <summary>What becomes of groups' references to removed entries.</summary>
    internal StreamReferencePolicy Policy { get; init; }

    /// <summary>Trims a stream and returns the number of removed entries.</summary>
    /// <param name="data">The stream.</param>
    /// <param name="arena">Its memory.</param>
    /// <param name="removals">Receives removed references and, with <see cref="StreamReferencePolicy.OnlyUnreferenced"/>, entries; null: nobody asks.</param>
    internal unsafe long Trim(StreamData* data, Arena arena, StreamRemovals? removals = null)
    {
        if (Policy != StreamReferencePolicy.Keep && data->Groups.Count == 0) return (this with { Policy = StreamReferencePolicy.Keep, IsApproximate = false }).Trim(data, arena);
        if (Policy == StreamReferencePolicy.OnlyUnreferenced) return TrimUnreferenced(data, arena, removals);
        long lengthBefore = data->Length;
        int nodesLeft = NodesAtOnce;
        bool goesOn = true;
        while (goesOn && NeedsMore(data) && data->Nodes.SeekFirst(out IdTree.IdPosition position)) goesOn = TrimLeaf(data, arena, position, lengthBefore, ref nodesLeft, removals);
        if (data->Length < lengthBefore) StreamData.FindFirstId(data);
        return lengthBefore - data->Length;
    }

    // Trims nodes of the tree's first leaf, which are removed from the tree together. Returns whether it reached the leaf's end.
    private unsafe bool TrimLeaf(StreamData* data, Arena arena, IdTree.IdPosition position, long lengthBefore, ref int nodesLeft, StreamRemovals? removals)
    {
        int removed = 0;
        int records = position.CountInLeaf;
        if (Sse.IsSupported && nodesLeft <= 0) Prefetch(position, records);
        for (; removed < records && NeedsMore(data); removed++, position.MoveWithin(1))
        {
            byte* node = *(byte**)position.Value;
            int alive = StreamNode.Alive(node);
            if (DeletedMax > 0 && lengthBefore - data->Length + alive > DeletedMax) break;
            if (!CanRemoveWhole(data, position, isLastInLeaf: removed + 1 == records))
            {
                if (IsExact) TrimNode(data, arena, node, position.Id, removals);
                break;
            }

            data->Length -= alive;
            if (Policy == StreamReferencePolicy.Remove) RemoveReferences(data, arena, node, position.Id, removals);
            StreamData.FreeNode(data, arena, node, later: --nodesLeft < 0);
        }

        if (removed > 0) data->Nodes.RemoveFirst(arena, removed);
        return removed == records;
    }

    private static unsafe void Prefetch(IdTree.IdPosition position, int records)
    {
        for (int i = 0; i < records; i++, position.MoveWithin(1)) Sse.Prefetch0(*(byte**)position.Value);
    }

    // As in Redis, whatever looks at references trims entry by entry.
    private bool IsExact => !IsApproximate || Policy != StreamReferencePolicy.Keep;

    private unsafe bool NeedsMore(StreamData* data) => !ByLength || data->Length > LengthMax;

    private unsafe bool CanRemoveWhole(StreamData* data, IdTree.IdPosition position, bool isLastInLeaf)
    {
        byte* node = *(byte**)position.Value;
        if (ByLength) return data->Length - StreamNode.Alive(node) >= LengthMax;
        StreamId key = position.Id;
        if (key >= MinId) return false;
        if (!isLastInLeaf && !data->HasLoweredLastId)
        {
            // All ids are below the next node's.
            position.MoveWithin(1);
            if (position.Id <= MinId) return true;
        }

        var reader = new StreamNodeReader(node, key);
        while (reader.MoveNext())
        {
        }

        return reader.Id < MinId;
    }

    // If only deleted entries are beyond the id, the node stays without existing entries, as in Redis.
    private unsafe void TrimNode(StreamData* data, Arena arena, byte* node, StreamId key, StreamRemovals? removals)
    {
        var reader = new StreamNodeReader(node, key);
        while (reader.MoveNext())
        {
            if (ByLength ? data->Length <= LengthMax : reader.Id >= MinId) break;
            if (reader.IsDeleted) continue;
            if (Policy == StreamReferencePolicy.Remove) StreamReferences.Remove(data, arena, reader.Id, removals);
            reader.MarkDeleted();
            data->Length--;
        }
    }

    private static unsafe void RemoveReferences(StreamData* data, Arena arena, byte* node, StreamId key, StreamRemovals? removals)
    {
        var reader = new StreamNodeReader(node, key);
        while (reader.MoveNext())
        {
            if (!reader.IsDeleted) StreamReferences.Remove(data, arena, reader.Id, removals);
        }
    }

    // Entry by entry, because those that stay may be anywhere. Like XDEL, this leaves gaps, so the highest deleted id is noted. As in Redis, it ends
    // with the first node that the trimming would not remove as a whole.
    private unsafe long TrimUnreferenced(StreamData* data, Arena arena, StreamRemovals? removals)
    {
        StreamId high = StreamId.Max;
        if (!ByLength && !MinId.TryPrevious(out high)) return 0;
        long lengthBefore = data->Length;
        bool goesOn = data->Nodes.SeekFirst(out IdTree.IdPosition position);
        while (goesOn && NeedsMore(data))
        {
            if (DeletedMax > 0 && lengthBefore - data->Length + StreamNode.Alive(*(byte**)position.Value) > DeletedMax) break;
            goesOn = CanRemoveWhole(data, position, isLastInLeaf: position.Index + 1 == position.CountInLeaf);
            StreamId low = position.Id, end = high, next = default;
            bool isLast = !data->Nodes.MoveNext(ref position);
            if (!isLast)
            {
                next = position.Id;
                next.TryPrevious(out end);
                if (end > high) end = high;
            }

            TrimNodeUnreferenced(data, arena, low, end, removals);
            goesOn = goesOn && !isLast && data->Nodes.SeekCeiling(next, out position); // nodes may have moved
        }

        return lengthBefore - data->Length;
    }

    // The entries of a node, by the ids that it may have.
    private unsafe void TrimNodeUnreferenced(StreamData* data, Arena arena, StreamId low, in StreamId high, StreamRemovals? removals)
    {
        Span<StreamId> found = stackalloc StreamId[FoundAtOnce];
        bool more = true;
        while (more && NeedsMore(data))
        {
            long left = ByLength ? data->Length - LengthMax : FoundAtOnce;
            int count = FindUnreferenced(data, ref low, high, found[..(int)Math.Min(left, FoundAtOnce)], out more);
            foreach (StreamId id in found[..count])
            {
                StreamData.Delete(data, arena, id);
                removals?.Entries.Add(id);
            }
        }
    }

    // Finds entries that no group refers to, from an id on, which then is the one to continue with.
    private static unsafe int FindUnreferenced(StreamData* data, ref StreamId low, in StreamId high, Span<StreamId> found, out bool more)
    {
        int count = 0;
        more = false;
        var cursor = new StreamCursor(data, low, high, reverse: false);
        while (cursor.MoveNext())
        {
            if (StreamReferences.Exist(data, cursor.Id)) continue;
            found[count++] = cursor.Id;
            if (count < found.Length) continue;
            more = cursor.Id.TryNext(out low);
            break;
        }

        return count;
    }
}
