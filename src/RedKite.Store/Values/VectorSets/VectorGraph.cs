using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics.X86;

namespace RedKite.Store.Values.VectorSets;

/// <summary>Answers whether an element's attributes match a filter.</summary>
internal delegate bool VectorPredicate(ReadOnlySpan<byte> attributes);

/// <summary>
/// The graph of a vector set: a hierarchical navigable small world (Malkov and Yashunin, 2016). Every node is on the lowest level, and one in
/// M of a level's nodes on the next one. A search descends from the highest level to the lowest, where it collects the nearest nodes.
/// <see cref="VectorGraphChange"/> adds and removes nodes.
/// </summary>
internal readonly unsafe ref struct VectorGraph(VectorSetData* data, VectorScratch scratch)
{
    // Lines of 64 bytes; the processor fetches what follows by itself.
    private const int PrefetchedLinesMax = 8;
    private const int LineBytes = 64;

    internal VectorSetData* Data => data;

    internal VectorScratch Scratch => scratch;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal float Distance(byte* first, byte* second) => VectorDistance.Between(data->Quantization, data->Dimensions, first, second);

    /// <summary>Finds the nearest nodes by the graph.</summary>
    /// <param name="query">A node with the vector; it need not be in the set.</param>
    /// <param name="effort">EF: how many of the nearest nodes a search keeps while it goes on.</param>
    /// <param name="filter">What their attributes must match; null: nothing.</param>
    /// <param name="examinedMax">How many nodes' attributes may be examined.</param>
    /// <returns>The nearest first.</returns>
    internal ReadOnlySpan<ulong> Search(byte* query, int effort, VectorPredicate? filter, long examinedMax)
    {
        if (data->Entry == VectorSetData.NoNode) return default;
        int from = data->Entry;
        for (int level = data->TopLevel; level > 0; level--) from = DistanceKey.Number(SearchLevel(query, from, level, effort: 1)[0]);
        return SearchLevel(query, from, level: 0, effort, filter, examinedMax);
    }

    /// <summary>Compares all nodes: an exact search.</summary>
    internal ReadOnlySpan<ulong> Scan(byte* query, int count, VectorPredicate? filter)
    {
        scratch.Begin(0);
        DistanceHeap found = scratch.Found;
        for (int number = 0; number < data->Used; number++)
        {
            byte* node = data->NodeOrNull(number);
            if (node == null) continue;
            ulong key = ~DistanceKey.Of(Distance(query, node), number);
            if (found.Count == count && key <= found.Lowest) continue;
            if (filter is not null && !filter(VectorNode.Attributes(node))) continue;
            if (found.Count < count) found.Push(key);
            else found.ReplaceLowest(key);
        }

        return scratch.Sorted();
    }

    /// <summary>Finds the nearest nodes of one level, from a node of it on.</summary>
    internal ReadOnlySpan<ulong> SearchLevel(byte* query, int from, int level, int effort, VectorPredicate? filter = null, long examinedMax = long.MaxValue)
    {
        scratch.Begin(data->Used);
        DistanceHeap open = scratch.Open;
        DistanceHeap found = scratch.Found;
        int lines = Math.Min(PrefetchedLinesMax, (VectorNode.VectorOffset + data->VectorBytes + LineBytes - 1) / LineBytes);
        int linksMax = data->LinksMaxAt(level);
        Span<int> fresh = scratch.Numbers(linksMax);

        scratch.Visit(from);
        ulong first = DistanceKey.Of(Distance(query, data->Node(from)), from);
        open.Push(first);
        if (filter is null || filter(VectorNode.Attributes(data->Node(from)))) found.Push(~first);

        while (open.Count > 0)
        {
            ulong nearest = open.Pop();
            if (found.Count >= effort && nearest > ~found.Lowest) break;

            // First all links, then all distances: the memory of the vectors is fetched meanwhile.
            int* links = data->LinksOf(data->Node(DistanceKey.Number(nearest)), level);
            int freshCount = 0;
            for (int i = 1; i <= links[0]; i++)
            {
                int number = links[i];
                if (!scratch.Visit(number)) continue;
                fresh[freshCount++] = number;
                Prefetch(data->Node(number), lines);
            }

            foreach (int number in fresh[..freshCount])
            {
                byte* node = data->Node(number);
                ulong key = DistanceKey.Of(Distance(query, node), number);
                bool hasRoom = found.Count < effort;
                if (!hasRoom && key >= ~found.Lowest) continue;
                open.Push(key);
                if (filter is not null)
                {
                    if (examinedMax-- <= 0) return scratch.Sorted();
                    if (!filter(VectorNode.Attributes(node))) continue;
                }

                if (hasRoom) found.Push(~key);
                else found.ReplaceLowest(~key);
            }
        }

        return scratch.Sorted();
    }

    private static void Prefetch(byte* node, int lines)
    {
        if (!Sse.IsSupported) return;
        for (int i = 0; i < lines; i++) Sse.Prefetch0(node + (i * LineBytes));
    }
}
