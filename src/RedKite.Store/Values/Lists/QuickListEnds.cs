using RedKite.Store.Values.Packed;

namespace RedKite.Store.Values.Lists;

/// <summary>
/// The common case of a push on a <see cref="QuickList"/>: the node at the end is a packed list with space for one more element, so
/// nothing is allocated or moved, and neither the arena nor a position in the list is needed.
/// </summary>
internal static unsafe class QuickListEnds
{
    /// <summary>Prepends an element to a list whose first node has space for it.</summary>
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
        if (node->Gap < added || !limits.AllowOneMore(PackedList.Bytes(packed), value.Length, node->Count)) return false;
        node->MoveList(PackedList.Prepend(packed, value));
        CountOne(header, page, node);
        return true;
    }

    /// <summary>Appends an element to a list whose last node has space for it.</summary>
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
        if (node->RoomBehind < added || !limits.AllowOneMore(PackedList.Bytes(packed), value.Length, node->Count)) return false;
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
