using System.Runtime.CompilerServices;
using RedKite.Store.Memory;
using RedKite.Store.Values.Packed;

namespace RedKite.Store.Values.Lists;

/// <summary>
/// A long list: a sequence of packed lists no larger than the limits, held in linked pages (<see cref="QuickListPage"/>), so that
/// an element is found by its index without visiting all nodes. An element larger than the limits has a node of its own.
/// </summary>
/// <remarks>
/// The two nodes at each end, or list-compress-depth of them, stay packed lists: pushes and pops work on them. Nodes further
/// inside are converted to compact lists (<see cref="CompactList"/>) once, in the background rather than by the push: see
/// <see cref="WarmLists"/>. A compact node that is modified becomes a packed list again and stays one. The first node has free
/// space in front of its elements, so that pushes and pops there move no bytes.
/// </remarks>
internal readonly unsafe ref partial struct QuickList
{
    // A block that grows is copied. Its size doubles up to this limit; beyond, it grows by the bytes that are needed.
    private const int FirstCapacity = 64;

    // A block shrinks when three quarters of it are empty.
    private const int ShrinkDivisor = 4;

    private const int FirstPageNodes = 4;

    // How many nodes are freed immediately when a range is removed; the blocks of further nodes are freed in slices.
    private const int NodesAtOnce = 16;

    private readonly Arena _arena;
    private readonly QuickListHeader* _header;
    private readonly ListLimits _limits;

    internal QuickList(Arena arena, byte* header, ListLimits limits)
    {
        _arena = arena;
        _header = (QuickListHeader*)header;
        _limits = limits;
    }

    internal long Count => _header->Count;

    internal QuickListPosition FirstNode => new() { Page = _header->First };

    internal QuickListPosition LastNode => new() { Page = _header->Last, Slot = _header->Last == null ? 0 : _header->Last->Nodes - 1 };

    /// <summary>Whether the list has exactly one node.</summary>
    internal bool HasOneNode => _header->First == _header->Last && _header->First != null && _header->First->Nodes == 1;

    /// <summary>Creates an empty list.</summary>
    internal static byte* New(Arena arena)
    {
        var header = (QuickListHeader*)arena.Allocate(sizeof(QuickListHeader));
        *header = default;
        return (byte*)header;
    }

    /// <summary>Frees the list's own block. The nodes and pages must have been freed before.</summary>
    internal static void FreeHeader(Arena arena, byte* header)
    {
        WarmLists.Forget((QuickListHeader*)header);
        arena.Free(header, sizeof(QuickListHeader));
    }

    /// <summary>The size of all blocks, in bytes.</summary>
    internal static long Bytes(byte* header) => ((QuickListHeader*)header)->Bytes + BlockSize.RoundUp(sizeof(QuickListHeader));

    /// <summary>Appends a copy of a packed list as the last node.</summary>
    internal void AppendNode(ReadOnlySpan<byte> packed, int count)
    {
        byte* block = AllocateBlock(packed.Length);
        packed.CopyTo(new Span<byte>(block, packed.Length));
        var node = default(QuickListNode);
        node.SetList(block, packed.Length, gap: 0);
        node.Count = (ushort)count;
        InsertNode(LastNode, after: true, node);
    }

    /// <summary>Appends a copy of another list's node as the last node.</summary>
    /// <param name="node">The node.</param>
    /// <param name="block">A copy of the node's first <see cref="QuickListNode.UsedBytes"/>. The list takes ownership.</param>
    internal void AppendCopy(QuickListNode node, byte* block)
    {
        long bytes = node.UsedBytes;
        _header->Bytes += BlockSize.RoundUp(bytes);
        if (node.IsCompact) node.SetCompact(block, (int)bytes);
        else node.SetList(block, bytes, gap: 0);
        InsertNode(LastNode, after: true, node);
    }

    /// <returns>Whether a new first node was added, so that one more node may be made compact.</returns>
    internal bool PushFirst(ReadOnlySpan<byte> value)
    {
        QuickListPosition position = FirstNode;
        int added = PackedList.ElementBytes(value);
        if (position.Exists && Accepts(position, value.Length))
        {
            Unpack(position);
            InsertAt(position, PackedList.Start, value, added);
            return false;
        }

        InsertNode(position, after: false, NewNode(value, added));
        CountWarm(ref _header->WarmFirst);
        return true;
    }

    /// <returns>Whether a new last node was added, so that one more node may be made compact.</returns>
    internal bool PushLast(ReadOnlySpan<byte> value)
    {
        QuickListPosition position = LastNode;
        int added = PackedList.ElementBytes(value);
        if (position.Exists && Accepts(position, value.Length))
        {
            Unpack(position);
            InsertAt(position, PackedList.EndOf(position.Node->List), value, added);
            return false;
        }

        InsertNode(position, after: true, NewNode(value, added));
        CountWarm(ref _header->WarmLast);
        return true;
    }

    /// <summary>Finds an element by its index, which must exist.</summary>
    internal QuickListPosition Locate(long index)
    {
        var position = default(QuickListPosition);
        if (index * 2 < _header->Count)
        {
            position.Page = _header->First;
            for (; index >= position.Page->Count; position.Page = position.Page->Next) index -= position.Page->Count;
        }
        else
        {
            position.Page = _header->Last;
            long behind = _header->Count - index; // at least 1
            for (; behind > position.Page->Count; position.Page = position.Page->Previous) behind -= position.Page->Count;
            index = position.Page->Count - behind;
        }

        if (index * 2 < position.Page->Count)
        {
            for (QuickListNode* node = position.Node; index >= node->Count; node++, position.Slot++) index -= node->Count;
        }
        else
        {
            index -= position.Page->Count; // negative: counted from the end
            position.Slot = position.Page->Nodes - 1;
            for (QuickListNode* node = position.Node; (index += node->Count) < 0; node--) position.Slot--;
        }

        position.Index = (int)index;
        return position;
    }

    /// <summary>Replaces an element.</summary>
    internal void Replace(long index, ReadOnlySpan<byte> value)
    {
        QuickListPosition position = Locate(index);
        Unpack(position);
        QuickListNode* node = position.Node;
        int offset = PackedList.At(node->List, position.Index);
        int added = PackedList.ElementBytes(value) - PackedList.ElementBytes(node->List, offset);
        if (added > 0 && node->Count > 1 && !_limits.Allow(node->PackedBytes + added, node->Count))
        {
            // Inserts first and then removes, so that the list is never empty.
            Insert(index, after: false, value);
            Remove(index + 1, 1);
            return;
        }

        // As in Redis, an element that replaces one with a node of its own joins the neighbouring nodes.
        if (added < 0 && node->Count == 1 && !_limits.Allow(node->PackedBytes, 1))
        {
            Insert(index, after: true, value);
            Remove(index, 1);
            return;
        }

        if (added > 0) MakeRoom(position, offset, added);
        PackedList.Replace(node->List, offset, value);
        if (added < 0) Shrink(node);
    }

    /// <summary>Removes a number of elements, which must exist.</summary>
    internal void Remove(long index, long count)
    {
        QuickListPosition position = Locate(index);
        int nodesLeft = NodesAtOnce;
        while (count > 0)
        {
            QuickListNode* node = position.Node;
            int removed = (int)Math.Min(count, node->Count - position.Index);
            count -= removed;
            if (removed == node->Count)
            {
                position = RemoveNode(position, later: --nodesLeft < 0);
                continue;
            }

            RemoveElements(position, removed);
            if (count == 0) break;
            position = position.NextNode;
        }
    }

    /// <summary>Removes a node's elements that are equal to a value, starting at its front or at its end.</summary>
    /// <param name="position">The node; on return, the next one in the direction of the search.</param>
    /// <param name="value">The value to remove.</param>
    /// <param name="countMax">The maximum number of elements to remove.</param>
    /// <param name="backwards">Whether to start at the end.</param>
    /// <returns>The number of removed elements.</returns>
    internal int RemoveEqual(ref QuickListPosition position, ReadOnlySpan<byte> value, long countMax, bool backwards)
    {
        int removed = HasEqual(position, value) ? RemoveEqualInNode(position, value, countMax, backwards) : 0;
        QuickListPosition next = backwards ? position.PreviousNode : position.NextNode;
        if (position.Node->Count == 0)
        {
            QuickListPosition following = RemoveNode(position);
            next = !backwards ? following : following.Exists ? following.PreviousNode : LastNode;
        }

        position = next;
        return removed;
    }

    /// <summary>Returns the first or last element. A compact node is converted to a packed list, because the caller is about to remove the element.</summary>
    internal PackedElement ReadEnd(bool last)
    {
        QuickListPosition position = last ? LastNode : FirstNode;
        Unpack(position);
        byte* list = position.Node->List;
        return PackedList.Read(list, last ? PackedList.Last(list) : PackedList.Start);
    }

    /// <summary>Returns a node's packed list. A compact node is converted first.</summary>
    internal byte* PackedOf(QuickListPosition position)
    {
        Unpack(position);
        return position.Node->List;
    }

    /// <summary>Converts warm nodes to compact lists, the innermost first, until about the given number of bytes has been processed.</summary>
    /// <returns>Whether some are left.</returns>
    internal bool Cool(int bytesMax)
    {
        for (int bytes = 0; bytes < bytesMax;)
        {
            if (!TryTakeWarm(ref _header->WarmLast, last: true, out QuickListPosition position) &&
                !TryTakeWarm(ref _header->WarmFirst, last: false, out position)) return false;
            bytes += Cool(position.Node);
        }

        return true;
    }

    /// <summary>Frees the first node.</summary>
    internal void RemoveFirstNode() => RemoveNode(FirstNode);

    /// <summary>Frees at most the given number of nodes, and the list's own block after the last one.</summary>
    /// <returns>Whether something is left.</returns>
    internal static bool FreeSlice(Arena arena, ref byte* header, int nodesMax)
    {
        WarmLists.Forget((QuickListHeader*)header);
        var list = new QuickList(arena, header, default);
        for (int i = 0; i < nodesMax && list.LastNode is { Exists: true } last; i++) list.RemoveNode(last);
        if (list.FirstNode.Exists) return true;
        FreeHeader(arena, header);
        header = null;
        return false;
    }

    private bool Accepts(QuickListPosition position, int textBytes) => _limits.AllowOneMore(position.Node->PackedBytes, textBytes, position.Node->Count);

    private void AddCount(QuickListPosition position, int elements)
    {
        position.Node->Count = (ushort)(position.Node->Count + elements);
        position.Page->Count += elements;
        _header->Count += elements;
    }

    private void InsertAt(QuickListPosition position, int offset, ReadOnlySpan<byte> value, int added)
    {
        QuickListNode* node = position.Node;
        if (offset == PackedList.Start && node->Gap >= added)
        {
            node->MoveList(PackedList.Prepend(node->List, value));
        }
        else if (offset == PackedList.Start && !position.PreviousNode.Exists)
        {
            MakeRoomInFront(position, added);
            node->MoveList(PackedList.Prepend(node->List, value));
        }
        else
        {
            MakeRoom(position, offset, added);
            PackedList.Insert(node->List, offset, value);
        }

        AddCount(position, 1);
    }

    private void RemoveElements(QuickListPosition position, int count)
    {
        Unpack(position);
        QuickListNode* node = position.Node;
        byte* list = node->List;
        if (position.Index == 0 && node->Capacity <= QuickListNode.GapMax) node->MoveList(PackedList.RemoveFirst(list, count));
        else PackedList.Remove(list, PackedList.At(list, position.Index), count);
        AddCount(position, -count);
        Shrink(node);
    }

    private bool HasEqual(QuickListPosition position, ReadOnlySpan<byte> value)
    {
        if (!position.Node->IsCompact) return PackedList.Find(position.Node->List, PackedList.Start, value) >= 0;
        return CompactList.Contains(position.Node->Block, value);
    }

    private int RemoveEqualInNode(QuickListPosition position, ReadOnlySpan<byte> value, long countMax, bool backwards)
    {
        Unpack(position);
        byte* list = position.Node->List;
        int removed = PackedList.RemoveEqual(list, value, countMax, backwards);
        AddCount(position, -removed);
        Shrink(position.Node);
        return removed;
    }

    // Nodes.
    private QuickListNode NewNode(ReadOnlySpan<byte> value, int added)
    {
        long capacity = PackedList.EmptyBytes + (long)added;
        capacity = Math.Max(capacity, Math.Min(FirstCapacity, _limits.BytesMax));
        byte* block = AllocateBlock(capacity);
        PackedList.Initialize(block);
        PackedList.Insert(block, PackedList.Start, value);
        var node = default(QuickListNode);
        node.SetList(block, capacity, gap: 0);
        node.Count = 1;
        return node;
    }

    private void Unpack(QuickListPosition position)
    {
        QuickListNode* node = position.Node;
        if (!node->IsCompact) return;
        int bytes = CompactList.PackedBytes(node->Block);
        byte* block = AllocateBlock(bytes);
        CompactList.Unpack(node->Block, block);
        FreeBlock(node->Block, node->Capacity);
        node->SetList(block, bytes, gap: 0);
    }

    // Warm nodes: the nodes at an end for which no conversion to a compact list was attempted, including those that always stay
    // packed there. They are counted, not marked: after insertions and removals further inside, the count may be wrong, and then
    // a node's conversion is attempted twice or never.
    private void CountWarm(ref int warm)
    {
        _header->PlainNodes = _limits.PlainNodes;
        _header->HasGrown = true;
        warm = Math.Max(warm, _limits.PlainNodes) + 1;
    }

    private bool TryTakeWarm(ref int warm, bool last, out QuickListPosition position)
    {
        position = default;
        int plain = _header->PlainNodes;
        warm = Math.Min(warm, _header->Nodes - plain); // the nodes near the other end stay packed too
        if (warm <= plain) return false;
        warm--;
        position = NodeAt(last ? _header->Nodes - 1 - warm : warm);
        return true;
    }

    private QuickListPosition NodeAt(int index)
    {
        QuickListPage* page = _header->First;
        if (index * 2L < _header->Nodes)
        {
            for (; index >= page->Nodes; page = page->Next) index -= page->Nodes;
            return new QuickListPosition { Page = page, Slot = index };
        }

        index -= _header->Nodes; // negative: counted from the end
        for (page = _header->Last; index + page->Nodes < 0; page = page->Previous) index += page->Nodes;
        return new QuickListPosition { Page = page, Slot = index + page->Nodes };
    }

    // Converts a node to a compact list, or trims its block if that saves nothing. Returns the number of bytes that were read.
    [SkipLocalsInit]
    private int Cool(QuickListNode* node)
    {
        if (node->IsCompact) return 1;
        int packedBytes = node->PackedBytes;
        Span<byte> shared = stackalloc byte[node->Count]; // an element takes at least two bytes, so this is at most 32 KiB
        int bytes = CompactList.Measure(node->List, shared, out CompactAlphabet alphabet);
        if (bytes == 0)
        {
            Resize(node, packedBytes, gap: 0);
            return packedBytes;
        }

        byte* block = AllocateBlock(bytes);
        CompactList.Write(node->List, block, shared, ref alphabet);
        FreeBlock(node->Block, node->Capacity);
        node->SetCompact(block, bytes);
        return packedBytes;
    }

    // Grows a block for a change at an offset. If elements are also added at the front, half of the free space is placed there.
    private void MakeRoom(QuickListPosition position, int offset, int added)
    {
        QuickListNode* node = position.Node;
        if (node->RoomBehind >= added) return;
        long needed = (long)node->PackedBytes + added;
        bool isFirst = !position.PreviousNode.Exists;
        long room = node->Capacity - needed;
        if (room >= node->Capacity / 8)
        {
            Slide(node, isFirst ? room / 2 : 0);
            return;
        }

        bool grows = offset == PackedList.EndOf(node->List);
        Resize(node, grows ? GrownCapacity(node, needed) : needed, gap: 0);
    }

    private void MakeRoomInFront(QuickListPosition position, int added)
    {
        QuickListNode* node = position.Node;
        long needed = (long)node->PackedBytes + added;
        bool isLast = !position.NextNode.Exists;
        long room = node->Capacity - needed;
        if (room >= node->Capacity / 8)
        {
            Slide(node, added + (isLast ? room / 2 : room));
            return;
        }

        long capacity = Math.Max(node->Capacity, GrownCapacity(node, needed));
        Resize(node, capacity, capacity - node->PackedBytes);
    }

    private long GrownCapacity(QuickListNode* node, long needed) =>
        Math.Max(needed, Math.Min(Math.Max(FirstCapacity, 2L * node->Capacity), _limits.BytesMax));

    private void Shrink(QuickListNode* node)
    {
        long bytes = node->PackedBytes;
        if (node->Capacity > FirstCapacity && bytes * ShrinkDivisor < node->Capacity) Resize(node, bytes, gap: 0);
    }

    private static void Slide(QuickListNode* node, long wishedGap)
    {
        int gap = (int)Math.Min(wishedGap, QuickListNode.GapMax);
        int bytes = node->PackedBytes;
        Buffer.MemoryCopy(node->List, node->Block + gap, bytes, bytes);
        node->MoveList(node->Block + gap);
    }

    private void Resize(QuickListNode* node, long capacity, long gap)
    {
        gap = Math.Min(gap, QuickListNode.GapMax);
        if (BlockSize.RoundUp(capacity) == BlockSize.RoundUp(node->Capacity) && gap == node->Gap) return;
        if (gap == 0 && node->Gap == 0)
        {
            _header->Bytes += BlockSize.RoundUp(capacity) - BlockSize.RoundUp(node->Capacity);
            node->SetList(_arena.Reallocate(node->Block, node->Capacity, capacity), capacity, gap: 0);
            return;
        }

        int bytes = node->PackedBytes;
        byte* block = AllocateBlock(capacity);
        Buffer.MemoryCopy(node->List, block + gap, bytes, bytes);
        FreeBlock(node->Block, node->Capacity);
        node->SetList(block, capacity, (int)gap);
    }

    private byte* AllocateBlock(long bytes)
    {
        _header->Bytes += BlockSize.RoundUp(bytes);
        return _arena.Allocate(bytes);
    }

    private void FreeBlock(byte* block, long bytes)
    {
        _header->Bytes -= BlockSize.RoundUp(bytes);
        _arena.Free(block, bytes);
    }

    // Pages.
    private QuickListPosition InsertNode(QuickListPosition position, bool after, QuickListNode node)
    {
        if (!position.Exists)
        {
            position = new QuickListPosition { Page = LinkPage(null, FirstPageNodes) };
        }
        else
        {
            if (after) position.Slot++;
            position = MakePosition(position);
        }

        position.Index = 0;
        QuickListNode* slot = position.Node;
        new Span<QuickListNode>(slot, position.Page->Nodes - position.Slot).CopyTo(new Span<QuickListNode>(slot + 1, position.Page->Nodes - position.Slot));
        *slot = node;
        position.Page->Nodes++;
        position.Page->Count += node.Count;
        _header->Nodes++;
        _header->Count += node.Count;
        return position;
    }

    // Returns a page with capacity for a node at the position, which may be behind the page's last node.
    private QuickListPosition MakePosition(QuickListPosition position)
    {
        QuickListPage* page = position.Page;
        if (page->Nodes < page->Capacity) return position;
        if (page->Capacity < QuickListPage.NodesMax)
        {
            position.Page = GrowPage(page, Math.Min(2 * page->Capacity, QuickListPage.NodesMax));
            return position;
        }

        if (position.Slot == page->Nodes && page->Next != null && page->Next->Nodes < QuickListPage.NodesMax) return MakePosition(new QuickListPosition { Page = page->Next });
        if (position.Slot == 0 && page->Previous != null && page->Previous->Nodes < QuickListPage.NodesMax) return MakePosition(new QuickListPosition { Page = page->Previous, Slot = page->Previous->Nodes });
        if (position.Slot == page->Nodes) return new QuickListPosition { Page = LinkPage(page, page->Next == null ? FirstPageNodes : QuickListPage.NodesMax) };
        if (position.Slot == 0) return new QuickListPosition { Page = page->Previous == null ? LinkPage(null, FirstPageNodes) : LinkPage(page->Previous, QuickListPage.NodesMax) };

        // In the middle: half of the nodes move to a new page.
        QuickListPage* behind = LinkPage(page, QuickListPage.NodesMax);
        int kept = page->Nodes / 2;
        behind->Nodes = page->Nodes - kept;
        page->Nodes = kept;
        QuickListNode* from = QuickListPage.NodesOf(page) + kept;
        for (int i = 0; i < behind->Nodes; i++)
        {
            QuickListPage.NodesOf(behind)[i] = from[i];
            behind->Count += from[i].Count;
        }

        page->Count -= behind->Count;
        return position.Slot <= kept ? position : new QuickListPosition { Page = behind, Slot = position.Slot - kept };
    }

    // Adds a page behind another one, or before all of them.
    private QuickListPage* LinkPage(QuickListPage* previous, int capacity)
    {
        _header->Bytes += BlockSize.RoundUp(QuickListPage.BytesFor(capacity));
        QuickListPage* page = QuickListPage.Allocate(_arena, capacity);
        page->Previous = previous;
        page->Next = previous == null ? _header->First : previous->Next;
        SetLinks(page);
        return page;
    }

    private QuickListPage* GrowPage(QuickListPage* page, int capacity)
    {
        _header->Bytes += BlockSize.RoundUp(QuickListPage.BytesFor(capacity)) - BlockSize.RoundUp(QuickListPage.BytesFor(page->Capacity));
        page = (QuickListPage*)_arena.Reallocate((byte*)page, QuickListPage.BytesFor(page->Capacity), QuickListPage.BytesFor(capacity));
        page->Capacity = capacity;
        SetLinks(page);
        return page;
    }

    private void SetLinks(QuickListPage* page)
    {
        if (page->Previous == null) _header->First = page;
        else page->Previous->Next = page;
        if (page->Next == null) _header->Last = page;
        else page->Next->Previous = page;
    }

    // Frees a node and returns the position of the next one.
    private QuickListPosition RemoveNode(QuickListPosition position, bool later = false)
    {
        QuickListPage* page = position.Page;
        QuickListNode* node = position.Node;
        if (later)
        {
            _header->Bytes -= BlockSize.RoundUp(node->Capacity);
            _arena.FreeLater(node->Block, node->Capacity);
        }
        else
        {
            FreeBlock(node->Block, node->Capacity);
        }

        if (position.Slot == 0 && page->Previous == null && _header->WarmFirst > 0) _header->WarmFirst--;
        if (position.Slot == page->Nodes - 1 && page->Next == null && _header->WarmLast > 0) _header->WarmLast--;
        page->Count -= node->Count;
        _header->Count -= node->Count;
        _header->Nodes--;
        page->Nodes--;
        new Span<QuickListNode>(node + 1, page->Nodes - position.Slot).CopyTo(new Span<QuickListNode>(node, page->Nodes - position.Slot));
        if (page->Nodes > 0) return position.Slot < page->Nodes ? position with { Index = 0 } : new QuickListPosition { Page = page->Next };

        QuickListPage* next = page->Next;
        if (page->Previous == null) _header->First = next;
        else page->Previous->Next = next;
        if (next == null) _header->Last = page->Previous;
        else next->Previous = page->Previous;
        _header->Bytes -= BlockSize.RoundUp(QuickListPage.BytesFor(page->Capacity));
        _arena.Free((byte*)page, QuickListPage.BytesFor(page->Capacity));
        return new QuickListPosition { Page = next };
    }
}
