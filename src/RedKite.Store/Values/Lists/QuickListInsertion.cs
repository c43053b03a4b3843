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
        QuickListPlace place = Locate(index);
        if (after) place.Index++;
        if (Accepts(place, value.Length))
        {
            Unpack(place);
            InsertAt(place, place.Index == place.Node->Count ? PackedList.EndOf(place.Node->List) : PackedList.At(place.Node->List, place.Index), value, added);
        }
        else if (place.Index == 0 || place.Index == place.Node->Count)
        {
            InsertBeside(place, after, value, added);
        }
        else
        {
            InsertSplitting(place, after, value, added);
        }
    }

    // At a full node's end: into the neighbour on that side if it has space, otherwise as a node.
    private void InsertBeside(QuickListPlace place, bool after, ReadOnlySpan<byte> value, int added)
    {
        QuickListPlace neighbour = after ? place.NextNode : place.PreviousNode;
        if (!neighbour.Exists || !Accepts(neighbour, value.Length))
        {
            InsertNode(place, after, NewNode(value, added));
            return;
        }

        Unpack(neighbour);
        InsertAt(neighbour, after ? PackedList.Start : PackedList.EndOf(neighbour.Node->List), value, added);
    }

    // The element joins the part that does not contain its neighbour.
    private void InsertSplitting(QuickListPlace place, bool after, ReadOnlySpan<byte> value, int added)
    {
        QuickListPlace head = Split(place);
        QuickListPlace part = after ? head.NextNode : head;
        if (!Accepts(part, value.Length))
        {
            InsertNode(head, after: true, NewNode(value, added));
            return;
        }

        InsertAt(part, after ? PackedList.Start : PackedList.EndOf(part.Node->List), value, added);
        MergeAround(after ? head : head.NextNode);
    }

    // Merges the two nodes before a node, the two behind it, and the node with what is now on either side.
    private void MergeAround(QuickListPlace center)
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
    private QuickListPlace Split(QuickListPlace place)
    {
        Unpack(place);
        QuickListNode* node = place.Node;
        byte* list = node->List;
        int offset = PackedList.At(list, place.Index);
        int rest = node->Count - place.Index;
        int bytes = PackedList.EndOf(list) - offset;
        byte* block = AllocateBlock(PackedList.EmptyBytes + bytes);
        PackedList.Initialize(block);
        PackedList.InsertRaw(block, PackedList.Start, new ReadOnlySpan<byte>(list + offset, bytes), rest);
        PackedList.Remove(list, offset, rest);
        AddCount(place, -rest);
        Shrink(node);
        var behind = default(QuickListNode);
        behind.SetList(block, PackedList.EmptyBytes + bytes, gap: 0);
        behind.Count = (ushort)rest;
        return InsertNode(place, after: true, behind).PreviousNode;
    }

    // Whether the next node's elements are in this node now, and the next node is gone.
    private bool TryMergeWithNext(QuickListPlace place)
    {
        QuickListPlace next = place.NextNode;
        if (!next.Exists || place.Node->Count + next.Node->Count > ushort.MaxValue) return false;
        int bytes = place.Node->PackedBytes + next.Node->PackedBytes - PackedList.EmptyBytes;
        if (!_limits.Allow(bytes, place.Node->Count + next.Node->Count)) return false;
        Unpack(place);
        Unpack(next);
        byte* list = next.Node->List;
        int moved = next.Node->Count;
        int added = PackedList.EndOf(list) - PackedList.Start;
        int end = PackedList.EndOf(place.Node->List);
        MakeRoom(place, end, added);
        PackedList.InsertRaw(place.Node->List, end, new ReadOnlySpan<byte>(list + PackedList.Start, added), moved);
        AddCount(place, moved);
        RemoveNode(next);
        return true;
    }
}
