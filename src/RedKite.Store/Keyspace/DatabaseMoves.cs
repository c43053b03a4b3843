using RedKite.Store.Values.Lists;

namespace RedKite.Store.Keyspace;

/// <summary>Brings values to other keys and databases: COPY, RENAME, MOVE, RESTORE, SWAPDB, and the flush of a whole database.</summary>
internal sealed unsafe partial class Database
{
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
        Entry written = target.WriteValue(key, hash, existing, new ValueHeader(source.Type, source.Encoding, accessClock), value.Length, source.ExpiryMs);
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
        bool isPinned = source.IsPinned;
        bool handsOver = source.HasStructure;
        if (handsOver)
        {
            BeforeHandOver(StripeOf(sourceHash, out Table from), from, source.Position);
            ReadOnlySpan<byte> root = source.Value;
            Entry renamed = WriteValue(key, hash, existing, source.Header, root.Length, source.ExpiryMs);
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
        else Free(stripe, table, position);
        if (isPinned) Pin(FindByHash(hash), isPinned: true);
    }

    /// <summary>Moves an entry to another database that does not have its key. The stripe is the same, so the block stays.</summary>
    internal void MoveTo(Database target, Entry entry)
    {
        EntryPosition position = entry.Position;
        Stripe stripe = StripeOf(position.Hash, out Table table);
        BeforeHandOver(stripe, table, position);
        Unlink(stripe, table, position, UnlinkReason.Renamed);
        table.JoinIfSparse(position);
        if (stripe.Observers != StripeObservers.None) target.NoteAdded(stripe, position.Hash, EntryBlock.Key(position.Entry));
        EntryBlock.SetEpoch(position.Entry, stripe.Epoch);
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
            if (stripe.Observers != StripeObservers.None) NoteChange(stripe, existing.Position);
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

        EntryPosition position = default;
        bool exists = _tables[_keyspace.StripeOf(hash)] is { } table && table.TryFind(key, hash, out position);
        if (exists && old != null && EntryBlock.IsPinned(old)) TableOf(hash, stripe).Pin(position, isPinned: true);
        if (stripe.Observers != StripeObservers.None)
        {
            if (old != null) NoteRemoved(stripe, hash, old, exists ? UnlinkReason.Overwritten : UnlinkReason.Deleted);
            if (exists) NoteAdded(stripe, hash, key);
        }

        if (old != null) Free(stripe, _tables[_keyspace.StripeOf(hash)]!, new EntryPosition(null, 0, old, hash));
    }

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
            if (stripe.Snapshot?.TryTake(table) != true) stripe.Drop(table, table.Count);
        }
    }

    /// <summary>As <see cref="Clear"/>, for a database that no client knows (<see cref="Keyspace.NewShadow"/>): nothing is reported. All stripes are locked.</summary>
    internal void Discard()
    {
        for (int i = 0; i < _tables.Length; i++)
        {
            if (_tables[i] is not { } table) continue;
            _tables[i] = null;
            _keyspace.Stripes[i].Drop(table, table.Count);
        }
    }

    /// <summary>Exchanges the contents of two databases. All stripes are locked.</summary>
    internal void SwapWith(Database other)
    {
        foreach (Stripe stripe in _keyspace.Stripes) stripe.NoteSourceChanges();
        (_tables, other._tables) = (other._tables, _tables);
        if (_keyspace.Stripes[0] is not { Observers: not StripeObservers.None, Observer: { } observer }) return;
        if (_keyspace.Databases[other.Index] == other) observer.Swapped(this, other);
        else observer.Replaced(this);
    }

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
        BeforeHandOver(stripe, table, source);
        Unlink(stripe, table, source, UnlinkReason.Renamed);
        EntryBlock.ReplaceKey(block, key);
        Place(block, hash, existing);
        table.JoinIfSparse(source); // last: it may move the target's slot
    }

    // Puts a block into the table in place of a key's entry, which is freed.
    private Entry Place(byte* block, ulong hash, Entry existing)
    {
        Stripe stripe = StripeOf(hash);
        EntryBlock.SetEpoch(block, stripe.Epoch); // it may have been made before the epoch began
        if (!existing.Exists) return new Entry(TableOf(hash, stripe).Add(hash, block));
        Table table = _tables[_keyspace.StripeOf(hash)]!;
        byte* old = existing.Position.Entry;
        byte oldFlags = EntryBlock.CountedFlags(old);
        if ((oldFlags & EntryBlock.Pinned) != 0) EntryBlock.MarkPinned(block, isPinned: true);
        Free(stripe, table, existing.Position);
        EntryPosition position = existing.Position;
        table.Replace(ref position, block, oldFlags);
        return new Entry(position);
    }
}
