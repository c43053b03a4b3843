using System.Buffers;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Sorting;

/// <summary>
/// Copies of the elements that SORT sorts, with what each is sorted by. The text of all is in one buffer, so that a
/// million elements are three objects.
/// </summary>
internal sealed class SortElements : IDisposable, IComparer<SortElements.Sortable>
{
    private const int ItemsMin = 64;
    private const int TextBytesMin = 1024;

    private Sortable[] _items = ArrayPool<Sortable>.Shared.Rent(ItemsMin);
    private byte[] _text = ArrayPool<byte>.Shared.Rent(TextBytesMin);
    private int _textBytes;
    private int _first;
    private bool _byText;
    private bool _byOtherKeys;
    private bool _descending;
    private bool _untilZero;

    internal int Count { get; private set; }

    internal ReadOnlySpan<byte> this[int index] => Text(_items[_first + index].Element);

    /// <summary>Adds an element behind the others.</summary>
    internal void Add(ReadOnlySpan<byte> element)
    {
        if (Count == _items.Length)
        {
            Sortable[] more = ArrayPool<Sortable>.Shared.Rent(Count * 2);
            _items.AsSpan(0, Count).CopyTo(more);
            ArrayPool<Sortable>.Shared.Return(_items);
            _items = more;
        }

        _items[Count] = new Sortable { Element = Keep(element), Index = Count };
        Count++;
    }

    /// <summary>Finds out what each element is sorted by; false when one that is to be a number is none.</summary>
    internal bool TryWeigh(scoped in CommandContext cmd, in SortOptions options)
    {
        _byText = options.IsAlpha;
        _byOtherKeys = options.By > 0;
        if (_byText && !_byOtherKeys) return true;
        for (int i = 0; i < Count; i++)
        {
            ref Sortable item = ref _items[i];
            ReadOnlySpan<byte> weight = Text(item.Element);
            if (_byOtherKeys && !SortPattern.TryFind(cmd, options.By, weight, out weight)) continue;
            if (_byText) item.Weight = Keep(weight);
            else if (!SortNumber.TryParse(weight, out item.Score)) return false;
        }

        return true;
    }

    /// <summary>Puts the elements into their order.</summary>
    internal void Sort(in SortOptions options)
    {
        _descending = options.Descending;
        _untilZero = options.Store == 0;
        _items.AsSpan(0, Count).Sort(this);
    }

    /// <summary>Leaves out what LIMIT does not ask for.</summary>
    internal void Narrow(in SortOptions options)
    {
        (long first, long count) = Range(options, Count);
        _first = (int)first;
        Count = (int)count;
    }

    /// <summary>Which of so many elements LIMIT asks for.</summary>
    internal static (long First, long Count) Range(in SortOptions options, long count)
    {
        long first = Math.Clamp(options.Offset, 0, count);
        long left = count - first;
        return (first, options.Most < 0 ? left : Math.Min(options.Most, left));
    }

    /// <summary>The order of two elements: by number, then by bytes; or by text, where a missing one comes first.</summary>
    public int Compare(Sortable a, Sortable b)
    {
        int order;
        if (!_byText)
        {
            order = a.Score.CompareTo(b.Score);
            if (order == 0) order = Text(a.Element).SequenceCompareTo(Text(b.Element));
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

        if (order == 0) return a.Index.CompareTo(b.Index);
        return _descending ? -order : order;
    }

    public void Dispose()
    {
        ArrayPool<Sortable>.Shared.Return(_items);
        ArrayPool<byte>.Shared.Return(_text);
        _items = [];
        _text = [];
    }

    // What is replied is sorted as C strings are, which a zero byte ends; what is stored, by all bytes.
    private ReadOnlySpan<byte> Compared(Slice slice)
    {
        ReadOnlySpan<byte> text = Text(slice);
        int end = _untilZero ? text.IndexOf((byte)0) : -1;
        return end < 0 ? text : text[..end];
    }

    private ReadOnlySpan<byte> Text(Slice slice) => _text.AsSpan(slice.Start, slice.Length);

    private Slice Keep(ReadOnlySpan<byte> text)
    {
        if (_text.Length - _textBytes < text.Length)
        {
            long bytes = Math.Min(Math.Max(_text.Length * 2L, (long)_textBytes + text.Length), Array.MaxLength);
            byte[] more = ArrayPool<byte>.Shared.Rent((int)bytes);
            _text.AsSpan(0, _textBytes).CopyTo(more);
            byte[] old = _text;
            text.CopyTo(more.AsSpan(_textBytes)); // which may be in the old one
            _text = more;
            ArrayPool<byte>.Shared.Return(old);
        }
        else
        {
            text.CopyTo(_text.AsSpan(_textBytes));
        }

        var kept = new Slice(_textBytes, text.Length, Exists: true);
        _textBytes += text.Length;
        return kept;
    }

    /// <summary>A part of the text.</summary>
    internal readonly record struct Slice(int Start, int Length, bool Exists);

    /// <summary>An element and what it is sorted by.</summary>
    internal struct Sortable
    {
        internal Slice Element;
        internal Slice Weight;
        internal double Score;
        internal int Index;
    }
}
