using System.Runtime.InteropServices;
using RedKite.Store.Memory;

namespace RedKite.Store.Values.SortedSets;

/// <summary>How many entries the nodes of a <see cref="ScoreTree{TSizes}"/> have at most; tests use tiny ones.</summary>
internal interface IScoreTreeSizes
{
    static abstract int LeafMax { get; }

    static abstract int InnerMax { get; }
}

/// <summary>The sizes of real trees: a leaf fills a block of 1 KiB, an inner node one of 2 KiB.</summary>
internal readonly struct ScoreTreeSizes : IScoreTreeSizes
{
    public static int LeafMax => 62;

    public static int InnerMax => 72;
}

/// <summary>
/// A leaf of a <see cref="ScoreTree{TSizes}"/>: entries in order, and the leaves to both sides.
/// <code>
///  0  u16  entries
///  2  u8   level, 0
///  4  u16  capacity: a leaf that is the whole tree grows, any other has the largest
///  8  ptr  the leaf before
/// 16  ptr  the next leaf
/// 24  f64[capacity]  scores, beside the pointers so that a search stays in this block until scores are equal
///     ptr[capacity]  member blocks
/// </code>
/// </summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct ScoreTreeLeaf
{
    private const int HeaderBytes = 24;
    private const int EntryBytes = 16;
    private const int FirstCapacity = 6;

    internal ushort Count;
    internal byte Level;
    internal ushort Capacity;
    internal ScoreTreeLeaf* Previous;
    internal ScoreTreeLeaf* Next;

    internal static double* Scores(ScoreTreeLeaf* leaf) => (double*)((byte*)leaf + HeaderBytes);

    internal static byte** Members(ScoreTreeLeaf* leaf) => (byte**)(Scores(leaf) + leaf->Capacity);

    internal static long BytesFor(int capacity) => HeaderBytes + ((long)EntryBytes * capacity);

    internal static ScoreTreeLeaf* Create(Arena arena, int capacity)
    {
        var leaf = (ScoreTreeLeaf*)arena.Allocate(BytesFor(capacity));
        *leaf = default;
        leaf->Capacity = (ushort)capacity;
        return leaf;
    }

    internal static void Free(Arena arena, ScoreTreeLeaf* leaf) => arena.Free((byte*)leaf, BytesFor(leaf->Capacity));

    /// <summary>The capacity of a tree's first leaf; the steps fill blocks of 120, 248, 504 and 1,016 bytes.</summary>
    internal static int FirstCapacityFor(int max) => Math.Min(FirstCapacity, max);

    internal static int NextCapacity(int capacity, int max) => Math.Min((2 * capacity) + 2, max);

    internal static void Insert(ScoreTreeLeaf* leaf, int index, double score, byte* member)
    {
        double* scores = Scores(leaf);
        byte** members = Members(leaf);
        int behind = leaf->Count - index;
        new Span<double>(scores + index, behind).CopyTo(new Span<double>(scores + index + 1, behind));
        new Span<nint>(members + index, behind).CopyTo(new Span<nint>(members + index + 1, behind));
        scores[index] = score;
        members[index] = member;
        leaf->Count++;
    }

    internal static void Remove(ScoreTreeLeaf* leaf, int index, int count)
    {
        double* scores = Scores(leaf);
        byte** members = Members(leaf);
        int behind = leaf->Count - index - count;
        new Span<double>(scores + index + count, behind).CopyTo(new Span<double>(scores + index, behind));
        new Span<nint>(members + index + count, behind).CopyTo(new Span<nint>(members + index, behind));
        leaf->Count -= (ushort)count;
    }

    /// <summary>Appends entries to another leaf, which has space for them.</summary>
    internal static void Append(ScoreTreeLeaf* target, ScoreTreeLeaf* source, int start)
    {
        int count = source->Count - start;
        new Span<double>(Scores(source) + start, count).CopyTo(new Span<double>(Scores(target) + target->Count, count));
        new Span<nint>(Members(source) + start, count).CopyTo(new Span<nint>(Members(target) + target->Count, count));
        target->Count += (ushort)count;
    }

    internal static void LinkBehind(ScoreTreeLeaf* leaf, ScoreTreeLeaf* added)
    {
        added->Previous = leaf;
        added->Next = leaf->Next;
        if (leaf->Next != null) leaf->Next->Previous = added;
        leaf->Next = added;
    }

    internal static void Unlink(ScoreTreeLeaf* leaf)
    {
        if (leaf->Previous != null) leaf->Previous->Next = leaf->Next;
        if (leaf->Next != null) leaf->Next->Previous = leaf->Previous;
    }
}

/// <summary>
/// An inner node of a <see cref="ScoreTree{TSizes}"/>.
/// <code>
///  0  u16  children
///  2  u8   level: 1 above leaves, and so on
///  8  f64[max]  scores: of each child's first entry; the first one means nothing
///     ptr[max]  member blocks, likewise
///     ptr[max]  children
///     u32[max]  entries below each child
/// </code>
/// </summary>
[StructLayout(LayoutKind.Sequential, Size = HeaderBytes)]
internal unsafe struct ScoreTreeInner
{
    private const int HeaderBytes = 8;
    private const int ChildBytes = 28;

    internal ushort Count;
    internal byte Level;

    internal static double* Scores(ScoreTreeInner* node) => (double*)((byte*)node + HeaderBytes);

    internal static byte** Members(ScoreTreeInner* node, int max) => (byte**)(Scores(node) + max);

    internal static byte** Children(ScoreTreeInner* node, int max) => Members(node, max) + max;

    internal static uint* Counts(ScoreTreeInner* node, int max) => (uint*)(Children(node, max) + max);

    internal static long BytesFor(int max) => HeaderBytes + ((long)ChildBytes * max);

    internal static ScoreTreeInner* Create(Arena arena, int level, int max)
    {
        var node = (ScoreTreeInner*)arena.Allocate(BytesFor(max));
        *node = default;
        node->Level = (byte)level;
        return node;
    }

    internal static void Free(Arena arena, ScoreTreeInner* node, int max) => arena.Free((byte*)node, BytesFor(max));

    internal static void Insert(ScoreTreeInner* node, int max, int index, double score, byte* member, byte* child, uint count)
    {
        double* scores = Scores(node);
        byte** members = Members(node, max);
        byte** children = Children(node, max);
        uint* counts = Counts(node, max);
        int behind = node->Count - index;
        new Span<double>(scores + index, behind).CopyTo(new Span<double>(scores + index + 1, behind));
        new Span<nint>(members + index, behind).CopyTo(new Span<nint>(members + index + 1, behind));
        new Span<nint>(children + index, behind).CopyTo(new Span<nint>(children + index + 1, behind));
        new Span<uint>(counts + index, behind).CopyTo(new Span<uint>(counts + index + 1, behind));
        scores[index] = score;
        members[index] = member;
        children[index] = child;
        counts[index] = count;
        node->Count++;
    }

    internal static void Remove(ScoreTreeInner* node, int max, int index)
    {
        double* scores = Scores(node);
        byte** members = Members(node, max);
        byte** children = Children(node, max);
        uint* counts = Counts(node, max);
        int behind = node->Count - index - 1;
        new Span<double>(scores + index + 1, behind).CopyTo(new Span<double>(scores + index, behind));
        new Span<nint>(members + index + 1, behind).CopyTo(new Span<nint>(members + index, behind));
        new Span<nint>(children + index + 1, behind).CopyTo(new Span<nint>(children + index, behind));
        new Span<uint>(counts + index + 1, behind).CopyTo(new Span<uint>(counts + index, behind));
        node->Count--;
    }

    /// <summary>Appends children to another node, which has space for them.</summary>
    internal static void Append(ScoreTreeInner* target, ScoreTreeInner* source, int start, int max)
    {
        int count = source->Count - start;
        int end = target->Count;
        new Span<double>(Scores(source) + start, count).CopyTo(new Span<double>(Scores(target) + end, count));
        new Span<nint>(Members(source, max) + start, count).CopyTo(new Span<nint>(Members(target, max) + end, count));
        new Span<nint>(Children(source, max) + start, count).CopyTo(new Span<nint>(Children(target, max) + end, count));
        new Span<uint>(Counts(source, max) + start, count).CopyTo(new Span<uint>(Counts(target, max) + end, count));
        target->Count += (ushort)count;
    }

    internal static uint Total(ScoreTreeInner* node, int max)
    {
        uint total = 0;
        foreach (uint count in new ReadOnlySpan<uint>(Counts(node, max), node->Count)) total += count;
        return total;
    }
}
