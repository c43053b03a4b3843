using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Packed;
using RedKite.Store.Values.Streams;

namespace RedKite.Store.Values.Arrays;

/// <summary>How an array's elements are spread over its slices. A slice counts as dense if at least half of its indexes have an element.</summary>
internal readonly record struct ArrayLayout(long DenseSlices, long DenseElements, long SparseSlices, long SparseElements);

/// <summary>
/// A key's sparse array as handlers see it: elements at indexes of 64 bits, and a place where the next one is inserted. It stays valid as long as the
/// stripe is locked and the array is not removed. The array of a missing key does not exist, and has no elements.
/// </summary>
internal readonly unsafe ref struct ArrayValue
{
    private readonly Database _database;
    private readonly Entry _entry;
    private readonly Arena _arena;
    private readonly ArrayData* _data;

    private ArrayValue(Database database, Entry entry, ArrayData* data)
    {
        _database = database;
        _entry = entry;
        _arena = database.ArenaOf(entry);
        _data = data;
    }

    /// <summary>The array of an entry; an entry that is missing has none.</summary>
    internal static ArrayValue Of(Database database, Entry entry) => entry.Exists ? new(database, entry, (ArrayData*)entry.Root.Structure) : default;

    /// <summary>Creates an empty array at a missing key. The caller adds an element at once.</summary>
    internal static ArrayValue Create(Database database, ReadOnlySpan<byte> key, ulong hash, uint accessClock)
    {
        Entry entry = database.WriteValue(key, hash, default, new ValueHeader(DataType.Array, ValueEncoding.SlicedArray, accessClock), ValueRoot.Bytes, Database.NoExpiry);
        ArrayData* data = ArrayData.Create(database.ArenaOf(entry));
        entry.Root = new ValueRoot { Structure = (byte*)data };
        return new ArrayValue(database, entry, data);
    }

    internal bool Exists => _data != null;

    /// <summary>Elements.</summary>
    internal long Count => _data == null ? 0 : _data->Count;

    /// <summary>The highest index of an element, plus one; 0 if there is none.</summary>
    internal ulong Length => _data == null ? 0 : _data->Length;

    /// <summary>Where the next element is inserted; <see cref="ArrayData.Exhausted"/>: nowhere.</summary>
    internal ulong Next => _data == null ? 0 : _data->Next;

    /// <summary>The size of the ring that the array was last used as; 0: none.</summary>
    internal ulong Ring => _data == null ? 0 : _data->Ring;

    /// <summary>The array's number in the order of creation, and how often its elements have changed.</summary>
    internal (long Id, long Changes) Version => _data == null ? default : (_data->Id, _data->Changes);

    /// <summary>Slices that have elements.</summary>
    internal long Slices => _data == null ? 0 : _data->Slices.Count;

    /// <summary>Gets the element of an index; false if there is none.</summary>
    internal bool TryGet(ulong index, out PackedElement element)
    {
        ulong* word = _data == null ? null : _data->Find(index);
        element = word == null ? default : ArrayWord.Read(word);
        return word != null;
    }

    /// <summary>The elements between two indexes, from the first to the second one: down if that is lower.</summary>
    internal ArrayCursor Between(ulong from, ulong to) => new(_data, from, to);

    /// <summary>The number of elements between two indexes, in any order; at most so many are counted.</summary>
    internal long CountBetween(ulong from, ulong to, long countMax = long.MaxValue) =>
        _data == null ? 0 : Math.Min(countMax, _data->CountBetween(Math.Min(from, to), Math.Max(from, to), countMax));

    /// <summary>Sets the element of an index, at most <see cref="ArrayData.IndexMax"/>.</summary>
    /// <returns>Whether the index had none.</returns>
    internal bool Set(ulong index, ReadOnlySpan<byte> text) => ArrayData.Set(_data, _arena, index, ArrayWord.Create(_arena, text));

    /// <summary>Sets where the next element is inserted.</summary>
    internal void Seek(ulong next) => _data->Next = next;

    /// <summary>Sets the place of the next element and the size of the ring, of an array that is read.</summary>
    internal void TakeOverState(ulong next, ulong ring)
    {
        _data->Next = next;
        _data->Ring = ring;
    }

    /// <summary>
    /// Makes the array a ring of a size. If it is longer, it keeps the newest elements that fit, back to the first position without one. Those, and all of a
    /// ring that was smaller, are put into the order in which they were inserted.
    /// </summary>
    internal void MakeRing(ulong size)
    {
        ulong length = _data->Length;
        ReleasedValues released = _database.ReleasedOf(_entry);
        bool isUnrolled = _data->Ring != size && _data->Ring != 0 && _data->Next > 0 && _data->Next < length;
        if (length > size) ArrayData.Relay(_data, _arena, ArrayData.CountLast(_data, size), released);
        else if (isUnrolled) ArrayData.Relay(_data, _arena, length, released);
        _data->Ring = size;
    }

    /// <summary>Sets the next element of the ring.</summary>
    /// <returns>Its index.</returns>
    internal ulong Push(ReadOnlySpan<byte> text)
    {
        ulong index = _data->Next % _data->Ring;
        Set(index, text);
        _data->Next = index + 1;
        return index;
    }

    /// <summary>Removes the elements between two indexes, in any order. The caller ends with <see cref="EndRemoving"/>.</summary>
    /// <returns>How many there were.</returns>
    internal long Remove(ulong from, ulong to) =>
        ArrayData.Remove(_data, _arena, Math.Min(from, to), Math.Max(from, to), _database.ReleasedOf(_entry));

    /// <summary>Removes an array that has no elements left, with its key.</summary>
    internal void EndRemoving()
    {
        if (_data->Count == 0) _database.Unlink(_entry, UnlinkReason.Emptied);
    }

    /// <summary>How the elements are spread, which takes time proportional to the slices.</summary>
    internal ArrayLayout ReadLayout()
    {
        long dense = 0, denseElements = 0, sparse = 0, sparseElements = 0;
        IdTree.IdPosition position = default;
        bool more = _data != null && _data->Slices.SeekFirst(out position);
        for (; more; more = _data->Slices.MoveNext(ref position))
        {
            int count = ArraySlice.Count(*(byte**)position.Value);
            if (count >= ArraySlice.Size / 2)
            {
                dense++;
                denseElements += count;
            }
            else
            {
                sparse++;
                sparseElements += count;
            }
        }

        return new ArrayLayout(dense, denseElements, sparse, sparseElements);
    }
}
