using System.Runtime.CompilerServices;

namespace RedKite.Store.Keyspace;

/// <summary>Reports changes to a stripe's observers. While it has none, each change costs one comparison.</summary>
internal sealed unsafe partial class Database
{
    // Before a value changes in place.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void BeforeChange(Stripe stripe, in EntryPosition position)
    {
        if (stripe.Observers != StripeObservers.None) NoteChangeInPlace(stripe, position);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void NoteChangeInPlace(Stripe stripe, in EntryPosition position)
    {
        NoteChange(stripe, position);
        BeforeHandOver(stripe, _tables[_keyspace.StripeOf(position.Hash)]!, position);
    }

    // Before a value changes, or lives on elsewhere: a snapshot writes it first, if it is of the old epoch.
    private static void BeforeHandOver(Stripe stripe, Table table, in EntryPosition position)
    {
        if (stripe.Snapshot is not { } snapshot || EntryBlock.Epoch(position.Entry) == stripe.Epoch) return;
        snapshot.BeforeChange(table, position.Hash, new Entry(position));
        EntryBlock.SetEpoch(position.Entry, stripe.Epoch);
    }

    // Frees an entry that was removed or replaced, unless a snapshot takes it over.
    private void Free(Stripe stripe, Table table, in EntryPosition position)
    {
        if (!TakesOver(stripe, position)) table.FreeEntry(position.Entry);
    }

    /// <summary>Whether a snapshot takes over an entry that active expiry has removed.</summary>
    internal bool TakesOver(Stripe stripe, in EntryPosition position) => stripe.Observers != StripeObservers.None && TryTakeOver(stripe, position);

    // Whether a snapshot takes over the block of an entry that was removed or is being replaced.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private bool TryTakeOver(Stripe stripe, in EntryPosition position)
    {
        if (stripe.Snapshot is not { } snapshot || EntryBlock.Epoch(position.Entry) == stripe.Epoch) return false;
        if (!snapshot.TryTake(_tables[_keyspace.StripeOf(position.Hash)]!, position.Hash, new Entry(position))) return false;
        stripe.NoteTaken(position.Entry);
        return true;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void NoteChange(Stripe stripe, in EntryPosition position)
    {
        stripe.NoteSourceChange(Index, position.Hash);
        stripe.Observer?.BeforeChange(this, position.Hash, new Entry(position));
    }

    // Whether an entry is about to be replaced.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private bool NoteWrite(Stripe stripe, ReadOnlySpan<byte> key, ulong hash, Entry existing)
    {
        if (!existing.Exists)
        {
            NoteAdded(stripe, hash, key);
            return false;
        }

        // The key is not a new one, whatever type the value has.
        NoteChange(stripe, existing.Position);
        NoteRemoved(stripe, hash, existing.Position.Entry, UnlinkReason.Overwritten);
        return true;
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
}
