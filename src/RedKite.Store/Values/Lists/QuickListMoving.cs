namespace RedKite.Store.Values.Lists;

/// <content>Moving the list's blocks: see <see cref="BlockMover"/>.</content>
internal readonly unsafe ref partial struct QuickList
{
    /// <summary>Moves nodes, pages and the list's own block, those that have to move.</summary>
    /// <param name="mover">Moves blocks.</param>
    /// <param name="list">The list's own block.</param>
    /// <param name="cursor">The number of nodes that were looked at.</param>
    /// <param name="work">The blocks to look at.</param>
    /// <returns>Whether there are more.</returns>
    internal static bool Move(BlockMover mover, ref byte* list, ref MoveCursor cursor, ref int work)
    {
        if (cursor.IsAtStart) list = MoveHeader(mover, list);
        var header = (QuickListHeader*)list;
        ulong start = 0; // the number of the page's first node
        for (QuickListPage* page = header->First; page != null; page = page->Next)
        {
            ulong end = start + (ulong)page->Nodes;
            if (cursor.Position <= start) page = MovePage(mover, header, page);
            for (ulong node = Math.Max(start, cursor.Position); node < end; node++)
            {
                if (work <= 0)
                {
                    cursor = cursor.At(node);
                    return true;
                }

                MoveNode(mover, QuickListPage.NodesOf(page) + (node - start), ref work);
            }

            start = end;
        }

        return false;
    }

    private static byte* MoveHeader(BlockMover mover, byte* list)
    {
        byte* moved = mover.Copy(list, sizeof(QuickListHeader));
        if (moved == null) return list;
        var header = (QuickListHeader*)moved;
        if (header->NextWarm != null)
        {
            header->NextWarm->PreviousWarm = header;
            header->PreviousWarm->NextWarm = header;
        }

        mover.Free(list, sizeof(QuickListHeader));
        return moved;
    }

    private static QuickListPage* MovePage(BlockMover mover, QuickListHeader* header, QuickListPage* page)
    {
        var moved = (QuickListPage*)mover.Copy((byte*)page, QuickListPage.BytesFor(page->Capacity));
        if (moved == null) return page;
        if (moved->Previous != null) moved->Previous->Next = moved;
        else header->First = moved;
        if (moved->Next != null) moved->Next->Previous = moved;
        else header->Last = moved;
        mover.Free((byte*)page, QuickListPage.BytesFor(moved->Capacity));
        return moved;
    }

    private static void MoveNode(BlockMover mover, QuickListNode* node, ref int work)
    {
        work--;
        byte* moved = mover.Copy(node->Block, node->Capacity);
        if (moved == null) return;
        byte* block = node->Block;
        node->Block = moved;
        mover.Free(block, node->Capacity);
        work -= BlockMover.WorkPerMove;
    }
}
