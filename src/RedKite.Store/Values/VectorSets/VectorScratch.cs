using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using RedKite.Store.Memory;

namespace RedKite.Store.Values.VectorSets;

/// <summary>
/// A thread's memory for searching and changing vector sets, which its search has: what is to be visited, what was found, a bit for each visited node. It is kept
/// from one command to the next unless it became large.
/// </summary>
internal sealed unsafe class VectorScratch
{
    private const int KeptMax = 1 << 16;

    // Where more than so many times the wanted results were found, sorting all would take longer than choosing.
    private const int SortedShare = 4;

    private ulong* _visited; // outside the managed heap, because it grows with the set
    private int _visitedWords;
    private readonly int[] _marked = new int[1024]; // words of visited that are not 0
    private int _markedCount;
    private byte* _query;
    private long _queryBytes;
    private float[] _floats = new float[256];
    private float[] _projected = new float[256];
    private int[] _numbers = new int[64];
    private int[] _moreNumbers = new int[64];
    private ulong[] _keys = new ulong[64];
    private ulong[] _near = new ulong[256];

    ~VectorScratch()
    {
        NativeMemory.Free(_query);
        NativeMemory.Free(_visited);
        Open.Free();
        Found.Free();
    }

    /// <summary>The bytes of vectors that a change of a graph may still read.</summary>
    internal long ChangeWork { get; set; }

    /// <summary>The node of <see cref="Query"/>.</summary>
    internal byte* QueryNode => _query;

    /// <summary>The links of the last node that a search has not followed yet: from one to another of <see cref="Numbers"/>.</summary>
    internal int FreshAt { get; set; }

    internal int FreshCount { get; set; }

    /// <summary>Whether a filter has taken too long for an element.</summary>
    internal bool HasFailed { get; set; }

    /// <summary>What a search has reached, the nearest first.</summary>
    internal DistanceHeap Open { get; } = new();

    /// <summary>The complements of what a search has found, the farthest first; <see cref="Sorted"/> ends a search.</summary>
    internal DistanceHeap Found { get; } = new();

    /// <summary>A node with the vector that is searched or added. Its room is that of a header and so many bytes.</summary>
    internal byte* Query(int vectorBytes)
    {
        long bytes = VectorNode.VectorOffset + vectorBytes;
        if (bytes > _queryBytes)
        {
            _query = (byte*)NativeMemory.Realloc(_query, (nuint)bytes);
            _queryBytes = bytes;
        }

        VectorNode.Head(_query) = default;
        return _query;
    }

    /// <summary>Room for a vector's components, up to the next call.</summary>
    internal Span<float> Floats(int count) => Room(ref _floats, count);

    internal Span<float> Projected(int count) => Room(ref _projected, count);

    internal Span<int> Numbers(int count) => Room(ref _numbers, count);

    internal Span<int> MoreNumbers(int count) => Room(ref _moreNumbers, count);

    internal Span<ulong> Keys(int count) => Room(ref _keys, count);

    /// <summary>A copy of what a search has found, up to the next call.</summary>
    internal Span<ulong> Near(ReadOnlySpan<ulong> found)
    {
        Span<ulong> copy = Room(ref _near, found.Length);
        found.CopyTo(copy);
        return copy;
    }

    /// <summary>Begins a search in a set of so many nodes.</summary>
    internal void Begin(int nodes)
    {
        Open.Clear();
        Found.Clear();
        FreshAt = FreshCount = 0;
        HasFailed = false;
        EndVisits();
        int words = (nodes + 63) >> 6;
        if (_visitedWords >= words && _visitedWords <= Math.Max(KeptMax, words * 4L)) return;
        Trim(ref _visited, ref _visitedWords);
        GrowVisited(words);
    }

    /// <summary>Continues a search in a set that may have more nodes by now.</summary>
    internal void Continue(int nodes)
    {
        int words = (nodes + 63) >> 6;
        if (_visitedWords < words) GrowVisited(words);
    }

    /// <summary>Releases everything but the vector that is searched.</summary>
    internal void Trim()
    {
        Trim(ref _visited, ref _visitedWords);
        _markedCount = 0;
        FreshAt = FreshCount = 0;
        Open.Trim();
        Found.Trim();
    }

    /// <summary>Marks a node; false if it was marked already.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal bool Visit(int number)
    {
        ref ulong word = ref _visited[number >> 6];
        ulong bit = 1UL << (number & 63);
        if ((word & bit) != 0) return false;
        if (word == 0) NoteMarked(number >> 6);
        word |= bit;
        return true;
    }

    /// <summary>Ends a search: what was found, the nearest first, valid up to the next search.</summary>
    internal Span<ulong> Sorted()
    {
        Span<ulong> keys = Found.Keys;
        foreach (ref ulong key in keys) key = ~key;
        keys.Sort();
        return keys;
    }

    /// <summary>Ends a search: the nearest of what was found, the nearest first, valid up to the next search.</summary>
    internal ReadOnlySpan<ulong> Nearest(int count)
    {
        if (Found.Count <= count * (long)SortedShare)
        {
            Span<ulong> all = Sorted();
            return all[..Math.Min(count, all.Length)];
        }

        Open.Clear();
        foreach (ulong key in Found.Keys)
        {
            if (Open.Count < count) Open.Push(key);
            else if (key > Open.Lowest) Open.ReplaceLowest(key);
        }

        Span<ulong> nearest = Open.Keys;
        foreach (ref ulong key in nearest) key = ~key;
        nearest.Sort();
        return nearest;
    }

    private void NoteMarked(int word)
    {
        if (_markedCount < _marked.Length) _marked[_markedCount] = word;
        _markedCount++;
    }

    private void EndVisits()
    {
        if (_markedCount > _marked.Length)
        {
            new Span<ulong>(_visited, _visitedWords).Clear();
        }
        else
        {
            foreach (int word in _marked.AsSpan(0, _markedCount)) _visited[word] = 0;
        }

        _markedCount = 0;
    }

    private void GrowVisited(int words)
    {
        int grown = words + (words / 4);
        _visited = (ulong*)SystemMemory.Reallocate((byte*)_visited, (nuint)grown * sizeof(ulong));
        new Span<ulong>(_visited + _visitedWords, grown - _visitedWords).Clear();
        _visitedWords = grown;
    }

    private static void Trim(ref ulong* words, ref int count)
    {
        NativeMemory.Free(words);
        words = null;
        count = 0;
    }

    private static Span<T> Room<T>(ref T[] array, int count)
    {
        if (array.Length < count || array.Length > Math.Max(KeptMax, count)) array = new T[count];
        return array.AsSpan(0, count);
    }
}
