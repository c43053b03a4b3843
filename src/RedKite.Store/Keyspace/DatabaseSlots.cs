namespace RedKite.Store.Keyspace;

/// <summary>The slots of a database's keys, in a keyspace with slots. Counting needs no lock.</summary>
internal sealed partial class Database
{
    /// <summary>The number of keys that clients see: those of <see cref="Keyspace.HiddenSlots"/> do not count.</summary>
    internal long VisibleCount
    {
        get
        {
            if (_keyspace.HiddenSlots is not { } hidden) return Count;
            long count = 0; // not Count less the hidden ones: those may be removed between the two readings
            for (int slot = 0; slot < KeySlot.Count; slot++)
            {
                if (!hidden.Contains(slot)) count += CountOfSlot(slot);
            }

            return count;
        }
    }

    /// <summary>Whether a key is of a slot that clients do not see, by its hash.</summary>
    internal bool Hides(ulong hash) => _keyspace.HiddenSlots is { } hidden && hidden.Contains(KeyHasher.SlotOf(hash));

    /// <summary>The number of keys of a slot.</summary>
    internal int CountOfSlot(int slot) => _tables[slot % _tables.Length]?.CountOfSlot(slot) ?? 0;

    /// <summary>Removes a key with others of its slot. Its stripe is locked.</summary>
    internal void UnlinkOfSlot(ReadOnlySpan<byte> key, ulong hash, UnlinkReason reason = UnlinkReason.Moved)
    {
        Entry entry = Find(key, hash, ExpiryClock.Never);
        if (entry.Exists) Unlink(entry, reason);
    }
}
