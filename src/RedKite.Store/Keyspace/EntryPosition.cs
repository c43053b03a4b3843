namespace RedKite.Store.Keyspace;

/// <summary>The position of an entry: its block and the slot that points to it. Valid until the table changes elsewhere.</summary>
internal readonly unsafe struct EntryPosition(byte* bucket, int slot, byte* entry, ulong hash)
{
    internal byte* Segment => Store.Keyspace.Segment.OfBucket(bucket);

    internal byte* Bucket => bucket;

    internal int Slot => slot;

    internal byte* Entry => entry;

    internal ulong Hash => hash;

    internal EntryPosition At(byte* moved) => new(bucket, slot, moved, hash);
}

/// <summary>A position in a table's hash order: see <see cref="Table.NextBucket"/>.</summary>
internal readonly record struct TableCursor(uint Prefix, int Depth, int Bucket);

/// <summary>
/// A position in the order of a whole database: stripe by stripe, and within a stripe by its table's hash order. SCAN's cursor is
/// a number of 50 bits, so that clients that read it as a double keep it exact:
/// <code>
/// 49..44  stripe     43..12  prefix     11..7  depth     6..0  bucket
/// </code>
/// 0 is the start, and never the result of a step.
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

    /// <summary>Decodes any number: an invalid cursor is a position after the last stripe, or another harmless one.</summary>
    internal static DatabaseCursor Decode(ulong cursor) => new(
        (int)Math.Min(cursor >> StripeShift, int.MaxValue),
        new TableCursor((uint)(cursor >> PrefixShift), (int)(cursor >> DepthShift) & 31, (int)cursor & 127));
}

/// <summary>The counts of a round of active expiry in a table.</summary>
internal struct ExpiryResult
{
    internal long Expired { get; set; }

    internal long ExpiredFields { get; set; }

    internal int SegmentsSearched { get; set; }
}
