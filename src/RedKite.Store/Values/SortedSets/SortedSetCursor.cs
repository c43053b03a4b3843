using RedKite.Store.Values.Packed;

namespace RedKite.Store.Values.SortedSets;

/// <summary>A member of a sorted set, from which iteration continues in both directions. Valid until the set changes.</summary>
internal unsafe ref struct SortedSetCursor
{
    private readonly Span<byte> _digits;
    private readonly byte* _list; // null: the position counts
    private int _offset;          // of the member; -1: none
    private ScoreTreePosition _position;

    internal SortedSetCursor(byte* list, int offset, Span<byte> digits)
    {
        _list = list;
        _offset = offset;
        _digits = digits;
    }

    internal SortedSetCursor(ScoreTreePosition position) => _position = position;

    /// <summary>Whether there is a member here.</summary>
    internal readonly bool Exists => _list == null ? _position.Exists : _offset >= 0 && !PackedList.IsEnd(_list, _offset);

    internal readonly double Score => _list == null ? _position.Score : PackedScore.Read(_list, PackedList.Next(_list, _offset));

    /// <summary>The member's bytes, which may be in the buffer for digits.</summary>
    internal readonly ReadOnlySpan<byte> Member => _list == null ? _position.Member : PackedList.Read(_list, _offset).Bytes(_digits);

    internal void MoveNext()
    {
        if (_list == null) _position.MoveNext();
        else _offset = PackedList.Next(_list, PackedList.Next(_list, _offset));
    }

    internal void MovePrevious()
    {
        if (_list == null)
        {
            _position.MovePrevious();
            return;
        }

        int score = PackedList.Previous(_list, _offset);
        _offset = score < 0 ? -1 : PackedList.Previous(_list, score);
    }

    /// <summary>Goes forward, or backward.</summary>
    internal void Move(bool backward)
    {
        if (backward) MovePrevious();
        else MoveNext();
    }
}
