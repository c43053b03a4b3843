using RedKite.Store.Keyspace;
using RedKite.Store.Values.Members;
using RedKite.Store.Values.Packed;

namespace RedKite.Store.Values.SortedSets;

/// <summary>The size up to which a sorted set stays packed in its entry's block.</summary>
internal readonly record struct SortedSetLimits(long MembersMax, long MemberBytesMax)
{
    // The format's bytes are counted in 32 bits, and Redis stops here too.
    private const int ListBytesMax = 1 << 30;

    internal bool Admit(long members, long memberBytes, long listBytes) =>
        members <= MembersMax && memberBytes <= MemberBytesMax && listBytes <= ListBytesMax;
}

/// <summary>The conditions under which a member gets a score, from ZADD's options.</summary>
[Flags]
internal enum SortedSetRule
{
    Always = 0,
    OnlyNew = 1,
    OnlyExisting = 2,
    OnlyGreater = 4,
    OnlyLess = 8,

    /// <summary>The score is added to the member's.</summary>
    Increment = 16,
}

/// <summary>The outcome of setting a member's score.</summary>
internal enum SortedSetOutcome
{
    Added,
    Updated,

    /// <summary>The member has this score already.</summary>
    Unchanged,

    /// <summary>The rule forbids it.</summary>
    Refused,

    /// <summary>An increment would be the difference of two infinities.</summary>
    NotANumber,
}

/// <summary>
/// A key's sorted set: members with scores, ordered by score and then by member. It hides whether they are packed in the
/// entry's block or in a table and a tree. Changes may move the entry: <see cref="Entry"/> is always the current one.
/// </summary>
internal unsafe ref struct SortedSetValue
{
    private readonly Database _database;

    /// <param name="database">The entry's database.</param>
    /// <param name="entry">An entry of this type.</param>
    internal SortedSetValue(Database database, Entry entry)
    {
        _database = database;
        Entry = entry;
    }

    /// <summary>The key's entry.</summary>
    internal Entry Entry { get; private set; }

    /// <summary>Whether the key exists. A set that does not can be read, as an empty one.</summary>
    internal readonly bool Exists => Entry.Exists;

    /// <summary>How many members there are.</summary>
    internal readonly long Count => !Exists ? 0 : IsPacked ? PackedSortedSet.Count(List) : Structure.Count;

    /// <summary>Whether the set is small and packed, so that it can be read as a whole. It exists.</summary>
    internal readonly bool IsPacked => Entry.Encoding == ValueEncoding.ListPack;

    private readonly byte* List => EntryBlock.ValueStart(Entry.Position.Entry);

    private readonly SortedSetStructure Structure => new(_database.ArenaOf(Entry), _database.Hasher, Entry.Root);

    /// <summary>Creates an empty sorted set at a key. The caller adds members at once.</summary>
    /// <param name="existing">The key's entry just returned by <see cref="Database.Find"/>; its value is replaced.</param>
    /// <param name="packed">Whether it starts packed; it becomes a structure as soon as its members require it.</param>
    internal static SortedSetValue Create(Database database, ReadOnlySpan<byte> key, ulong hash, Entry existing, bool packed, uint accessClock)
    {
        int bytes = packed ? PackedList.EmptyBytes : ValueRoot.Bytes;
        ValueEncoding encoding = packed ? ValueEncoding.ListPack : ValueEncoding.SkipList;
        Entry entry = database.WriteValue(key, hash, existing, new ValueHeader(DataType.SortedSet, encoding, accessClock), bytes, Database.NoExpiry);
        if (packed) PackedList.Initialize(EntryBlock.ValueStart(entry.Position.Entry));
        else entry.Root = SortedSetStructure.Create(database.ArenaOf(entry), database.Hasher).Root;
        return new SortedSetValue(database, entry);
    }

    internal readonly bool TryScore(ReadOnlySpan<byte> member, out double score)
    {
        score = 0;
        if (!Exists) return false;
        if (IsPacked)
        {
            int offset = PackedSortedSet.Find(List, member);
            if (offset >= 0) score = PackedSortedSet.ScoreAt(List, offset);
            return offset >= 0;
        }

        SortedSetStructure structure = Structure;
        byte* block = structure.Find(member, structure.Hash(member));
        if (block != null) score = ScoredMember.Score(block);
        return block != null;
    }

    /// <summary>The rank of a member, 0 for the first; -1 when there is no such member.</summary>
    internal readonly long RankOf(ReadOnlySpan<byte> member, out double score)
    {
        score = 0;
        if (!Exists) return -1;
        if (IsPacked)
        {
            int offset = PackedSortedSet.Find(List, member);
            if (offset < 0) return -1;
            score = PackedSortedSet.ScoreAt(List, offset);
            return PackedSortedSet.RankOf(List, offset);
        }

        SortedSetStructure structure = Structure;
        byte* block = structure.Find(member, structure.Hash(member));
        if (block == null) return -1;
        score = ScoredMember.Score(block);
        return structure.RankOf(block);
    }

    /// <summary>The number of members before a bound: the rank of the first one after it.</summary>
    internal readonly long CountBefore<TBound>(scoped in TBound bound)
        where TBound : struct, IScoreTreeBound, allows ref struct =>
        !Exists ? 0 : IsPacked ? PackedSortedSet.CountBefore(List, bound) : Structure.CountBefore(bound);

    /// <summary>The member of a rank.</summary>
    /// <param name="rank">From 0 on.</param>
    /// <param name="digits">Room of <see cref="CanonicalInteger.TextBytesMax"/> bytes for members that are kept as numbers.</param>
    internal readonly SortedSetCursor At(long rank, Span<byte> digits) =>
        IsPacked ? new SortedSetCursor(List, PackedSortedSet.At(List, rank), digits) : new SortedSetCursor(Structure.At(rank));

    /// <summary>Sets a member's score, if the rule allows it.</summary>
    /// <param name="result">The member's score afterwards; undefined where it gets none.</param>
    internal SortedSetOutcome Set(scoped ReadOnlySpan<byte> member, double score, SortedSetRule rule, SortedSetLimits limits, out double result)
    {
        if (IsPacked)
        {
            int offset = PackedSortedSet.Find(List, member);
            SortedSetOutcome packedOutcome = Decide(offset >= 0, offset >= 0 ? PackedSortedSet.ScoreAt(List, offset) : 0, score, rule, out result);
            if (packedOutcome == SortedSetOutcome.Updated) UpdatePacked(offset, member, result);
            else if (packedOutcome == SortedSetOutcome.Added) AddToPacked(member, result, limits);
            return packedOutcome;
        }

        SortedSetStructure structure = Structure;
        ulong hash = structure.Hash(member);
        byte* block = structure.Find(member, hash);
        SortedSetOutcome outcome = Decide(block != null, block != null ? ScoredMember.Score(block) : 0, score, rule, out result);
        if (outcome == SortedSetOutcome.Updated) structure.Update(block, result);
        else if (outcome == SortedSetOutcome.Added) structure.Add(member, hash, result);
        return outcome;
    }

    /// <summary>Adds a member that was saved and is known not to be there. Members that come in order go to the end.</summary>
    /// <returns>The bytes that were looked at and moved to put it in order.</returns>
    internal long AddRead(scoped ReadOnlySpan<byte> member, double score, SortedSetLimits limits)
    {
        if (IsPacked) return AddToPacked(member, score, limits);
        SortedSetStructure structure = Structure;
        structure.Add(member, structure.Hash(member), score);
        return 0;
    }

    /// <summary>Removes a member. A set that has none left is removed with its key.</summary>
    internal bool Remove(ReadOnlySpan<byte> member)
    {
        if (!Exists) return false;
        if (!IsPacked)
        {
            if (!Structure.Remove(member)) return false;
            if (Structure.Count == 0) RemoveKey();
            return true;
        }

        int offset = PackedSortedSet.Find(List, member);
        if (offset < 0) return false;
        RemoveFromPacked(offset, 1);
        return true;
    }

    /// <summary>Removes a number of existing members from a rank on. An emptied set is removed with its key and freed in slices.</summary>
    internal void RemoveRange(long rank, long count)
    {
        if (count == 0) return;
        if (count == Count) RemoveKey();
        else if (IsPacked) RemoveFromPacked(PackedSortedSet.At(List, rank), (int)count);
        else Structure.RemoveRange(rank, count);
    }

    /// <summary>
    /// Enumerates the members of one bucket of a set that is not packed, which <see cref="SortedSetMember"/> reads. The cursor
    /// advances to the next bucket and is 0 after the last one.
    /// </summary>
    internal readonly MemberEnumerator ScanBucket(ref ulong cursor) => Structure.ScanBucket(ref cursor);

    /// <summary>Converts a packed set of any size to a table and a tree.</summary>
    internal void Unpack()
    {
        byte* list = List;
        var structure = SortedSetStructure.Create(_database.ArenaOf(Entry), _database.Hasher);
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        for (int at = PackedList.Start; !PackedList.IsEnd(list, at); at = PackedSortedSet.NextPair(list, at))
        {
            ReadOnlySpan<byte> member = PackedList.Read(list, at).Bytes(digits);
            structure.Add(member, structure.Hash(member), PackedSortedSet.ScoreAt(list, at));
        }

        Entry = _database.ResizeValue(Entry, ValueRoot.Bytes);
        Entry.SetEncoding(ValueEncoding.SkipList);
        Entry.Root = structure.Root;
    }

    private static SortedSetOutcome Decide(bool exists, double current, double score, SortedSetRule rule, out double result)
    {
        result = score;
        if (!exists) return (rule & SortedSetRule.OnlyExisting) != 0 ? SortedSetOutcome.Refused : SortedSetOutcome.Added;
        if ((rule & SortedSetRule.OnlyNew) != 0) return SortedSetOutcome.Refused;
        if ((rule & SortedSetRule.Increment) != 0) result += current;
        if (double.IsNaN(result)) return SortedSetOutcome.NotANumber;
        if ((rule & SortedSetRule.OnlyGreater) != 0 && result <= current) return SortedSetOutcome.Refused;
        if ((rule & SortedSetRule.OnlyLess) != 0 && result >= current) return SortedSetOutcome.Refused;
        return result == current ? SortedSetOutcome.Unchanged : SortedSetOutcome.Updated;
    }

    private int AddToPacked(scoped ReadOnlySpan<byte> member, double score, SortedSetLimits limits)
    {
        int bytes = PackedList.Bytes(List);
        int added = PackedSortedSet.PairBytes(member, score);
        if (!limits.Admit(PackedSortedSet.Count(List) + 1, member.Length, (long)bytes + added))
        {
            Unpack();
            SortedSetStructure structure = Structure;
            structure.Add(member, structure.Hash(member), score);
            return 0;
        }

        Entry = _database.ResizeValue(Entry, bytes + added);
        return PackedSortedSet.Insert(List, member, score);
    }

    private void UpdatePacked(int offset, scoped ReadOnlySpan<byte> member, double score)
    {
        int bytes = PackedList.Bytes(List);
        int difference = PackedScore.ElementBytes(score) - PackedList.ElementBytes(List, PackedList.Next(List, offset));
        if (difference > 0) Entry = _database.ResizeValue(Entry, bytes + difference);
        PackedSortedSet.Update(List, offset, member, score);
        if (difference < 0) Entry = _database.ResizeValue(Entry, bytes + difference);
    }

    private void RemoveFromPacked(int offset, int pairs)
    {
        PackedList.Remove(List, offset, pairs * 2);
        if (PackedList.IsEnd(List, PackedList.Start)) RemoveKey();
        else Entry = _database.ResizeValue(Entry, PackedList.Bytes(List));
    }

    private void RemoveKey()
    {
        _database.Unlink(Entry, UnlinkReason.Emptied);
        Entry = default;
    }
}
