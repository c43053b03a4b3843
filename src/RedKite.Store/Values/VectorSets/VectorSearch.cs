namespace RedKite.Store.Values.VectorSets;

/// <summary>What a search looks for, and how far.</summary>
/// <param name="Count">The results that are wanted.</param>
/// <param name="Effort">EF: how many of the nearest elements the search keeps while it goes on. Without a meaning if it is exact.</param>
/// <param name="Filter">What their attributes must match; null: nothing.</param>
/// <param name="ExaminedMax">How many elements' attributes may be examined.</param>
/// <param name="IsExact">Whether all elements are compared.</param>
internal readonly record struct VectorSearchBounds(int Count, int Effort, VectorPredicate? Filter = null, long ExaminedMax = long.MaxValue, bool IsExact = false);

/// <summary>
/// A search for what is near a vector, in parts: between them its stripe is free, and the set may change. It begins in its thread's scratch
/// memory, which it takes along if it stops; the thread then gets another search and memory.
/// </summary>
/// <remarks>
/// What a search has reached are numbers and distances. An element that is removed meanwhile is passed over, or dropped at the end; so is one whose
/// number has another vector by then. An element that is added meanwhile is found if the search still comes to it.
/// </remarks>
internal sealed unsafe class VectorSearch
{
    // What filtering the results again may take, where the set has changed meanwhile: as much as a command in a transaction. The farther ones are left out.
    private const long FilteredAgainBytes = 64L << 20;

    // A search visits the links of each element that it keeps, and some more: of 16 elements that are kept, far fewer than so many for each are still to be visited.
    private const int VisitedForEachFound = 64;

    [ThreadStatic]
    private static VectorSearch? _current;

    private readonly VectorScratch _scratch = new();
    private VectorSearchBounds _bounds;
    private long _examined;
    private long _changes;
    private int _next;
    private int _level;
    private int _projected; // dimensions of the vector in the scratch memory that is to be projected; 0: none is
    private int _row;
    private bool _hasBegun;
    private bool _hasStopped;

    private VectorSearch()
    {
    }

    /// <summary>The thread's scratch memory.</summary>
    internal static VectorScratch Scratch => Current._scratch;

    /// <summary>The thread's search: one at a time.</summary>
    internal static VectorSearch Current => _current ??= new VectorSearch();

    /// <summary>Whether it is complete.</summary>
    internal bool IsComplete { get; private set; }

    /// <summary>Whether it has ended without a result, because the filter takes too long for one element.</summary>
    internal bool HasFailed => _scratch.HasFailed;

    /// <summary>The bytes of vectors and links that it has read so far.</summary>
    internal long BytesRead { get; private set; }

    /// <summary>Begins, in place of the scratch memory's last search.</summary>
    internal VectorSearch Begin(VectorSearchBounds bounds)
    {
        _bounds = bounds;
        _hasBegun = _hasStopped = IsComplete = _scratch.HasFailed = false;
        BytesRead = 0;
        return this;
    }

    /// <summary>Sets the vector that is searched.</summary>
    /// <param name="vector">As many components as vectors of the set are stored with; overwritten.</param>
    internal void SetQuery(VectorSetValue set, Span<float> vector)
    {
        byte* query = _scratch.Query(set.VectorBytes);
        float norm = VectorCodec.Normalize(vector);
        VectorCodec.Encode(set.Form.Quantization, vector, norm, query);
        _projected = 0;
    }

    /// <summary>Sets a vector that the search projects first.</summary>
    internal void Project(ReadOnlySpan<float> vector)
    {
        vector.CopyTo(_scratch.Floats(vector.Length)); // where it mostly is already
        _projected = vector.Length;
        _row = 0;
    }

    /// <summary>The most memory that the search takes in a set of so many nodes, besides its vector: a heap of what is to be visited, one of what is found, and a bit for each node.</summary>
    internal long MemoryMax(int nodes)
    {
        long found = Math.Min(nodes, Math.Max(_bounds.Count, _bounds.Effort));
        long open = _bounds.IsExact ? found : Math.Min(nodes, found * VisitedForEachFound);
        return ((found + open) * DistanceHeap.BytesForEach) + (nodes / 8L);
    }

    /// <summary>Goes on until it is complete or has read so many bytes.</summary>
    /// <param name="set">The set, which is the same as before.</param>
    /// <param name="bytes">The bytes; it stops behind the element that exceeds them.</param>
    /// <returns>Whether it is complete.</returns>
    internal bool Run(VectorSetValue set, long bytes)
    {
        long budget = bytes;
        IsComplete = (_projected == 0 || TryProject(set, ref bytes)) && Run(set, ref bytes);
        BytesRead += budget - bytes;
        return IsComplete;
    }

    private bool TryProject(VectorSetValue set, ref long bytes)
    {
        Span<float> projected = _scratch.Projected(set.Form.Dimensions);
        if (!VectorProjection.TryApply(set.Data, _scratch.Floats(_projected), projected, ref _row, ref bytes)) return false;
        SetQuery(set, projected);
        return true;
    }

    private bool Run(VectorSetValue set, ref long bytes)
    {
        var graph = new VectorGraph(set.Data, _scratch);
        byte* query = _scratch.QueryNode;
        if (!_hasBegun)
        {
            _hasBegun = true;
            _changes = set.Data->Changes;
            _examined = _bounds.ExaminedMax;
            _next = 0;
            _level = set.Data->TopLevel;
            if (_bounds.IsExact || set.Count == 0) _scratch.Begin(0);
            else graph.Begin(query, set.Data->Entry, _level == 0 ? _bounds.Filter : null, ref bytes);
        }
        else
        {
            _scratch.Continue(set.Numbers);
        }

        return _scratch.HasFailed || (_bounds.IsExact
            ? graph.Scan(query, _bounds.Count, _bounds.Filter, ref _next, ref bytes)
            : RunLevels(set, graph, ref bytes));
    }

    // From the highest level down to the lowest, where the results are.
    private bool RunLevels(VectorSetValue set, VectorGraph graph, ref long bytes)
    {
        byte* query = _scratch.QueryNode;
        bool mayHaveChanged = _changes != set.Data->Changes;
        while (_level > 0)
        {
            long examined = long.MaxValue;
            if (!graph.Continue(query, _level, effort: 1, filter: null, ref examined, ref bytes, mayHaveChanged)) return false;
            int from = DistanceKey.Number(_scratch.Sorted()[0]);
            byte* node = set.Data->NodeOrNull(from);
            if (node == null || VectorNode.Head(node).Level < _level) from = set.Data->Entry; // removed meanwhile
            _level = Math.Min(_level - 1, set.Data->TopLevel);
            graph.Begin(query, from, _level == 0 ? _bounds.Filter : null, ref bytes);
            if (_scratch.HasFailed) return true;
        }

        return graph.Continue(query, level: 0, _bounds.Effort, _bounds.Filter, ref _examined, ref bytes, mayHaveChanged);
    }

    /// <summary>Keeps the search's memory from the thread's next command, until <see cref="Release"/>.</summary>
    internal void Stop()
    {
        _hasStopped = true;
        if (_current == this) _current = null;
    }

    /// <summary>Forgets what was found, so that the search needs no memory but its vector's; it begins again.</summary>
    internal void Forget()
    {
        _hasBegun = false;
        _row = 0;
        _scratch.Trim();
    }

    /// <summary>Ends the search: the nearest elements, the nearest first, as keys of <see cref="DistanceKey"/>. They are valid up to the thread's next search.</summary>
    internal ReadOnlySpan<ulong> Results(VectorSetValue set)
    {
        if (_changes == set.Data->Changes) return _scratch.Nearest(_bounds.Count);
        var graph = new VectorGraph(set.Data, _scratch);
        Span<ulong> keys = _scratch.Sorted();
        long work = FilteredAgainBytes;
        int count = 0;
        foreach (ulong key in keys)
        {
            if (count == _bounds.Count) break;
            int number = DistanceKey.Number(key);
            byte* node = set.Data->NodeOrNull(number);
            if (node == null || DistanceKey.Of(graph.Distance(_scratch.QueryNode, node), number) != key) continue;
            if (_bounds.Filter is { } filter && filter(VectorNode.Attributes(node), ref work) != VectorMatch.Yes) continue;
            if (work < 0) break;
            keys[count++] = key;
        }

        return keys[..count];
    }

    /// <summary>Copies the vector that is searched, as it is stored, to a node.</summary>
    internal void CopyVector(byte* node, int vectorBytes)
    {
        VectorNode.Head(node).Norm = VectorNode.Head(_scratch.QueryNode).Norm;
        VectorNode.Head(node).Range = VectorNode.Head(_scratch.QueryNode).Range;
        Buffer.MemoryCopy(VectorNode.Vector(_scratch.QueryNode), VectorNode.Vector(node), vectorBytes, vectorBytes);
    }

    /// <summary>Gives the memory that <see cref="Stop"/> has kept to the thread, unless it has some.</summary>
    internal void Release()
    {
        if (_hasStopped) _current ??= this;
        _hasStopped = false;
    }
}

/// <summary>A vector that is searched for. Each result is a key of <see cref="DistanceKey"/>, the nearest first, valid up to the thread's next search.</summary>
internal readonly ref struct VectorQuery
{
    private readonly VectorSetValue _set;
    private readonly VectorSearch _search;

    internal VectorQuery(VectorSetValue set, VectorSearch search)
    {
        _set = set;
        _search = search;
    }

    /// <summary>A search that may be done in parts. The thread's next search takes its place, unless it has stopped (<see cref="VectorSearch.Stop"/>).</summary>
    internal VectorSearch Begin(VectorSearchBounds bounds) => _search.Begin(bounds);

    /// <summary>Searches by the graph.</summary>
    /// <param name="effort">EF: results, of which the nearest are of use.</param>
    /// <param name="filter">What attributes must match; null: nothing.</param>
    /// <param name="examinedMax">How many elements' attributes may be examined.</param>
    internal ReadOnlySpan<ulong> Search(int effort, VectorPredicate? filter, long examinedMax) => Find(new VectorSearchBounds(effort, effort, filter, examinedMax));

    /// <summary>Compares all elements.</summary>
    internal ReadOnlySpan<ulong> Scan(int count, VectorPredicate? filter) => Find(new VectorSearchBounds(count, 0, filter, IsExact: true));

    private ReadOnlySpan<ulong> Find(VectorSearchBounds bounds)
    {
        VectorSearch search = Begin(bounds);
        search.Run(_set, long.MaxValue);
        return search.Results(_set);
    }
}
