using RedKite.Persistence.Rdb;
using RedKite.Server.Config;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Lists;

namespace RedKite.Server.Durability;

/// <summary>What is being loaded into a keyspace, and counts of it. From several threads.</summary>
internal sealed class LoadedData(Keyspace keyspace, Settings settings, KeylessData keyless, Func<long> nowMs, Func<KeylessRecord, string?> loadKeyless)
{
    private const int KeysAhead = 16;
    private const int CorrectedToldMax = 16; // of values: a damaged file may have any number

    private readonly RdbLimits _limits = new(
        new(settings.HashMaxListpackEntries, settings.HashMaxListpackValueBytes),
        new(settings.SetMaxIntsetEntries, settings.SetMaxListpackEntries, settings.SetMaxListpackValueBytes),
        new(settings.SortedSetMaxListpackEntries, settings.SortedSetMaxListpackValueBytes),
        new ListLimits(settings.ListMaxListpackSize));

    private Database[]? _shadow;
    private bool _merges;
    private long _keys;
    private long _expired;
    private long _corrected;

    /// <summary>Whether the caller has locked every stripe: then one thread builds all values.</summary>
    internal bool IsLocked { get; private set; }

    /// <summary>Whether it goes beside the data that clients know.</summary>
    internal bool IsShadow => _shadow is not null;

    /// <summary>Keys that were loaded.</summary>
    internal long Keys => Interlocked.Read(ref _keys);

    /// <summary>Keys that were left out because they had expired.</summary>
    internal long Expired => Interlocked.Read(ref _expired);

    /// <summary>Values that stated something wrongly that follows from their elements.</summary>
    internal long Corrected => Interlocked.Read(ref _corrected);

    /// <summary>Called for each of the first ones, with the file, the key and what it was.</summary>
    internal Action<string>? Told { get; init; }

    /// <summary>Buffers for a thread that builds values.</summary>
    internal RdbScratch NewScratch() => new() { IsStrict = settings.SanitizeDumpPayload == SanitizeDumpPayload.Yes };

    /// <summary>The same for a caller that has locked every stripe, with or without replacing keys that exist.</summary>
    internal LoadedData WithLockedStripes(bool merges)
    {
        (IsLocked, _merges) = (true, merges);
        return this;
    }

    /// <summary>The same for databases that clients do not know, while they use the others.</summary>
    internal LoadedData Into(Database[] shadow)
    {
        _shadow = shadow;
        return this;
    }

    /// <summary>Loads what is no key.</summary>
    /// <returns>What is wrong with the item; null: nothing, or it is none of these.</returns>
    internal string? LoadKeyless(RdbBatch batch, in RdbItem item) =>
        keyless.RecordOf(batch, item) is { } record && loadKeyless(record) is { } error ? $"{record.Data.RecordName} cannot be loaded: {error}" : null;

    /// <summary>Adds the keys of a batch with their values.</summary>
    /// <exception cref="RdbFileException">A value is damaged, or its key is there already.</exception>
    internal void Build(RdbBatch batch, ExpiryClock expiry, RdbScratch scratch)
    {
        // Some keys at a time, so that what they need of the tables arrives from memory together.
        Span<ulong> hashes = stackalloc ulong[KeysAhead];
        Span<nint> buckets = stackalloc nint[KeysAhead];
        for (ReadOnlySpan<RdbItem> left = batch.Items; !left.IsEmpty; left = left[Math.Min(KeysAhead, left.Length)..])
        {
            ReadOnlySpan<RdbItem> items = left[..Math.Min(KeysAhead, left.Length)];
            for (int i = 0; i < items.Length; i++)
            {
                buckets[i] = 0;
                if (items[i].Kind != RdbItemKind.Key) continue;
                hashes[i] = keyspace.Hash(batch.NameOf(items[i]));
                buckets[i] = TargetOf(items[i]).PrefetchBucket(hashes[i]);
            }

            for (int i = 0; i < items.Length; i++)
            {
                if (buckets[i] != 0) Database.PrefetchEntry(buckets[i], hashes[i], mayAdd: true, bytes: 0);
            }

            long now = nowMs();
            int keys = 0, expired = 0;
            for (int i = 0; i < items.Length; i++)
            {
                if (items[i].Kind != RdbItemKind.Key) continue;
                if (TryBuild(batch, items[i], hashes[i], now, expiry, scratch)) keys++;
                else expired++;
            }

            Interlocked.Add(ref _keys, keys);
            if (expired > 0) Interlocked.Add(ref _expired, expired);
        }
    }

    // False: the key, or all fields of a hash, had expired.
    private bool TryBuild(RdbBatch batch, in RdbItem item, ulong hash, long now, ExpiryClock expiry, RdbScratch scratch)
    {
        if (item.ExpiryMs >= 0 && expiry.HasPassed(item.ExpiryMs)) return false;
        Database database = TargetOf(item);
        ReadOnlySpan<byte> key = batch.NameOf(item);
        Stripe stripe = keyspace.Stripes[keyspace.StripeOf(hash)];
        if (!IsLocked) stripe.Enter();
        if (!IsLocked) stripe.SuspendObservers(); // they observe what clients change
        try
        {
            Entry existing = database.Find(key, hash, ExpiryClock.Never);
            if (existing.Exists && !_merges) throw batch.Failure(item, IsLocked ? "the key exists already" : "the key occurs twice");
            if (existing.Exists) database.Unlink(existing, UnlinkReason.Overwritten);
            var target = new RdbTarget(database, key, hash, AccessClockOf(item, now), now, expiry, _limits);
            RdbOutcome outcome = batch.Build(item, target, scratch);
            if (outcome == RdbOutcome.Loaded && scratch.Corrected is { } what) Tell(batch, item, what);
            switch (outcome)
            {
                case RdbOutcome.Corrupt:
                    throw batch.Failure(item, "the value is damaged");
                case RdbOutcome.Loaded:
                    if (item.ExpiryMs >= 0) database.WriteExpiry(database.Find(key, hash, ExpiryClock.Never), item.ExpiryMs);
                    if (item.IsPinned) database.Pin(database.Find(key, hash, ExpiryClock.Never), isPinned: true);
                    return true;
                default:
                    return false;
            }
        }
        finally
        {
            if (!IsLocked) stripe.ResumeObservers();
            if (!IsLocked) stripe.Exit();
        }
    }

    private void Tell(RdbBatch batch, in RdbItem item, string what)
    {
        if (Interlocked.Increment(ref _corrected) <= CorrectedToldMax) Told?.Invoke(batch.Failure(item, $"the value states {what} wrongly, which was determined anew").Message);
    }

    private Database TargetOf(in RdbItem item) => _shadow is { } shadow ? shadow[item.Database] : keyspace.Databases[item.Database];

    private uint AccessClockOf(in RdbItem item, long now)
    {
        if (settings.CountsFrequency) return item.Frequency >= 0 ? AccessClock.Lfu(now, item.Frequency) : AccessClock.NewLfu(now);
        return item.IdleSeconds >= 0 ? AccessClock.LruBefore(now, item.IdleSeconds) : AccessClock.Lru(now);
    }
}
