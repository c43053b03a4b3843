using RedKite.Store.Values.Packed;

namespace RedKite.Store.Values.Lists;

/// <summary>
/// The usual push on a <see cref="QuickList"/>: the node at the end is a packed list with room for one element more, so nothing
/// is allocated, nothing moves, and neither the arena nor a place in the list is needed for it.
/// </summary>
internal static unsafe class QuickListEnds
{
    /// <summary>Puts an element in front of a list whose first node has room for it there.</summary>
    /// <returns>Whether it has; otherwise nothing was done.</returns>
    internal static bool TryPushFirst(byte* list, ReadOnlySpan<byte> value, in ListLimits limits)
    {
        var header = (QuickListHeader*)list;
        QuickListPage* page = header->First;
        if (page == null) return false;
        QuickListNode* node = QuickListPage.NodesOf(page);
        if (node->IsCompact) return false;
        int added = PackedList.ElementBytes(value);
        byte* packed = node->List;
        if (node->Gap < added || !limits.Allow((long)PackedList.Bytes(packed) + added, node->Count + 1)) return false;
        node->MoveList(PackedList.Prepend(packed, value));
        CountOne(header, page, node);
        return true;
    }

    /// <summary>Puts an element at the end of a list whose last node has room for it there.</summary>
    /// <returns>Whether it has; otherwise nothing was done.</returns>
    internal static bool TryPushLast(byte* list, ReadOnlySpan<byte> value, in ListLimits limits)
    {
        var header = (QuickListHeader*)list;
        QuickListPage* page = header->Last;
        if (page == null) return false;
        QuickListNode* node = QuickListPage.NodesOf(page) + page->Nodes - 1;
        if (node->IsCompact) return false;
        int added = PackedList.ElementBytes(value);
        byte* packed = node->List;
        if (node->RoomBehind < added || !limits.Allow((long)PackedList.Bytes(packed) + added, node->Count + 1)) return false;
        PackedList.Insert(packed, PackedList.EndOf(packed), value);
        CountOne(header, page, node);
        return true;
    }

    private static void CountOne(QuickListHeader* header, QuickListPage* page, QuickListNode* node)
    {
        node->Count++;
        page->Count++;
        header->Count++;
    }
}
