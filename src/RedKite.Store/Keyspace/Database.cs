using System.Runtime.CompilerServices;
using RedKite.Store.Memory;
using RedKite.Store.Values;
using RedKite.Store.Values.Hashes;
using RedKite.Store.Values.Lists;
using RedKite.Store.Values.Members;

namespace RedKite.Store.Keyspace;

/// <summary>
/// One numbered database: a table for each stripe in which it has keys. Every call that names a key requires that key's stripe
/// to be locked; calls over all keys document their requirements.
/// </summary>
/// <remarks>
/// Code that changes an existing entry calls <see cref="BeforeChange"/> first, through
/// <see cref="OpenToWrite"/> or within the call itself. Code that removes one calls <see cref="Unlink(Stripe, Table, in EntryPosition, UnlinkReason)"/>.
/// Both report to the stripe's observer, and cost one comparison while there is none.
/// </remarks>
internal sealed unsafe class Database
{
    internal const long NoExpiry = -1;

    private readonly Keyspace _keyspace;
    private Table?[] _tables;

    internal Database(Keyspace keyspace, int index)
    {
        _keyspace = keyspace;
        Index = index;
        _tables = new Table?[keyspace.Stripes.Length];
    }

    internal int Index { get; }

    /// <summary>The number of keys, including expired ones that are not removed yet. Needs no lock.</summary>
    internal long Count => Sum(static table => table.Count);

    /// <summary>The number of keys with an expiry. Needs no lock.</summary>
    internal long Expiring => Sum(static table => table.Expiring);

    /// <summary>The number of hashes with expiring fields. Needs no lock.</summary>
    internal long FieldsExpiring => Sum(static table => table.FieldsExpiring);

    /// <summary>The size of the tables in bytes, without their directories and entries. Needs no lock.</summary>
    internal long TableBytes => Sum(static table => table.Segments) * Segment.Bytes;

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

    private long Sum(Func<Table, long> countOf)
    {
        long sum = 0;
        foreach (Table? table in _tables)
        {
            if (table is not null) sum += countOf(table);
        }

        return sum;
    }

    /// <summary>Finds a key that has not expired. An expired one is removed or hidden here, by the caller's policy, so that no caller sees it.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal Entry Find(scoped ReadOnlySpan<byte> key, ulong hash, ExpiryClock expiry)
    {
        Table? table = _tables[_keyspace.StripeOf(hash)];
        if (table is null) return default;
        if (!table.TryFind(key, hash, out EntryPosition position)) return default;
        if (EntryBlock.Expires(position.Entry) && expiry.HasPassed(EntryBlock.Expiry(position.Entry)))
        {
            Expire(table, position, expiry.Policy);
            return default;
        }

        return new Entry(position);
    }

    /// <summary>Finds a key that is about to change, and reports the change if the stripe is observed.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal Entry OpenToWrite(scoped ReadOnlySpan<byte> key, ulong hash, ExpiryClock expiry)
    {
        Entry entry = Find(key, hash, expiry);
        if (entry.Exists) BeforeChange(_keyspace.Stripes[_keyspace.StripeOf(hash)], entry.Position);
        return entry;
    }

    /// <summary>
    /// Replaces a key's value by a string of <paramref name="valueLength"/> bytes, which the caller fills in.
    /// </summary>
    /// <param name="existing">The result of <see cref="Find"/> for the key, just before.</param>
    internal Entry WriteString(
        ReadOnlySpan<byte> key, ulong hash, Entry existing, int valueLength, ValueEncoding encoding, long expiryMs, uint accessClock) =>
        WriteValue(key, hash, existing, DataType.String, encoding, valueLength, expiryMs, accessClock);

    /// <summary>
    /// Replaces a key's value. <paramref name="valueLength"/> bytes of the new one are in the entry's block: all of it, or a
    /// <see cref="ValueRoot"/>. The caller fills them in.
    /// </summary>
    /// <param name="existing">The result of <see cref="Find"/> for the key, just before.</param>
    internal Entry WriteValue(
        ReadOnlySpan<byte> key, ulong hash, Entry existing, DataType type, ValueEncoding encoding, int valueLength, long expiryMs, uint accessClock)
    {
        Stripe stripe = _keyspace.Stripes[_keyspace.StripeOf(hash)];
        bool expires = expiryMs != NoExpiry;
        long bytes = EntryBlock.BytesFor(key.Length, valueLength, expires);
        byte* old = existing.Exists ? existing.Position.Entry : null;
        if (stripe.Observers != StripeObservers.None) NoteWrite(stripe, key, hash, existing);
        bool inPlace = old != null && EntryBlock.Capacity(old) == BlockSize.RoundUp(bytes);
        if (inPlace && EntryBlock.HasStructure(old)) stripe.Values.Release(old);
        byte* block = inPlace ? old : stripe.Arena.Allocate(bytes);
        byte* oldKeyStart = inPlace ? EntryBlock.KeyStart(old) : null;

        byte expiryFlags = old != null ? EntryBlock.ExpiryFlags(old) : (byte)0;
        if (old != null && !inPlace) _tables[_keyspace.StripeOf(hash)]!.FreeEntry(old);
        EntryBlock.Initialize(block, type, encoding, accessClock, key.Length, valueLength, expires);
        if (expires) EntryBlock.WriteExpiry(block, expiryMs);
        byte* keyStart = EntryBlock.KeyStart(block);
        if (keyStart != oldKeyStart) key.CopyTo(new Span<byte>(keyStart, key.Length));

        if (old == null) return new Entry(TableOf(hash, stripe).Add(hash, block));
        if (inPlace && !expires && expiryFlags == 0) return existing;
        EntryPosition position = existing.Position;
        _tables[_keyspace.StripeOf(hash)]!.Replace(ref position, block, expiryFlags);
        return new Entry(position);
    }

    /// <summary>The arena of an entry's stripe, from which the value's structure allocates.</summary>
    internal Arena ArenaOf(scoped in Entry entry) => ArenaOf(entry.Position.Hash);

    /// <summary>The arena of the stripe in which a key with this hash is.</summary>
    internal Arena ArenaOf(ulong hash) => _keyspace.Stripes[_keyspace.StripeOf(hash)].Arena;

    /// <summary>The queue of an entry's stripe for large values that are freed in slices.</summary>
    internal ReleasedValues ReleasedOf(scoped in Entry entry) => _keyspace.Stripes[_keyspace.StripeOf(entry.Position.Hash)].Values;

    /// <summary>The lists of an entry's stripe that the background sweep compacts.</summary>
    internal WarmLists WarmListsOf(scoped in Entry entry) => _keyspace.Stripes[_keyspace.StripeOf(entry.Position.Hash)].WarmLists;

    /// <summary>The stripe in which a key with this hash is.</summary>
    internal Stripe StripeOf(ulong hash) => _keyspace.Stripes[_keyspace.StripeOf(hash)];

    /// <summary>The hasher of keys, fields and members.</summary>
    internal KeyHasher Hasher => _keyspace.Hasher;

    /// <summary>Announces that a read is about to modify an entry; false if it must not (<see cref="ExpiryClock.ReadsMayModify"/>).</summary>
    internal bool TryOpenToModify(Entry entry, ExpiryClock expiry)
    {
        if (!expiry.ReadsMayModify) return false;
        BeforeChange(StripeOf(entry.Position.Hash, out _), entry.Position);
        return true;
    }

    /// <summary>
    /// Changes the length of the value in an entry's block. Its first bytes stay, new bytes are undefined. The rest of the entry
    /// stays. The caller is responsible for a structure that the value refers to.
    /// </summary>
    internal Entry ResizeValue(Entry entry, int valueLength)
    {
        EntryPosition position = entry.Position;
        int stripe = _keyspace.StripeOf(position.Hash);
        BeforeChange(_keyspace.Stripes[stripe], position);
        _tables[stripe]!.Resize(ref position, valueLength);
        return new Entry(position);
    }

    /// <summary>
    /// Records whether fields of a hash expire, after any of their expiries changed, so that the sweep finds them. Observers know of the
    /// change already.
    /// </summary>
    internal void NoteFieldExpiry(Entry entry, bool expire)
    {
        EntryPosition position = entry.Position;
        int stripe = _keyspace.StripeOf(position.Hash);
        byte expiryFlags = EntryBlock.ExpiryFlags(position.Entry);
        EntryBlock.MarkFieldsExpire(position.Entry, expire);
        _tables[stripe]!.Replace(ref position, position.Entry, expiryFlags);
    }

    /// <summary>
    /// Removes about <paramref name="workMax"/> expired fields of a hash, and the hash when no field is left. No other entry moves.
    /// </summary>
    /// <returns>The hash's entry afterwards; none if it was removed.</returns>
    internal Entry ExpireFields(Entry entry, long nowMs, int workMax)
    {
        EntryPosition position = entry.Position;
        Stripe stripe = StripeOf(position.Hash, out Table table);
        stripe.ExpiredFields += ExpireFields(stripe, table, ref position, nowMs, ref workMax, out bool isEmpty);
        if (!isEmpty) return new Entry(position);
        Unlink(stripe, table, position, UnlinkReason.Emptied);
        table.FreeEntry(position.Entry);
        return default;
    }

    /// <summary>Reports and counts an expired field of a hash, which the caller removes.</summary>
    internal void NoteExpiredField(Entry entry, ReadOnlySpan<byte> field)
    {
        Stripe stripe = StripeOf(entry.Position.Hash, out _);
        stripe.ExpiredFields++;
        if (stripe.Observers == StripeObservers.None) return;
        BeforeChange(stripe, entry.Position);
        new ExpiryReport(stripe.Observer, this, entry.Position).Expired(field);
    }

    /// <summary>Counts fields of a hash that a command removed because the expiry that it gave them had passed.</summary>
    internal void CountExpiredFields(ulong hash, long fields) => StripeOf(hash, out _).ExpiredFields += fields;

    /// <summary>Removes a hash whose fields have all expired. A large one is freed in slices.</summary>
    internal void UnlinkExpiredHash(Entry entry, long fields)
    {
        Stripe stripe = StripeOf(entry.Position.Hash, out _);
        stripe.ExpiredFields += fields;
        if (stripe.Observer is { } observer && stripe.Observers != StripeObservers.None)
        {
            BeforeChange(stripe, entry.Position);
            FieldExpiry.ReportAll(new ExpiryReport(observer, this, entry.Position), entry.Position.Entry);
        }

        Unlink(entry, UnlinkReason.Emptied);
    }

    /// <summary>Sets, changes or (with <see cref="NoExpiry"/>) removes a key's expiry.</summary>
    internal Entry WriteExpiry(Entry entry, long expiryMs)
    {
        byte* block = entry.Position.Entry;
        bool expires = expiryMs != NoExpiry;
        byte expiryFlags = EntryBlock.ExpiryFlags(block);
        if (!expires && !EntryBlock.Expires(block)) return entry;
        BeforeChange(StripeOf(entry.Position.Hash, out Table table), entry.Position);
        EntryPosition position = entry.Position;
        if (EntryBlock.Expires(block) != expires && !EntryBlock.IsLong(block))
        {
            // The short form reserves no bytes for an expiry.
            byte* moved = table.Arena.Allocate(EntryBlock.BytesFor(EntryBlock.KeyLength(block), EntryBlock.ValueLength(block), expires));
            EntryBlock.Initialize(
                moved, EntryBlock.Type(block), EntryBlock.Encoding(block), EntryBlock.AccessClock(block),
                EntryBlock.KeyLength(block), EntryBlock.ValueLength(block), expires);
            EntryBlock.MarkFieldsExpire(moved, EntryBlock.FieldsExpire(block));
            EntryBlock.Key(block).CopyTo(new Span<byte>(EntryBlock.KeyStart(moved), EntryBlock.KeyLength(block)));
            EntryBlock.Value(block).CopyTo(EntryBlock.Value(moved));
            table.Arena.Free(block, EntryBlock.Bytes(block));
            block = moved;
        }
        else
        {
            EntryBlock.MarkExpires(block, expires);
        }

        if (expires) EntryBlock.WriteExpiry(block, expiryMs);
        table.Replace(ref position, block, expiryFlags);
        return new Entry(position);
    }

    /// <summary>
    /// Copies an entry's value, type, encoding and expiry to another key, here or in another database, replacing that key's value.
    /// Both stripes are locked. A large value takes long: <see cref="EntryCopy"/> copies it in slices.
    /// </summary>
    internal static void Copy(Entry source, Database target, ReadOnlySpan<byte> key, ulong hash, Entry existing, uint accessClock)
    {
        if (source.HasStructure)
        {
            EntryCopy copy = EntryCopy.Begin(source, target, key, hash);
            copy.RunToEnd();
            copy.Attach(existing, accessClock);
            return;
        }

        ReadOnlySpan<byte> value = source.Value;
        Entry written = target.WriteValue(key, hash, existing, source.Type, source.Encoding, value.Length, source.ExpiryMs, accessClock);
        if (existing.Exists) target.NoteNewKey(key, hash);
        value.CopyTo(written.Value);
        if (source.FieldsExpire) target.NoteFieldExpiry(written, expire: true);
    }

    /// <summary>Replaces a key's value by a block that was written elsewhere and contains the key. The database takes ownership of the block.</summary>
    internal Entry Attach(byte* block, ulong hash, Entry existing)
    {
        NoteKey(EntryBlock.Key(block), hash, existing);
        return Place(block, hash, existing);
    }

    /// <summary>
    /// Renames an entry, replacing the target key's value. Both stripes are locked. The key is part of the block: a large value's block
    /// has room for it, other blocks are rewritten. A structure is handed over by pointer, whatever its size; its blocks stay in the
    /// arena that they came from.
    /// </summary>
    internal void Rename(Entry source, ReadOnlySpan<byte> key, ulong hash, Entry existing)
    {
        if (EntryBlock.CanHoldKey(source.Position.Entry, key.Length))
        {
            RenameInPlace(source.Position, key, hash, existing);
            return;
        }

        ulong sourceHash = source.Position.Hash;
        ReadOnlySpan<byte> sourceKey = source.Key;
        bool handsOver = source.HasStructure;
        if (handsOver)
        {
            ReadOnlySpan<byte> root = source.Value;
            Entry renamed = WriteValue(key, hash, existing, source.Type, source.Encoding, root.Length, source.ExpiryMs, source.AccessClock);
            if (existing.Exists) NoteNewKey(key, hash);
            root.CopyTo(renamed.Value);
            if (source.Type == DataType.List && _keyspace.StripeOf(sourceHash) != _keyspace.StripeOf(hash))
            {
                WarmLists.Forget((QuickListHeader*)renamed.Root.Structure);
                WarmListsOf(renamed).Note(renamed.Root.Structure);
            }

            if (source.FieldsExpire) NoteFieldExpiry(renamed, expire: true);
        }
        else
        {
            Copy(source, this, key, hash, existing, source.AccessClock);
        }

        // Adding the copy may have moved the source's slot, though not its block.
        Stripe stripe = StripeOf(sourceHash, out Table table);
        table.TryFind(sourceKey, sourceHash, out EntryPosition position);
        Unlink(stripe, table, position, UnlinkReason.Renamed);
        table.JoinIfSparse(position);
        if (handsOver) table.FreeBlock(position.Entry);
        else table.FreeEntry(position.Entry);
    }

    /// <summary>Moves an entry to another database that does not have its key. The stripe is the same, so the block stays.</summary>
    internal void MoveTo(Database target, Entry entry)
    {
        EntryPosition position = entry.Position;
        Stripe stripe = StripeOf(position.Hash, out Table table);
        Unlink(stripe, table, position, UnlinkReason.Renamed);
        table.JoinIfSparse(position);
        if (stripe.Observers != StripeObservers.None) target.NoteAdded(stripe, position.Hash, EntryBlock.Key(position.Entry));
        target.TableOf(position.Hash, stripe).Add(position.Hash, position.Entry);
    }

    /// <summary>
    /// Begins to replace a key's value by one that may turn out to be invalid: the old entry is detached but kept. Ends with
    /// <see cref="EndReplacing"/>, before the stripe is unlocked. Observers only see the outcome.
    /// </summary>
    /// <param name="hash">The key's hash.</param>
    /// <param name="existing">The key's entry, if there is one.</param>
    /// <returns>The detached entry; 0: none.</returns>
    internal nint BeginReplacing(ulong hash, Entry existing)
    {
        Stripe stripe = _keyspace.Stripes[_keyspace.StripeOf(hash)];
        if (existing.Exists)
        {
            BeforeChange(stripe, existing.Position);
            Table table = _tables[_keyspace.StripeOf(hash)]!;
            table.RemoveInPlace(existing.Position);
            table.JoinIfSparse(existing.Position);
        }

        stripe.SuspendObservers();
        return (nint)existing.Position.Entry;
    }

    /// <summary>Frees the detached entry, or restores it if there is no new value.</summary>
    /// <param name="kept">The result of <see cref="BeginReplacing"/>.</param>
    /// <param name="key">The key.</param>
    /// <param name="hash">The key's hash.</param>
    /// <param name="isReplaced">Whether the new value is valid. The key then has it, or does not exist if all of it had expired.</param>
    internal void EndReplacing(nint kept, ReadOnlySpan<byte> key, ulong hash, bool isReplaced)
    {
        Stripe stripe = _keyspace.Stripes[_keyspace.StripeOf(hash)];
        var old = (byte*)kept;
        stripe.ResumeObservers();
        if (!isReplaced)
        {
            if (old != null) TableOf(hash, stripe).Add(hash, old);
            return;
        }

        bool exists = _tables[_keyspace.StripeOf(hash)] is { } table && table.TryFind(key, hash, out _);
        if (stripe.Observers != StripeObservers.None)
        {
            if (old != null) NoteRemoved(stripe, hash, old, exists ? UnlinkReason.Overwritten : UnlinkReason.Deleted);
            if (exists) NoteAdded(stripe, hash, key);
        }

        if (old != null) _tables[_keyspace.StripeOf(hash)]!.FreeEntry(old);
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

    /// <summary>Removes all expired entries of a stripe, if the policy says so. The stripe is locked.</summary>
    internal void ExpireStripe(int stripe, ExpiryClock expiry)
    {
        if (expiry.Policy != ExpiryPolicy.Remove) return;
        if (_tables[stripe] is not { } table || table.Expiring + table.FieldsExpiring == 0) return;
        ExpiryResult result = default;
        uint prefix = 0;
        while (table.ExpireSegment(ref prefix, expiry.PassedMs, this, _keyspace.Stripes[stripe], ref result))
        {
        }

        _keyspace.Stripes[stripe].NoteExpired(result);
    }

    /// <summary>Removes a key with its value. Other entries may move to another segment.</summary>
    internal void Unlink(Entry entry, UnlinkReason reason)
    {
        Stripe stripe = StripeOf(entry.Position.Hash, out Table table);
        Unlink(stripe, table, entry.Position, reason);
        table.JoinIfSparse(entry.Position);
        table.FreeEntry(entry.Position.Entry);
    }

    /// <summary>Removes a key that active expiry found expired, or a hash that it emptied. No other entry moves.</summary>
    internal void UnlinkExpired(Stripe stripe, Table table, in EntryPosition position, UnlinkReason reason) => Unlink(stripe, table, position, reason);

    /// <summary>Removes expired fields of a hash in a table, about <paramref name="workMax"/> of them. See <see cref="Table.ExpireFields"/>.</summary>
    internal long ExpireFields(Stripe stripe, Table table, ref EntryPosition position, long nowMs, ref int workMax, out bool isEmpty)
    {
        if (stripe.Observers == StripeObservers.None) return table.ExpireFields(ref position, nowMs, ref workMax, out isEmpty, default);
        BeforeChange(stripe, position);
        return table.ExpireFields(ref position, nowMs, ref workMax, out isEmpty, new ExpiryReport(stripe.Observer, this, position));
    }

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

    /// <summary>The table of a stripe, or null when the database has no keys there.</summary>
    internal Table? TableIn(int stripe) => _tables[stripe];

    /// <summary>Empties the database: its tables are detached and freed in slices. All stripes are locked.</summary>
    internal void Clear()
    {
        for (int i = 0; i < _tables.Length; i++)
        {
            if (_tables[i] is not { } table) continue;
            Stripe stripe = _keyspace.Stripes[i];
            if (stripe.Observers != StripeObservers.None)
            {
                stripe.NoteSourceChanges();
                stripe.Observer?.BeforeFlush(this, i);
            }

            _tables[i] = null;
            stripe.Drop(table, table.Count);
        }
    }

    /// <summary>Exchanges the contents of two databases. All stripes are locked.</summary>
    internal void SwapWith(Database other)
    {
        foreach (Stripe stripe in _keyspace.Stripes) stripe.NoteSourceChanges();
        (_tables, other._tables) = (other._tables, _tables);
    }

    /// <summary>Detaches everything at the keyspace's end; the stripes free it.</summary>
    internal void Dispose() => Clear();

    // Blocks of this size come from the system and can be freed through any arena. Memory that the new key needs is allocated before
    // anything changes.
    private void RenameInPlace(EntryPosition source, ReadOnlySpan<byte> key, ulong hash, Entry existing)
    {
        byte* block = source.Entry;
        Stripe stripe = StripeOf(source.Hash, out Table table);
        if (!existing.Exists)
        {
            TableOf(hash, StripeOf(hash)).MakeRoom(hash);
            table.TryFind(EntryBlock.Key(block), source.Hash, out source);
        }

        NoteKey(key, hash, existing);
        Unlink(stripe, table, source, UnlinkReason.Renamed);
        EntryBlock.ReplaceKey(block, key);
        Place(block, hash, existing);
        table.JoinIfSparse(source); // last: it may move the target's slot
    }

    // Puts a block into the table in place of a key's entry, which is freed.
    private Entry Place(byte* block, ulong hash, Entry existing)
    {
        if (!existing.Exists) return new Entry(TableOf(hash, StripeOf(hash)).Add(hash, block));
        Table table = _tables[_keyspace.StripeOf(hash)]!;
        byte* old = existing.Position.Entry;
        byte expiryFlags = EntryBlock.ExpiryFlags(old);
        table.FreeEntry(old);
        EntryPosition position = existing.Position;
        table.Replace(ref position, block, expiryFlags);
        return new Entry(position);
    }

    private Table TableOf(ulong hash, Stripe stripe) => _tables[_keyspace.StripeOf(hash)] ??= stripe.NewTable();

    private Stripe StripeOf(ulong hash, out Table table)
    {
        int stripe = _keyspace.StripeOf(hash);
        table = _tables[stripe]!;
        return _keyspace.Stripes[stripe];
    }

    // The only way out of a table. The caller owns the block from then on; no other entry moves.
    private void Unlink(Stripe stripe, Table table, in EntryPosition position, UnlinkReason reason)
    {
        if (stripe.Observers != StripeObservers.None)
        {
            BeforeChange(stripe, position);
            NoteRemoved(stripe, position.Hash, position.Entry, reason);
        }

        table.RemoveInPlace(position);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void BeforeChange(Stripe stripe, in EntryPosition position)
    {
        if (stripe.Observers != StripeObservers.None) NoteChange(stripe, position);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void NoteChange(Stripe stripe, in EntryPosition position)
    {
        stripe.NoteSourceChange(Index, position.Hash);
        stripe.Observer?.BeforeChange(this, position.Hash, new Entry(position));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void NoteWrite(Stripe stripe, ReadOnlySpan<byte> key, ulong hash, Entry existing)
    {
        if (!existing.Exists)
        {
            NoteAdded(stripe, hash, key);
            return;
        }

        // The key is not a new one, whatever type the value has.
        NoteChange(stripe, existing.Position);
        NoteRemoved(stripe, hash, existing.Position.Entry, UnlinkReason.Overwritten);
    }

    // Reports that a copied or renamed key is about to get its value.
    private void NoteKey(ReadOnlySpan<byte> key, ulong hash, Entry existing)
    {
        Stripe stripe = StripeOf(hash);
        if (stripe.Observers == StripeObservers.None) return;
        NoteWrite(stripe, key, hash, existing);
        if (existing.Exists) NoteNewKey(key, hash);
    }

    // A copy or a renamed key is a new one, even in place of another.
    private void NoteNewKey(ReadOnlySpan<byte> key, ulong hash)
    {
        Stripe stripe = StripeOf(hash, out _);
        if (stripe.Observers != StripeObservers.None) stripe.Observer?.Added(this, hash, key);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void NoteAdded(Stripe stripe, ulong hash, ReadOnlySpan<byte> key)
    {
        stripe.Observer?.Added(this, hash, key);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void NoteRemoved(Stripe stripe, ulong hash, byte* entry, UnlinkReason reason)
    {
        stripe.Observer?.Removed(this, hash, EntryBlock.Key(entry), reason);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Expire(Table table, in EntryPosition position, ExpiryPolicy policy)
    {
        if (policy != ExpiryPolicy.Remove) return;

        // In place: a Find never moves other entries, so a command may hold several at a time.
        Stripe stripe = StripeOf(position.Hash, out _);
        Unlink(stripe, table, position, UnlinkReason.Expired);
        table.FreeEntry(position.Entry);
        stripe.ExpiredKeys++;
    }
}
