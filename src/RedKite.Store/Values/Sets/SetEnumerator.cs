using RedKite.Store.Keyspace;
using RedKite.Store.Values.Members;
using RedKite.Store.Values.Packed;

namespace RedKite.Store.Values.Sets;

/// <summary>Enumerates a set's members. The set must not change meanwhile.</summary>
internal unsafe ref struct SetEnumerator
{
    /// <summary>The buffer size for a number's text.</summary>
    internal const int NumberBytesMax = CanonicalInteger.TextBytesMax;

    private readonly SetView _set;
    private readonly Span<byte> _number;
    private MemberEnumerator _blocks;
    private int _next;    // the next number's index, or the next element's offset
    private int _current;

    internal SetEnumerator(SetView set, Span<byte> number)
    {
        _set = set;
        _number = number;
        if (set.Count == 0) return;
        if (set.IsTable) _blocks = set.Table.GetEnumerator();
        else if (set.Encoding == ValueEncoding.ListPack) _next = PackedList.Start;
    }

    /// <summary>The members of some of a table's blocks.</summary>
    internal SetEnumerator(SetView set, MemberEnumerator blocks, Span<byte> number)
    {
        _set = set;
        _number = number;
        _blocks = blocks;
    }

    /// <summary>The member, valid until the next step.</summary>
    internal readonly ReadOnlySpan<byte> Current
    {
        get
        {
            if (_set.IsTable) return SetMember.Member((byte*)_blocks.Current);
            if (_set.Encoding == ValueEncoding.IntSet) return _number[..CanonicalInteger.Format(Number, _number)];
            return PackedList.Read(_set.Value, _current).Bytes(_number);
        }
    }

    /// <summary>The member of a set of integers.</summary>
    internal readonly long Number => IntSet.At(_set.Value, _current);

    /// <summary>Whether the member expires.</summary>
    internal readonly bool Expires => _set.IsTable && SetMember.Expiry((byte*)_blocks.Current) != long.MaxValue;

    /// <summary>The block of a table's member.</summary>
    internal readonly nint Block => _blocks.Current;

    internal bool MoveNext()
    {
        if (_set.Count == 0) return false;
        if (_set.IsTable)
        {
            while (_blocks.MoveNext())
            {
                if (!_set.Hides || !_set.IsExpired(_blocks.Current)) return true;
            }

            return false;
        }

        _current = _next;
        if (_set.Encoding == ValueEncoding.IntSet) return _next++ < _set.Count;
        if (PackedList.IsEnd(_set.Value, _next)) return false;
        _next = PackedList.Next(_set.Value, _next);
        return true;
    }
}
