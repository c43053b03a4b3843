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

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void CountSlot(ulong hash, int change)
    {
        if (_slotKeys is { } keys) keys[KeyHasher.UpperOfSlot(KeyHasher.SlotOf(hash))] += change;
    }
}
