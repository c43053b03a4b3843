namespace RedKite;

/// <summary>
/// The fields of a hash with their values, or the members of a sorted set with their scores: a copy in memory of the shared array pool, read by <c>foreach</c>
/// without an allocation for each pair. Dispose it once; one of a batch or transaction is not pooled. Not thread-safe.
/// </summary>
public sealed class RedKitePairs : IDisposable
{
    private readonly RedKiteItems _items;

    private RedKitePairs(RedKiteItems items) => _items = items;

    /// <summary>The number of pairs.</summary>
    public int Count => _items.Count / 2;

    /// <summary>The fields and values, or members and scores, one after the other.</summary>
    internal RedKiteItems Alternating => _items;

    /// <summary>The pairs, in the order of the reply.</summary>
    public Enumerator GetEnumerator() => new(_items.GetEnumerator());

    /// <summary>The pairs as strings (UTF-8), in the order of the reply. Disposes this.</summary>
    public KeyValuePair<string, string>[] ToArray()
    {
        var array = new KeyValuePair<string, string>[Count];
        int i = 0;
        foreach (RedKitePair pair in this) array[i++] = KeyValuePair.Create(pair.First.ToString(), pair.Second.ToString());
        Dispose();
        return array;
    }

    /// <summary>The pairs as a dictionary of strings (UTF-8). Disposes this.</summary>
    public Dictionary<string, string> ToDictionary()
    {
        var dictionary = new Dictionary<string, string>(Count, StringComparer.Ordinal);
        foreach (RedKitePair pair in this) dictionary[pair.First.ToString()] = pair.Second.ToString();
        Dispose();
        return dictionary;
    }

    /// <summary>The members of a sorted set with their scores, in the order of the reply. Disposes this.</summary>
    /// <exception cref="InvalidOperationException">A second element is no number: these are the fields of a hash.</exception>
    public RedKiteScoredMember[] ToScoredMembers()
    {
        var array = new RedKiteScoredMember[Count];
        int i = 0;
        foreach (RedKitePair pair in this) array[i++] = new RedKiteScoredMember(pair.First.Bytes.ToArray(), pair.Score);
        Dispose();
        return array;
    }

    /// <summary>Returns the memory to the pool.</summary>
    public void Dispose() => _items.Dispose();

    internal static RedKitePairs Of(RedKiteItems items) => new(items);

    /// <summary>Moves over the pairs.</summary>
    public ref struct Enumerator
    {
        private RedKiteItems.Enumerator _items;

        internal Enumerator(RedKiteItems.Enumerator items) => _items = items;

        /// <summary>The pair.</summary>
        public RedKitePair Current { get; private set; }

        /// <summary>Moves on; false at the end.</summary>
        public bool MoveNext()
        {
            if (!_items.MoveNext()) return false;
            RedKiteItem first = _items.Current;
            if (!_items.MoveNext()) return false;
            Current = new RedKitePair(first, _items.Current);
            return true;
        }
    }
}

/// <summary>A field with its value, or a member with its score. Valid until the <see cref="RedKitePairs"/> are disposed.</summary>
public readonly ref struct RedKitePair
{
    internal RedKitePair(RedKiteItem first, RedKiteItem second)
    {
        First = first;
        Second = second;
    }

    /// <summary>The field or member.</summary>
    public RedKiteItem First { get; }

    /// <summary>Its value or score.</summary>
    public RedKiteItem Second { get; }

    /// <summary>The second element as a number.</summary>
    /// <exception cref="InvalidOperationException">It is none.</exception>
    public double Score => Second.ToDouble();

    /// <summary>Both elements: <c>foreach ((RedKiteItem field, RedKiteItem value) in pairs)</c>.</summary>
    public void Deconstruct(out RedKiteItem first, out RedKiteItem second)
    {
        first = First;
        second = Second;
    }
}
