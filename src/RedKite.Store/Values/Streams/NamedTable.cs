using RedKite.Store.Memory;

namespace RedKite.Store.Values.Streams;

/// <summary>
/// A table of named items, sorted by name: a stream's groups, a group's consumers. It is an array of pointers to the items,
/// which do not move. Each item begins with two integers: the length of its name and the name's offset within the item.
/// </summary>
internal unsafe struct NamedTable
{
    private byte** _items;
    private int _count;

    internal readonly int Count => _count;

    /// <summary>The size of the array in bytes, without the items.</summary>
    internal readonly long Bytes => _count == 0 ? 0 : BlockSize.RoundUp(BytesOf(_count));

    internal readonly byte* this[int index] => _items[index];

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
            int order = NameOf(_items[middle]).SequenceCompareTo(name);
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
    internal readonly byte* Find(ReadOnlySpan<byte> name) => TryFind(name, out int index) ? _items[index] : null;

    /// <summary>Inserts an item at the index that <see cref="TryFind"/> returned.</summary>
    internal void Insert(Arena arena, int index, byte* item)
    {
        _items = (byte**)(_count == 0 ? arena.Allocate(BytesOf(1)) : arena.Reallocate((byte*)_items, BytesOf(_count), BytesOf(_count + 1)));
        long behind = BytesOf(_count - index);
        Buffer.MemoryCopy(_items + index, _items + index + 1, behind, behind);
        _items[index] = item;
        _count++;
    }

    internal void RemoveAt(Arena arena, int index)
    {
        long behind = BytesOf(_count - index - 1);
        Buffer.MemoryCopy(_items + index + 1, _items + index, behind, behind);
        _count--;
        if (_count > 0)
        {
            _items = (byte**)arena.Reallocate((byte*)_items, BytesOf(_count + 1), BytesOf(_count));
            return;
        }

        arena.Free((byte*)_items, BytesOf(1));
        _items = null;
    }

    private static long BytesOf(int count) => (long)count * sizeof(byte*);
}
