using System.Runtime.InteropServices;
using RedKite.Store.Memory;
using RedKite.Store.Values.Streams;

namespace RedKite.Store.Values.Arrays;

/// <summary>
/// A sparse array in an arena: slices of 256 indexes, those that have elements, in a tree by their number. It is one block, which does not move;
/// the entry's root points to it.
/// </summary>
/// <remarks>
/// The tree is that of streams, whose nodes stay full when keys ascend: a slice's number is the first half of an id. An element that is alone in its slice
/// takes about 75 bytes, one of many 8.6. Rejected: a directory that is indexed by the slice's number. It reads one cache line less, but is
/// as large as the highest index, or needs levels of its own.
/// </remarks>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct ArrayData
{
    /// <summary>The highest index that an element may have.</summary>
    internal const ulong IndexMax = ulong.MaxValue - 1;

    /// <summary>What <see cref="Next"/> is when nothing can be inserted any more.</summary>
    internal const ulong Exhausted = ulong.MaxValue;

    internal IdTree Slices; // values: addresses of slices
    internal long Count;    // elements
    internal long BlockBytes; // of slices, and of what elements own
    internal ulong Next;    // where the next element is inserted
    internal ulong Ring;    // the size of the ring, or 0
    internal long Changes;  // counts changes of elements
    internal long Id;       // of the array, in the order of creation

    private static long _created;

    internal static ArrayData* Create(Arena arena)
    {
        var data = (ArrayData*)arena.Allocate(sizeof(ArrayData));
        *data = new ArrayData { Slices = IdTree.Empty(sizeof(byte*)), Id = Interlocked.Increment(ref _created) };
        return data;
    }

    /// <summary>The size of the array with all its blocks, in bytes.</summary>
    internal static long Bytes(ArrayData* data) => BlockSize.RoundUp(sizeof(ArrayData)) + data->BlockBytes + data->Slices.Bytes;

    internal static ulong NumberOf(ulong index) => index >> ArraySlice.SizeBits;

    internal static int OffsetOf(ulong index) => (int)(index & (ArraySlice.Size - 1));

    internal static StreamId KeyOf(ulong number) => new(number, 0);

    /// <summary>The highest index of an element, plus one; 0 if there is none.</summary>
    internal readonly ulong Length
    {
        get
        {
            if (Count == 0 || !Slices.SeekLast(out IdTree.IdPosition position)) return 0;
            int offset = ArraySlice.PreviousAt(*(byte**)position.Value, ArraySlice.Size - 1);
            return (position.Id.Ms << ArraySlice.SizeBits) + (ulong)offset + 1;
        }
    }

    /// <summary>Where the element of an index is; null if there is none.</summary>
    internal readonly ulong* Find(ulong index)
    {
        byte* position = Slices.Find(KeyOf(NumberOf(index)));
        if (position == null) return null;
        byte* slice = *(byte**)position;
        int offset = OffsetOf(index);
        return ArraySlice.Has(slice, offset) ? ArraySlice.Words(slice) + ArraySlice.Rank(slice, offset) : null;
    }

    /// <summary>The number of elements from one index to another.</summary>
    internal readonly long CountBetween(ulong low, ulong high, long countMax)
    {
        if (Count == 0 || (low == 0 && high >= Length - 1)) return Count;
        long count = 0;
        bool more = Slices.SeekCeiling(KeyOf(NumberOf(low)), out IdTree.IdPosition position);
        for (; more && count < countMax && position.Id.Ms <= NumberOf(high); more = Slices.MoveNext(ref position))
        {
            byte* slice = *(byte**)position.Value;
            int end = position.Id.Ms == NumberOf(high) ? OffsetOf(high) + 1 : ArraySlice.Size;
            int start = position.Id.Ms == NumberOf(low) ? OffsetOf(low) : 0;
            count += ArraySlice.Rank(slice, end) - ArraySlice.Rank(slice, start);
        }

        return count;
    }

    /// <summary>Sets the element of an index, which may have one.</summary>
    /// <param name="word">Belongs to the array from now on.</param>
    /// <returns>Whether the index had none.</returns>
    internal static bool Set(ArrayData* data, Arena arena, ulong index, ulong word)
    {
        data->Changes++;
        long owned = ArrayWord.BlockBytes(word);
        StreamId key = KeyOf(NumberOf(index));
        int offset = OffsetOf(index);
        byte** position = (byte**)data->Slices.Find(key);
        if (position == null)
        {
            byte* created = ArraySlice.Create(arena, offset, word);
            *(byte**)data->Slices.Add(arena, key) = created;
            data->Count++;
            data->BlockBytes += owned + BlockSize.RoundUp(ArraySlice.Bytes(1));
            return true;
        }

        byte* slice = *position;
        if (ArraySlice.Has(slice, offset))
        {
            ulong* at = ArraySlice.Words(slice) + ArraySlice.Rank(slice, offset);
            long change = owned - ArrayWord.BlockBytes(*at);
            ArraySlice.OwnedBytes(slice) += change;
            data->BlockBytes += change;
            ArrayWord.Free(arena, *at);
            *at = word;
            return false;
        }

        int count = ArraySlice.Count(slice);
        *position = ArraySlice.Insert(arena, slice, offset, word);
        data->Count++;
        data->BlockBytes += owned + BlockSize.RoundUp(ArraySlice.Bytes(count + 1)) - BlockSize.RoundUp(ArraySlice.Bytes(count));
        return true;
    }

    /// <summary>Removes the elements from one index to another. Slices of which nothing is left are freed as a value, in slices of time.</summary>
    /// <returns>How many there were.</returns>
    internal static long Remove(ArrayData* data, Arena arena, ulong low, ulong high, ReleasedValues released)
    {
        long before = data->Count;
        if (before > 0 && low == 0 && high >= data->Length - 1)
        {
            // All at once, as a tree: it is freed in slices.
            ArrayData* all = Create(arena);
            all->Slices = data->Slices;
            data->Slices = IdTree.Empty(sizeof(byte*));
            (data->Count, data->BlockBytes) = (0, 0);
            data->Changes++;
            released.Release(all);
            return before;
        }

        ArrayData* removed = null;
        ulong number = NumberOf(low);
        while (data->Slices.SeekCeiling(KeyOf(number), out IdTree.IdPosition position) && position.Id.Ms <= NumberOf(high))
        {
            number = position.Id.Ms;
            int first = number == NumberOf(low) ? OffsetOf(low) : 0;
            int last = number == NumberOf(high) ? OffsetOf(high) : ArraySlice.Size - 1;
            byte* slice = *(byte**)position.Value;
            int count = ArraySlice.Count(slice);
            int gone = ArraySlice.Rank(slice, last + 1) - ArraySlice.Rank(slice, first);
            data->Count -= gone;
            data->BlockBytes -= BlockSize.RoundUp(ArraySlice.Bytes(count)) + ArraySlice.OwnedBytes(slice);
            if (gone == count)
            {
                if (removed == null) removed = Create(arena);
                *(byte**)removed->Slices.Add(arena, position.Id) = slice;
                data->Slices.Remove(arena, KeyOf(number));
            }
            else
            {
                if (gone > 0) *(byte**)position.Value = slice = ArraySlice.Remove(arena, slice, first, last);
                data->BlockBytes += BlockSize.RoundUp(ArraySlice.Bytes(count - gone)) + ArraySlice.OwnedBytes(slice);
            }

            if (number++ == NumberOf(high)) break;
        }

        if (removed != null) released.Release(removed);
        data->Changes++;
        return before - data->Count;
    }

    /// <summary>
    /// Makes the array a ring of another size: keeps the elements at the last positions before <see cref="Next"/>, behind index 0 those from the end on,
    /// and moves them to the indexes from 0 on.
    /// </summary>
    /// <param name="positions">How many positions are kept: at most the array's length.</param>
    internal static void Relay(ArrayData* data, Arena arena, ulong positions, ReleasedValues released)
    {
        ulong length = data->Length;
        ulong next = data->Next;
        ArrayData* old = Create(arena);
        old->Slices = data->Slices;
        data->Slices = IdTree.Empty(sizeof(byte*));
        data->Count = 0;
        data->BlockBytes = 0;
        ulong wrapped = next < positions ? positions - next : 0;
        if (wrapped > 0) Take(data, arena, old, length - wrapped, length - 1, 0);
        if (next > 0) Take(data, arena, old, next - (positions - wrapped), next - 1, wrapped);
        data->Next = positions;
        released.Release(old);
    }

    /// <summary>How many elements are at the last positions before <see cref="Next"/> without one that has none, as <see cref="Relay"/> counts positions.</summary>
    internal static ulong CountLast(ArrayData* data, ulong countMax)
    {
        ulong length = data->Length;
        ulong next = data->Next;
        ulong count = CountDown(data, next, 0, countMax);
        return count < next || count == countMax ? count : count + CountDown(data, length, next, countMax - count);
    }

    /// <summary>Frees about the given number of blocks at most.</summary>
    /// <returns>Whether something is left.</returns>
    internal static bool FreeSlice(ArrayData* data, Arena arena, int blocksMax)
    {
        while (data->Slices.SeekLast(out IdTree.IdPosition position))
        {
            byte* slice = *(byte**)position.Value;
            int count = ArraySlice.Count(slice);
            ulong* words = ArraySlice.Words(slice);
            for (int i = 0; ArraySlice.OwnedBytes(slice) > 0 && i < count; i++)
            {
                if (!ArrayWord.IsBlock(words[i])) continue;
                if (blocksMax-- <= 0) return true;
                ArrayWord.Free(arena, words[i]);
                words[i] = ArrayWord.Empty;
            }

            if (blocksMax-- <= 0) return true;
            arena.Free(slice, ArraySlice.Bytes(count));
            data->Slices.Remove(arena, position.Id);
        }

        arena.Free((byte*)data, sizeof(ArrayData));
        return false;
    }

    /// <summary>Moves slices, and what their elements own, if defragmentation requires it. The array's own block and the tree stay.</summary>
    /// <returns>Whether there are more.</returns>
    internal static bool Move(BlockMover mover, ArrayData* data, ref MoveCursor cursor, ref int work)
    {
        ulong number = cursor.Position;
        int offset = (int)cursor.Position2;
        bool more = data->Slices.SeekCeiling(KeyOf(number), out IdTree.IdPosition position);
        for (; more && work > 0; more = data->Slices.MoveNext(ref position), offset = 0)
        {
            if (position.Id.Ms != number) offset = 0;
            number = position.Id.Ms;
            if (offset == 0) MoveSlice(mover, (byte**)position.Value, ref work);
            byte* slice = *(byte**)position.Value;
            for (; (offset = ArraySlice.NextAt(slice, offset)) < ArraySlice.Size; offset++)
            {
                if (work <= 0)
                {
                    cursor = cursor.At(number, (ulong)offset);
                    return true;
                }

                MoveWord(mover, ArraySlice.Words(slice) + ArraySlice.Rank(slice, offset), ref work);
            }
        }

        if (more) cursor = cursor.At(position.Id.Ms);
        return more;
    }

    private static void MoveSlice(BlockMover mover, byte** position, ref int work)
    {
        byte* slice = *position;
        long bytes = ArraySlice.Bytes(ArraySlice.Count(slice));
        work--;
        byte* moved = mover.Copy(slice, bytes);
        if (moved == null) return;
        *position = moved;
        mover.Free(slice, bytes);
        work -= BlockMover.WorkPerMove;
    }

    private static void MoveWord(BlockMover mover, ulong* word, ref int work)
    {
        if (!ArrayWord.IsBlock(*word)) return;
        byte* block = ArrayWord.Block(*word);
        long bytes = ArrayWord.UsedBytes(*word);
        work--;
        byte* moved = mover.Copy(block, bytes);
        if (moved == null) return;
        *word = (ulong)moved;
        mover.Free(block, bytes);
        work -= BlockMover.WorkPerMove;
    }

    // From below an index down to another one.
    private static ulong CountDown(ArrayData* data, ulong above, ulong low, ulong countMax)
    {
        ulong count = 0;
        if (above <= low) return count;
        var cursor = new ArrayCursor(data, above - 1, low);
        while (count < countMax && cursor.MoveNext() && cursor.Index == above - 1 - count) count++;
        return count;
    }

    private static void Take(ArrayData* data, Arena arena, ArrayData* old, ulong low, ulong high, ulong target)
    {
        var cursor = new ArrayCursor(old, low, high);
        while (cursor.MoveNext())
        {
            Set(data, arena, cursor.Index - low + target, *cursor.Word);
            *cursor.Word = ArrayWord.Empty;
        }
    }
}
