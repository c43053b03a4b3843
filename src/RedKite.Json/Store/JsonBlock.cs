using System.Runtime.InteropServices;
using RedKite.Store.Memory;

namespace RedKite.Json.Store;

/// <summary>
/// A block of its own: a long string, or the head of a large container. A head is followed by its chunks in their order; each chunk is a block with items one
/// behind the other. Who changes an item rewrites its chunk.
/// <code>
/// string:    1, length, 0, 0, text
/// container: 2 (array) or 3 (object), items, chunks, chunks for which there is room, chunks (<see cref="JsonChunk"/>)
/// </code>
/// </summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct JsonBlock
{
    internal const uint String = 1;
    internal const uint Array = 2;
    internal const uint Object = 3;

    internal const int HeadBytes = 16;

    /// <summary>A container with more bytes of items has chunks of its own.</summary>
    internal const int PackedBytesMax = 2048;

    /// <summary>The bytes of items at which a chunk that is filled at its end is full.</summary>
    internal const int ChunkBytes = 2048;

    /// <summary>A chunk that has become larger is divided, unless it is a single item.</summary>
    internal const int ChunkBytesMax = 3072;

    /// <summary>A chunk that has become smaller joins the one before it, if both fit into one.</summary>
    internal const int ChunkBytesMin = 512;

    /// <summary>A container whose items have become so few bytes needs no chunks any more.</summary>
    internal const int UnpackedBytesMin = 1024;

    private const int CapacityFirst = 4;

    internal uint Kind;
    internal uint Count;
    internal uint Chunks;
    internal uint Capacity;

    internal readonly bool IsString => Kind == String;

    internal readonly bool IsObject => Kind == Object;

    internal readonly long Bytes => HeadBytes + (Kind == String ? Count : (long)Capacity * sizeof(JsonChunk));

    internal static JsonChunk* ChunksOf(JsonBlock* block) => (JsonChunk*)((byte*)block + HeadBytes);

    internal static ReadOnlySpan<byte> Text(JsonBlock* block) => new((byte*)block + HeadBytes, (int)block->Count);

    internal static JsonBlock* CreateString(Arena arena, int length)
    {
        var block = (JsonBlock*)arena.Allocate(HeadBytes + (long)length);
        *block = new JsonBlock { Kind = String, Count = (uint)length };
        return block;
    }

    internal static JsonBlock* CreateContainer(Arena arena, bool isObject, uint capacity = CapacityFirst)
    {
        var block = (JsonBlock*)arena.Allocate(HeadBytes + ((long)capacity * sizeof(JsonChunk)));
        *block = new JsonBlock { Kind = isObject ? Object : Array, Capacity = capacity };
        return block;
    }

    /// <summary>Adds a chunk with copies of items at the end.</summary>
    internal static void AddChunk(ref JsonBlock* block, Arena arena, ReadOnlySpan<byte> items, uint count, bool mayRefer = true)
    {
        if (block->Chunks == block->Capacity) Resize(ref block, arena, block->Capacity * 2);
        byte* copy = arena.Allocate(items.Length);
        items.CopyTo(new Span<byte>(copy, items.Length));
        bool hasReferences = mayRefer && JsonReferences.Any(copy, copy + items.Length, block->IsObject);
        ChunksOf(block)[block->Chunks++] = new JsonChunk { Items = copy, Count = count, Word = JsonChunk.WordOf(items.Length, hasReferences) };
        block->Count += count;
    }

    /// <summary>Changes the chunks for which there is room.</summary>
    internal static void Resize(ref JsonBlock* block, Arena arena, uint capacity)
    {
        if (capacity == block->Capacity) return;
        block = (JsonBlock*)arena.Reallocate((byte*)block, block->Bytes, HeadBytes + ((long)capacity * sizeof(JsonChunk)));
        block->Capacity = capacity;
    }
}

/// <summary>A chunk of a container: items one behind the other in a block.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct JsonChunk
{
    private const uint HasReferencesBit = 1u << 31;

    internal byte* Items;
    internal uint Count;
    internal uint Word; // bytes, and whether there are references among the items

    internal readonly uint Bytes => Word & ~HasReferencesBit;

    internal readonly bool HasReferences => (Word & HasReferencesBit) != 0;

    internal readonly byte* End => Items + Bytes;

    internal static uint WordOf(long bytes, bool hasReferences) => checked((uint)bytes) | (hasReferences ? HasReferencesBit : 0);
}
