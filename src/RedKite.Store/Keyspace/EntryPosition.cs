namespace RedKite.Store.Keyspace;

/// <summary>Where an entry is: its block and the slot that points to it. Valid until the table changes elsewhere.</summary>
internal readonly unsafe struct EntryPosition(byte* bucket, int slot, byte* entry, ulong hash)
{
    internal byte* Segment => Store.Keyspace.Segment.OfBucket(bucket);

    internal byte* Bucket => bucket;

    internal int Slot => slot;

    internal byte* Entry => entry;

    internal ulong Hash => hash;

    internal EntryPosition At(byte* moved) => new(bucket, slot, moved, hash);
}

/// <summary>A place in a table's hash order: see <see cref="Table.NextBucket"/>.</summary>
internal readonly record struct TableCursor(uint Prefix, int Depth, int Bucket);

/// <summary>
/// A place in the order of a whole database: stripe by stripe, in each by its table's hash order. As SCAN's cursor it is
/// one number of 50 bits, so that clients which read it as a double keep it whole:
/// <code>
/// 49..44  stripe     43..12  prefix     11..7  depth     6..0  bucket
/// </code>
/// 0 is the start, and no place that is reached by a step.
/// </summary>
internal struct DatabaseCursor(int stripe, TableCursor table)
{
    private const int StripeShift = 44;
    private const int PrefixShift = 12;
    private const int DepthShift = 7;

    internal int Stripe = stripe;

    internal TableCursor Table = table;

    internal readonly ulong Encode() =>
        ((ulong)Stripe << StripeShift) | ((ulong)Table.Prefix << PrefixShift) | ((ulong)Table.Depth << DepthShift) | (uint)Table.Bucket;

    /// <summary>Reads any number at all: one that is no cursor is a place past every stripe, or somewhere harmless.</summary>
    internal static DatabaseCursor Decode(ulong cursor) => new(
        (int)Math.Min(cursor >> StripeShift, int.MaxValue),
        new TableCursor((uint)(cursor >> PrefixShift), (int)(cursor >> DepthShift) & 31, (int)cursor & 127));
}

/// <summary>What a round of active expiry did in a table.</summary>
internal struct ExpiryResult
{
    internal long Expired { get; set; }

    internal long ExpiredFields { get; set; }

    internal int SegmentsSearched { get; set; }
}
