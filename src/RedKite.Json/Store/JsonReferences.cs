using RedKite.Store.Memory;

namespace RedKite.Json.Store;

/// <summary>The references among values that are packed one behind the other, also inside of containers there.</summary>
internal static unsafe class JsonReferences
{
    /// <summary>The first reference to a block; null if there is none.</summary>
    internal static byte* First(byte* items, byte* end, bool isObject)
    {
        while (items < end)
        {
            if (isObject) items += JsonTag.NameBytes(items);
            byte tag = *items;
            if (tag == JsonTag.Reference)
            {
                if (JsonTag.BlockOf(items) != null) return items;
            }
            else if (JsonTag.IsInlineContainer(tag))
            {
                byte* inner = JsonTag.ItemsOf(items, out byte* innerEnd);
                byte* found = First(inner, innerEnd, JsonTag.IsInlineObject(tag));
                if (found != null) return found;
            }

            items += JsonTag.Bytes(items);
        }

        return null;
    }

    internal static bool Any(byte* items, byte* end, bool isObject) => First(items, end, isObject) != null;

    /// <summary>Adds where the references are, from a start.</summary>
    internal static void Collect(byte* start, byte* items, byte* end, bool isObject, List<int> offsets)
    {
        while (items < end)
        {
            if (isObject) items += JsonTag.NameBytes(items);
            byte tag = *items;
            if (tag == JsonTag.Reference)
            {
                if (JsonTag.BlockOf(items) != null) offsets.Add((int)(items - start));
            }
            else if (JsonTag.IsInlineContainer(tag))
            {
                byte* inner = JsonTag.ItemsOf(items, out byte* innerEnd);
                Collect(start, inner, innerEnd, JsonTag.IsInlineObject(tag), offsets);
            }

            items += JsonTag.Bytes(items);
        }
    }

    /// <summary>Frees one block of those that items refer to, the last one of the first reference, and forgets the reference with its last block.</summary>
    /// <returns>False: there is none.</returns>
    internal static bool FreeOne(Arena arena, byte* items, byte* end, bool isObject)
    {
        byte* reference = First(items, end, isObject);
        if (reference == null) return false;
        while (true)
        {
            JsonBlock* block = JsonTag.BlockOf(reference);
            if (block->IsString || block->Chunks == 0)
            {
                arena.Free((byte*)block, block->Bytes);
                JsonTag.SetBlock(reference, null);
                return true;
            }

            ref JsonChunk chunk = ref JsonBlock.ChunksOf(block)[block->Chunks - 1];
            byte* inner = chunk.HasReferences ? First(chunk.Items, chunk.End, block->IsObject) : null;
            if (inner == null)
            {
                arena.Free(chunk.Items, chunk.Bytes);
                block->Chunks--;
                return true;
            }

            reference = inner;
        }
    }

    /// <summary>Frees all blocks that items refer to.</summary>
    internal static void FreeAll(Arena arena, byte* items, byte* end, bool isObject)
    {
        while (FreeOne(arena, items, end, isObject))
        {
        }
    }

    /// <summary>Frees all blocks that a value refers to.</summary>
    internal static void FreeAll(Arena arena, byte* value) => FreeAll(arena, value, value + JsonTag.Bytes(value), isObject: false);
}
