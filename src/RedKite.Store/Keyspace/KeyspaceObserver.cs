namespace RedKite.Store.Keyspace;

/// <summary>The observers of changes in a stripe; see <see cref="Stripe.Observers"/>.</summary>
[Flags]
internal enum StripeObservers : byte
{
    None = 0,

    /// <summary>Clients are blocked on keys of this stripe. Changes with this stripe alone locked.</summary>
    BlockedClients = 1,

    /// <summary>Events are published: notifications, tracking. Changes only while all stripes are locked.</summary>
    Events = 2,

    /// <summary>A snapshot is being written and needs values before they change. Changes only while all stripes are locked.</summary>
    Snapshot = 4,

    /// <summary>Values of this stripe are being copied in slices (<see cref="EntryCopy"/>) or have been sent away (<see cref="KeyWatch"/>). Changes with this stripe alone locked.</summary>
    Copies = 8,

    /// <summary>Clients watch keys of this stripe. Changes with this stripe alone locked.</summary>
    WatchedKeys = 16,

    /// <summary>The effects of commands are published: to the log and replicas. Changes only while all stripes are locked.</summary>
    Effects = 32,

    /// <summary>Values are observed before and after each change: indexes. Changes only while all stripes are locked.</summary>
    Values = 64,
}

/// <summary>Why an entry leaves a table.</summary>
internal enum UnlinkReason : byte
{
    /// <summary>A command removes the key.</summary>
    Deleted,

    /// <summary>The key gets another value.</summary>
    Overwritten,

    /// <summary>The key's expiry has passed.</summary>
    Expired,

    /// <summary>The memory limit requires it.</summary>
    Evicted,

    /// <summary>A collection has lost its last element.</summary>
    Emptied,

    /// <summary>The value gets another key, or the key another database.</summary>
    Renamed,

    /// <summary>The key's slot is another node's.</summary>
    Moved,

    /// <summary>A command removes all keys of the slot.</summary>
    Flushed,
}

/// <summary>
/// Receives the changes in a stripe. The store calls it with the stripe locked, and only while <see cref="Stripe.Observers"/> is
/// not <see cref="StripeObservers.None"/>. It must not change the keyspace. Spans are valid during the call.
/// </summary>
internal abstract class KeyspaceObserver
{
    /// <summary>
    /// An existing entry is about to change or to be removed. Called at least once before the first change of a command, and
    /// possibly again during it: only the first call sees the old value.
    /// </summary>
    /// <param name="database">The entry's database.</param>
    /// <param name="hash">The key's hash.</param>
    /// <param name="entry">The entry, for reading.</param>
    internal abstract void BeforeChange(Database database, ulong hash, scoped in Entry entry);

    /// <summary>
    /// A stripe's keys of a database are about to be removed all at once; <see cref="Removed"/> is not called for them. All stripes are locked.
    /// </summary>
    internal abstract void BeforeFlush(Database database, int stripe);

    /// <summary>Two databases have exchanged their keys. All stripes are locked.</summary>
    internal abstract void Swapped(Database first, Database second);

    /// <summary>A flush has given a database the keys of a shadow one. All stripes are locked.</summary>
    internal abstract void Replaced(Database database);

    /// <summary>
    /// A key is being added. The value may not be there yet. Not called for a key that gets another value in place, for which only
    /// the removal of the old value is reported (<see cref="UnlinkReason.Overwritten"/>).
    /// </summary>
    internal abstract void Added(Database database, ulong hash, ReadOnlySpan<byte> key);

    /// <summary>A key is being removed.</summary>
    internal abstract void Removed(Database database, ulong hash, ReadOnlySpan<byte> key, UnlinkReason reason);

    /// <summary>An expired field of a hash, or member of a set, is being removed. If it is the last one, <see cref="Removed"/> follows.</summary>
    internal abstract void FieldExpired(Database database, DataType type, ulong hash, ReadOnlySpan<byte> key, ReadOnlySpan<byte> field);
}
