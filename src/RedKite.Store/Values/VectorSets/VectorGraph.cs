using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics.X86;

namespace RedKite.Store.Values.VectorSets;

/// <summary>Whether an element matches a filter.</summary>
internal enum VectorMatch : byte
{
    No,
    Yes,

    /// <summary>It cannot be said without more work than one element may take.</summary>
    TooLong,
}

/// <summary>Answers whether an element's attributes match a filter.</summary>
/// <param name="attributes">The attributes.</param>
/// <param name="work">What a search may still do, in bytes of vectors; the filter subtracts what it has done.</param>
internal delegate VectorMatch VectorPredicate(ReadOnlySpan<byte> attributes, ref long work);

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

    /// <summary>Finds the nearest nodes of one level, from a node of it on.</summary>
    /// <param name="effort">EF: how many of the nearest nodes a search keeps while it goes on.</param>
    /// <param name="work">How many bytes may still be read; then it ends with what it has found.</param>
    /// <returns>The nearest first.</returns>
    internal ReadOnlySpan<ulong> SearchLevel(byte* query, int from, int level, int effort, scoped ref long work)
    {
        long examined = long.MaxValue;
        Begin(query, from, filter: null, ref work);
        Continue(query, level, effort, filter: null, ref examined, ref work, mayHaveChanged: false);
        return scratch.Sorted();
    }

    /// <summary>Begins a search of one level.</summary>
    internal void Begin(byte* query, int from, VectorPredicate? filter, ref long work)
    {
        scratch.Begin(data->Used);
        scratch.Visit(from);
        ulong first = DistanceKey.Of(Distance(query, data->Node(from)), from);
        scratch.Open.Push(first);
        if (filter is null || Matches(filter, data->Node(from), ref work)) scratch.Found.Push(~first);
    }

    /// <summary>Continues a search of one level.</summary>
    /// <param name="filter">What attributes must match; null: nothing.</param>
    /// <param name="examined">How many nodes' attributes may still be examined.</param>
    /// <param name="work">How many bytes may still be read. It stops behind the node that exceeds them, also among the links of another one.</param>
    /// <param name="mayHaveChanged">Whether nodes may have been removed since the search began.</param>
    /// <returns>Whether it is complete.</returns>
    internal bool Continue(byte* query, int level, int effort, VectorPredicate? filter, ref long examined, ref long work, bool mayHaveChanged)
    {
        DistanceHeap open = scratch.Open;
        DistanceHeap found = scratch.Found;
        int nodeBytes = VectorNode.VectorOffset + data->VectorBytes;
        int lines = Math.Min(PrefetchedLinesMax, (nodeBytes + LineBytes - 1) / LineBytes);
        Span<int> fresh = scratch.Numbers(data->LinksMaxAt(level));
        while (true)
        {
            while (scratch.FreshAt < scratch.FreshCount)
            {
                if (work <= 0) return false;
                int number = fresh[scratch.FreshAt++];
                byte* node = mayHaveChanged ? data->NodeOrNull(number) : data->Node(number);
                if (mayHaveChanged && (node == null || VectorNode.Head(node).Level < level)) continue;
                work -= nodeBytes;
                ulong key = DistanceKey.Of(Distance(query, node), number);
                bool hasRoom = found.Count < effort;
                if (!hasRoom && key >= ~found.Lowest) continue;
                open.Push(key);
                if (filter is not null)
                {
                    if (examined-- <= 0) return true;
                    bool matches = Matches(filter, node, ref work);
                    if (scratch.HasFailed) return true;
                    if (!matches) continue;
                }

                if (hasRoom) found.Push(~key);
                else found.ReplaceLowest(~key);
            }

            if (open.Count == 0) return true;
            if (work <= 0) return false;
            ulong nearest = open.Pop();
            if (found.Count >= effort && nearest > ~found.Lowest) return true;
            int reached = DistanceKey.Number(nearest);
            if (mayHaveChanged && (data->NodeOrNull(reached) == null || VectorNode.Head(data->Node(reached)).Level < level)) continue;

            // First all links, then all distances: the memory of the vectors is fetched meanwhile.
            int* links = data->LinksOf(data->Node(reached), level);
            int freshCount = 0;
            for (int i = 1; i <= links[0]; i++)
            {
                int number = links[i];
                if (!scratch.Visit(number)) continue;
                fresh[freshCount++] = number;
                Prefetch(data->Node(number), lines);
            }

            work -= nodeBytes;
            (scratch.FreshAt, scratch.FreshCount) = (0, freshCount);
        }
    }

    /// <summary>Compares nodes with a vector, from a number on: an exact search, once it has come to the last one.</summary>
    /// <param name="count">How many of the nearest are kept.</param>
    /// <param name="next">The number; then the one to go on with.</param>
    /// <returns>Whether it is complete.</returns>
    internal bool Scan(byte* query, int count, VectorPredicate? filter, ref int next, ref long work)
    {
        DistanceHeap found = scratch.Found;
        int nodeBytes = VectorNode.VectorOffset + data->VectorBytes;
        for (; next < data->Used; next++)
        {
            if (work <= 0) return false;
            byte* node = data->NodeOrNull(next);
            work -= node == null ? sizeof(nint) : nodeBytes;
            if (node == null) continue;
            ulong key = ~DistanceKey.Of(Distance(query, node), next);
            if (found.Count == count && key <= found.Lowest) continue;
            if (filter is not null)
            {
                bool matches = Matches(filter, node, ref work);
                if (scratch.HasFailed) return true;
                if (!matches) continue;
            }

            if (found.Count < count) found.Push(key);
            else found.ReplaceLowest(key);
        }

        return true;
    }

    private bool Matches(VectorPredicate filter, byte* node, ref long work)
    {
        VectorMatch match = filter(VectorNode.Attributes(node), ref work);
        scratch.HasFailed |= match == VectorMatch.TooLong;
        return match == VectorMatch.Yes;
    }

    private static void Prefetch(byte* node, int lines)
    {
        if (!Sse.IsSupported) return;
        for (int i = 0; i < lines; i++) Sse.Prefetch0(node + (i * LineBytes));
    }
}
