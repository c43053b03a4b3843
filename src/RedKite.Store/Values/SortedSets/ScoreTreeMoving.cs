namespace RedKite.Store.Values.SortedSets;

/// <content>Moving the tree's blocks: see <see cref="BlockMover"/>.</content>
internal unsafe partial struct ScoreTree<TSizes>
{
    /// <summary>Makes the tree refer to the copy of a member's block. Both are valid.</summary>
    internal readonly void Replace(byte* member, byte* moved)
    {
        Step* path = stackalloc Step[HeightMax];
        int height = Find(member, path, out ScoreTreeLeaf* leaf, out int index, out _);
        ScoreTreeLeaf.Members(leaf)[index] = moved;
        for (int i = 0; i < height; i++)
        {
            // A separator is its child's first entry.
            byte** separator = &ScoreTreeInner.Members(path[i].Node, InnerMax)[path[i].Index];
            if (*separator == member) *separator = moved;
        }
    }

    /// <summary>Moves nodes that have to move, from the leaf at a rank on.</summary>
    /// <returns>Whether there are more.</returns>
    internal bool MoveNodes(BlockMover mover, ref MoveCursor cursor, ref int work)
    {
        Step* path = stackalloc Step[HeightMax];
        ulong rank = cursor.Position;
        while (work > 0 && rank < _count)
        {
            int height = DescendToRank((long)rank, path, out ScoreTreeLeaf* leaf, out int index);

            // An inner node with the first leaf below it, so once.
            int first = height;
            while (first > 0 && path[first - 1].Index == 0) first--;
            for (int i = first; i < height; i++)
            {
                var node = (ScoreTreeInner*)Move(mover, (byte*)path[i].Node, ScoreTreeInner.BytesFor(InnerMax), path, i);
                path[i] = new Step(node, path[i].Index);
            }

            var moved = (ScoreTreeLeaf*)Move(mover, (byte*)leaf, ScoreTreeLeaf.BytesFor(leaf->Capacity), path, height);
            if (moved != leaf)
            {
                if (moved->Previous != null) moved->Previous->Next = moved;
                if (moved->Next != null) moved->Next->Previous = moved;
            }

            rank += (ulong)(moved->Count - index);
            work -= height + 1;
        }

        cursor = cursor.At(rank);
        return rank < _count;
    }

    // Moves the node at the end of a path.
    private byte* Move(BlockMover mover, byte* node, long bytes, Step* path, int height)
    {
        byte* moved = mover.Copy(node, bytes);
        if (moved == null) return node;
        if (height == 0) _root = moved;
        else ScoreTreeInner.Children(path[height - 1].Node, InnerMax)[path[height - 1].Index] = moved;
        mover.Free(node, bytes);
        return moved;
    }
}
