using RedKite.Store.Memory;

namespace RedKite.Json.Store;

/// <summary>The memory of the blocks that values refer to: counted if there are not too many, and otherwise estimated from some of them.</summary>
internal static unsafe class JsonBytes
{
    private const int CountedBlocksMax = 4096;
    private const int SampledBlocks = 1024;

    /// <summary>The bytes of the blocks that a value refers to.</summary>
    internal static long OfBlocks(JsonValue value)
    {
        int blocks = CountedBlocksMax;
        byte* end = value.Address + JsonTag.Bytes(value.Address);
        long bytes = Counted(value.Address, end, isObject: false, ref blocks);
        return blocks > 0 ? bytes : Estimated(value.Address, end, isObject: false, SampledBlocks);
    }

    private static long Counted(byte* items, byte* end, bool isObject, ref int blocks)
    {
        long bytes = 0;
        while (items < end && blocks > 0)
        {
            if (isObject) items += JsonTag.NameBytes(items);
            if (*items == JsonTag.Reference)
            {
                if (JsonTag.BlockOf(items) != null) bytes += Counted(JsonTag.BlockOf(items), ref blocks);
            }
            else if (JsonTag.IsInlineContainer(*items))
            {
                byte* inner = JsonTag.ItemsOf(items, out byte* innerEnd);
                bytes += Counted(inner, innerEnd, JsonTag.IsInlineObject(*items), ref blocks);
            }

            items += JsonTag.Bytes(items);
        }

        return bytes;
    }

    private static long Counted(JsonBlock* block, ref int blocks)
    {
        long bytes = BlockSize.RoundUp(block->Bytes);
        blocks--;
        if (block->IsString) return bytes;
        for (uint i = 0; i < block->Chunks && blocks > 0; i++)
        {
            JsonChunk chunk = JsonBlock.ChunksOf(block)[i];
            blocks--;
            bytes += BlockSize.RoundUp(chunk.Bytes);
            if (chunk.HasReferences) bytes += Counted(chunk.Items, chunk.End, block->IsObject, ref blocks);
        }

        return bytes;
    }

    // Of what has more parts than there are samples, as many parts in equal distances stand for all; the samples are shared among the parts.
    private static long Estimated(byte* items, byte* end, bool isObject, int samples)
    {
        int references = References(items, end, isObject), sampled = Math.Min(references, samples), seen = 0, next = 0;
        long bytes = 0;
        Estimate(items, end, isObject, ref bytes);
        return sampled == 0 ? 0 : bytes * references / sampled;

        void Estimate(byte* from, byte* to, bool areMembers, ref long sum)
        {
            while (from < to && next < sampled)
            {
                if (areMembers) from += JsonTag.NameBytes(from);
                if (*from == JsonTag.Reference)
                {
                    if (seen++ == (int)((long)next * references / sampled))
                    {
                        next++;
                        if (JsonTag.BlockOf(from) != null) sum += Estimated(JsonTag.BlockOf(from), samples / sampled);
                    }
                }
                else if (JsonTag.IsInlineContainer(*from))
                {
                    byte* inner = JsonTag.ItemsOf(from, out byte* innerEnd);
                    Estimate(inner, innerEnd, JsonTag.IsInlineObject(*from), ref sum);
                }

                from += JsonTag.Bytes(from);
            }
        }
    }

    private static long Estimated(JsonBlock* block, int samples)
    {
        long head = BlockSize.RoundUp(block->Bytes);
        if (block->IsString || block->Chunks == 0) return head;
        uint sampled = Math.Min(block->Chunks, (uint)samples);
        long bytes = 0;
        for (uint i = 0; i < sampled; i++)
        {
            JsonChunk chunk = JsonBlock.ChunksOf(block)[(int)((ulong)i * block->Chunks / sampled)];
            bytes += BlockSize.RoundUp(chunk.Bytes);
            if (chunk.HasReferences) bytes += Estimated(chunk.Items, chunk.End, block->IsObject, samples / (int)sampled);
        }

        return head + (bytes * block->Chunks / sampled);
    }

    private static int References(byte* items, byte* end, bool isObject)
    {
        int references = 0;
        while (items < end)
        {
            if (isObject) items += JsonTag.NameBytes(items);
            if (*items == JsonTag.Reference)
            {
                references++;
            }
            else if (JsonTag.IsInlineContainer(*items))
            {
                byte* inner = JsonTag.ItemsOf(items, out byte* innerEnd);
                references += References(inner, innerEnd, JsonTag.IsInlineObject(*items));
            }

            items += JsonTag.Bytes(items);
        }

        return references;
    }
}
