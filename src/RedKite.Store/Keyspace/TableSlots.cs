using System.Runtime.CompilerServices;

namespace RedKite.Store.Keyspace;

/// <summary>
/// The slots of a table's keys, in a keyspace with slots: how many each has, so that counting them reads no key, and where in the table's order they are. The counts are written with the stripe locked,
/// and read without.
/// </summary>
internal sealed unsafe partial class Table
{
    private readonly int[]? _slotKeys; // by the part of the slot that is the upper end of the hash

    /// <summary>The number of keys of a slot of the table's stripe.</summary>
    internal int CountOfSlot(int slot) => _slotKeys is { } keys ? Volatile.Read(ref keys[KeyHasher.UpperOfSlot(slot)]) : 0;

    /// <summary>The first prefix of hashes that begin with eight bits.</summary>
    internal static uint FirstPrefix(int upper) => Prefix((ulong)upper << 56);

    /// <summary>The last one.</summary>
    internal static uint LastPrefix(int upper) => Prefix(((ulong)upper << 56) | (ulong.MaxValue >> 8));

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

        return more && cursor.Prefix <= LastPrefix(KeyHasher.UpperOfSlot(slot));
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void CountSlot(ulong hash, int change)
    {
        if (_slotKeys is { } keys) keys[KeyHasher.UpperOfSlot(KeyHasher.SlotOf(hash))] += change;
    }
}
