using System.Buffers;

namespace RedKite.Server.Commands.Geo;

/// <summary>A member that a search found.</summary>
internal struct GeoMatch
{
    internal long Rank;
    internal double Score;
    internal double Distance;
    internal long Order; // its index among the matches as they were found
}

/// <summary>
/// The matches of a search, in a rented array: all, or up to a limit those that come first by distance. Once the limit is
/// reached they form a heap with the last one on top, which is replaced by a better match. Matches of equal distance stay in the
/// order in which they were found.
/// </summary>
internal struct GeoMatches(bool farthestFirst, long countMax)
{
    private const int FirstCapacity = 64;

    private GeoMatch[] _items = ArrayPool<GeoMatch>.Shared.Rent(FirstCapacity);
    private long _found;

    internal int Count { get; private set; }

    internal readonly ReadOnlySpan<GeoMatch> Items => _items.AsSpan(0, Count);

    internal void Add(long rank, double score, double distance)
    {
        var match = new GeoMatch { Rank = rank, Score = score, Distance = distance, Order = _found++ };
        if (Count == countMax)
        {
            if (KeyOf(match).CompareTo(KeyOf(_items[0])) < 0) PutInHeap(0, match);
            return;
        }

        if (Count == _items.Length) Grow();
        _items[Count++] = match;
        if (Count < countMax) return;
        for (int i = (Count / 2) - 1; i >= 0; i--) PutInHeap(i, _items[i]);
    }

    /// <summary>Sorts by distance.</summary>
    internal readonly void Sort()
    {
        SortKey[] keys = ArrayPool<SortKey>.Shared.Rent(Count);
        for (int i = 0; i < Count; i++) keys[i] = KeyOf(_items[i]);
        keys.AsSpan(0, Count).Sort(_items.AsSpan(0, Count));
        ArrayPool<SortKey>.Shared.Return(keys);
    }

    internal readonly void Release() => ArrayPool<GeoMatch>.Shared.Return(_items);

    private readonly SortKey KeyOf(in GeoMatch match) => new(farthestFirst ? -match.Distance : match.Distance, match.Order);

    private void Grow()
    {
        GeoMatch[] larger = ArrayPool<GeoMatch>.Shared.Rent(Count * 2);
        _items.CopyTo(larger, 0);
        ArrayPool<GeoMatch>.Shared.Return(_items);
        _items = larger;
    }

    // Sifts a match down from an index of the heap, below which the heap is in order.
    private readonly void PutInHeap(int index, GeoMatch match)
    {
        SortKey key = KeyOf(match);
        while (true)
        {
            int child = (2 * index) + 1;
            if (child >= Count) break;
            if (child + 1 < Count && KeyOf(_items[child + 1]).CompareTo(KeyOf(_items[child])) > 0) child++;
            if (KeyOf(_items[child]).CompareTo(key) <= 0) break;
            _items[index] = _items[child];
            index = child;
        }

        _items[index] = match;
    }

    private readonly record struct SortKey(double Distance, long Order) : IComparable<SortKey>
    {
        public int CompareTo(SortKey other)
        {
            int order = Distance.CompareTo(other.Distance);
            return order != 0 ? order : Order.CompareTo(other.Order);
        }
    }
}
