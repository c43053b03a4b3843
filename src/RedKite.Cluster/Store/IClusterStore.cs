namespace RedKite.Server.Cluster.Store;

/// <summary>A key in the store, and what it has.</summary>
/// <param name="Key">The key.</param>
/// <param name="Value">Its value.</param>
/// <param name="Revision">The revision of the store at which it was written last.</param>
internal sealed record StoreEntry(string Key, ReadOnlyMemory<byte> Value, long Revision);

/// <summary>Keys of the store at one revision.</summary>
internal sealed record StoreSnapshot(long Revision, IReadOnlyList<StoreEntry> Entries);

/// <summary>A key that was written or removed.</summary>
/// <param name="Key">The key.</param>
/// <param name="Entry">What it has now; null: it was removed, or its lease has ended.</param>
/// <param name="Revision">The revision at which that happened.</param>
internal sealed record StoreEvent(string Key, StoreEntry? Entry, long Revision);

/// <summary>Something that must hold when a transaction commits.</summary>
/// <param name="Key">The key.</param>
/// <param name="Revision">The revision at which it must have been written last; 0: there must be no such key.</param>
internal sealed record StoreCondition(string Key, long Revision)
{
    internal static StoreCondition Absent(string key) => new(key, Revision: 0);
}

/// <summary>A key that a transaction writes or removes.</summary>
/// <param name="Key">The key.</param>
/// <param name="Value">Its value; null: the key is removed.</param>
/// <param name="Lease">The lease that it ends with; 0: it stays.</param>
internal sealed record StorePut(string Key, ReadOnlyMemory<byte>? Value, long Lease = 0);

/// <summary>
/// Where a cluster keeps what its nodes agree on. All operations are linearizable. An operation that throws <see cref="StoreException"/> may have happened nevertheless, so a caller that must know reads again.
/// Keys are those under the cluster's prefix, and named without it.
/// </summary>
internal interface IClusterStore : IAsyncDisposable
{
    /// <summary>All keys that begin with a text, in order.</summary>
    /// <exception cref="StoreException">The store is not reached, or refuses.</exception>
    Task<StoreSnapshot> Read(string keysFrom, CancellationToken cancellation);

    /// <summary>Writes all keys, if all conditions hold.</summary>
    /// <returns>The revision of the store behind it; null: a condition does not hold, and nothing was written.</returns>
    /// <exception cref="StoreException">The store is not reached, or refuses; among others since a lease has ended.</exception>
    Task<long?> TryCommit(IReadOnlyList<StoreCondition> conditions, IReadOnlyList<StorePut> puts, CancellationToken cancellation);

    /// <summary>Tells every change behind a revision of keys that begin with a text, in order, until it is cancelled.</summary>
    /// <exception cref="StoreException">The store is not reached, or has forgotten changes behind that revision: the keys have to be read anew.</exception>
    IAsyncEnumerable<StoreEvent> Watch(string keysFrom, long behindRevision, CancellationToken cancellation);

    /// <summary>Begins a lease, whose keys are removed when it has not been renewed for a time.</summary>
    /// <returns>Its id and its time, which may be longer than what was asked for.</returns>
    /// <exception cref="StoreException">The store is not reached, or refuses.</exception>
    Task<(long Lease, TimeSpan Time)> Grant(TimeSpan time, CancellationToken cancellation);

    /// <summary>Renews a lease from the moment at which the store handles this.</summary>
    /// <returns>Its time from then on; null: it has ended.</returns>
    /// <exception cref="StoreException">The store is not reached, or refuses.</exception>
    Task<TimeSpan?> Renew(long lease, CancellationToken cancellation);

    /// <summary>Ends a lease now.</summary>
    /// <exception cref="StoreException">The store is not reached, or refuses.</exception>
    Task Revoke(long lease, CancellationToken cancellation);
}

/// <summary>The store was not reached, or refused. The message is one line and holds no password.</summary>
/// <param name="message">The line.</param>
/// <param name="isConfiguration">Whether trying again cannot help: wrong credentials, a wrong certificate.</param>
internal sealed class StoreException(string message, bool isConfiguration = false, Exception? inner = null) : Exception(message, inner)
{
    internal bool IsConfiguration { get; } = isConfiguration;
}
