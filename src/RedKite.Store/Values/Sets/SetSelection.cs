using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics.X86;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Members;

namespace RedKite.Store.Values.Sets;

/// <summary>
/// Enumerates the members of a set that are in all of several other sets (the intersection) or in none of them (the difference).
/// The sets must not change meanwhile.
/// </summary>
/// <remarks>
/// Where the set and the first of the others are tables, members are looked up in batches: the memory to compare is prefetched
/// first, so that the comparisons do not wait for it one after the other. If the other table is not many times as large, its
/// buckets correspond to the set's and no member is hashed (see <see cref="MemberPairs{TLayout}"/>); otherwise each one is looked
/// up. Two sets of integers are traversed in parallel, a vector at a time.
/// </remarks>
internal unsafe ref struct SetSelection
{
    private const int Batch = 32;

    private readonly ReadOnlySpan<SetView> _others;
    private readonly bool _inAll;
    private readonly Method _method;
    private SetEnumerator _members;
    private MemberPairs<SetMember> _pairs;
    private int _integersPassed;
    private fixed ulong _clues[Batch]; // of pairs: the block that may be the same member's, with UnclearPair; otherwise the hash
    private fixed long _blocks[Batch];
    private int _batched; // how many of the batch are selected
    private int _at;

    // Blocks are aligned to 8, so the bit is free.
    private const ulong UnclearPair = 1;

    /// <param name="set">The set.</param>
    /// <param name="others">The others; ideally, the first one is the one that excludes the most members.</param>
    /// <param name="inAll">Whether members must be in all others, or in none.</param>
    /// <param name="number">Where a number's text is written: <see cref="SetEnumerator.NumberBytesMax"/> bytes.</param>
    internal SetSelection(SetView set, ReadOnlySpan<SetView> others, bool inAll, Span<byte> number)
    {
        _others = others;
        _inAll = inAll;
        _at = -1;
        _method = MethodOf(set, others);
        if (_method == Method.Paired) _pairs = new MemberPairs<SetMember>(set.Table, others[0].Table, onlyPairs: inAll);
        else _members = set.Enumerate(number);
    }

    private enum Method
    {
        OneByOne,
        SideBySide,
        LookedUp,
        Paired,
    }

    /// <summary>The member, valid until the next step.</summary>
    internal readonly ReadOnlySpan<byte> Current
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _batched > 0 ? SetMember.Member((byte*)_blocks[_at]) : _members.Current;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal bool MoveNext() => ++_at < _batched || MoveOn();

    private bool MoveOn()
    {
        _at = -1;
        if (_method >= Method.LookedUp) return MoveToNextBatch();
        while (_members.MoveNext())
        {
            if (_method == Method.SideBySide)
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

    private static Method MethodOf(SetView set, ReadOnlySpan<SetView> others)
    {
        if (others.IsEmpty || set.Count == 0 || others[0].Count == 0) return Method.OneByOne;
        if (set.Hides || others[0].Hides) return Method.OneByOne;
        if (set.IsTable && others[0].IsTable) return MemberPairs<SetMember>.CanPair(set.Table, others[0].Table) ? Method.Paired : Method.LookedUp;
        return set.Encoding == ValueEncoding.IntSet && others[0].Encoding == ValueEncoding.IntSet ? Method.SideBySide : Method.OneByOne;
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

    // Skips batches without selected members.
    private bool MoveToNextBatch()
    {
        bool isPaired = _method == Method.Paired;
        do
        {
            if (!(isPaired ? FillWithPairs() : FillWithHashes())) return false;
            if (isPaired) SelectPairs();
            else SelectLookedUp();
        }
        while (_batched == 0);

        _at = 0;
        return true;
    }

    // The selected blocks move to the batch's front.
    private void SelectPairs()
    {
        bool isAlone = _others.Length == 1;
        int selected = 0;
        for (int i = 0; i < _batched; i++)
        {
            var block = (byte*)_blocks[i];
            ulong clue = _clues[i];
            bool isInFirst = clue != 0
                && ((clue & UnclearPair) == 0 ? SetMember.AreEqual(block, (byte*)clue) : _others[0].Contains(SetMember.Member(block)));
            if (isInFirst != _inAll || (!isAlone && !IsSelected(SetMember.Member(block), _others[1..]))) continue;
            _blocks[selected++] = (long)block;
        }

        _batched = selected;
    }

    private void SelectLookedUp()
    {
        int selected = 0;
        for (int i = 0; i < _batched; i++)
        {
            if (IsLookedUpSelected(i)) _blocks[selected++] = _blocks[i];
        }

        _batched = selected;
    }

    private readonly bool IsLookedUpSelected(int at)
    {
        ReadOnlySpan<byte> member = SetMember.Member((byte*)_blocks[at]);
        foreach (ref readonly SetView other in _others)
        {
            if (other.Contains(member, _clues[at]) != _inAll) return false;
        }

        return true;
    }

    private bool FillWithPairs()
    {
        _batched = 0;
        MemberPairs<SetMember> pairs = _pairs; // in registers
        while (_batched < Batch && pairs.MoveNext(out byte* block, out byte* other, out bool isClear))
        {
            if (other == null && _inAll) continue;
            if (Sse.IsSupported)
            {
                Sse.Prefetch0(block);
                if (other != null) Sse.Prefetch0(other);
            }

            _blocks[_batched] = (long)block;
            _clues[_batched++] = (ulong)other | (isClear ? 0 : UnclearPair);
        }

        _pairs = pairs;
        return _batched > 0;
    }

    private bool FillWithHashes()
    {
        MemberTable<SetMember> table = _others[0].Table;
        _batched = 0;
        while (_batched < Batch && _members.MoveNext())
        {
            ulong hash = table.Hash(_members.Current);
            table.PrefetchBucket(hash);
            _blocks[_batched] = _members.Block;
            _clues[_batched++] = hash;
        }

        for (int i = 0; i < _batched; i++) table.PrefetchBlock(_clues[i]);
        return _batched > 0;
    }
}
