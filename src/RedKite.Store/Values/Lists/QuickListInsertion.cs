using RedKite.Store.Values.Packed;

namespace RedKite.Store.Values.Lists;

/// <summary>
/// Insertion into a <see cref="QuickList"/>. Nodes end where they end in Redis, because OBJECT ENCODING depends on it: a list that
/// shrinks is a packed list again once it has a single node. So an insertion that splits a node merges its neighbours, as
/// observed in redis-server 8.0.2, and nothing else merges nodes.
/// </summary>
internal readonly unsafe ref partial struct QuickList
{
    /// <summary>Inserts an element before or after the one at an index.</summary>
    internal void Insert(long index, bool after, ReadOnlySpan<byte> value)
    {
        int added = PackedList.ElementBytes(value);
        QuickListPosition position = Locate(index);
        if (after) position.Index++;
        if (Accepts(position, value.Length))
        {
            Unpack(position);
            InsertAt(position, position.Index == position.Node->Count ? PackedList.EndOf(position.Node->List) : PackedList.At(position.Node->List, position.Index), value, added);
        }
        else if (position.Index == 0 || position.Index == position.Node->Count)
        {
            InsertBeside(position, after, value, added);
        }
        else
        {
            InsertSplitting(position, after, value, added);
        }
    }

    // At a full node's end: into the neighbour on that side if it has space, otherwise as a node.
    private void InsertBeside(QuickListPosition position, bool after, ReadOnlySpan<byte> value, int added)
    {
        QuickListPosition neighbour = after ? position.NextNode : position.PreviousNode;
        if (!neighbour.Exists || !Accepts(neighbour, value.Length))
        {
            InsertNode(position, after, NewNode(value, added));
            return;
        }

        Unpack(neighbour);
        InsertAt(neighbour, after ? PackedList.Start : PackedList.EndOf(neighbour.Node->List), value, added);
    }

    // The element joins the part that does not contain its neighbour.
    private void InsertSplitting(QuickListPosition position, bool after, ReadOnlySpan<byte> value, int added)
    {
        QuickListPosition head = Split(position);
        QuickListPosition part = after ? head.NextNode : head;
        if (!Accepts(part, value.Length))
        {
            InsertNode(head, after: true, NewNode(value, added));
            return;
        }

        InsertAt(part, after ? PackedList.Start : PackedList.EndOf(part.Node->List), value, added);
        MergeAround(after ? head : head.NextNode);
    }

    // Merges the two nodes before a node, the two behind it, and the node with what is now on either side.
    private void MergeAround(QuickListPosition center)
    {
        if (center.NextNode is { Exists: true } next) TryMergeWithNext(next);
        if (center.PreviousNode is { Exists: true } previous)
        {
            if (previous.PreviousNode is { Exists: true } first) previous = TryMergeWithNext(first) ? first : first.NextNode;
            center = TryMergeWithNext(previous) ? previous : previous.NextNode;
        }

        TryMergeWithNext(center);
    }

    // Splits a node: it keeps the elements before the position, a new node behind it gets the others.
    private QuickListPosition Split(QuickListPosition position)
    {
        Unpack(position);
        QuickListNode* node = position.Node;
        byte* list = node->List;
        int offset = PackedList.At(list, position.Index);
        int rest = node->Count - position.Index;
        int bytes = PackedList.EndOf(list) - offset;
        byte* block = AllocateBlock(PackedList.EmptyBytes + bytes);
        PackedList.Initialize(block);
        PackedList.InsertRaw(block, PackedList.Start, new ReadOnlySpan<byte>(list + offset, bytes), rest);
        PackedList.Remove(list, offset, rest);
        AddCount(position, -rest);
        Shrink(node);
        var behind = default(QuickListNode);
        behind.SetList(block, PackedList.EmptyBytes + bytes, gap: 0);
        behind.Count = (ushort)rest;
        return InsertNode(position, after: true, behind).PreviousNode;
    }

    // Whether the next node's elements are in this node now, and the next node is gone.
    private bool TryMergeWithNext(QuickListPosition position)
    {
        QuickListPosition next = position.NextNode;
        if (!next.Exists || position.Node->Count + next.Node->Count > ushort.MaxValue) return false;
        int bytes = position.Node->PackedBytes + next.Node->PackedBytes - PackedList.EmptyBytes;
        if (!_limits.Allow(bytes, position.Node->Count + next.Node->Count)) return false;
        Unpack(position);
        Unpack(next);
        byte* list = next.Node->List;
        int moved = next.Node->Count;
        int added = PackedList.EndOf(list) - PackedList.Start;
        int end = PackedList.EndOf(position.Node->List);
        MakeRoom(position, end, added);
        PackedList.InsertRaw(position.Node->List, end, new ReadOnlySpan<byte>(list + PackedList.Start, added), moved);
        AddCount(position, moved);
        RemoveNode(next);
        return true;
    }
}
