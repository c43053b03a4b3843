using RedKite.Store.Memory;

namespace RedKite.Server.Commands.Geo;

/// <summary>A member that a search found. Those that come first by distance, or by its complement, precede others.</summary>
internal struct GeoMatch : IComparable<GeoMatch>
{
    internal long Rank;
    internal double Score;
    internal double SortedBy; // the distance, negative if the farthest come first
    internal long Order; // its index among the matches as they were found

    internal readonly double Distance => Math.Abs(SortedBy);

    public readonly int CompareTo(GeoMatch other)
    {
        int order = SortedBy.CompareTo(other.SortedBy);
        return order != 0 ? order : Order.CompareTo(other.Order);
    }
}

/// <summary>
/// The matches of a search, outside the managed heap: all, or up to a limit those that come first by distance. Once the limit is
/// reached they form a heap with the last one on top, which is replaced by a better match. Matches of equal distance stay in the
/// order in which they were found.
/// </summary>
/// <param name="farthestFirst">Whether the farthest members come first.</param>
/// <param name="countMax">The limit.</param>
/// <param name="wasAccepted">Whether the memory is not bounded, because the command was accepted before.</param>
internal ref struct GeoMatches(bool farthestFirst, long countMax, bool wasAccepted)
{
    private NativeList<GeoMatch> _items;
    private long _found;

    internal readonly int Count => _items.Count;

    internal readonly ReadOnlySpan<GeoMatch> Items => _items.Items;

    /// <summary>Adds a match; false: there is no memory for it.</summary>
    internal bool TryAdd(long rank, double score, double distance)
    {
        var match = new GeoMatch { Rank = rank, Score = score, SortedBy = farthestFirst ? -distance : distance, Order = _found++ };
        if (Count == countMax)
        {
            if (match.CompareTo(_items.Items[0]) < 0) PutInHeap(0, match);
            return true;
        }

        if (Count == Array.MaxLength || !(wasAccepted || NativeList<GeoMatch>.HasRoom(2L * (Count + 1)))) return false; // while it grows
        _items.Add(match);
        if (Count < countMax) return true;
        for (int i = (Count / 2) - 1; i >= 0; i--) PutInHeap(i, _items.Items[i]);
        return true;
    }

    /// <summary>Sorts by distance.</summary>
    internal readonly void Sort() => _items.Items.Sort();

    internal void Release() => _items.Dispose();

    // Sifts a match down from an index of the heap, below which the heap is in order.
    private readonly void PutInHeap(int index, GeoMatch match)
    {
        Span<GeoMatch> items = _items.Items;
        while (true)
        {
            int child = (2 * index) + 1;
            if (child >= items.Length) break;
            if (child + 1 < items.Length && items[child + 1].CompareTo(items[child]) > 0) child++;
            if (items[child].CompareTo(match) <= 0) break;
            items[index] = items[child];
            index = child;
        }

        items[index] = match;
    }
}
