namespace RedKite.Store.Keyspace;

/// <summary>Where an entry is: its block and the slot that points to it. Valid until the table changes elsewhere.</summary>
internal readonly unsafe struct EntryPosition(byte* segment, byte* bucket, int slot, byte* entry, ulong hash)
{
    internal byte* Segment => segment;

    internal byte* Bucket => bucket;

    internal int Slot => slot;

    internal byte* Entry => entry;

    internal ulong Hash => hash;

    internal EntryPosition At(byte* moved) => new(segment, bucket, slot, moved, hash);
}

/// <summary>A place in a table's hash order: see <see cref="Table.NextBucket"/>.</summary>
internal readonly record struct TableCursor(uint Prefix, int Depth, int Bucket);

/// <summary>What a round of active expiry did.</summary>
internal struct ExpiryResult
{
    internal long Expired { get; set; }

    internal int SegmentsSearched { get; set; }
}
