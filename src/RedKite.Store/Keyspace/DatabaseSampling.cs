using System.Runtime.CompilerServices;

namespace RedKite.Store.Keyspace;

/// <summary>Samples and estimates over all keys, and prefetching: what is read without a key's entry.</summary>
internal sealed unsafe partial class Database
{
    /// <summary>The average time to live of keys with an expiry, estimated from samples. Needs no lock.</summary>
    internal long AverageTtlMs
    {
        get
        {
            double sum = 0;
            long keys = 0;
            foreach (Table? table in _tables)
            {
                if (table is not { Expiring: > 0, AverageTtlMs: > 0 }) continue;
                sum += (double)table.AverageTtlMs * table.Expiring;
                keys += table.Expiring;
            }

            return keys == 0 ? 0 : (long)(sum / keys);
        }
    }

    /// <summary>The number of expired keys that are not removed yet, estimated from samples. Needs no lock.</summary>
    internal double StaleKeys
    {
        get
        {
            double keys = 0;
            foreach (Table? table in _tables) keys += (table?.StaleShare ?? 0) * (table?.Expiring ?? 0);
            return keys;
        }
    }

    /// <summary>Samples a stripe, with a probability proportional to its number of keys; -1 if the database is empty. Needs no lock.</summary>
    internal int DrawStripe(Random random)
    {
        long count = Count;
        if (count == 0) return -1;
        long left = random.NextInt64(count);
        for (int i = 0; i < _tables.Length; i++)
        {
            left -= _tables[i]?.Count ?? 0;
            if (left < 0) return i;
        }

        return 0; // keys were removed meanwhile
    }

    /// <summary>
    /// Samples an entry of a stripe; none if the stripe is empty or the sampled entry has expired. In the latter case all expired
    /// entries of its segment are removed, if the policy says so, and few samples miss. The stripe is locked.
    /// </summary>
    internal Entry Pick(int stripe, Random random, ExpiryClock expiry)
    {
        Table? table = _tables[stripe];
        if (table is null) return default;
        byte* block = table.Pick(random);
        if (block == null) return default;
        if (!EntryBlock.Expires(block) || !expiry.HasPassed(EntryBlock.Expiry(block))) return Entry.FromBlock((nint)block);
        if (expiry.Policy != ExpiryPolicy.Remove) return default;

        ExpiryResult result = default;
        uint prefix = table.PrefixOf(_keyspace.Hash(EntryBlock.Key(block)));
        table.ExpireSegment(ref prefix, expiry.PassedMs, this, _keyspace.Stripes[stripe], ref result);
        _keyspace.Stripes[stripe].NoteExpired(result);
        return default;
    }

    /// <summary>Samples entries of a stripe for eviction: see <see cref="Table.Sample"/>. The stripe is locked.</summary>
    internal void Sample(int stripe, ulong start, int wanted, bool onlyExpiring, EntryList entries) =>
        _tables[stripe]?.Sample(start, wanted, onlyExpiring, entries);

    /// <summary>Finds a key by its hash alone, whether it has expired or not. The stripe is locked.</summary>
    internal Entry FindByHash(ulong hash) =>
        _tables[_keyspace.StripeOf(hash)] is { } table && table.TryFind(hash, out EntryPosition position) ? new Entry(position) : default;

    /// <summary>Prefetches a key's bucket and returns its address; 0 if there is no table. Needs no lock.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal nint PrefetchBucket(ulong hash)
    {
        Table? table = _tables[_keyspace.StripeOf(hash)];
        return table is null ? 0 : (nint)table.PrefetchBucket(hash);
    }

    /// <summary>
    /// Prefetches a key's probable entry, or the memory that adding the key changes, once its bucket is in the cache. Needs no lock.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static void PrefetchEntry(nint bucket, ulong hash, bool mayAdd, int bytes) => Table.PrefetchEntry((byte*)bucket, hash, mayAdd, bytes);
}
