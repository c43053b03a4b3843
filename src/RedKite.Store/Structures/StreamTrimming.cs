using RedKite.Store.Memory;

namespace RedKite.Store.Structures;

/// <summary>
/// Takes the oldest entries of a stream away: all beyond a length, or all below an id. Whole nodes where that is enough;
/// in the one node that is left in part its entries are marked as deleted, unless the trimming need not be exact.
/// </summary>
internal readonly record struct StreamTrimming
{
    /// <summary>By length or by id.</summary>
    internal bool ByLength { get; init; }

    /// <summary>How many entries stay.</summary>
    internal long LengthMax { get; init; }

    /// <summary>The lowest id that stays.</summary>
    internal StreamId MinId { get; init; }

    /// <summary>Only whole nodes go.</summary>
    internal bool IsApproximate { get; init; }

    /// <summary>No more entries than this go; 0: no limit.</summary>
    internal long DeletedMax { get; init; }

    /// <summary>Trims a stream and tells how many entries went.</summary>
    internal unsafe long Trim(StreamData* data, Arena arena)
    {
        long lengthBefore = data->Length;
        while (NeedsMore(data) && data->Nodes.SeekFirst(out IdTree.IdPlace place))
        {
            byte* node = *(byte**)place.Value;
            int alive = StreamNode.Alive(node);
            if (DeletedMax > 0 && lengthBefore - data->Length + alive > DeletedMax) break;
            if (CanRemoveWhole(data, node, place.Id, alive))
            {
                StreamData.RemoveNode(data, arena, place);
                data->Length -= alive;
                continue;
            }

            if (!IsApproximate) TrimNode(data, node, place.Id);
            break;
        }

        if (data->Length < lengthBefore) StreamData.FindFirstId(data);
        return lengthBefore - data->Length;
    }

    private unsafe bool NeedsMore(StreamData* data) => !ByLength || data->Length > LengthMax;

    private unsafe bool CanRemoveWhole(StreamData* data, byte* node, StreamId key, int alive)
    {
        if (ByLength) return data->Length - alive >= LengthMax;
        if (key >= MinId) return false;
        var reader = new StreamNodeReader(node, key);
        while (reader.MoveNext())
        {
        }

        return reader.Id < MinId;
    }

    // Where deleted entries alone reach beyond the id, the node stays with nothing alive in it, as in Redis.
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
