namespace RedKite.Store.Keyspace;

/// <summary>
/// Keys of one stripe that must still be as they were when they were read: MIGRATE has sent them, and removes those that have not changed since.
/// From <see cref="Stripe.BeginWatch"/> on, the stripe reports each change of a key. All calls are made with the stripe locked.
/// </summary>
internal sealed class KeyWatch
{
    private readonly HashSet<KeyIdentity> _unchanged = [];

    /// <summary>Watches a key too. It has just been read.</summary>
    internal void Add(KeyIdentity key) => _unchanged.Add(key);

    internal bool IsUnchanged(KeyIdentity key) => _unchanged.Contains(key);

    /// <summary>Called before a key changes.</summary>
    internal void NoteChange(KeyIdentity key) => _unchanged.Remove(key);

    /// <summary>Called before a database changes as a whole.</summary>
    internal void NoteChanges() => _unchanged.Clear();
}
