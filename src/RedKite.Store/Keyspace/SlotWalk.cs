namespace RedKite.Store.Keyspace;

/// <summary>
/// A walk over the keys of some slots in a keyspace with slots (<see cref="KeyHasher.UsesSlots"/>): one stripe after the other, and in it only the part of the table
/// that has them, because the slot is the upper end of the hash. What it costs depends on these keys, not on the others.
/// </summary>
/// <remarks>As with SCAN, a key that stays is visited, whatever splits and joins meanwhile; one that comes or goes may be.</remarks>
internal sealed unsafe class SlotWalk
{
    private readonly Database _database;
    private readonly SlotRange _range;
    private readonly int _stripes;
    private readonly EntryList _bucket = new();
    private TableCursor _cursor;
    private bool _isInStripe;

    internal SlotWalk(Keyspace keyspace, Database database, SlotRange range)
    {
        if (!keyspace.UsesSlots) throw new InvalidOperationException("The keyspace has no slots.");
        (_database, _range, _stripes) = (database, range, keyspace.Stripes.Length);
    }

    /// <summary>The stripe that is next, whose lock <see cref="Next"/> needs.</summary>
    internal int Stripe { get; private set; }

    internal bool IsComplete => Stripe == _stripes;

    /// <summary>The number of keys in some slots. It locks one stripe at a time, and waits for each, so it is for no loop's thread.</summary>
    internal static long Count(Keyspace keyspace, Database database, SlotRange range)
    {
        var walk = new SlotWalk(keyspace, database, range);
        var entries = new EntryList();
        long count = 0;
        while (!walk.IsComplete)
        {
            using (keyspace.Lock(StripeSet.Of(walk.Stripe))) walk.Next(entries);
            count += entries.Count;
            entries.Clear();
        }

        return count;
    }

    /// <summary>Collects the next entries of <see cref="Stripe"/>, which is locked: some, or none.</summary>
    internal void Next(EntryList entries)
    {
        // Those of the slots that are in this stripe, by their numbers in it.
        int first = Math.Max(0, _range.First - Stripe + _stripes - 1) / _stripes, last = _range.Last < Stripe ? -1 : (_range.Last - Stripe) / _stripes;
        if (first > last || _database.TableIn(Stripe) is not { Count: > 0 } table)
        {
            BeginStripe();
            return;
        }

        if (!_isInStripe) _cursor = new TableCursor(table.FirstPrefix(first), Depth: 0, Bucket: 0);
        _isInStripe = true;
        _bucket.Clear();
        bool more = table.NextBucket(ref _cursor, _bucket);
        foreach (nint block in _bucket.Blocks)
        {
            if (_range.Contains(KeySlot.Of(Entry.FromBlock(block).Key))) entries.Add((byte*)block);
        }

        if (!more || _cursor.Prefix > table.LastPrefix(last)) BeginStripe();
    }

    private void BeginStripe()
    {
        Stripe++;
        _isInStripe = false;
    }
}
