using System.Numerics;
using RedKite.Store.Values.SortedSets;

namespace RedKite.Store.Values.Members;

/// <content>Moving the table's blocks: see <see cref="BlockMover"/>.</content>
internal readonly unsafe partial struct MemberTable<TLayout>
{
    /// <summary>Moves members, buckets and the root, those that have to move.</summary>
    /// <param name="mover">Moves blocks.</param>
    /// <param name="root">The table's root.</param>
    /// <param name="cursor">The next bucket.</param>
    /// <param name="work">The blocks to look at.</param>
    /// <param name="order">A tree that refers to the members too; null: none.</param>
    /// <returns>Whether there are more.</returns>
    internal static bool Move(BlockMover mover, ref nint root, ref MoveCursor cursor, ref int work, ScoreTree<ScoreTreeSizes>* order)
    {
        if (cursor.IsAtStart) root = (nint)MemberBuckets.MoveRoot(mover, (byte*)root);
        var table = new MemberTable<TLayout>(null!, root);
        var buckets = new MemberBuckets(null!, (byte*)root);
        ulong index = cursor.Position;
        for (; work > 0 && index < (ulong)table.BucketCount; index++)
        {
            if (index % MemberBuckets.BucketsPerChunk == 0) buckets.MoveChunk(mover, (long)index);
            if (index + 1 < (ulong)table.BucketCount) MemberBucket.PrefetchBlocks(buckets.Bucket((long)index + 1));
            MoveChain(mover, buckets.Bucket((long)index), ref work, order);
        }

        cursor = cursor.At(index);
        return index < (ulong)table.BucketCount;
    }

    /// <summary>Moves blocks of a table without an order, whose address is in a root.</summary>
    internal static bool Move(BlockMover mover, ref ValueRoot root, ref MoveCursor cursor, ref int work)
    {
        var table = (nint)root.Structure;
        bool more = Move(mover, ref table, ref cursor, ref work, order: null);
        root.Structure = (byte*)table;
        return more;
    }

    private static void MoveChain(BlockMover mover, byte* bucket, ref int work, ScoreTree<ScoreTreeSizes>* order)
    {
        while (true)
        {
            for (uint occupied = MemberBucket.Occupied(bucket); occupied != 0; occupied &= occupied - 1)
            {
                int slot = BitOperations.TrailingZeroCount(occupied);
                byte* block = MemberBucket.Block(bucket, slot);
                long bytes = TLayout.Bytes(block);
                work--;
                byte* moved = mover.Copy(block, bytes);
                if (moved == null) continue;
                MemberBucket.WriteSlot(bucket, slot, (ulong)moved | (MemberBucket.Slot(bucket, slot) & MemberBucket.HintMask));
                if (order != null) order->Replace(block, moved);
                mover.Free(block, bytes);
                work -= BlockMover.WorkPerMove;
            }

            byte* next = MemberBucket.Next(bucket);
            if (next == null) return;
            byte* movedNext = mover.Copy(next, MemberBucket.Bytes);
            if (movedNext != null)
            {
                MemberBucket.WriteNext(bucket, movedNext);
                mover.Free(next, MemberBucket.Bytes);
                next = movedNext;
            }

            bucket = next;
        }
    }
}
