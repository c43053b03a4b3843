namespace RedKite.Net.Tls;

/// <summary>
/// The handshakes in progress, by source and in the order of their arrival. The one to give up first is the oldest of the source that
/// has most: a machine that opens connections and leaves them so harms itself, and others get in. Its owner locks it.
/// </summary>
internal sealed class HandshakeQueue<T>
    where T : class
{
    private readonly Dictionary<string, Source> _sources = [];
    private readonly SortedSet<Source> _bySize = new(Comparer<Source>.Create(static (one, other) =>
        one.Waiting.Count != other.Waiting.Count ? one.Waiting.Count.CompareTo(other.Waiting.Count) : one.Id.CompareTo(other.Id)));

    private readonly Dictionary<T, LinkedListNode<(T Item, Source Source)>> _nodes = [];
    private long _nextId;

    internal int Count => _nodes.Count;

    internal void Add(string name, T item)
    {
        if (!_sources.TryGetValue(name, out Source? source)) source = _sources[name] = new Source(name, _nextId++);
        _bySize.Remove(source); // its place depends on its size
        _nodes[item] = source.Waiting.AddLast((item, source));
        _bySize.Add(source);
    }

    /// <summary>Removes an item; false: it is not there any more.</summary>
    internal bool Remove(T item)
    {
        if (!_nodes.Remove(item, out LinkedListNode<(T Item, Source Source)>? node)) return false;
        Source source = node.Value.Source;
        _bySize.Remove(source);
        source.Waiting.Remove(node);
        if (source.Waiting.Count > 0) _bySize.Add(source);
        else _sources.Remove(source.Name);
        return true;
    }

    /// <summary>Removes the oldest item of the source that has most.</summary>
    internal T TakeOldestOfMost()
    {
        T oldest = _bySize.Max!.Waiting.First!.Value.Item;
        Remove(oldest);
        return oldest;
    }

    private sealed class Source(string name, long id)
    {
        internal string Name => name;

        internal long Id => id;

        internal LinkedList<(T Item, Source Source)> Waiting { get; } = new();
    }
}
