using System.Runtime.CompilerServices;
using RedKite.Store.Memory;
using RedKite.Store.Values;
using RedKite.Store.Values.Lists;

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
internal sealed unsafe partial class Database
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

    /// <summary>See <see cref="Keyspace.BoundsDivisor"/>.</summary>
    internal int BoundsDivisor => _keyspace.BoundsDivisor;

    /// <summary>The number of keys, including expired ones that are not removed yet. Needs no lock.</summary>
    internal long Count => Sum(static table => table.Count);

    /// <summary>The number of keys with an expiry. Needs no lock.</summary>
    internal long Expiring => Sum(static table => table.Expiring);

    /// <summary>The number of keys that must not be evicted. Needs no lock.</summary>
    internal long Pinned => Sum(static table => table.Pinned);

    /// <summary>The number of those with an expiry. Needs no lock.</summary>
    internal long PinnedExpiring => Sum(static table => table.PinnedExpiring);

    /// <summary>The number of hashes with expiring fields. Needs no lock.</summary>
    internal long FieldsExpiring => Sum(static table => table.FieldsExpiring);

    /// <summary>The size of the tables in bytes, without their directories and entries. Needs no lock.</summary>
    internal long TableBytes => Sum(static table => table.Segments) * Segment.Bytes;

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
        WriteValue(key, hash, existing, new ValueHeader(DataType.String, encoding, accessClock), valueLength, expiryMs);

    /// <summary>
    /// Replaces a key's value. <paramref name="valueLength"/> bytes of the new one are in the entry's block: all of it, or a
    /// <see cref="ValueRoot"/>. The caller fills them in.
    /// </summary>
    /// <param name="existing">The result of <see cref="Find"/> for the key, just before.</param>
    internal Entry WriteValue(ReadOnlySpan<byte> key, ulong hash, Entry existing, ValueHeader header, int valueLength, long expiryMs)
    {
        Stripe stripe = _keyspace.Stripes[_keyspace.StripeOf(hash)];
        bool expires = expiryMs != NoExpiry;
        long bytes = EntryBlock.BytesFor(key.Length, valueLength, expires);
        byte* old = existing.Exists ? existing.Position.Entry : null;
        bool isTaken = (stripe.Observers & ~StripeObservers.Effects) != StripeObservers.None && NoteWrite(stripe, key, hash, existing) && TryTakeOver(stripe, existing.Position);
        bool inPlace = old != null && !isTaken && EntryBlock.Capacity(old) == BlockSize.RoundUp(bytes);
        if (inPlace && EntryBlock.HasStructure(old)) stripe.Values.Release(old);
        byte* block = inPlace ? old : stripe.Arena.Allocate(bytes);
        byte* oldKeyStart = inPlace ? EntryBlock.KeyStart(old) : null;

        byte oldFlags = old != null ? EntryBlock.CountedFlags(old) : (byte)0;
        if (old != null && !inPlace && !isTaken) _tables[_keyspace.StripeOf(hash)]!.FreeEntry(old);
        EntryBlock.Initialize(block, header, key.Length, valueLength, expires, stripe.Epoch);
        if (expires) EntryBlock.WriteExpiry(block, expiryMs);
        if ((oldFlags & EntryBlock.Pinned) != 0) EntryBlock.MarkPinned(block, isPinned: true);
        byte* keyStart = EntryBlock.KeyStart(block);
        if (keyStart != oldKeyStart) key.CopyTo(new Span<byte>(keyStart, key.Length));

        if (old == null) return new Entry(TableOf(hash, stripe).Add(hash, block));
        if (inPlace && !expires && oldFlags == 0) return existing;
        EntryPosition position = existing.Position;
        _tables[_keyspace.StripeOf(hash)]!.Replace(ref position, block, oldFlags);
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

    /// <inheritdoc cref="Keyspace.SlotOf"/>
    internal int SlotOf(ulong hash) => _keyspace.SlotOf(hash);

    /// <summary>The hasher of keys, fields and members.</summary>
    internal KeyHasher Hasher => _keyspace.Hasher;

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

    /// <summary>Sets, changes or (with <see cref="NoExpiry"/>) removes a key's expiry.</summary>
    internal Entry WriteExpiry(Entry entry, long expiryMs)
    {
        byte* block = entry.Position.Entry;
        bool expires = expiryMs != NoExpiry;
        byte oldFlags = EntryBlock.CountedFlags(block);
        if (!expires && !EntryBlock.Expires(block)) return entry;
        BeforeChange(StripeOf(entry.Position.Hash, out Table table), entry.Position);
        EntryPosition position = entry.Position;
        if (EntryBlock.Expires(block) != expires && !EntryBlock.IsLong(block))
        {
            // The short form reserves no bytes for an expiry.
            byte* moved = table.Arena.Allocate(EntryBlock.BytesFor(EntryBlock.KeyLength(block), EntryBlock.ValueLength(block), expires));
            EntryBlock.Initialize(moved, EntryBlock.Header(block), EntryBlock.KeyLength(block), EntryBlock.ValueLength(block), expires, EntryBlock.Epoch(block));
            EntryBlock.MarkFieldsExpire(moved, EntryBlock.FieldsExpire(block));
            EntryBlock.MarkPinned(moved, EntryBlock.IsPinned(block));
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
        table.Replace(ref position, block, oldFlags);
        return new Entry(position);
    }

    /// <summary>Sets whether a key must not be evicted. A new value of the key keeps that.</summary>
    internal void Pin(Entry entry, bool isPinned)
    {
        BeforeChange(StripeOf(entry.Position.Hash, out Table table), entry.Position);
        table.Pin(entry.Position, isPinned);
    }

    /// <summary>Removes a key with its value. Other entries may move to another segment.</summary>
    internal void Unlink(Entry entry, UnlinkReason reason)
    {
        Stripe stripe = StripeOf(entry.Position.Hash, out Table table);
        Unlink(stripe, table, entry.Position, reason);
        table.JoinIfSparse(entry.Position);
        Free(stripe, table, entry.Position);
    }

    /// <summary>The table of a stripe, or null when the database has no keys there.</summary>
    internal Table? TableIn(int stripe) => _tables[stripe];

    /// <summary>Detaches everything at the keyspace's end; the stripes free it.</summary>
    internal void Dispose() => Clear();

    private Table TableOf(ulong hash, Stripe stripe) => _tables[_keyspace.StripeOf(hash)] ??= stripe.NewTable();

    private Stripe StripeOf(ulong hash, out Table table)
    {
        int stripe = _keyspace.StripeOf(hash);
        table = _tables[stripe]!;
        return _keyspace.Stripes[stripe];
    }

    // The only way out of a table. The caller owns the block from then on, and frees it with Free; if the value lives on elsewhere, it has
    // called BeforeHandOver. No other entry moves.
    private void Unlink(Stripe stripe, Table table, in EntryPosition position, UnlinkReason reason)
    {
        if (stripe.Observers != StripeObservers.None)
        {
            NoteChange(stripe, position);
            NoteRemoved(stripe, position.Hash, position.Entry, reason);
        }

        table.RemoveInPlace(position);
    }
}
