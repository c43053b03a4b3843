using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Packed;

namespace RedKite.Store.Values.Lists;

/// <summary>
/// A key's list. While it fits list-max-listpack-size it is one packed list in the entry's block, beyond that a
/// <see cref="QuickList"/>; when that has shrunk to a single node of half the size, it is packed into the block again.
/// A list that loses its last element loses its key. Writing to another key makes this invalid.
/// </summary>
internal unsafe ref struct ListValue
{
    /// <summary>The longest text of an element that is kept as a number.</summary>
    internal const int DigitsMax = CanonicalInteger.TextBytesMax;

    private readonly Database _database;
    private readonly ListLimits _limits;
    private Entry _entry;

    /// <param name="database">The key's database.</param>
    /// <param name="entry">An entry that holds a list.</param>
    /// <param name="limits">list-max-listpack-size.</param>
    internal ListValue(Database database, scoped in Entry entry, ListLimits limits)
    {
        _database = database;
        _entry = entry;
        _limits = limits;
    }

    /// <summary>The elements; 0 once the list and its key are gone.</summary>
    internal readonly long Count => !_entry.Exists ? 0 : IsPacked ? PackedList.Count(Packed) : Long.Count;

    private readonly bool IsPacked => _entry.Encoding == ValueEncoding.ListPack;

    private readonly byte* Packed => (byte*)Unsafe.AsPointer(ref MemoryMarshal.GetReference(_entry.Value));

    private readonly QuickList Long => new(_database.ArenaOf(_entry), _entry.Root.Structure, _limits);

    /// <summary>Creates a list for a key and replaces any value. The caller adds elements at once.</summary>
    internal static ListValue Create(Database database, ReadOnlySpan<byte> key, ulong hash, ListLimits limits, uint accessClock, Entry existing = default)
    {
        Entry entry = database.WriteValue(key, hash, existing, new ValueHeader(DataType.List, ValueEncoding.ListPack, accessClock), PackedList.EmptyBytes, Database.NoExpiry);
        var list = new ListValue(database, entry, limits);
        PackedList.Initialize(list.Packed);
        return list;
    }

    /// <summary>
    /// Announces elements that are about to be added: if they are too much for a packed list by Redis's estimate, the list becomes
    /// a long one now, once for all of them.
    /// </summary>
    /// <param name="textBytes">Bytes of the elements.</param>
    /// <param name="count">The number of elements, including those that replace others.</param>
    internal void PrepareFor(long textBytes, int count)
    {
        if (!IsPacked || _limits.Allow(PackedList.Bytes(Packed) + textBytes, PackedList.Count(Packed) + (long)count)) return;
        Arena arena = _database.ArenaOf(_entry);
        byte* header = QuickList.New(arena);
        int elements = PackedList.Count(Packed);
        if (elements > 0) new QuickList(arena, header, _limits).AppendNode(_entry.Value, elements);
        _entry = _database.ResizeValue(_entry, ValueRoot.Bytes);
        _entry.SetEncoding(ValueEncoding.QuickList);
        _entry.Root = new ValueRoot { Structure = header };
    }

    internal void PushFirst(scoped ReadOnlySpan<byte> value)
    {
        if (IsPacked) InsertPacked(PackedList.Start, value);
        else if (!QuickListEnds.TryPushFirst(_entry.Root.Structure, value, _limits) && Long.PushFirst(value)) _database.WarmListsOf(_entry).Note(_entry.Root.Structure);
    }

    internal void PushLast(scoped ReadOnlySpan<byte> value)
    {
        if (IsPacked) InsertPacked(PackedList.EndOf(Packed), value);
        else if (!QuickListEnds.TryPushLast(_entry.Root.Structure, value, _limits) && Long.PushLast(value)) _database.WarmListsOf(_entry).Note(_entry.Root.Structure);
    }

    /// <summary>Inserts an element before or after an existing one.</summary>
    internal void Insert(long index, bool after, scoped ReadOnlySpan<byte> value)
    {
        if (after && index == Count - 1) PushLast(value);
        else if (!IsPacked) Long.Insert(index, after, value);
        else InsertPacked(PackedList.At(Packed, (int)index + (after ? 1 : 0)), value);
    }

    /// <summary>Replaces an existing element.</summary>
    internal void Replace(long index, scoped ReadOnlySpan<byte> value)
    {
        if (!IsPacked)
        {
            Long.Replace(index, value);
            TryPack();
            return;
        }

        int offset = PackedList.At(Packed, (int)index);
        int bytes = PackedList.Bytes(Packed);
        int added = PackedList.ElementBytes(value) - PackedList.ElementBytes(Packed, offset);
        if (added > 0) _entry = _database.ResizeValue(_entry, bytes + added);
        PackedList.Replace(Packed, offset, value);
        if (added < 0) _entry = _database.ResizeValue(_entry, bytes + added);
    }

    /// <summary>The first or the last element, which the caller is about to remove.</summary>
    /// <param name="last">Which end.</param>
    /// <param name="digits">Room for a number's text.</param>
    internal readonly ReadOnlySpan<byte> ReadEnd(bool last, Span<byte> digits)
    {
        PackedElement element = !IsPacked
            ? Long.ReadEnd(last)
            : PackedList.Read(Packed, last ? PackedList.Last(Packed) : PackedList.Start);
        return element.Bytes(digits);
    }

    /// <summary>Removes a number of existing elements from an index on.</summary>
    internal void Remove(long index, long count)
    {
        if (count <= 0) return;
        if (count == Count)
        {
            RemoveKey();
            return;
        }

        if (!IsPacked)
        {
            Long.Remove(index, count);
            TryPack();
            return;
        }

        PackedList.Remove(Packed, PackedList.At(Packed, (int)index), (int)count);
        _entry = _database.ResizeValue(_entry, PackedList.Bytes(Packed));
    }

    /// <summary>Removes elements that are equal to a value.</summary>
    /// <param name="value">The value to remove.</param>
    /// <param name="most">The maximum number to remove.</param>
    /// <param name="backwards">Whether from the end.</param>
    /// <returns>How many were removed.</returns>
    internal long RemoveEqual(scoped ReadOnlySpan<byte> value, long most, bool backwards)
    {
        long removed = 0;
        if (IsPacked)
        {
            removed = PackedList.RemoveEqual(Packed, value, most, backwards);
            if (removed > 0) _entry = _database.ResizeValue(_entry, PackedList.Bytes(Packed));
        }
        else
        {
            QuickList list = Long;
            QuickListPosition position = backwards ? list.LastNode : list.FirstNode;
            while (position.Exists && removed < most) removed += list.RemoveEqual(ref position, value, most - removed, backwards);
            if (removed > 0 && list.Count > 0) TryPack();
        }

        if (removed > 0 && Count == 0) RemoveKey();
        return removed;
    }

    /// <summary>Reads a number of existing elements from an index on; none of a missing list.</summary>
    internal readonly ListReader Read(long index, long count, bool backwards = false)
    {
        if (count <= 0) return default;
        return IsPacked ? new ListReader(Packed, index, count, backwards) : new ListReader(Long.Locate(index), count, backwards);
    }

    private void InsertPacked(int offset, scoped ReadOnlySpan<byte> value)
    {
        _entry = _database.ResizeValue(_entry, PackedList.Bytes(Packed) + PackedList.ElementBytes(value));
        PackedList.Insert(Packed, offset, value);
    }

    // A long list of one small node becomes a packed list in the entry's block again.
    private void TryPack()
    {
        QuickList list = Long;
        if (!list.HasOneNode) return;
        QuickListPosition position = list.FirstNode;
        if (!_limits.AreFarAway(position.Node->PackedBytes, position.Node->Count)) return;
        byte* packed = list.PackedOf(position);
        byte* header = _entry.Root.Structure;
        int bytes = PackedList.Bytes(packed);
        Arena arena = _database.ArenaOf(_entry);
        _entry = _database.ResizeValue(_entry, bytes);
        _entry.SetEncoding(ValueEncoding.ListPack);
        new ReadOnlySpan<byte>(packed, bytes).CopyTo(_entry.Value);
        list.RemoveFirstNode();
        QuickList.FreeHeader(arena, header);
    }

    private void RemoveKey()
    {
        _database.Unlink(_entry, UnlinkReason.Emptied);
        _entry = default;
    }
}
