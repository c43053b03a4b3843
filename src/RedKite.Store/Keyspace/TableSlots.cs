using System.Runtime.CompilerServices;

namespace RedKite.Store.Keyspace;

/// <summary>
/// The slots of a table's keys, in a keyspace with slots: how many each has, so that counting them reads no key, and where in the table's order they are. The counts are written with the stripe locked,
/// and read without.
/// </summary>
internal sealed unsafe partial class Table
{
    private readonly int[]? _slotKeys; // by a slot's number in the stripe

    /// <summary>The number of keys of a slot of the table's stripe.</summary>
    internal int CountOfSlot(int slot) => _slotKeys is { } keys ? Volatile.Read(ref keys[_hasher.IndexOfSlot(slot)]) : 0;

    /// <summary>The first prefix that keys of one of the stripe's slots may have: see <see cref="KeyHasher.IndexOfSlot"/>.</summary>
    internal uint FirstPrefix(int index) => Prefix(_hasher.FirstOf(index));

    /// <summary>The last one.</summary>
    internal uint LastPrefix(int index) => Prefix(_hasher.LastOf(index));

    /// <summary>Collects those entries of the next bucket that are of a slot. False: the slot has no further bucket.</summary>
    /// <param name="cursor">From <see cref="FirstPrefix"/> of the slot on.</param>
    /// <param name="slot">A slot of the table's stripe.</param>
    /// <param name="bucket">For the bucket's entries; a bucket has those of several slots.</param>
    /// <param name="entries">Gets the slot's.</param>
    internal bool NextBucketOfSlot(ref TableCursor cursor, int slot, EntryList bucket, EntryList entries)
    {
        bucket.Clear();
        bool more = NextBucket(ref cursor, bucket);
        foreach (nint block in bucket.Blocks)
        {
            if (KeySlot.Of(Entry.FromBlock(block).Key) == slot) entries.Add((byte*)block);
        }

        return more && cursor.Prefix <= LastPrefix(_hasher.IndexOfSlot(slot));
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void CountSlot(ulong hash, int change)
    {
        if (_slotKeys is { } keys) keys[_hasher.IndexOfSlot(KeyHasher.SlotOf(hash))] += change;
    }
}
