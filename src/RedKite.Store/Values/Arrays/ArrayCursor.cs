using RedKite.Store.Values.Packed;
using RedKite.Store.Values.Streams;

namespace RedKite.Store.Values.Arrays;

/// <summary>
/// Walks over the elements of an array between two indexes, up or down, and passes over indexes without one at no cost. It is valid until the array
/// changes.
/// </summary>
internal unsafe struct ArrayCursor
{
    private readonly ArrayData* _data;
    private readonly ulong _low;
    private readonly ulong _high;
    private readonly bool _descends;
    private IdTree.IdPosition _position;
    private byte* _slice; // null: none is entered
    private ulong _first; // the slice's first index
    private int _offset;  // where the search goes on
    private int _rank;
    private bool _isOver;

    /// <summary>Begins before the element at <paramref name="from"/>. If <paramref name="to"/> is lower, the walk goes down.</summary>
    internal ArrayCursor(ArrayData* data, ulong from, ulong to)
    {
        _data = data;
        _descends = from > to;
        _low = Math.Min(from, to);
        _high = Math.Max(from, to);
        _isOver = data == null;
    }

    /// <summary>The index of the element.</summary>
    internal ulong Index { get; private set; }

    /// <summary>Where the element is.</summary>
    internal ulong* Word { get; private set; }

    internal readonly PackedElement Element => ArrayWord.Read(Word);

    /// <summary>Moves to the next element; false at the end.</summary>
    internal bool MoveNext()
    {
        if (_isOver) return false;
        do
        {
            if (_slice == null) continue;
            int offset = _descends ? ArraySlice.PreviousAt(_slice, _offset) : ArraySlice.NextAt(_slice, _offset);
            if ((uint)offset >= ArraySlice.Size) continue;
            Index = _first + (ulong)offset;
            if (Index < _low || Index > _high) break;
            Word = ArraySlice.Words(_slice) + _rank;
            _offset = _descends ? offset - 1 : offset + 1;
            _rank += _descends ? -1 : 1;
            return true;
        }
        while (TryEnterNext());

        _isOver = true;
        return false;
    }

    private bool TryEnterNext()
    {
        bool isFirst = _slice == null;
        ulong bound = ArrayData.NumberOf(_descends ? _high : _low);
        bool found = (isFirst, _descends) switch
        {
            (true, false) => _data->Slices.SeekCeiling(ArrayData.KeyOf(bound), out _position),
            (true, true) => _data->Slices.SeekFloor(ArrayData.KeyOf(bound), out _position),
            (false, false) => _data->Slices.MoveNext(ref _position),
            (false, true) => _data->Slices.MovePrevious(ref _position),
        };
        if (!found) return false;
        ulong number = _position.Id.Ms;
        if (number > ArrayData.NumberOf(_high) || number < ArrayData.NumberOf(_low)) return false;
        _slice = *(byte**)_position.Value;
        _first = number << ArraySlice.SizeBits;
        if (_descends) _offset = number == bound ? ArrayData.OffsetOf(_high) : ArraySlice.Size - 1;
        else _offset = number == bound ? ArrayData.OffsetOf(_low) : 0;
        _rank = _descends ? ArraySlice.Rank(_slice, _offset + 1) - 1 : ArraySlice.Rank(_slice, _offset);
        return true;
    }
}
