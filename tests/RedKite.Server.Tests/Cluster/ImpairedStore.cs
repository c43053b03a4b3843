using System.Runtime.CompilerServices;
using RedKite.Server.Cluster.Agreement;
using RedKite.Server.Cluster.Store;

namespace RedKite.Server.Tests.Cluster;

/// <summary>A node's store that answers late, or whose changes it does not hear.</summary>
internal sealed class ImpairedStore : IClusterStore
{
    private readonly Lazy<IClusterStore> _store;
    private volatile TaskCompletionSource _hears = Completed();

    internal ImpairedStore(Func<IClusterStore> open) => _store = new Lazy<IClusterStore>(open);

    /// <summary>How long each answer takes.</summary>
    internal TimeSpan Delay { get; set; }

    /// <summary>The next commit of a topology has no answer: it was lost, or its request.</summary>
    internal Loss? LosesNext { get; set; }

    /// <summary>Called before each commit.</summary>
    internal Func<IReadOnlyList<StorePut>, Task>? Committing { get; set; }

    internal enum Loss
    {
        Answer,
        Request,
    }

    /// <summary>Whether changes wait.</summary>
    internal bool IsDeaf
    {
        set
        {
            TaskCompletionSource before = _hears;
            _hears = value ? new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously) : Completed();
            before.TrySetResult();
        }
    }

    /// <summary>Has a node of a test's cluster reach its store by one of these. They are in the order of the nodes.</summary>
    internal static void Use(RedKiteOptions options, List<ImpairedStore> stores)
    {
        var store = new ImpairedStore(options.ClusterStore!);
        stores.Add(store);
        options.ClusterStore = () => store;
    }

    public async Task<StoreSnapshot> Read(string keysFrom, CancellationToken cancellation) => await Later(_store.Value.Read(keysFrom, cancellation));

    public async Task<long?> TryCommit(IReadOnlyList<StoreCondition> conditions, IReadOnlyList<StorePut> puts, CancellationToken cancellation)
    {
        if (Committing is { } committing) await committing(puts);
        if (LosesNext is not { } lost || puts.All(static put => put.Key != StoreKeys.Topology)) return await Later(_store.Value.TryCommit(conditions, puts, cancellation));
        LosesNext = null;
        if (lost == Loss.Answer) await _store.Value.TryCommit(conditions, puts, cancellation);
        throw new StoreException("no answer");
    }

    public async IAsyncEnumerable<StoreEvent> Watch(string keysFrom, long behindRevision, [EnumeratorCancellation] CancellationToken cancellation)
    {
        await foreach (StoreEvent change in _store.Value.Watch(keysFrom, behindRevision, cancellation))
        {
            await _hears.Task.WaitAsync(cancellation);
            yield return change;
        }
    }

    public async Task<(long Lease, TimeSpan Time)> Grant(TimeSpan time, CancellationToken cancellation) => await Later(_store.Value.Grant(time, cancellation));

    public async Task<TimeSpan?> Renew(long lease, CancellationToken cancellation) => await Later(_store.Value.Renew(lease, cancellation));

    public Task Revoke(long lease, CancellationToken cancellation) => _store.Value.Revoke(lease, cancellation);

    public ValueTask DisposeAsync() => _store.Value.DisposeAsync();

    private static TaskCompletionSource Completed()
    {
        var completed = new TaskCompletionSource();
        completed.SetResult();
        return completed;
    }

    private async Task<T> Later<T>(Task<T> answer)
    {
        T answered = await answer;
        if (Delay > TimeSpan.Zero) await Task.Delay(Delay);
        return answered;
    }
}
