using System.Runtime.CompilerServices;

namespace RedKite.Server.Cluster.Store;

/// <summary>
/// A store in this process's memory, for tests and for clusters inside one process. Several can be opened on the same data, one for each node, and see each other's
/// changes. Thread-safe. Operations end before they return; only a watch waits, and continues in its caller's synchronization context.
/// </summary>
/// <param name="data">The keys, those of other prefixes included.</param>
/// <param name="prefix">What every key of this cluster begins with.</param>
internal sealed class MemoryClusterStore(MemoryClusterData data, string prefix = "") : IClusterStore
{
    private readonly CancellationTokenSource _closing = new();

    internal MemoryClusterStore(TimeProvider clock)
        : this(new MemoryClusterData(clock))
    {
    }

    internal MemoryClusterData Data => data;

    public Task<StoreSnapshot> Read(string keysFrom, CancellationToken cancellation) => Do(() => data.Read(prefix + keysFrom, prefix.Length), cancellation);

    public Task<long?> TryCommit(IReadOnlyList<StoreCondition> conditions, IReadOnlyList<StorePut> puts, CancellationToken cancellation) => Do(
        () =>
        {
            StoreLimits.Check(conditions, puts);
            return data.TryCommit([.. conditions.Select(condition => condition with { Key = prefix + condition.Key })], [.. puts.Select(put => put with { Key = prefix + put.Key })]);
        },
        cancellation);

    public async IAsyncEnumerable<StoreEvent> Watch(string keysFrom, long behindRevision, [EnumeratorCancellation] CancellationToken cancellation)
    {
        using var ending = CancellationTokenSource.CreateLinkedTokenSource(cancellation, _closing.Token);
        long seen = behindRevision;
        while (true)
        {
            cancellation.ThrowIfCancellationRequested();
            ThrowIfClosed();
            (IReadOnlyList<StoreEvent> events, long revision, Task<long>? next) = data.ChangesBehind(seen, prefix + keysFrom, prefix.Length);
            foreach (StoreEvent change in events)
            {
                cancellation.ThrowIfCancellationRequested();
                yield return change;
            }

            // A watch from a revision that is yet to come waits for it.
            seen = Math.Max(seen, revision);
            if (next is null) continue;
            try
            {
                // Nothing was missed before that revision, whatever has been forgotten meanwhile.
                seen = Math.Max(seen, await next.WaitAsync(ending.Token) - 1);
            }
            catch (OperationCanceledException)
            {
            }
        }
    }

    public Task<(long Lease, TimeSpan Time)> Grant(TimeSpan time, CancellationToken cancellation) => Do(() => (data.Grant(time), time), cancellation);

    public Task<TimeSpan?> Renew(long lease, CancellationToken cancellation) => Do(() => data.Renew(lease), cancellation);

    public Task Revoke(long lease, CancellationToken cancellation) => Do(() => data.Revoke(lease), cancellation);

    /// <summary>Ends this store's watches. The data stays, and its leases end by themselves.</summary>
    public async ValueTask DisposeAsync() => await _closing.CancelAsync();

    private Task<T> Do<T>(Func<T> operation, CancellationToken cancellation)
    {
        if (cancellation.IsCancellationRequested) return Task.FromCanceled<T>(cancellation);
        try
        {
            ThrowIfClosed();
            return Task.FromResult(operation());
        }
        catch (StoreException failure)
        {
            return Task.FromException<T>(failure);
        }
    }

    private void ThrowIfClosed()
    {
        if (_closing.IsCancellationRequested) throw new StoreException("The store is closed.");
    }
}
