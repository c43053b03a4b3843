using RedKite.Store.Values;

namespace RedKite.Json.Store;

/// <summary>Moves a document's blocks in their order, from a block's number on.</summary>
internal unsafe struct JsonMoves(BlockMover mover, ulong first, int work)
{
    /// <summary>The blocks to examine that are left.</summary>
    internal int Work { get; private set; } = work;

    /// <summary>The number of the block at which the next slice begins.</summary>
    internal ulong Passed { get; private set; }

    /// <summary>Passes a block.</summary>
    /// <returns>Whether it is in this slice.</returns>
    internal bool MayMove() => Passed++ >= first;

    /// <summary>Moves a block if it has to.</summary>
    internal byte* Moved(byte* block, long bytes)
    {
        Work--;
        byte* moved = mover.Copy(block, bytes);
        if (moved == null) return block;
        mover.Free(block, bytes);
        Work -= BlockMover.WorkPerMove;
        return moved;
    }

    /// <summary>Moves the blocks that items refer to.</summary>
    /// <returns>False: the slice has ended before that.</returns>
    internal bool MoveAll(byte* items, byte* end, bool isObject)
    {
        while (items < end)
        {
            if (isObject) items += JsonTag.NameBytes(items);
            byte tag = *items;
            if (tag == JsonTag.Reference)
            {
                if (!MoveBlock(items)) return false;
            }
            else if (JsonTag.IsInlineContainer(tag))
            {
                byte* inner = JsonTag.ItemsOf(items, out byte* innerEnd);
                if (!MoveAll(inner, innerEnd, JsonTag.IsInlineObject(tag))) return false;
            }

            items += JsonTag.Bytes(items);
        }

        return true;
    }

    private bool MoveBlock(byte* reference)
    {
        if (Work <= 0) return false;
        JsonBlock* block = JsonTag.BlockOf(reference);
        if (MayMove())
        {
            block = (JsonBlock*)Moved((byte*)block, block->Bytes);
            JsonTag.SetBlock(reference, block);
        }

        if (block->IsString) return true;
        for (uint i = 0; i < block->Chunks; i++)
        {
            if (Work <= 0) return false;
            ref JsonChunk chunk = ref JsonBlock.ChunksOf(block)[i];
            if (MayMove()) chunk.Items = Moved(chunk.Items, chunk.Bytes);
            if (chunk.HasReferences && !MoveAll(chunk.Items, chunk.End, block->IsObject)) return false;
        }

        return true;
    }
}
