using RedKite.Store.Memory;

namespace RedKite.Store.Values.Streams;

/// <summary>
/// A table of named items, sorted by name: a stream's groups, a group's consumers, its producers. It has pointers to the items,
/// which do not move. Each item begins with two integers: the length of its name and the name's offset within the item.
/// </summary>
/// <remarks>
/// Up to <see cref="ChunkItems"/> pointers are one array. More are in chunks, all but the last of which are full: a chunk is a ring, so that an insertion
/// moves the pointers of one chunk, and of each later one only its last, to the front of the next. A million names are 490 such steps, not eight megabytes.
/// </remarks>
internal unsafe struct NamedTable
{
    /// <summary>The pointers of a chunk.</summary>
    internal const int ChunkItems = 1 << ChunkBits;

    private const int ChunkBits = 11; // 16 KiB, the largest block of a slab
    private const int Mask = ChunkItems - 1;

    private byte** _items; // the array, or the chunks
    private int _count;

    internal readonly int Count => _count;

    /// <summary>The size of the table in bytes, without the items.</summary>
    internal readonly long Bytes => _count switch
    {
        0 => 0,
        <= ChunkItems => BlockSize.RoundUp(BytesOf(_count)),
        _ => BlockSize.RoundUp(DirectoryBytes(Chunks)) + ((long)Chunks * BlockSize.RoundUp(BytesOf(ChunkItems))),
    };

    internal readonly byte* this[int index] => _count <= ChunkItems ? _items[index] : *Slot(index);

    private readonly int Chunks => (_count + Mask) >> ChunkBits;

    private readonly Chunk* Directory => (Chunk*)_items;

    internal static ReadOnlySpan<byte> NameOf(byte* item) => new(item + ((int*)item)[1], ((int*)item)[0]);

    /// <summary>Allocates an item of <paramref name="fixedBytes"/> followed by its name. Of the fixed part only the two integers are initialized.</summary>
    internal static byte* AllocateItem(Arena arena, int fixedBytes, ReadOnlySpan<byte> name)
    {
        byte* item = arena.Allocate(fixedBytes + name.Length);
        ((int*)item)[0] = name.Length;
        ((int*)item)[1] = fixedBytes;
        name.CopyTo(new Span<byte>(item + fixedBytes, name.Length));
        return item;
    }

    internal static void FreeItem(Arena arena, byte* item) => arena.Free(item, ItemBytes(item));

    internal static int ItemBytes(byte* item) => ((int*)item)[0] + ((int*)item)[1];

    /// <summary>Finds the index of an item by its name, or the index at which it would be inserted.</summary>
    internal readonly bool TryFind(ReadOnlySpan<byte> name, out int index)
    {
        int low = 0;
        int high = _count;
        while (low < high)
        {
            int middle = (low + high) >> 1;
            int order = NameOf(this[middle]).SequenceCompareTo(name);
            if (order == 0)
            {
                index = middle;
                return true;
            }

            if (order < 0) low = middle + 1;
            else high = middle;
        }

        index = low;
        return false;
    }

    /// <summary>Returns the item with a name, or null.</summary>
    internal readonly byte* Find(ReadOnlySpan<byte> name) => TryFind(name, out int index) ? this[index] : null;

    /// <summary>Inserts an item at the index that <see cref="TryFind"/> returned.</summary>
    /// <returns>How many pointers were moved.</returns>
    internal int Insert(Arena arena, int index, byte* item)
    {
        if (_count < ChunkItems)
        {
            _items = (byte**)(_count == 0 ? arena.Allocate(BytesOf(1)) : arena.Reallocate((byte*)_items, BytesOf(_count), BytesOf(_count + 1)));
            long behind = BytesOf(_count - index);
            Buffer.MemoryCopy(_items + index, _items + index + 1, behind, behind);
            _items[index] = item;
            return _count++ - index;
        }

        if ((_count & Mask) == 0) AddChunk(arena);
        int chunk = index >> ChunkBits, last = _count >> ChunkBits;
        int moved = last - chunk;

        // From the last chunk on, each gets the last pointer of the one before it.
        for (int i = last; i > chunk; i--)
        {
            ref Chunk ring = ref Directory[i];
            ring.Head = (ring.Head - 1) & Mask;
            ring.Items[ring.Head] = *Slot((i << ChunkBits) - 1);
        }

        for (int i = Math.Min(_count, ((chunk + 1) << ChunkBits) - 1); i > index; i--, moved++) *Slot(i) = *Slot(i - 1);
        *Slot(index) = item;
        _count++;
        return moved;
    }

    /// <summary>Removes the item at an index.</summary>
    /// <returns>How many pointers were moved.</returns>
    internal int RemoveAt(Arena arena, int index)
    {
        if (_count <= ChunkItems)
        {
            int behind = _count - index - 1;
            Buffer.MemoryCopy(_items + index + 1, _items + index, BytesOf(behind), BytesOf(behind));
            _count--;
            if (_count > 0)
            {
                _items = (byte**)arena.Reallocate((byte*)_items, BytesOf(_count + 1), BytesOf(_count));
                return behind;
            }

            arena.Free((byte*)_items, BytesOf(1));
            _items = null;
            return 0;
        }

        int chunk = index >> ChunkBits, last = (_count - 1) >> ChunkBits;
        int moved = last - chunk;
        for (int i = index, end = Math.Min(_count, (chunk + 1) << ChunkBits) - 1; i < end; i++, moved++) *Slot(i) = *Slot(i + 1);
        for (int i = chunk + 1; i <= last; i++)
        {
            ref Chunk ring = ref Directory[i];
            byte* first = ring.Items[ring.Head];
            ring.Head = (ring.Head + 1) & Mask;
            *Slot((i << ChunkBits) - 1) = first;
        }

        _count--;
        if ((_count & Mask) == 0) moved += RemoveChunk(arena);
        return moved;
    }

    private static long BytesOf(int count) => (long)count * sizeof(byte*);

    private static long DirectoryBytes(int chunks) => (long)chunks * sizeof(Chunk);

    private readonly byte** Slot(int index)
    {
        ref Chunk chunk = ref Directory[index >> ChunkBits];
        return chunk.Items + ((chunk.Head + index) & Mask);
    }

    // All chunks are full, or the array is.
    private void AddChunk(Arena arena)
    {
        int chunks = Chunks;
        if (chunks == 1)
        {
            var directory = (Chunk*)arena.Allocate(DirectoryBytes(2));
            directory[0] = new Chunk { Items = _items };
            _items = (byte**)directory;
        }
        else
        {
            _items = (byte**)arena.Reallocate((byte*)_items, DirectoryBytes(chunks), DirectoryBytes(chunks + 1));
        }

        Directory[chunks] = new Chunk { Items = (byte**)arena.Allocate(BytesOf(ChunkItems)) };
    }

    // The last chunk is empty.
    private int RemoveChunk(Arena arena)
    {
        int chunks = Chunks;
        arena.Free((byte*)Directory[chunks].Items, BytesOf(ChunkItems));
        if (chunks > 1)
        {
            _items = (byte**)arena.Reallocate((byte*)_items, DirectoryBytes(chunks + 1), DirectoryBytes(chunks));
            return 0;
        }

        Chunk only = Directory[0];
        var array = (byte**)arena.Allocate(BytesOf(ChunkItems));
        for (int i = 0; i < ChunkItems; i++) array[i] = *Slot(i);
        arena.Free((byte*)_items, DirectoryBytes(2));
        arena.Free((byte*)only.Items, BytesOf(ChunkItems));
        _items = array;
        return ChunkItems;
    }

    private struct Chunk
    {
        internal byte** Items;
        internal long Head; // where the first pointer is
    }
}
