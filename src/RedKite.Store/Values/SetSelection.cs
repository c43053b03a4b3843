using RedKite.Store.Keyspace;
using RedKite.Store.Structures;

namespace RedKite.Store.Values;

/// <summary>
/// Goes over those members of the first of several sets that are in all the others (their intersection, if the first is
/// the smallest) or in none of them (their difference). The sets must not change meanwhile.
/// </summary>
/// <remarks>
/// Where the first two sets are tables, members are looked for in batches: the buckets of all of them are asked for, then
/// their blocks, and then they are compared without waiting for memory one after the other. Two sets of integers are
/// passed through side by side, a vector at a time.
/// </remarks>
internal unsafe ref struct SetSelection
{
    private const int Batch = 16;

    private readonly ReadOnlySpan<SetView> _others;
    private readonly Span<byte> _number;
    private readonly bool _inAll;
    private readonly bool _isPrefetched;
    private readonly bool _isSideBySide;
    private SetEnumerator _members;
    private int _integersPassed;
    private fixed ulong _hashes[Batch];
    private fixed long _blocks[Batch];
    private int _batched;
    private int _at;

    /// <param name="sets">The sets, at least one.</param>
    /// <param name="inAll">Whether members must be in all other sets, or in none.</param>
    /// <param name="number">Where a number's text is written: <see cref="SetEnumerator.NumberBytesMax"/> bytes.</param>
    internal SetSelection(ReadOnlySpan<SetView> sets, bool inAll, Span<byte> number)
    {
        _others = sets[1..];
        _number = number;
        _inAll = inAll;
        _members = sets[0].Enumerate(number);
        _isPrefetched = sets.Length > 1 && sets[0].IsTable && sets[1].IsTable;
        _isSideBySide = sets.Length > 1 && sets[0].Encoding == ValueEncoding.IntSet && sets[1].Encoding == ValueEncoding.IntSet && sets[0].Count > 0 && sets[1].Count > 0;
        _at = -1;
    }

    /// <summary>The member, until the next one is asked for.</summary>
    internal readonly ReadOnlySpan<byte> Current => _isPrefetched ? SetMember.Member((byte*)_blocks[_at]) : _members.Current;

    internal bool MoveNext()
    {
        if (_isPrefetched) return MoveNextPrefetched();
        while (_members.MoveNext())
        {
            if (_isSideBySide)
            {
                if (IntSet.ContainsFrom(_others[0].Value, _members.Number, ref _integersPassed) != _inAll) continue;
                if (_others.Length == 1 || IsSelected(_members.Current, _others[1..])) return true;
            }
            else if (_others.IsEmpty || IsSelected(_members.Current, _others))
            {
                return true;
            }
        }

        return false;
    }

    private readonly bool IsSelected(ReadOnlySpan<byte> member, ReadOnlySpan<SetView> others)
    {
        ulong hash = 0;
        bool isHashed = false;
        foreach (ref readonly SetView other in others)
        {
            if (other.IsTable && !isHashed)
            {
                hash = other.Hash(member);
                isHashed = true;
            }

            if (other.Contains(member, hash) != _inAll) return false;
        }

        return true;
    }

    private bool MoveNextPrefetched()
    {
        while (true)
        {
            for (_at++; _at < _batched; _at++)
            {
                ReadOnlySpan<byte> member = SetMember.Member((byte*)_blocks[_at]);
                bool isSelected = true;
                for (int i = 0; isSelected && i < _others.Length; i++) isSelected = _others[i].Contains(member, _hashes[_at]) == _inAll;
                if (isSelected) return true;
            }

            if (!FillBatch()) return false;
        }
    }

    private bool FillBatch()
    {
        MemberTable<SetMember> table = _others[0].Table;
        _batched = 0;
        _at = -1;
        while (_batched < Batch && _members.MoveNext())
        {
            ulong hash = table.Hash(_members.Current);
            table.PrefetchBucket(hash);
            _blocks[_batched] = _members.Block;
            _hashes[_batched++] = hash;
        }

        for (int i = 0; i < _batched; i++) table.PrefetchBlock(_hashes[i]);
        return _batched > 0;
    }
}
