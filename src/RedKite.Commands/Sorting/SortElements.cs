using System.Buffers;
using RedKite.Protocol;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Sorting;

/// <summary>Copies of the elements that SORT sorts, with their sort keys. Their bytes are in a <see cref="SortText"/>.</summary>
internal sealed class SortElements : IDisposable, IComparer<SortElements.Sortable>
{
    /// <summary>The maximum number of elements that SORT can sort, reply or store.</summary>
    internal const int CountMax = 1 << 30;

    private const int ItemsMin = 64;

    private readonly SortText _text;
    private Sortable[] _items = ArrayPool<Sortable>.Shared.Rent(ItemsMin);
    private int _first;
    private bool _byText;
    private bool _byOtherKeys;
    private bool _descending;
    private bool _stores;
    private bool _isUnordered;

    /// <param name="text">Where the elements' bytes are kept; several may share it.</param>
    internal SortElements(SortText text) => _text = text;

    internal int Count { get; private set; }

    internal ReadOnlySpan<byte> this[int index] => _text[SliceOf(index)];

    /// <summary>An element's bytes in the text.</summary>
    internal SortSlice SliceOf(int index) => _items[_first + index].Element;

    /// <summary>Adds a copy of an element behind the others.</summary>
    internal void Add(ReadOnlySpan<byte> element) => Add(_text.Add(element));

    /// <summary>Adds an element whose bytes are in the text.</summary>
    internal void Add(SortSlice element)
    {
        if (Count == _items.Length)
        {
            Sortable[] more = ArrayPool<Sortable>.Shared.Rent(Count * 2);
            _items.AsSpan(0, Count).CopyTo(more);
            ArrayPool<Sortable>.Shared.Return(_items);
            _items = more;
        }

        _items[Count] = new Sortable { Element = element, Index = Count };
        Count++;
    }

    /// <summary>Looks up the sort key of each element. Returns false if one must be a number and is not.</summary>
    internal bool TryWeigh(scoped in CommandContext cmd, in SortOptions options)
    {
        _byText = options.IsAlpha;
        _byOtherKeys = options.By > 0;
        if (_byText && !_byOtherKeys) return true;
        SortPattern by = _byOtherKeys ? SortPattern.Read(cmd, options.By) : default;
        bool areNumbers = true; // as in Redis, the other keys are looked up all the same
        for (int i = 0; i < Count; i++)
        {
            ref Sortable item = ref _items[i];
            ReadOnlySpan<byte> weight = _text[item.Element];
            if (_byOtherKeys && !by.TryFind(cmd, weight, out weight)) continue;
            if (_byText) item.Weight = _text.Add(weight);
            else areNumbers &= FloatText.TryParseLoosely(weight, out item.Score);
        }

        return areNumbers;
    }

    /// <summary>Sorts the elements.</summary>
    /// <param name="options">The options.</param>
    /// <param name="isUnordered">Whether the elements are from a set.</param>
    internal void Sort(in SortOptions options, bool isUnordered)
    {
        _isUnordered = isUnordered;
        _descending = options.Descending;
        _stores = options.Store > 0;
        _items.AsSpan(0, Count).Sort(this);
    }

    /// <summary>Drops the elements that LIMIT excludes.</summary>
    internal void Narrow(in SortOptions options)
    {
        (long first, long count) = Range(options, Count);
        _first = (int)first;
        Count = (int)count;
    }

    /// <summary>The range that LIMIT selects of a number of elements.</summary>
    internal static (long First, long Count) Range(in SortOptions options, long count)
    {
        long first = Math.Clamp(options.Offset, 0, count);
        long left = count - first;
        return (first, options.CountMax < 0 ? left : Math.Min(options.CountMax, left));
    }

    /// <summary>Compares two elements: by number and then by bytes, or by text, where a missing one comes first.</summary>
    public int Compare(Sortable a, Sortable b)
    {
        int order;
        if (!_byText)
        {
            order = a.Score.CompareTo(b.Score);
            if (order == 0) order = _text[a.Element].SequenceCompareTo(_text[b.Element]);
        }
        else if (_byOtherKeys)
        {
            order = a.Weight.Exists && b.Weight.Exists
                ? Compared(a.Weight).SequenceCompareTo(Compared(b.Weight))
                : a.Weight.Exists.CompareTo(b.Weight.Exists);
        }
        else
        {
            order = Compared(a.Element).SequenceCompareTo(Compared(b.Element));
        }

        // A stored result must not depend on the internal order of a set, which differs between servers.
        if (order == 0 && _stores && _isUnordered) order = _text[a.Element].SequenceCompareTo(_text[b.Element]);
        if (order == 0) return a.Index.CompareTo(b.Index);
        return _descending ? -order : order;
    }

    public void Dispose()
    {
        ArrayPool<Sortable>.Shared.Return(_items);
        _items = [];
    }

    // Replied elements are compared as C strings, which end at a zero byte; stored ones by all bytes.
    private ReadOnlySpan<byte> Compared(SortSlice slice)
    {
        ReadOnlySpan<byte> text = _text[slice];
        int end = _stores ? -1 : text.IndexOf((byte)0);
        return end < 0 ? text : text[..end];
    }

    /// <summary>An element and its sort key.</summary>
    internal struct Sortable
    {
        internal SortSlice Element;
        internal SortSlice Weight;
        internal double Score;
        internal int Index;
    }
}
