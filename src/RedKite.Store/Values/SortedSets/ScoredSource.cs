using RedKite.Store.Keyspace;
using RedKite.Store.Values.Packed;
using RedKite.Store.Values.Sets;

namespace RedKite.Store.Values.SortedSets;

/// <summary>
/// A key's members with scores, as an input of unions, intersections and differences; a missing key has none, and a set's
/// members all have the score 1. Valid until the key is written; looking up other keys does no harm.
/// </summary>
internal readonly unsafe struct ScoredSource
{
    /// <summary>The score of a set's members.</summary>
    internal const double SetScore = 1;

    private readonly byte* _list; // of a packed sorted set
    private readonly SortedSetStructure _structure;
    private readonly SetView _set;
    private readonly bool _isSet;

    private ScoredSource(SetView set)
    {
        _set = set;
        _isSet = true;
        Count = set.Count;
    }

    private ScoredSource(byte* list, SortedSetStructure structure, long count)
    {
        _list = list;
        _structure = structure;
        Count = count;
    }

    internal long Count { get; }

    /// <summary>Whether an entry can be an input.</summary>
    internal static bool Accepts(Entry entry) => !entry.Exists || entry.Type is DataType.SortedSet or DataType.Set;

    internal static ScoredSource Of(Database database, Entry entry, ExpiryClock expiry)
    {
        if (!entry.Exists) return default;
        if (entry.Type == DataType.Set) return new ScoredSource(SetView.Of(database, SetExpiry.RemoveExpired(database, entry, expiry), expiry));
        if (entry.Encoding == ValueEncoding.ListPack)
        {
            byte* list = EntryBlock.ValueStart(entry.Position.Entry);
            return new ScoredSource(list, default, PackedSortedSet.Count(list));
        }

        var structure = new SortedSetStructure(database.ArenaOf(entry), database.Hasher, entry.Root);
        return new ScoredSource(null, structure, structure.Count);
    }

    internal bool TryScore(scoped ReadOnlySpan<byte> member, out double score)
    {
        score = 0;
        if (Count == 0) return false;
        if (_isSet)
        {
            score = SetScore;
            return _set.Contains(member);
        }

        if (_list != null)
        {
            int offset = PackedSortedSet.Find(_list, member);
            if (offset >= 0) score = PackedSortedSet.ScoreAt(_list, offset);
            return offset >= 0;
        }

        byte* block = _structure.Find(member, _structure.Hash(member));
        if (block != null) score = ScoredMember.Score(block);
        return block != null;
    }

    /// <summary>The members in any order.</summary>
    /// <param name="digits">Room of <see cref="CanonicalInteger.TextBytesMax"/> bytes for members that are kept as numbers.</param>
    internal ScoredCursor Members(Span<byte> digits)
    {
        if (Count == 0) return default;
        if (_isSet) return new ScoredCursor(_set.Enumerate(digits));
        return new ScoredCursor(_list != null ? new SortedSetCursor(_list, PackedList.Start, digits) : new SortedSetCursor(_structure.At(0)));
    }
}

/// <summary>The members of a <see cref="ScoredSource"/>, one after the other.</summary>
internal ref struct ScoredCursor
{
    private readonly bool _isSet;
    private SortedSetCursor _sorted;
    private SetEnumerator _set;
    private bool _begun;

    internal ScoredCursor(SortedSetCursor sorted) => _sorted = sorted;

    internal ScoredCursor(SetEnumerator set)
    {
        _set = set;
        _isSet = true;
    }

    internal readonly ReadOnlySpan<byte> Member => _isSet ? _set.Current : _sorted.Member;

    internal readonly double Score => _isSet ? ScoredSource.SetScore : _sorted.Score;

    internal bool MoveNext()
    {
        if (_isSet) return _set.MoveNext();
        if (_begun) _sorted.MoveNext();
        _begun = true;
        return _sorted.Exists;
    }
}
