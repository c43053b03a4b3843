using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Packed;

namespace RedKite.Store.Values.SortedSets;

/// <summary>The ways to combine a member's scores from several inputs.</summary>
internal enum ScoreAggregate
{
    Sum,
    Min,
    Max,
}

/// <summary>
/// A sorted set that is built and then stored at a key, or only read. From the start it is the structure of a large sorted set in
/// a key's arena, so that storing it copies nothing; a small one is packed in the end. Its creator either stores or frees it.
/// </summary>
internal unsafe ref struct SortedSetBuilder
{
    private readonly Arena _arena;
    private readonly SortedSetStructure _structure;
    private long _memberBytesMax;
    private bool _unordered;

    /// <param name="database">The database of the key.</param>
    /// <param name="hash">The hash of a key whose stripe is locked: the key to store at, if it is to be stored.</param>
    internal SortedSetBuilder(Database database, ulong hash)
    {
        _arena = database.ArenaOf(hash);
        _structure = SortedSetStructure.Create(_arena, database.Hasher);
    }

    /// <summary>The number of members, once all are added.</summary>
    internal readonly long Count => _structure.Count;

    /// <summary>Adds a member that is not there yet.</summary>
    internal void Add(scoped ReadOnlySpan<byte> member, double score)
    {
        _memberBytesMax = Math.Max(_memberBytesMax, member.Length);
        _structure.Add(member, _structure.Hash(member), score);
    }

    /// <summary>Adds a member, or combines its score with the existing one. <see cref="Order"/> must follow.</summary>
    internal void Combine(scoped ReadOnlySpan<byte> member, double score, ScoreAggregate aggregate)
    {
        ulong hash = _structure.Hash(member);
        byte* block = _structure.Find(member, hash);
        if (block != null)
        {
            ScoredMember.SetScore(block, Aggregate(ScoredMember.Score(block), score, aggregate));
            return;
        }

        _unordered = true;
        _memberBytesMax = Math.Max(_memberBytesMax, member.Length);
        _structure.AddUnordered(member, hash, score);
    }

    /// <summary>Sorts the combined members.</summary>
    internal void Order()
    {
        if (_unordered) _structure.Order();
        _unordered = false;
    }

    /// <summary>The member of a rank.</summary>
    internal readonly SortedSetCursor At(long rank) => new(_structure.At(rank));

    /// <summary>Sets a key to the non-empty set and replaces any value. The builder must not be used afterwards.</summary>
    internal readonly void Store(Database database, ReadOnlySpan<byte> key, ulong hash, Entry existing, SortedSetLimits limits, uint accessClock)
    {
        if (Count <= limits.MembersMax && _memberBytesMax <= limits.MemberBytesMax && limits.Admit(Count, _memberBytesMax, PackedBytes()))
        {
            Entry packed = database.WriteValue(key, hash, existing, new ValueHeader(DataType.SortedSet, ValueEncoding.ListPack, accessClock), (int)PackedBytes(), Database.NoExpiry);
            Pack(EntryBlock.ValueStart(packed.Position.Entry));
            Free();
            return;
        }

        Entry entry = database.WriteValue(key, hash, existing, new ValueHeader(DataType.SortedSet, ValueEncoding.SkipList, accessClock), ValueRoot.Bytes, Database.NoExpiry);
        entry.Root = _structure.Root;
    }

    /// <summary>Frees the set if it is not stored.</summary>
    internal readonly void Free()
    {
        ValueRoot root = _structure.Root;
        while (SortedSetStructure.FreeSlice(_arena, ref root, int.MaxValue))
        {
        }
    }

    /// <summary>Redis's rules, with which the sum of two infinities is 0 and not a number never wins.</summary>
    internal static double Aggregate(double current, double added, ScoreAggregate aggregate)
    {
        switch (aggregate)
        {
            case ScoreAggregate.Min: return added < current ? added : current;
            case ScoreAggregate.Max: return added > current ? added : current;
            default:
                double sum = current + added;
                return double.IsNaN(sum) ? 0 : sum;
        }
    }

    private readonly long PackedBytes()
    {
        long bytes = PackedList.EmptyBytes;
        for (SortedSetCursor cursor = At(0); cursor.Exists; cursor.MoveNext()) bytes += PackedSortedSet.PairBytes(cursor.Member, cursor.Score);
        return bytes;
    }

    private readonly void Pack(byte* list)
    {
        PackedList.Initialize(list);
        for (SortedSetCursor cursor = At(0); cursor.Exists; cursor.MoveNext())
        {
            PackedList.Insert(list, PackedList.EndOf(list), cursor.Member);
            PackedScore.Insert(list, PackedList.EndOf(list), cursor.Score);
        }
    }
}
