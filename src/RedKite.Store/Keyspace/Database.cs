using System.Runtime.CompilerServices;
using RedKite.Store.Memory;
using RedKite.Store.Values;
using RedKite.Store.Values.Lists;

namespace RedKite.Store.Keyspace;

/// <summary>
/// One numbered database: a table for each stripe in which it has keys. Every call that names a key is made with that
/// key's stripe locked; those over all keys say what they need.
/// </summary>
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

    /// <summary>Keys in the database, expired ones that nobody has removed yet included. Needs no lock.</summary>
    internal long Count
    {
        get
        {
            long count = 0;
            foreach (Table? table in _tables) count += table?.Count ?? 0;
            return count;
        }
    }

    /// <summary>Keys that have an expiry. Needs no lock.</summary>
    internal long Expiring
    {
        get
        {
            long count = 0;
            foreach (Table? table in _tables) count += table?.Expiring ?? 0;
            return count;
        }
    }

    /// <summary>Hashes of which fields have an expiry. Needs no lock.</summary>
    internal long FieldsExpiring
    {
        get
        {
            long count = 0;
            foreach (Table? table in _tables) count += table?.FieldsExpiring ?? 0;
            return count;
        }
    }

    /// <summary>Bytes of the tables, without their directories and entries. Needs no lock.</summary>
    internal long TableBytes
    {
        get
        {
            long segments = 0;
            foreach (Table? table in _tables) segments += table?.Segments ?? 0;
            return segments * Segment.Bytes;
        }
    }

    /// <summary>How long keys with an expiry have left on average: an estimate from samples. Needs no lock.</summary>
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

    /// <summary>How many keys are past their expiry and still there: an estimate from samples. Needs no lock.</summary>
    internal double StaleKeys
    {
        get
        {
            double keys = 0;
            foreach (Table? table in _tables) keys += (table?.StaleShare ?? 0) * (table?.Expiring ?? 0);
            return keys;
        }
    }

    /// <summary>Finds a key that is alive. One whose time has come is removed here, so that nobody ever sees it.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal Entry Find(scoped ReadOnlySpan<byte> key, ulong hash, long nowMs)
    {
        Table? table = _tables[_keyspace.StripeOf(hash)];
        if (table is null) return default;
        if (!table.TryFind(key, hash, out EntryPosition position)) return default;
        if (EntryBlock.Expires(position.Entry) && EntryBlock.Expiry(position.Entry) <= nowMs)
        {
            Expire(table, position);
            return default;
        }

        return new Entry(position);
    }

    /// <summary>
    /// Makes a key hold a string of <paramref name="valueLength"/> bytes, which the caller fills in; what the key held is gone.
    /// </summary>
    /// <param name="existing">What <see cref="Find"/> gave for the key, just before.</param>
    internal Entry WriteString(
        ReadOnlySpan<byte> key, ulong hash, Entry existing, int valueLength, ValueEncoding encoding, long expiryMs, uint accessClock) =>
        WriteValue(key, hash, existing, DataType.String, encoding, valueLength, expiryMs, accessClock);

    /// <summary>
    /// Makes a key hold a value of a type, of which <paramref name="valueLength"/> bytes are in the entry's block: all of
    /// it, or a <see cref="ValueRoot"/>. The caller fills them in; what the key held is gone.
    /// </summary>
    /// <param name="existing">What <see cref="Find"/> gave for the key, just before.</param>
    internal Entry WriteValue(
        ReadOnlySpan<byte> key, ulong hash, Entry existing, DataType type, ValueEncoding encoding, int valueLength, long expiryMs, uint accessClock)
    {
        Stripe stripe = _keyspace.Stripes[_keyspace.StripeOf(hash)];
        bool expires = expiryMs != NoExpiry;
        long bytes = EntryBlock.BytesFor(key.Length, valueLength, expires);
        byte* old = existing.Exists ? existing.Position.Entry : null;
        if (stripe.Watchers > 0 && (old == null || EntryBlock.Type(old) != type)) stripe.NoteTouched(Index, hash);
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

    /// <summary>The arena of an entry's stripe, where the value's structure is too.</summary>
    internal Arena ArenaOf(scoped in Entry entry) => ArenaOf(entry.Position.Hash);

    /// <summary>The arena of the stripe in which a key with this hash is.</summary>
    internal Arena ArenaOf(ulong hash) => _keyspace.Stripes[_keyspace.StripeOf(hash)].Arena;

    /// <summary>Where big things of an entry's stripe go to be freed in slices.</summary>
    internal ReleasedValues ReleasedOf(scoped in Entry entry) => _keyspace.Stripes[_keyspace.StripeOf(entry.Position.Hash)].Values;

    /// <summary>The lists of an entry's stripe that the background sweep makes compact.</summary>
    internal WarmLists WarmListsOf(scoped in Entry entry) => _keyspace.Stripes[_keyspace.StripeOf(entry.Position.Hash)].WarmLists;

    /// <summary>The hasher of keys, fields and members.</summary>
    internal KeyHasher Hasher => _keyspace.Hasher;

    /// <summary>
    /// Changes the length of the value in an entry's block; its first bytes stay, what is new is undefined. The rest of
    /// the entry stays, a structure that the value refers to is the caller's affair.
    /// </summary>
    internal Entry ResizeValue(Entry entry, int valueLength)
    {
        EntryPosition position = entry.Position;
        _tables[_keyspace.StripeOf(position.Hash)]!.Resize(ref position, valueLength);
        return new Entry(position);
    }

    /// <summary>
    /// Says whether fields of a hash expire, after any of their expiries changed: so the sweep knows when it has to look.
    /// </summary>
    internal void NoteFieldExpiry(Entry entry, bool expire)
    {
        EntryPosition position = entry.Position;
        byte expiryFlags = EntryBlock.ExpiryFlags(position.Entry);
        EntryBlock.MarkFieldsExpire(position.Entry, expire);
        _tables[_keyspace.StripeOf(position.Hash)]!.Replace(ref position, position.Entry, expiryFlags);
    }

    /// <summary>
    /// Removes the fields of a hash whose time has come, about as many as said, and the hash when none is left. No other
    /// entry moves.
    /// </summary>
    /// <returns>The hash as it is then, or nothing.</returns>
    internal Entry ExpireFields(Entry entry, long nowMs, int workMax)
    {
        EntryPosition position = entry.Position;
        int stripe = _keyspace.StripeOf(position.Hash);
        Table table = _tables[stripe]!;
        _keyspace.Stripes[stripe].ExpiredFields += table.ExpireFields(ref position, nowMs, ref workMax, out bool isEmpty);
        if (!isEmpty) return new Entry(position);
        table.RemoveInPlace(position);
        table.FreeEntry(position.Entry);
        return default;
    }

    /// <summary>Removes a hash of which the time of all fields has come; a big one is freed in slices.</summary>
    internal void RemoveExpiredHash(Entry entry, long fields)
    {
        _keyspace.Stripes[_keyspace.StripeOf(entry.Position.Hash)].ExpiredFields += fields;
        Remove(entry);
    }

    /// <summary>Sets, changes or (with <see cref="NoExpiry"/>) takes away a key's expiry.</summary>
    internal Entry WriteExpiry(Entry entry, long expiryMs)
    {
        byte* block = entry.Position.Entry;
        bool expires = expiryMs != NoExpiry;
        byte expiryFlags = EntryBlock.ExpiryFlags(block);
        if (!expires && !EntryBlock.Expires(block)) return entry;
        Table table = _tables[_keyspace.StripeOf(entry.Position.Hash)]!;
        EntryPosition position = entry.Position;
        if (EntryBlock.Expires(block) != expires && !EntryBlock.IsLong(block))
        {
            // The short form has no room for an expiry until it needs one.
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
    /// Gives a copy of an entry's value, type, encoding and expiry to another key, here or in another database, in place
    /// of what that key held. Both stripes are locked.
    /// </summary>
    internal static void Copy(Entry source, Database target, ReadOnlySpan<byte> key, ulong hash, Entry existing, uint accessClock)
    {
        ReadOnlySpan<byte> value = source.Value;
        Entry copy = target.WriteValue(key, hash, existing, source.Type, source.Encoding, value.Length, source.ExpiryMs, accessClock);
        if (source.HasStructure) copy.Root = ValueStructure.Copy(source, target.ArenaOf(copy));
        else value.CopyTo(copy.Value);
        if (source.HasStructure && source.Type == DataType.List) target.WarmListsOf(copy).Note(copy.Root.Structure);
        if (source.FieldsExpire) target.NoteFieldExpiry(copy, expire: true);
    }

    /// <summary>
    /// Gives an entry another key, with all that it has, in place of what that key held. Both stripes are locked. The
    /// key is part of the block, so the block is written anew; a structure changes hands where both keys have one arena,
    /// and is copied otherwise.
    /// </summary>
    internal void Rename(Entry source, ReadOnlySpan<byte> key, ulong hash, Entry existing)
    {
        ulong sourceHash = source.Position.Hash;
        ReadOnlySpan<byte> sourceKey = source.Key;
        bool handsOver = source.HasStructure && _keyspace.StripeOf(sourceHash) == _keyspace.StripeOf(hash);
        if (handsOver)
        {
            ReadOnlySpan<byte> root = source.Value;
            Entry renamed = WriteValue(key, hash, existing, source.Type, source.Encoding, root.Length, source.ExpiryMs, source.AccessClock);
            root.CopyTo(renamed.Value);
            if (source.FieldsExpire) NoteFieldExpiry(renamed, expire: true);
        }
        else
        {
            Copy(source, this, key, hash, existing, source.AccessClock);
        }

        // Adding the copy may have moved the source's slot, though not its block.
        Table table = _tables[_keyspace.StripeOf(sourceHash)]!;
        table.TryFind(sourceKey, sourceHash, out EntryPosition position);
        NoteGone(position);
        table.Remove(position);
        if (handsOver) table.FreeBlock(position.Entry);
        else table.FreeEntry(position.Entry);
    }

    /// <summary>Hands an entry over to another database that does not have its key: the same stripe, so the same block.</summary>
    internal void MoveTo(Database target, Entry entry)
    {
        EntryPosition position = entry.Position;
        int stripe = _keyspace.StripeOf(position.Hash);
        NoteGone(position);
        _keyspace.Stripes[stripe].NoteTouched(target.Index, position.Hash);
        _tables[stripe]!.Remove(position);
        target.TableOf(position.Hash, _keyspace.Stripes[stripe]).Add(position.Hash, position.Entry);
    }

    /// <summary>
    /// Takes an entry out of the database but keeps it, so that its key can get another value which may come to nothing:
    /// it ends with <see cref="Attach"/> or <see cref="FreeDetached"/>, before the stripe is given back.
    /// </summary>
    internal nint Detach(Entry entry)
    {
        NoteGone(entry.Position);
        _tables[_keyspace.StripeOf(entry.Position.Hash)]!.Remove(entry.Position);
        return (nint)entry.Position.Entry;
    }

    /// <summary>Gives a key, which is missing, the entry back that was detached.</summary>
    internal void Attach(nint detached, ulong hash) => TableOf(hash, _keyspace.Stripes[_keyspace.StripeOf(hash)]).Add(hash, (byte*)detached);

    /// <summary>Frees an entry that was detached.</summary>
    internal void FreeDetached(nint detached, ulong hash) => _tables[_keyspace.StripeOf(hash)]!.FreeEntry((byte*)detached);

    /// <summary>A stripe drawn at random, each as likely as it has keys; -1 when the database is empty. Needs no lock.</summary>
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

        return 0; // keys went while they were counted
    }

    /// <summary>
    /// A living entry of a stripe, drawn at random, or none if the stripe is empty or the draw hit one whose time had come;
    /// then all such entries of its segment are removed, so that draws which miss are few. The stripe is locked.
    /// </summary>
    internal Entry Draw(int stripe, Random random, long nowMs)
    {
        Table? table = _tables[stripe];
        if (table is null) return default;
        byte* block = table.Draw(random);
        if (block == null) return default;
        if (!EntryBlock.Expires(block) || EntryBlock.Expiry(block) > nowMs) return Entry.FromBlock((nint)block);

        ExpiryResult result = _keyspace.Stripes[stripe].BeginExpiry(Index);
        uint prefix = table.PrefixOf(_keyspace.Hash(EntryBlock.Key(block)));
        table.ExpireSegment(ref prefix, nowMs, ref result);
        _keyspace.Stripes[stripe].NoteExpired(result);
        return default;
    }

    /// <summary>Removes every entry of a stripe whose time has come. The stripe is locked.</summary>
    internal void ExpireStripe(int stripe, long nowMs)
    {
        if (_tables[stripe] is not { } table || table.Expiring + table.FieldsExpiring == 0) return;
        ExpiryResult result = _keyspace.Stripes[stripe].BeginExpiry(Index);
        uint prefix = 0;
        while (table.ExpireSegment(ref prefix, nowMs, ref result))
        {
        }

        _keyspace.Stripes[stripe].NoteExpired(result);
    }

    /// <summary>Removes a key with its value.</summary>
    internal void Remove(Entry entry)
    {
        Table table = _tables[_keyspace.StripeOf(entry.Position.Hash)]!;
        NoteGone(entry.Position);
        table.Remove(entry.Position);
        table.FreeEntry(entry.Position.Entry);
    }

    /// <summary>Asks for a key's bucket ahead of time; 0 when there is none. Needs no lock.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal nint PrefetchBucket(ulong hash)
    {
        Table? table = _tables[_keyspace.StripeOf(hash)];
        return table is null ? 0 : (nint)table.PrefetchBucket(hash);
    }

    /// <summary>
    /// Asks for the entry that a key probably has, or for what adding it changes, once its bucket has arrived. Needs no lock.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static void PrefetchEntry(nint bucket, ulong hash, bool mayAdd, int bytes) => Table.PrefetchEntry((byte*)bucket, hash, mayAdd, bytes);

    /// <summary>The table of a stripe, or null when the database has no keys there.</summary>
    internal Table? TableIn(int stripe) => _tables[stripe];

    /// <summary>Empties the database: its tables are set aside and freed in slices. All stripes are locked.</summary>
    internal void Clear()
    {
        for (int i = 0; i < _tables.Length; i++)
        {
            if (_tables[i] is not { } table) continue;
            _tables[i] = null;
            _keyspace.Stripes[i].Drop(table);
        }
    }

    /// <summary>Exchanges the contents of two databases. All stripes are locked.</summary>
    internal void SwapWith(Database other) => (_tables, other._tables) = (other._tables, _tables);

    /// <summary>Sets everything aside at the keyspace's end; the stripes free it.</summary>
    internal void Dispose() => Clear();

    private Table TableOf(ulong hash, Stripe stripe) => _tables[_keyspace.StripeOf(hash)] ??= stripe.NewTable();

    private void NoteGone(in EntryPosition position) =>
        _keyspace.Stripes[_keyspace.StripeOf(position.Hash)].NoteGone(Index, position.Hash, position.Entry);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Expire(Table table, in EntryPosition position)
    {
        NoteGone(position);

        // In place: a Find never moves other entries, so a command may hold several at a time.
        table.RemoveInPlace(position);
        table.FreeEntry(position.Entry);
        _keyspace.Stripes[_keyspace.StripeOf(position.Hash)].ExpiredKeys++;
    }
}
