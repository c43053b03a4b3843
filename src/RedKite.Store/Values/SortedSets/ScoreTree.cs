using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using RedKite.Store.Memory;

namespace RedKite.Store.Values.SortedSets;

/// <summary>
/// The order of a big sorted set: a B+ tree in an arena, by score and then by member. It points to the members' blocks
/// (<see cref="ScoredMember"/>), which are the member table's. These 16 bytes are its root, which the owner stores; zero bytes are an empty tree.
/// </summary>
/// <remarks>
/// <para>
/// Inner nodes know how many entries are below each child, so every query of a range becomes one of ranks: count the entries before
/// a bound, go to a rank. A separator is always its child's first entry, so that it never points to a removed member.
/// </para>
/// <para>
/// A node that is less than half full joins a neighbour when both fit in one; entries are never moved to balance two. A
/// tree that is filled in order has full leaves. A skip list was rejected: it needs twice the memory and a cache
/// miss for every step.
/// </para>
/// </remarks>
[StructLayout(LayoutKind.Sequential)]
internal unsafe partial struct ScoreTree<TSizes>
    where TSizes : struct, IScoreTreeSizes
{
    // A node splits once in dozens of splits below it, so no tree in memory gets that deep.
    private const int HeightMax = 16;

    private byte* _root;     // a leaf, or an inner node
    private uint _count;
    private uint _nodeWords; // memory of the nodes, in words of 8 bytes

    /// <summary>How many entries there are.</summary>
    internal readonly long Count => _count;

    /// <summary>Bytes of the nodes, without the members' blocks.</summary>
    internal readonly long MemoryBytes => _nodeWords * 8L;

    private static int LeafMax => TSizes.LeafMax;

    private static int InnerMax => TSizes.InnerMax;

    /// <summary>Adds a member, which is not in the tree, with the score in its block.</summary>
    internal void Insert(Arena arena, byte* member)
    {
        double score = ScoredMember.Score(member);
        if (_root == null) _root = (byte*)NewLeaf(arena, ScoreTreeLeaf.FirstCapacityFor(LeafMax));
        Step* path = stackalloc Step[HeightMax];
        var bound = new EntryBound(score, ScoredMember.Member(member), afterEqual: true);
        int height = Descend(bound, path, out ScoreTreeLeaf* leaf, out _);
        int index = bound.FirstNotBefore(ScoreTreeLeaf.Scores(leaf), ScoreTreeLeaf.Members(leaf), 0, leaf->Count);
        for (int i = 0; i < height; i++) ScoreTreeInner.Counts(path[i].Node, InnerMax)[path[i].Index]++;
        _count++;
        if (leaf->Count == leaf->Capacity && leaf->Capacity < LeafMax) leaf = Grow(arena, leaf);
        if (leaf->Count < leaf->Capacity) ScoreTreeLeaf.Insert(leaf, index, score, member);
        else Split(arena, path, height, leaf, index, score, member);
    }

    /// <summary>Removes a member, whose block has not changed since it was inserted. The block stays.</summary>
    internal void Remove(Arena arena, byte* member)
    {
        Step* path = stackalloc Step[HeightMax];
        int height = Find(member, path, out ScoreTreeLeaf* leaf, out int index, out _);
        RemoveFromLeaf(arena, path, height, leaf, index, 1);
    }

    /// <summary>Changes the score of a member. If it stays between the same neighbours, nothing moves.</summary>
    internal void Update(Arena arena, byte* member, double score)
    {
        Step* path = stackalloc Step[HeightMax];
        int height = Find(member, path, out ScoreTreeLeaf* leaf, out int index, out _);
        double* scores = ScoreTreeLeaf.Scores(leaf);
        bool stays = index > 0 && index < leaf->Count - 1 && scores[index - 1] < score && score < scores[index + 1];
        if (!stays) RemoveFromLeaf(arena, path, height, leaf, index, 1);
        ScoredMember.SetScore(member, score);
        if (stays) scores[index] = score;
        else Insert(arena, member);
    }

    /// <summary>
    /// Takes out <paramref name="count"/> entries from a rank on, which exist. Does not read the members' blocks, so they may be
    /// freed already. Costs a descent for each leaf.
    /// </summary>
    internal void RemoveRange(Arena arena, long rank, long count)
    {
        Step* path = stackalloc Step[HeightMax];
        while (count > 0)
        {
            int height = DescendToRank(rank, path, out ScoreTreeLeaf* leaf, out int index);
            int removed = (int)Math.Min(count, leaf->Count - index);
            RemoveFromLeaf(arena, path, height, leaf, index, removed);
            count -= removed;
        }
    }

    /// <summary>The number of entries before a bound: the rank of the first one after it.</summary>
    internal readonly long CountBefore<TBound>(scoped in TBound bound)
        where TBound : struct, IScoreTreeBound, allows ref struct
    {
        if (_root == null) return 0;
        Step* path = stackalloc Step[HeightMax];
        Descend(bound, path, out ScoreTreeLeaf* leaf, out long rank);
        return rank + bound.FirstNotBefore(ScoreTreeLeaf.Scores(leaf), ScoreTreeLeaf.Members(leaf), 0, leaf->Count);
    }

    /// <summary>The rank of a member that is in the tree, from its block.</summary>
    internal readonly long RankOf(byte* member)
    {
        Step* path = stackalloc Step[HeightMax];
        Find(member, path, out _, out int index, out long rank);
        return rank + index;
    }

    /// <summary>The entry of a rank; no entry if the rank is too high.</summary>
    internal readonly ScoreTreePosition At(long rank)
    {
        if ((ulong)rank >= _count) return default;
        Step* path = stackalloc Step[HeightMax];
        DescendToRank(rank, path, out ScoreTreeLeaf* leaf, out int index);
        return new ScoreTreePosition(leaf, index);
    }

    /// <summary>Frees nodes, up to a number of leaves per call; the members' blocks stay. The tree must not be used otherwise afterwards.</summary>
    /// <returns>Whether all are freed.</returns>
    internal bool FreeSlice(Arena arena, ref int leavesLeft)
    {
        if (_root != null && !FreeNode(arena, _root, ref leavesLeft)) return false;
        _root = null;
        _count = 0;
        return true;
    }

    /// <summary>Frees all nodes; the members' blocks stay.</summary>
    internal void Free(Arena arena)
    {
        int leavesLeft = int.MaxValue;
        FreeSlice(arena, ref leavesLeft);
    }

    // Descends to an existing entry. A separator is its child's first entry, so the path continues after an equal one.
    private readonly int Find(byte* member, Step* path, out ScoreTreeLeaf* leaf, out int index, out long rank)
    {
        double score = ScoredMember.Score(member);
        ReadOnlySpan<byte> bytes = ScoredMember.Member(member);
        int height = Descend(new EntryBound(score, bytes, afterEqual: true), path, out leaf, out rank);
        index = new EntryBound(score, bytes, afterEqual: false).FirstNotBefore(ScoreTreeLeaf.Scores(leaf), ScoreTreeLeaf.Members(leaf), 0, leaf->Count);
        Debug.Assert(index < leaf->Count && ScoreTreeLeaf.Members(leaf)[index] == member, "The member is in the tree.");
        return height;
    }

    // Down to the leaf in which the bound is, or at whose end. Gives the steps and the leaf's rank.
    private readonly int Descend<TBound>(scoped in TBound bound, Step* path, out ScoreTreeLeaf* leaf, out long rank)
        where TBound : struct, IScoreTreeBound, allows ref struct
    {
        rank = 0;
        int height = 0;
        byte* node = _root;
        while (LevelOf(node) > 0)
        {
            var inner = (ScoreTreeInner*)node;
            int index = bound.FirstNotBefore(ScoreTreeInner.Scores(inner), ScoreTreeInner.Members(inner, InnerMax), 1, inner->Count) - 1;
            rank += EntriesBefore(inner, index);
            Debug.Assert(height < HeightMax, "No tree in memory is so high.");
            path[height++] = new Step(inner, index);
            node = ScoreTreeInner.Children(inner, InnerMax)[index];
        }

        leaf = (ScoreTreeLeaf*)node;
        return height;
    }

    private readonly int DescendToRank(long rank, Step* path, out ScoreTreeLeaf* leaf, out int index)
    {
        int height = 0;
        byte* node = _root;
        while (LevelOf(node) > 0)
        {
            var inner = (ScoreTreeInner*)node;
            uint* counts = ScoreTreeInner.Counts(inner, InnerMax);
            int child = 0;
            for (; rank >= counts[child]; child++) rank -= counts[child];
            path[height++] = new Step(inner, child);
            node = ScoreTreeInner.Children(inner, InnerMax)[child];
        }

        leaf = (ScoreTreeLeaf*)node;
        index = (int)rank;
        return height;
    }

    private static long EntriesBefore(ScoreTreeInner* node, int index)
    {
        uint sum = 0;
        uint* counts = ScoreTreeInner.Counts(node, InnerMax);
        for (int i = 0; i < index; i++) sum += counts[i];
        return sum;
    }

    // Leaves and inner nodes store their level at the same offset.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static int LevelOf(byte* node) => ((ScoreTreeInner*)node)->Level;

    private ScoreTreeLeaf* NewLeaf(Arena arena, int capacity)
    {
        CountMemory(ScoreTreeLeaf.BytesFor(capacity), 1);
        return ScoreTreeLeaf.Create(arena, capacity);
    }

    private ScoreTreeInner* NewInner(Arena arena, int level)
    {
        CountMemory(ScoreTreeInner.BytesFor(InnerMax), 1);
        return ScoreTreeInner.Create(arena, level, InnerMax);
    }

    private void FreeLeaf(Arena arena, ScoreTreeLeaf* leaf)
    {
        CountMemory(ScoreTreeLeaf.BytesFor(leaf->Capacity), -1);
        ScoreTreeLeaf.Free(arena, leaf);
    }

    private void FreeInner(Arena arena, ScoreTreeInner* node)
    {
        CountMemory(ScoreTreeInner.BytesFor(InnerMax), -1);
        ScoreTreeInner.Free(arena, node, InnerMax);
    }

    private void CountMemory(long bytes, int sign) => _nodeWords = (uint)(_nodeWords + (sign * (BlockSize.RoundUp(bytes) >> 3)));

    // Enlarges the only leaf of a small tree.
    private ScoreTreeLeaf* Grow(Arena arena, ScoreTreeLeaf* leaf)
    {
        ScoreTreeLeaf* larger = NewLeaf(arena, ScoreTreeLeaf.NextCapacity(leaf->Capacity, LeafMax));
        ScoreTreeLeaf.Append(larger, leaf, 0);
        FreeLeaf(arena, leaf);
        _root = (byte*)larger;
        return larger;
    }

    // Splits a full leaf to insert an entry. At either end of the tree the new entry gets its own leaf, so that members added in
    // order leave full leaves.
    private void Split(Arena arena, Step* path, int height, ScoreTreeLeaf* leaf, int index, double score, byte* member)
    {
        bool atEnd = leaf->Next == null && index == leaf->Count;
        bool atStart = leaf->Previous == null && index == 0;
        int cut = atEnd ? leaf->Count : atStart ? 0 : leaf->Count / 2;
        ScoreTreeLeaf* right = NewLeaf(arena, LeafMax);
        ScoreTreeLeaf.Append(right, leaf, cut);
        ScoreTreeLeaf.LinkBehind(leaf, right);
        leaf->Count = (ushort)cut;
        if (atEnd || index > cut) ScoreTreeLeaf.Insert(right, index - cut, score, member);
        else ScoreTreeLeaf.Insert(leaf, index, score, member);

        var added = new Child(*ScoreTreeLeaf.Scores(right), *ScoreTreeLeaf.Members(right), (byte*)right, right->Count);
        AddChild(arena, path, height, leaf->Count, added, atEnd);
    }

    // Inserts a node after the path's node, which has become smaller; splits upwards as far as necessary.
    private void AddChild(Arena arena, Step* path, int height, uint leftCount, Child added, bool atEnd)
    {
        for (int depth = height - 1; depth >= 0; depth--)
        {
            ScoreTreeInner* node = path[depth].Node;
            int index = path[depth].Index + 1;
            ScoreTreeInner.Counts(node, InnerMax)[index - 1] = leftCount;
            if (node->Count < InnerMax)
            {
                ScoreTreeInner.Insert(node, InnerMax, index, added.Score, added.Member, added.Node, added.Count);
                return;
            }

            int cut = atEnd ? node->Count : node->Count / 2;
            ScoreTreeInner* right = NewInner(arena, node->Level);
            ScoreTreeInner.Append(right, node, cut, InnerMax);
            node->Count = (ushort)cut;
            if (atEnd || index > cut) ScoreTreeInner.Insert(right, InnerMax, index - cut, added.Score, added.Member, added.Node, added.Count);
            else ScoreTreeInner.Insert(node, InnerMax, index, added.Score, added.Member, added.Node, added.Count);

            leftCount = ScoreTreeInner.Total(node, InnerMax);
            added = new Child(*ScoreTreeInner.Scores(right), *ScoreTreeInner.Members(right, InnerMax), (byte*)right, ScoreTreeInner.Total(right, InnerMax));
        }

        ScoreTreeInner* root = NewInner(arena, LevelOf(_root) + 1);
        ScoreTreeInner.Insert(root, InnerMax, 0, 0, null, _root, leftCount);
        ScoreTreeInner.Insert(root, InnerMax, 1, added.Score, added.Member, added.Node, added.Count);
        _root = (byte*)root;
    }

    private void RemoveFromLeaf(Arena arena, Step* path, int height, ScoreTreeLeaf* leaf, int index, int count)
    {
        ScoreTreeLeaf.Remove(leaf, index, count);
        for (int i = 0; i < height; i++) ScoreTreeInner.Counts(path[i].Node, InnerMax)[path[i].Index] -= (uint)count;
        _count -= (uint)count;
        if (leaf->Count == 0)
        {
            ScoreTreeLeaf.Unlink(leaf);
            FreeLeaf(arena, leaf);
            if (height == 0) _root = null;
            else RemoveChild(arena, path, height - 1, path[height - 1].Index);
            return;
        }

        if (index == 0) ReplaceSeparator(path, height - 1, *ScoreTreeLeaf.Scores(leaf), *ScoreTreeLeaf.Members(leaf));
        if (leaf->Count < LeafMax / 2 && height > 0) JoinLeaves(arena, path, height);
    }

    private void JoinLeaves(Arena arena, Step* path, int height)
    {
        ScoreTreeInner* parent = path[height - 1].Node;
        uint* counts = ScoreTreeInner.Counts(parent, InnerMax);
        int left = JoinableFrom(parent, path[height - 1].Index, counts, LeafMax);
        if (left < 0) return;
        byte** children = ScoreTreeInner.Children(parent, InnerMax);
        var target = (ScoreTreeLeaf*)children[left];
        var source = (ScoreTreeLeaf*)children[left + 1];
        ScoreTreeLeaf.Append(target, source, 0);
        ScoreTreeLeaf.Unlink(source);
        FreeLeaf(arena, source);
        counts[left] += counts[left + 1];
        RemoveChild(arena, path, height - 1, left + 1);
    }

    // Takes a child, which is freed, out of a node of the path.
    private void RemoveChild(Arena arena, Step* path, int depth, int index)
    {
        ScoreTreeInner* node = path[depth].Node;
        ScoreTreeInner.Remove(node, InnerMax, index);
        if (node->Count == 0)
        {
            Debug.Assert(depth > 0, "The root has at least two children.");
            FreeInner(arena, node);
            RemoveChild(arena, path, depth - 1, path[depth - 1].Index);
            return;
        }

        if (index == 0) ReplaceSeparator(path, depth - 1, *ScoreTreeInner.Scores(node), *ScoreTreeInner.Members(node, InnerMax));
        if (depth > 0)
        {
            if (node->Count < InnerMax / 2) JoinInner(arena, path, depth);
            return;
        }

        while (LevelOf(_root) > 0 && ((ScoreTreeInner*)_root)->Count == 1)
        {
            var root = (ScoreTreeInner*)_root;
            _root = *ScoreTreeInner.Children(root, InnerMax);
            FreeInner(arena, root);
        }
    }

    private void JoinInner(Arena arena, Step* path, int depth)
    {
        ScoreTreeInner* parent = path[depth - 1].Node;
        byte** children = ScoreTreeInner.Children(parent, InnerMax);
        uint* sizes = stackalloc uint[3];
        int index = path[depth - 1].Index;
        int first = Math.Max(0, index - 1);
        int end = Math.Min(parent->Count, index + 2);
        for (int i = first; i < end; i++) sizes[i - first] = ((ScoreTreeInner*)children[i])->Count;
        int left = JoinableFrom(end - first, index - first, sizes, InnerMax);
        if (left < 0) return;

        left += first;
        var target = (ScoreTreeInner*)children[left];
        var source = (ScoreTreeInner*)children[left + 1];
        *ScoreTreeInner.Scores(source) = ScoreTreeInner.Scores(parent)[left + 1];
        *ScoreTreeInner.Members(source, InnerMax) = ScoreTreeInner.Members(parent, InnerMax)[left + 1];
        ScoreTreeInner.Append(target, source, 0, InnerMax);
        FreeInner(arena, source);
        uint* counts = ScoreTreeInner.Counts(parent, InnerMax);
        counts[left] += counts[left + 1];
        RemoveChild(arena, path, depth - 1, left + 1);
    }

    private static int JoinableFrom(ScoreTreeInner* parent, int index, uint* sizes, int max) => JoinableFrom(parent->Count, index, sizes, max);

    // The left one of two neighbours, one of them the node at the index, that fit in one node with some free space.
    private static int JoinableFrom(int nodes, int index, uint* sizes, int max)
    {
        long room = max - (max / 8);
        if (index + 1 < nodes && sizes[index] + sizes[index + 1] <= room) return index;
        return index > 0 && sizes[index - 1] + sizes[index] <= room ? index - 1 : -1;
    }

    // A node's first entry is another one now: so is the separator before it, which is in the lowest node of the path
    // where the path does not go to the first child.
    private static void ReplaceSeparator(Step* path, int depth, double score, byte* member)
    {
        while (depth >= 0 && path[depth].Index == 0) depth--;
        if (depth < 0) return;
        ScoreTreeInner.Scores(path[depth].Node)[path[depth].Index] = score;
        ScoreTreeInner.Members(path[depth].Node, InnerMax)[path[depth].Index] = member;
    }

    private bool FreeNode(Arena arena, byte* node, ref int leavesLeft)
    {
        if (LevelOf(node) == 0)
        {
            if (leavesLeft == 0) return false;
            leavesLeft--;
            FreeLeaf(arena, (ScoreTreeLeaf*)node);
            return true;
        }

        // The node itself remembers how far the slices have come.
        var inner = (ScoreTreeInner*)node;
        for (; inner->Count > 0; inner->Count--)
        {
            if (!FreeNode(arena, ScoreTreeInner.Children(inner, InnerMax)[inner->Count - 1], ref leavesLeft)) return false;
        }

        FreeInner(arena, inner);
        return true;
    }

    /// <summary>One step of the descent: a node, and the index of the next child.</summary>
    private readonly struct Step(ScoreTreeInner* node, int index)
    {
        internal readonly ScoreTreeInner* Node = node;
        internal readonly int Index = index;
    }

    /// <summary>A node and what its parent keeps of it.</summary>
    private readonly struct Child(double score, byte* member, byte* node, uint count)
    {
        internal readonly double Score = score;
        internal readonly byte* Member = member;
        internal readonly byte* Node = node;
        internal readonly uint Count = count;
    }
}
