using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Members;
using RedKite.Store.Values.Packed;

namespace RedKite.Store.Values.Sets;

/// <summary>
/// A set of any encoding to read: integers, a packed list, a table. A missing set has no members. Valid while its stripe is locked
/// and until the set itself changes; writes to other keys do not affect it.
/// </summary>
internal readonly unsafe struct SetView
{
    private readonly Arena _arena;
    private readonly KeyHasher _hasher;
    private readonly byte* _value;

    /// <param name="arena">The arena that the set's structure is in.</param>
    /// <param name="hasher">The keyspace's hasher.</param>
    /// <param name="encoding">The set's encoding.</param>
    /// <param name="value">The set's bytes, or where its table is.</param>
    internal SetView(Arena arena, KeyHasher hasher, ValueEncoding encoding, byte* value)
    {
        _arena = arena;
        _hasher = hasher;
        _value = value;
        Encoding = encoding;
        Count = encoding switch
        {
            ValueEncoding.IntSet => IntSet.Count(value),
            ValueEncoding.ListPack => PackedList.Count(value),
            _ => new MemberTable<SetMember>(arena, hasher, (nint)value).Count,
        };
    }

    internal ValueEncoding Encoding { get; }

    internal long Count { get; }

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
        return IsTable ? Table.TryFind(member, hash, out _) : ContainsPacked(member);
    }

    /// <summary>Enumerates the members, integers in ascending order.</summary>
    /// <param name="number">Where a number's text is written: <see cref="SetEnumerator.NumberBytesMax"/> bytes.</param>
    internal SetEnumerator Enumerate(Span<byte> number) => new(this, number);

    /// <summary>Samples a member of a non-empty set uniformly.</summary>
    /// <param name="random">The source of random numbers.</param>
    /// <param name="number">Where a number's text is written: <see cref="SetEnumerator.NumberBytesMax"/> bytes.</param>
    /// <param name="place">Identifies the member within the set.</param>
    internal ReadOnlySpan<byte> Pick(Random random, Span<byte> number, out nint place)
    {
        if (IsTable)
        {
            byte* block = Table.Pick(random);
            place = (nint)block;
            return SetMember.Member(block);
        }

#pragma warning disable CA5394 // Not a secret: a sample.
        int index = random.Next((int)Count);
#pragma warning restore CA5394
        place = index;
        return MemberAt(index, number);
    }

    /// <summary>Adds one bucket's members of a table to a list and returns the cursor of the next bucket, 0 after the last.</summary>
    internal ulong Scan(ulong cursor, MemberList members) => Table.Scan(cursor, members);

    /// <summary>A member that <see cref="Scan"/> has found.</summary>
    internal static ReadOnlySpan<byte> MemberAt(MemberList members, int index) => MemberAt(members.Blocks[index]);

    /// <summary>The member of a table at a position from <see cref="Pick"/> or <see cref="SetEnumerator.Block"/>.</summary>
    internal static ReadOnlySpan<byte> MemberAt(nint place) => SetMember.Member((byte*)place);

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
