using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Members;
using RedKite.Store.Values.Packed;

namespace RedKite.Store.Values.Sets;

/// <summary>
/// A set of any encoding to read: integers, a packed list, a table. A missing set has no members. Valid while its stripe is locked
/// and until the set itself changes; writes to other keys do not affect it.
/// </summary>
internal readonly unsafe struct SetView : IElementExpiries
{
    private readonly Arena _arena;
    private readonly KeyHasher _hasher;
    private readonly byte* _value;
    private readonly long _passedMs; // members that expire then or before are not there; long.MinValue: none does

    /// <param name="arena">The arena that the set's structure is in.</param>
    /// <param name="hasher">The keyspace's hasher.</param>
    /// <param name="encoding">The set's encoding.</param>
    /// <param name="value">The set's bytes, or where its table is.</param>
    internal SetView(Arena arena, KeyHasher hasher, ValueEncoding encoding, byte* value)
    {
        _arena = arena;
        _hasher = hasher;
        _value = value;
        _passedMs = long.MinValue;
        Encoding = encoding;
        Count = encoding switch
        {
            ValueEncoding.IntSet => IntSet.Count(value),
            ValueEncoding.ListPack => PackedList.Count(value),
            _ => new MemberTable<SetMember>(arena, hasher, (nint)value).Count,
        };
    }

    // The same without the members that have expired.
    private SetView(in SetView all, long passedMs, bool countsLiving)
    {
        this = all;
        _passedMs = passedMs;
        if (!countsLiving) return;
        long living = 0;
        foreach (nint block in Table)
        {
            if (SetMember.Expiry((byte*)block) > passedMs) living++;
        }

        Count = living;
    }

    internal ValueEncoding Encoding { get; }

    /// <summary>The number of members.</summary>
    internal long Count { get; }

    /// <summary>Whether the table has members that have expired and are not shown.</summary>
    internal bool Hides => IsTable && _passedMs != long.MinValue;

    internal bool IsTable => Encoding == ValueEncoding.HashTable;

    internal byte* Value => _value;

    internal MemberTable<SetMember> Table => new(_arena, _hasher, (nint)_value);

    /// <summary>The set of an entry, which may be missing.</summary>
    internal static SetView Of(Database database, Entry entry)
    {
        if (!entry.Exists) return default;
        byte* value = entry.HasStructure ? entry.Root.Structure : EntryBlock.ValueStart(entry.Position.Entry);
        return new SetView(database.ArenaOf(entry), database.Hasher, entry.Encoding, value);
    }

    /// <summary>
    /// The set of an entry without members that have expired, which are still in it. Counting takes a look at every member: one that only looks
    /// up members leaves them out of the count.
    /// </summary>
    internal static SetView Of(Database database, Entry entry, ExpiryClock expiry, bool countsLiving = true)
    {
        SetView all = Of(database, entry);
        return SetExpiry.HasExpired(entry, expiry) ? new SetView(all, expiry.PassedMs, countsLiving) : all;
    }

    /// <summary>When a member expires, in Unix milliseconds; <see cref="Database.NoExpiry"/>, or <see cref="IElementExpiries.Missing"/>.</summary>
    public long ExpiryOf(scoped ReadOnlySpan<byte> member)
    {
        if (!IsTable) return Contains(member) ? Database.NoExpiry : IElementExpiries.Missing;
        byte* block = Table.Find(member, Hash(member));
        if (block == null || IsExpired((nint)block)) return IElementExpiries.Missing;
        long expiryMs = SetMember.Expiry(block);
        return expiryMs == long.MaxValue ? Database.NoExpiry : expiryMs;
    }

    /// <summary>When a table's member expires; long.MaxValue: it does not.</summary>
    internal static long ExpiryAt(nint block) => SetMember.Expiry((byte*)block);

    /// <summary>Whether a table's member has expired.</summary>
    internal bool IsExpired(nint block) => SetMember.Expiry((byte*)block) <= _passedMs;

    /// <summary>The hash by which a table finds a member.</summary>
    internal ulong Hash(ReadOnlySpan<byte> member) => _hasher.Hash(member);

    internal bool Contains(ReadOnlySpan<byte> member)
    {
        if (Count == 0) return false;
        return IsTable ? Contains(member, Hash(member)) : ContainsPacked(member);
    }

    /// <summary>The same for one whose hash is known.</summary>
    internal bool Contains(ReadOnlySpan<byte> member, ulong hash)
    {
        if (Count == 0) return false;
        if (!IsTable) return ContainsPacked(member);
        return Table.TryFind(member, hash, out MemberPosition position) && (!Hides || !IsExpired((nint)position.Block));
    }

    /// <summary>Enumerates the members, integers in ascending order.</summary>
    /// <param name="number">Where a number's text is written: <see cref="SetEnumerator.NumberBytesMax"/> bytes.</param>
    internal SetEnumerator Enumerate(Span<byte> number) => new(this, number);

    /// <summary>Samples a member of a non-empty set uniformly.</summary>
    /// <param name="random">The source of random numbers.</param>
    /// <param name="number">Where a number's text is written: <see cref="SetEnumerator.NumberBytesMax"/> bytes.</param>
    /// <param name="member">Identifies the member within the set.</param>
    internal ReadOnlySpan<byte> Pick(Random random, Span<byte> number, out nint member)
    {
        if (IsTable && !Hides)
        {
            byte* block = Table.Pick(random);
            member = (nint)block;
            return SetMember.Member(block);
        }

#pragma warning disable CA5394 // Not a secret: a sample.
        int index = random.Next((int)Count);
#pragma warning restore CA5394
        member = index;
        if (!IsTable) return MemberAt(index, number);

        // If most members have expired, random picks would rarely hit one that has not.
        SetEnumerator members = Enumerate(number);
        for (int i = 0; i <= index; i++) members.MoveNext();
        member = members.Block;
        return MemberAt(member);
    }

    /// <summary>Enumerates the members of one bucket of a table. The cursor advances to the next bucket and is 0 after the last one.</summary>
    internal SetEnumerator ScanBucket(ref ulong cursor, Span<byte> number) => new(this, Table.ScanBucket(ref cursor), number);

    /// <summary>The member of a table at a position from <see cref="Pick"/> or <see cref="SetEnumerator.Block"/>.</summary>
    internal static ReadOnlySpan<byte> MemberAt(nint member) => SetMember.Member((byte*)member);

    /// <summary>The member of a compact set at an index.</summary>
    /// <param name="index">The index, in the order of <see cref="Enumerate"/>.</param>
    /// <param name="number">Where a number's text is written: <see cref="SetEnumerator.NumberBytesMax"/> bytes.</param>
    internal ReadOnlySpan<byte> MemberAt(int index, Span<byte> number)
    {
        if (Encoding == ValueEncoding.IntSet) return number[..CanonicalInteger.Format(IntSet.At(_value, index), number)];
        return PackedList.Read(_value, PackedList.At(_value, index)).Bytes(number);
    }

    private bool ContainsPacked(ReadOnlySpan<byte> member) => Encoding == ValueEncoding.IntSet
        ? CanonicalInteger.TryParse(member, out long number) && IntSet.TryFind(_value, number, out _)
        : PackedList.Find(_value, PackedList.Start, member) >= 0;
}
