using System.Diagnostics;
using System.Runtime.CompilerServices;
using RedKite.Store.Memory;

namespace RedKite.Store.Values.Streams;

/// <summary>
/// A B+ tree with stream ids as keys and records of a fixed size, in an arena: a stream's nodes, the pending entries of a
/// group and of a consumer. The owner ensures that keys are new, and stores the arena.
/// <code>
/// node: 0 u32 records   4 u32 unused   8 records, ascending
/// leaf's record:  0 id (16)  16 value
/// inner's record: 0 id (16)  16 the child with the ids from this one on; the first child also has all lower ids
/// </code>
/// A node's block is as large as its records, so that half-full nodes cost little. A full node splits in the middle, or after its
/// last record if the new one is appended: ids usually ascend, and the nodes then stay full.
/// Leaves are not linked, because they move when they grow; iteration descends again for every leaf.
/// </summary>
internal unsafe struct IdTree
{
    private const int RecordsMax = 64;
    private const int RecordsFew = 16;  // fewer: joined with a neighbour,
    private const int JoinedMax = 48;   // if the result can still grow

    private const int HeaderBytes = 8;
    private const int IdBytes = 16;
    private const int InnerRecordBytes = IdBytes + 8;

    // Nodes have 32 children after a split in the middle and 64 after one at the end; joins keep them from thinning out.
    private const int LevelsMax = 12;

    private byte* _root;
    private long _count;
    private long _bytes;
    private int _levels; // 1: the root is a leaf
    private int _recordBytes;

    /// <summary>Keys in the tree.</summary>
    internal readonly long Count => _count;

    /// <summary>Bytes of all blocks.</summary>
    internal readonly long Bytes => _bytes;

    /// <summary>Creates an empty tree with values of a fixed size, a multiple of 8.</summary>
    internal static IdTree Empty(int valueBytes) => new() { _recordBytes = IdBytes + valueBytes };

    /// <summary>The value of a key, or null. It stays where it is until the tree changes.</summary>
    internal readonly byte* Find(in StreamId id)
    {
        if (_levels == 0) return null;
        byte* node = _root;
        for (int level = _levels; level > 1; level--) node = *Child(node, Math.Max(0, Floor(node, InnerRecordBytes, id)));
        int index = Floor(node, _recordBytes, id);
        if (index < 0) return null;
        byte* record = Record(node, _recordBytes, index);
        return *(StreamId*)record == id ? record + IdBytes : null;
    }

    /// <summary>Goes to the first key that is not below an id.</summary>
    [SkipLocalsInit]
    internal readonly bool SeekCeiling(in StreamId id, out IdPosition position)
    {
        Span<Step> path = stackalloc Step[LevelsMax];
        position = default;
        if (_levels == 0) return false;
        int last = Descend(id, path);
        position = new IdPosition(path[last].Node, path[last].Index, _recordBytes);
        if (position.Index >= 0 && position.Id == id) return true;
        if (position.Index + 1 < CountOf(position.Leaf)) return position.MoveWithin(1);

        // All of the leaf is below: on with the leftmost leaf of the next subtree.
        for (int depth = last - 1; depth >= 0; depth--)
        {
            if (path[depth].Index + 1 >= CountOf(path[depth].Node)) continue;
            byte* node = *Child(path[depth].Node, path[depth].Index + 1);
            for (depth++; depth < last; depth++) node = *Child(node, 0);
            position = new IdPosition(node, 0, _recordBytes);
            return true;
        }

        return false;
    }

    /// <summary>Goes to the last key that is not above an id.</summary>
    [SkipLocalsInit]
    internal readonly bool SeekFloor(in StreamId id, out IdPosition position)
    {
        Span<Step> path = stackalloc Step[LevelsMax];
        position = default;
        if (_levels == 0) return false;
        int last = Descend(id, path);
        position = new IdPosition(path[last].Node, path[last].Index, _recordBytes);
        if (position.Index >= 0) return true;

        for (int depth = last - 1; depth >= 0; depth--)
        {
            if (path[depth].Index == 0) continue;
            byte* node = *Child(path[depth].Node, path[depth].Index - 1);
            for (depth++; depth < last; depth++) node = *Child(node, CountOf(node) - 1);
            position = new IdPosition(node, CountOf(node) - 1, _recordBytes);
            return true;
        }

        return false;
    }

    internal readonly bool SeekFirst(out IdPosition position) => SeekCeiling(default, out position);

    internal readonly bool SeekLast(out IdPosition position) => SeekFloor(StreamId.Max, out position);

    /// <summary>Moves to the next key; false at the end, where the position stays.</summary>
    internal readonly bool MoveNext(ref IdPosition position)
    {
        if (position.Index + 1 < CountOf(position.Leaf)) return position.MoveWithin(1);
        if (!position.Id.TryNext(out StreamId next) || !SeekCeiling(next, out IdPosition found)) return false;
        position = found;
        return true;
    }

    /// <summary>Moves to the previous key; false at the start, where the position stays.</summary>
    internal readonly bool MovePrevious(ref IdPosition position)
    {
        if (position.Index > 0) return position.MoveWithin(-1);
        if (!position.Id.TryPrevious(out StreamId previous) || !SeekFloor(previous, out IdPosition found)) return false;
        position = found;
        return true;
    }

    /// <summary>Adds a key that is not in the tree. The caller fills in the returned value.</summary>
    [SkipLocalsInit]
    internal byte* Add(Arena arena, in StreamId id)
    {
        _count++;
        if (_levels == 0)
        {
            _root = Allocate(arena, 1, _recordBytes);
            *(StreamId*)Record(_root, _recordBytes, 0) = id;
            _levels = 1;
            return Record(_root, _recordBytes, 0) + IdBytes;
        }

        Span<Step> path = stackalloc Step[LevelsMax];
        int leaf = Descend(id, path);
        return Insert(arena, path, leaf, path[leaf].Index + 1, id);
    }

    /// <summary>Removes a key; false if it is not there.</summary>
    [SkipLocalsInit]
    internal bool Remove(Arena arena, in StreamId id)
    {
        if (_levels == 0) return false;
        Span<Step> path = stackalloc Step[LevelsMax];
        int leaf = Descend(id, path);
        byte* node = path[leaf].Node;
        int index = path[leaf].Index;
        if (index < 0 || *(StreamId*)Record(node, _recordBytes, index) != id) return false;
        _count--;
        RemoveRecord(arena, path, leaf, index);
        return true;
    }

    /// <summary>Removes the leaf with the highest keys of a non-empty tree. The caller frees the values.</summary>
    /// <returns>How many keys it had.</returns>
    [SkipLocalsInit]
    internal int RemoveLastLeaf(Arena arena)
    {
        Span<Step> path = stackalloc Step[LevelsMax];
        int leaf = Descend(StreamId.Max, path);
        byte* node = path[leaf].Node;
        int removed = CountOf(node);
        _count -= removed;
        Free(arena, node, removed, _recordBytes);
        if (leaf == 0) BecomeEmpty();
        else RemoveRecord(arena, path, leaf - 1, path[leaf - 1].Index);
        return removed;
    }

    /// <summary>Removes a number of the lowest keys, at most those of the first leaf. The caller frees the values.</summary>
    [SkipLocalsInit]
    internal void RemoveFirst(Arena arena, int count)
    {
        Span<Step> path = stackalloc Step[LevelsMax];
        int leaf = Descend(default, path);
        _count -= count;
        RemoveRecords(arena, path, leaf, 0, count);
    }

    // Records the path to the leaf where an id is or would be; the index of a step is the child's, or the leaf's record at or below the id.
    private readonly int Descend(in StreamId id, Span<Step> path)
    {
        byte* node = _root;
        int leaf = _levels - 1;
        for (int depth = 0; depth < leaf; depth++)
        {
            path[depth].Node = node;
            path[depth].Index = Math.Max(0, Floor(node, InnerRecordBytes, id));
            node = *Child(node, path[depth].Index);
        }

        path[leaf].Node = node;
        path[leaf].Index = Floor(node, _recordBytes, id);
        return leaf;
    }

    // Inserts a record in the node at a depth of the path and returns the address of its value.
    private byte* Insert(Arena arena, Span<Step> path, int depth, int index, in StreamId id)
    {
        byte* node = path[depth].Node;
        int recordBytes = RecordBytesAt(depth);
        int count = CountOf(node);
        if (count < RecordsMax)
        {
            node = Resize(arena, node, count, count + 1, recordBytes);
            Relink(path, depth, node);
            return Place(node, index, count, recordBytes, id);
        }

        // Both halves are complete before the parent is updated, because that may move the parent's records.
        int kept = index == count ? count : count / 2;
        bool goesRight = index > kept || kept == count;
        byte* right = Allocate(arena, count - kept + (goesRight ? 1 : 0), recordBytes);
        Move(Record(node, recordBytes, kept), Record(right, recordBytes, 0), (long)(count - kept) * recordBytes);
        node = Resize(arena, node, count, kept + (goesRight ? 0 : 1), recordBytes);
        Relink(path, depth, node);
        byte* value = goesRight ? Place(right, index - kept, count - kept, recordBytes, id) : Place(node, index, kept, recordBytes, id);
        StreamId separator = *(StreamId*)Record(right, recordBytes, 0);
        if (depth == 0)
        {
            byte* root = Allocate(arena, 2, InnerRecordBytes);
            *(StreamId*)Record(root, InnerRecordBytes, 0) = *(StreamId*)Record(node, recordBytes, 0);
            *(StreamId*)Record(root, InnerRecordBytes, 1) = separator;
            *Child(root, 0) = node;
            *Child(root, 1) = right;
            _root = root;
            _levels++;
            Debug.Assert(_levels <= LevelsMax, "A tree of this height has more nodes than memory holds.");
        }
        else
        {
            *(byte**)Insert(arena, path, depth - 1, path[depth - 1].Index + 1, separator) = right;
        }

        return value;
    }

    // Inserts an id before the record at an index; the block has space for it.
    private static byte* Place(byte* node, int index, int count, int recordBytes, in StreamId id)
    {
        byte* record = Record(node, recordBytes, index);
        Move(record, record + recordBytes, (long)(count - index) * recordBytes);
        *(StreamId*)record = id;
        *(int*)node = count + 1;
        return record + IdBytes;
    }

    private void RemoveRecord(Arena arena, Span<Step> path, int depth, int index) => RemoveRecords(arena, path, depth, index, 1);

    private void RemoveRecords(Arena arena, Span<Step> path, int depth, int index, int removed)
    {
        byte* node = path[depth].Node;
        int recordBytes = RecordBytesAt(depth);
        int count = CountOf(node) - removed;
        if (count == 0)
        {
            Free(arena, node, removed, recordBytes);
            if (depth == 0) BecomeEmpty();
            else RemoveRecord(arena, path, depth - 1, path[depth - 1].Index);
            return;
        }

        byte* record = Record(node, recordBytes, index);
        Move(record + ((long)removed * recordBytes), record, (long)(count - index) * recordBytes);
        *(int*)node = count;
        node = Resize(arena, node, count + removed, count, recordBytes);
        Relink(path, depth, node);
        if (depth == 0) DropRootsOfOneChild(arena);
        else if (count < RecordsFew) JoinWithNeighbour(arena, path, depth - 1, path[depth - 1].Index, count);
    }

    private void BecomeEmpty()
    {
        _root = null;
        _levels = 0;
    }

    private void DropRootsOfOneChild(Arena arena)
    {
        while (_levels > 1 && CountOf(_root) == 1)
        {
            byte* child = *Child(_root, 0);
            Free(arena, _root, 1, InnerRecordBytes);
            _root = child;
            _levels--;
        }
    }

    private void JoinWithNeighbour(Arena arena, Span<Step> path, int parentDepth, int index, int count)
    {
        byte* parent = path[parentDepth].Node;
        int left;
        if (index + 1 < CountOf(parent) && CountOf(*Child(parent, index + 1)) + count <= JoinedMax) left = index;
        else if (index > 0 && CountOf(*Child(parent, index - 1)) + count <= JoinedMax) left = index - 1;
        else return;

        byte* first = *Child(parent, left);
        byte* second = *Child(parent, left + 1);
        int recordBytes = RecordBytesAt(parentDepth + 1);
        int firstCount = CountOf(first);
        int secondCount = CountOf(second);

        // An inner node's first id is meaningless while it is the first; from now on it is a separator.
        if (parentDepth + 2 < _levels) *(StreamId*)Record(second, recordBytes, 0) = *(StreamId*)Record(parent, InnerRecordBytes, left + 1);
        first = Resize(arena, first, firstCount, firstCount + secondCount, recordBytes);
        Move(Record(second, recordBytes, 0), Record(first, recordBytes, firstCount), (long)secondCount * recordBytes);
        *(int*)first = firstCount + secondCount;
        *Child(parent, left) = first;
        Free(arena, second, secondCount, recordBytes);
        RemoveRecord(arena, path, parentDepth, left + 1);
    }

    private void Relink(Span<Step> path, int depth, byte* node)
    {
        path[depth].Node = node;
        if (depth == 0) _root = node;
        else *Child(path[depth - 1].Node, path[depth - 1].Index) = node;
    }

    private readonly int RecordBytesAt(int depth) => depth == _levels - 1 ? _recordBytes : InnerRecordBytes;

    private byte* Allocate(Arena arena, int count, int recordBytes)
    {
        byte* node = arena.Allocate(BytesOf(count, recordBytes));
        *(long*)node = count;
        _bytes += BlockSize.RoundUp(BytesOf(count, recordBytes));
        return node;
    }

    private byte* Resize(Arena arena, byte* node, int count, int newCount, int recordBytes)
    {
        long bytes = BytesOf(count, recordBytes);
        long newBytes = BytesOf(newCount, recordBytes);
        _bytes += BlockSize.RoundUp(newBytes) - BlockSize.RoundUp(bytes);
        node = arena.Reallocate(node, bytes, newBytes);
        *(int*)node = Math.Min(count, newCount);
        return node;
    }

    private void Free(Arena arena, byte* node, int count, int recordBytes)
    {
        _bytes -= BlockSize.RoundUp(BytesOf(count, recordBytes));
        arena.Free(node, BytesOf(count, recordBytes));
    }

    private static long BytesOf(int count, int recordBytes) => HeaderBytes + ((long)count * recordBytes);

    // The index of the last record at or below an id; -1 when all are above.
    private static int Floor(byte* node, int recordBytes, in StreamId id)
    {
        int count = CountOf(node);
        if (*(StreamId*)Record(node, recordBytes, count - 1) <= id) return count - 1; // ids usually ascend
        int low = 0;
        int high = count - 1;
        while (low < high)
        {
            int middle = (low + high) >> 1;
            if (*(StreamId*)Record(node, recordBytes, middle) <= id) low = middle + 1;
            else high = middle;
        }

        return low - 1;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static int CountOf(byte* node) => *(int*)node;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static byte* Record(byte* node, int recordBytes, int index) => node + HeaderBytes + ((long)index * recordBytes);

    private static byte** Child(byte* node, int index) => (byte**)(Record(node, InnerRecordBytes, index) + IdBytes);

    private static void Move(byte* from, byte* to, long bytes) => Buffer.MemoryCopy(from, to, bytes, bytes);

    private struct Step
    {
        internal byte* Node;
        internal int Index;
    }

    /// <summary>A key's position in a tree, valid until the tree changes.</summary>
    internal struct IdPosition(byte* leaf, int index, int recordBytes)
    {
        internal readonly byte* Leaf => leaf;

        internal readonly int Index => index;

        internal readonly int CountInLeaf => CountOf(leaf);

        internal readonly StreamId Id => *(StreamId*)Record(leaf, recordBytes, index);

        internal readonly byte* Value => Record(leaf, recordBytes, index) + IdBytes;

        internal bool MoveWithin(int records)
        {
            index += records;
            return true;
        }
    }
}
