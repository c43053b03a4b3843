using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Members;

namespace RedKite.Store.Values.SortedSets;

/// <summary>
/// A large sorted set in an arena: a table that finds members, a tree that orders them, and a block for each member with its score,
/// to which both point. A block of 32 bytes, to which the value's root points, holds table and tree.
/// </summary>
internal readonly unsafe struct SortedSetStructure
{
    private readonly Arena _arena;
    private readonly KeyHasher _hasher;
    private readonly Anchor* _anchor;

    internal SortedSetStructure(Arena arena, KeyHasher hasher, in ValueRoot root)
    {
        _arena = arena;
        _hasher = hasher;
        _anchor = (Anchor*)root.Structure;
    }

    internal long Count => _anchor->Tree.Count;

    internal ValueRoot Root => new() { Structure = (byte*)_anchor };

    private MemberTable<ScoredMember> Table => new(_arena, _hasher, _anchor->Table);

    internal static SortedSetStructure Create(Arena arena, KeyHasher hasher)
    {
        var anchor = (Anchor*)arena.Allocate(sizeof(Anchor));
        *anchor = new Anchor { Table = MemberTable<ScoredMember>.Create(arena) };
        return new SortedSetStructure(arena, hasher, new ValueRoot { Structure = (byte*)anchor });
    }

    internal ulong Hash(ReadOnlySpan<byte> member) => _hasher.Hash(member);

    /// <summary>The block of a member, or null.</summary>
    internal byte* Find(ReadOnlySpan<byte> member, ulong hash) => Table.Find(member, hash);

    /// <summary>Adds a member that is not in the set.</summary>
    internal void Add(ReadOnlySpan<byte> member, ulong hash, double score) => _anchor->Tree.Insert(_arena, AddUnordered(member, hash, score));

    /// <summary>Adds a block whose member is not in the set. The set takes ownership.</summary>
    internal void Add(byte* block)
    {
        _anchor->BlockBytes += BlockSize.RoundUp(ScoredMember.Bytes(block));
        Table.Add(Hash(ScoredMember.Member(block)), block);
        _anchor->Tree.Insert(_arena, block);
    }

    /// <summary>Adds a member to the table alone: <see cref="Order"/> has to follow.</summary>
    internal byte* AddUnordered(ReadOnlySpan<byte> member, ulong hash, double score)
    {
        long bytes = ScoredMember.BytesFor(member.Length);
        byte* block = _arena.Allocate(bytes);
        ScoredMember.Initialize(block, score, member);
        _anchor->BlockBytes += BlockSize.RoundUp(bytes);
        Table.Add(hash, block);
        return block;
    }

    /// <summary>Puts all members, which are in the table only, into the tree.</summary>
    internal void Order()
    {
        foreach (nint block in Table) _anchor->Tree.Insert(_arena, (byte*)block);
    }

    /// <summary>Changes the score of a member.</summary>
    internal void Update(byte* block, double score) => _anchor->Tree.Update(_arena, block, score);

    internal bool Remove(ReadOnlySpan<byte> member)
    {
        MemberTable<ScoredMember> table = Table;
        if (!table.TryFind(member, Hash(member), out MemberPosition position)) return false;
        _anchor->Tree.Remove(_arena, position.Block);
        FreeBlock(table.Remove(position));
        return true;
    }

    /// <summary>Removes a number of members, which must exist, starting at a rank.</summary>
    internal void RemoveRange(long rank, long count)
    {
        MemberTable<ScoredMember> table = Table;
        ScoreTreePosition cursor = At(rank);
        for (long i = 0; i < count; i++, cursor.MoveNext())
        {
            ReadOnlySpan<byte> member = cursor.Member;
            table.TryFind(member, Hash(member), out MemberPosition position);
            FreeBlock(table.Remove(position));
        }

        _anchor->Tree.RemoveRange(_arena, rank, count);
    }

    internal long RankOf(byte* block) => _anchor->Tree.RankOf(block);

    internal long CountBefore<TBound>(scoped in TBound bound)
        where TBound : struct, IScoreTreeBound, allows ref struct => _anchor->Tree.CountBefore(bound);

    internal ScoreTreePosition At(long rank) => _anchor->Tree.At(rank);

    /// <summary>Enumerates some members; see <see cref="MemberTable{TLayout}.ScanBucket"/>.</summary>
    internal MemberEnumerator ScanBucket(ref ulong cursor) => Table.ScanBucket(ref cursor);

    /// <summary>Frees about the given number of blocks of a structure; the root refers to the rest.</summary>
    /// <returns>Whether something is left.</returns>
    internal static bool FreeSlice(Arena arena, ref ValueRoot root, int blocksMax)
    {
        // The tree does not own the blocks that it points to, so it is freed first.
        var anchor = (Anchor*)root.Structure;
        int leavesLeft = blocksMax;
        if (!anchor->Tree.FreeSlice(arena, ref leavesLeft)) return true;
        if (leavesLeft == 0 || new MemberTable<ScoredMember>(arena, null!, anchor->Table).FreeSlice(leavesLeft)) return true;
        arena.Free((byte*)anchor, sizeof(Anchor));
        root.Structure = null;
        return false;
    }

    /// <summary>Moves the blocks that have to move: first the members and their table, then the tree's nodes.</summary>
    /// <returns>Whether there are more.</returns>
    internal static bool Move(BlockMover mover, ref ValueRoot root, ref MoveCursor cursor, ref int work)
    {
        if (cursor.IsAtStart)
        {
            byte* moved = mover.Copy(root.Structure, sizeof(Anchor));
            if (moved != null)
            {
                mover.Free(root.Structure, sizeof(Anchor));
                root.Structure = moved;
            }
        }

        var anchor = (Anchor*)root.Structure;
        if (!cursor.IsSecondPart)
        {
            if (MemberTable<ScoredMember>.Move(mover, ref anchor->Table, ref cursor, ref work, &anchor->Tree)) return true;
            cursor = new MoveCursor(0, 0, IsSecondPart: true);
        }

        return anchor->Tree.MoveNodes(mover, ref cursor, ref work);
    }

    /// <summary>Bytes in the arena.</summary>
    internal static long Bytes(in ValueRoot root)
    {
        var anchor = (Anchor*)root.Structure;
        return sizeof(Anchor) + anchor->BlockBytes + anchor->Tree.MemoryBytes + new MemberTable<ScoredMember>(null!, null!, anchor->Table).TableBytes;
    }

    private void FreeBlock(byte* block)
    {
        long bytes = ScoredMember.Bytes(block);
        _anchor->BlockBytes -= BlockSize.RoundUp(bytes);
        _arena.Free(block, bytes);
    }

    private struct Anchor
    {
        public nint Table;
        public ScoreTree<ScoreTreeSizes> Tree;
        public long BlockBytes; // of all members' blocks
    }
}
