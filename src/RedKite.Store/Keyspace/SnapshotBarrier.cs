namespace RedKite.Store.Keyspace;

/// <summary>
/// What a snapshot in progress hears of one stripe: entries of the old epoch just before they change or leave. An entry is of the old
/// epoch until it was written, changed or taken; each is reported at most once. Set and cleared with all stripes locked
/// (<see cref="Keyspace.BeginEpoch"/>); called with the stripe locked.
/// </summary>
/// <remarks>
/// Entries are reported by their table, which stays the same object when SWAPDB exchanges two databases' tables. The other observers
/// name the current database.
/// </remarks>
internal abstract class SnapshotBarrier
{
    /// <summary>
    /// The value of an entry is about to change in place, or to live on under another key or in another table. The snapshot writes what
    /// it needs of it before it returns; afterwards the entry counts as written.
    /// </summary>
    internal abstract void BeforeChange(Table table, ulong hash, scoped in Entry entry);

    /// <summary>
    /// An entry has left its table, or is about to be replaced there. The snapshot may take over its block, with all of its value, until
    /// it calls <see cref="Stripe.FreeTaken"/>; what it does not take, it writes before it returns.
    /// </summary>
    /// <returns>Whether it takes the block over.</returns>
    internal abstract bool TryTake(Table table, ulong hash, scoped in Entry entry);

    /// <summary>
    /// A table with all of its entries was detached from its database. The snapshot may take it over until it calls
    /// <see cref="Stripe.Drop"/>. All stripes are locked.
    /// </summary>
    internal abstract bool TryTake(Table table);
}
