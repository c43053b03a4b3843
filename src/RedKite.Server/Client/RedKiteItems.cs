using System.Buffers;
using System.Text;
using RedKite.Server.Client;

namespace RedKite;

/// <summary>
/// The elements of a list, set or sorted set, the fields and values of a hash, or the values of several keys: a copy in memory of the shared array pool, read by
/// <c>foreach</c> without an allocation for each element. Dispose it once. Not thread-safe.
/// </summary>
/// <remarks>What comes in pairs (fields and values, members and scores) alternates; <see cref="Pairs"/> has both at a time.</remarks>
public sealed class RedKiteItems : IDisposable
{
    private byte[]? _array;
    private readonly int _length;

    private RedKiteItems(byte[] array, int length, int count)
    {
        _array = array;
        _length = length;
        Count = count;
    }

    /// <summary>The number of elements; a pair counts as two.</summary>
    public int Count { get; }

    /// <summary>The elements two by two: each field with its value, each member with its score.</summary>
    public PairSequence Pairs => new(Bytes);

    private ReadOnlySpan<byte> Bytes
    {
        get
        {
            ObjectDisposedException.ThrowIf(_array is null, this);
            return _array.AsSpan(0, _length);
        }
    }

    /// <summary>The elements, in the order of the reply.</summary>
    public Enumerator GetEnumerator() => new(Bytes);

    /// <summary>The elements as strings (UTF-8), null where there is no value. Disposes this.</summary>
    public string?[] ToStrings()
    {
        var strings = new string?[Count];
        int i = 0;
        foreach (RedKiteItem item in this) strings[i++] = item.IsNull ? null : item.ToString();
        Dispose();
        return strings;
    }

    /// <summary>The elements as arrays, null where there is no value. Disposes this.</summary>
    public byte[]?[] ToArrays()
    {
        var arrays = new byte[]?[Count];
        int i = 0;
        foreach (RedKiteItem item in this) arrays[i++] = item.IsNull ? null : item.Bytes.ToArray();
        Dispose();
        return arrays;
    }

    /// <summary>The pairs as a dictionary of strings (UTF-8). Disposes this.</summary>
    public Dictionary<string, string> ToDictionary()
    {
        var dictionary = new Dictionary<string, string>(Count / 2, StringComparer.Ordinal);
        foreach (RedKitePair pair in Pairs) dictionary[pair.First.ToString()] = pair.Second.ToString();
        Dispose();
        return dictionary;
    }

    /// <summary>Returns the memory to the pool.</summary>
    public void Dispose()
    {
        if (Interlocked.Exchange(ref _array, null) is { Length: > 0 } array) ArrayPool<byte>.Shared.Return(array);
    }

    /// <summary>Copies a flat array; a null array is empty.</summary>
    internal static RedKiteItems Of(ReadOnlySpan<byte> reply)
    {
        int at = 0;
        int count = Math.Max(0, ReplyText.Count(reply, ref at));
        ReadOnlySpan<byte> elements = count == 0 ? [] : reply[at..];
        byte[] array = count == 0 ? [] : ArrayPool<byte>.Shared.Rent(elements.Length);
        elements.CopyTo(array);
        return new RedKiteItems(array, elements.Length, count);
    }

    /// <summary>Moves over the elements.</summary>
    public ref struct Enumerator
    {
        private readonly ReadOnlySpan<byte> _bytes;
        private int _at;

        internal Enumerator(ReadOnlySpan<byte> bytes) => _bytes = bytes;

        /// <summary>The element.</summary>
        public RedKiteItem Current { get; private set; }

        /// <summary>Moves on; false at the end.</summary>
        public bool MoveNext()
        {
            if (_at >= _bytes.Length) return false;
            bool exists = ReplyText.TryRead(_bytes, ref _at, out ReadOnlySpan<byte> value);
            Current = new RedKiteItem(value, !exists);
            return true;
        }
    }

    /// <summary>The elements two by two.</summary>
    public readonly ref struct PairSequence
    {
        private readonly ReadOnlySpan<byte> _bytes;

        internal PairSequence(ReadOnlySpan<byte> bytes) => _bytes = bytes;

        /// <summary>The pairs, in the order of the reply.</summary>
        public PairEnumerator GetEnumerator() => new(_bytes);
    }

    /// <summary>Moves over the pairs.</summary>
    public ref struct PairEnumerator
    {
        private Enumerator _items;

        internal PairEnumerator(ReadOnlySpan<byte> bytes) => _items = new Enumerator(bytes);

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

/// <summary>One element of <see cref="RedKiteItems"/>. Valid until those are disposed.</summary>
public readonly ref struct RedKiteItem
{
    internal RedKiteItem(ReadOnlySpan<byte> bytes, bool isNull)
    {
        Bytes = bytes;
        IsNull = isNull;
    }

    /// <summary>The element's bytes; empty if there is no value.</summary>
    public ReadOnlySpan<byte> Bytes { get; }

    /// <summary>Whether there is no value: a key or field that does not exist.</summary>
    public bool IsNull { get; }

    /// <summary>The element as a number, such as a score.</summary>
    /// <exception cref="InvalidOperationException">It is none.</exception>
    public double ToDouble() => ReplyText.Double(Bytes);

    /// <summary>The element as UTF-8.</summary>
    public override string ToString() => Encoding.UTF8.GetString(Bytes);
}

/// <summary>Two elements of <see cref="RedKiteItems"/> that belong together. Valid until those are disposed.</summary>
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
}
