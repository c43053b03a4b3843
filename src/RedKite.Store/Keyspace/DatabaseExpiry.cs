using System.Runtime.CompilerServices;
using RedKite.Store.Values.Hashes;
using RedKite.Store.Values.Members;

namespace RedKite.Store.Keyspace;

/// <summary>Removes what has expired: keys, and fields of hashes.</summary>
internal sealed unsafe partial class Database
{
    /// <summary>Announces that a read is about to modify an entry in a way that no client is told of.</summary>
    internal void OpenToModify(Entry entry) => BeforeChange(StripeOf(entry.Position.Hash, out _), entry.Position);

    /// <summary>
    /// Records whether fields of a hash expire, after any of their expiries changed, so that the sweep finds them. Observers know of the
    /// change already.
    /// </summary>
    internal void NoteFieldExpiry(Entry entry, bool expire)
    {
        EntryPosition position = entry.Position;
        int stripe = _keyspace.StripeOf(position.Hash);
        byte oldFlags = EntryBlock.CountedFlags(position.Entry);
        EntryBlock.MarkFieldsExpire(position.Entry, expire);
        _tables[stripe]!.Replace(ref position, position.Entry, oldFlags);
    }

    /// <summary>
    /// Removes about <paramref name="workMax"/> expired fields of a hash, and the hash when no field is left. No other entry moves.
    /// </summary>
    /// <returns>The hash's entry afterwards; none if it was removed.</returns>
    internal Entry ExpireFields(Entry entry, long nowMs, int workMax)
    {
        EntryPosition position = entry.Position;
        Stripe stripe = StripeOf(position.Hash, out Table table);
        stripe.CountExpiredFields(ExpireFields(stripe, table, ref position, nowMs, ref workMax, out bool isEmpty));
        if (!isEmpty) return new Entry(position);
        Unlink(stripe, table, position, UnlinkReason.Emptied);
        Free(stripe, table, position);
        return default;
    }

    /// <summary>
    /// Whether a snapshot is still to write the value of an entry, a structure: what modifies values unseen leaves it alone meanwhile,
    /// because the snapshot would have to write all of it first.
    /// </summary>
    internal bool IsAwaited(Entry entry) => StripeOf(entry.Position.Hash).Awaits(entry.Position.Entry);

    /// <summary>Reports and counts an expired field of a hash, which the caller removes.</summary>
    internal void NoteExpiredField(Entry entry, ReadOnlySpan<byte> field)
    {
        Stripe stripe = StripeOf(entry.Position.Hash, out _);
        stripe.CountExpiredFields(1);
        if (stripe.Observers == StripeObservers.None) return;
        BeforeChange(stripe, entry.Position);
        new ExpiryReport(stripe.Observer, this, entry.Position).Expired(field);
    }

    /// <summary>Counts a key that a command did not keep because the expiry that it gave it had passed.</summary>
    internal void CountExpiredKey(ulong hash) => StripeOf(hash, out _).CountExpiredKey();

    /// <summary>Counts fields of a hash that a command removed because the expiry that it gave them had passed.</summary>
    internal void CountExpiredFields(ulong hash, long fields) => StripeOf(hash, out _).CountExpiredFields(fields);

    /// <summary>Removes a hash whose fields have all expired. A large one is freed in slices.</summary>
    internal void UnlinkExpiredHash(Entry entry, long fields)
    {
        Stripe stripe = StripeOf(entry.Position.Hash, out _);
        stripe.CountExpiredFields(fields);
        if (stripe.Observer is { } observer && stripe.Observers != StripeObservers.None)
        {
            NoteChange(stripe, entry.Position);
            FieldExpiry.ReportAll(new ExpiryReport(observer, this, entry.Position), entry.Position.Entry);
        }

        Unlink(entry, UnlinkReason.Emptied);
    }

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

    /// <summary>Removes a key that active expiry found expired, or a hash that it emptied. No other entry moves.</summary>
    internal void UnlinkExpired(Stripe stripe, Table table, in EntryPosition position, UnlinkReason reason) => Unlink(stripe, table, position, reason);

    /// <summary>Removes expired fields of a hash in a table, about <paramref name="workMax"/> of them. See <see cref="Table.ExpireFields"/>.</summary>
    internal long ExpireFields(Stripe stripe, Table table, ref EntryPosition position, long nowMs, ref int workMax, out bool isEmpty)
    {
        // What a stream remembers is no part of its value for any observer, and no snapshot is still to write it.
        bool isSeen = stripe.Observers != StripeObservers.None && EntryBlock.Type(position.Entry) != DataType.Stream;
        if (!isSeen) return table.ExpireFields(ref position, nowMs, ref workMax, out isEmpty, default);
        BeforeChange(stripe, position);
        return table.ExpireFields(ref position, nowMs, ref workMax, out isEmpty, new ExpiryReport(stripe.Observer, this, position));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Expire(Table table, in EntryPosition position, ExpiryPolicy policy)
    {
        if (policy != ExpiryPolicy.Remove) return;

        // In place: a Find never moves other entries, so a command may hold several at a time.
        Stripe stripe = StripeOf(position.Hash, out _);
        Unlink(stripe, table, position, UnlinkReason.Expired);
        Free(stripe, table, position);
        stripe.CountExpiredKey();
    }
}
