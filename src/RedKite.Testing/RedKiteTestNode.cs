using System.Globalization;
using System.Runtime.CompilerServices;
using RedKite.Server.Cluster;
using RedKite.Server.Cluster.Store;

namespace RedKite.Testing;

/// <summary>A node of a <see cref="RedKiteTestCluster"/>.</summary>
public sealed class RedKiteTestNode
{
    private const string LeaseMs = "600000";

    private readonly string _folder;
    private readonly MemoryClusterData _data;
    private readonly RedKiteTestClusterOptions _options;
    private RedKiteServer? _server;
    private int _port;

    internal RedKiteTestNode(string folder, MemoryClusterData data, RedKiteTestClusterOptions options) => (_folder, _data, _options) = (folder, data, options);

    /// <summary>Its id in the cluster. It stays when the node is started again.</summary>
    public string Id { get; private set; } = "";

    /// <summary>Its address: "127.0.0.1:port". It stays, too.</summary>
    public string EndPoint => string.Create(CultureInfo.InvariantCulture, $"127.0.0.1:{_port}");

    /// <summary>Whether it was not killed.</summary>
    public bool IsRunning => _server is not null;

    /// <summary>Whether it serves slots as their primary now.</summary>
    public bool Serves => _server?.Engine.Routing.Value is { IsUp: true, Primary: SlotRouting.NoNode };

    /// <summary>The server itself.</summary>
    /// <exception cref="InvalidOperationException">The node was killed.</exception>
    public RedKiteServer Server => _server ?? throw new InvalidOperationException("The node does not run.");

    internal CutStore Store { get; private set; } = null!;

    // A replica follows its primary's stream, and a primary knows that all of its replicas do.
    internal bool IsInStep => _server is { } server
        && (server.Cluster!.State.Self.IsPrimary ? server.Parts.Replicas.InStep.Count() == _options.ReplicasPerShard : server.Engine.Replication.LinkStatus is { State: RedKite.Server.Replication.ReplicaLinkState.Connected });

    internal ClusterNode Describe() => Server.Cluster!.DescribeSelf(Server.Cluster.State.Self) with { BusPort = 0 };

    /// <summary>Starts it again, with what its folder has. Nothing, if it runs.</summary>
    public Task StartAgainAsync() => IsRunning ? Task.CompletedTask : StartAsync();

    /// <summary>Cuts it off from the store for so long that its lease ends, until <see cref="Reconnect"/>: its clients still reach it.</summary>
    public void CutOff() => CutOff(endsLease: true);

    /// <summary>It reaches the store again.</summary>
    public void Reconnect()
    {
        Store.Reconnect();
        _server?.Cluster!.Agreement!.LookAgain();
    }

    /// <summary>Ends it as its machine's death would: its connections break, its memory is lost, and the store learns of it by the end of its lease.</summary>
    public async Task KillAsync()
    {
        if (Interlocked.Exchange(ref _server, null) is not { } server) return;
        Store.CutOff(); // it does not say that it ends
        await server.DisposeAsync().ConfigureAwait(false);
        EndLeases(server.Cluster!.Agreement!);
    }

    internal void CutOff(bool endsLease)
    {
        Store.CutOff();
        if (_server?.Cluster!.Agreement is not { } agreement) return;
        agreement.Deadline.End(); // first, as the node's time is shorter
        if (endsLease) EndLeases(agreement);
    }

    private void EndLeases(ClusterAgreement agreement)
    {
        foreach (long lease in agreement.Leases) _data.Revoke(lease);
    }

    internal async Task StartAsync()
    {
        Directory.CreateDirectory(_folder);
        Store = new CutStore(new MemoryClusterStore(_data));
        var options = new RedKiteOptions { Port = _port, ClusterStore = () => Store };
        options.Settings["loops"] = "1";
        options.Settings["diagnostics"] = "no";
        options.Settings["dir"] = _folder;
        options.Settings["save"] = "";
        options.Settings["repl-diskless-sync-delay"] = "0";
        options.Settings["cluster-enabled"] = "yes";
        options.Settings["cluster-announce-ip"] = "127.0.0.1";
        options.Settings["cluster-lease-ms"] = LeaseMs;
        _options.Configure?.Invoke(options);
        _server = await RedKiteServer.StartAsync(options).ConfigureAwait(false);
        (_port, Id) = (_server.Port, _server.Cluster!.State.SelfId);
    }

    internal async Task StopAsync()
    {
        if (Interlocked.Exchange(ref _server, null) is { } server) await server.DisposeAsync().ConfigureAwait(false);
    }
}

/// <summary>A store that a node may be cut off from.</summary>
internal sealed class CutStore(IClusterStore store) : IClusterStore
{
    private volatile bool _isCutOff;
    private CancellationTokenSource _cut = new();

    internal bool IsCutOff => _isCutOff;

    internal void CutOff()
    {
        _isCutOff = true;
        _cut.Cancel();
    }

    internal void Reconnect()
    {
        _cut = new CancellationTokenSource();
        _isCutOff = false;
    }

    public Task<StoreSnapshot> Read(string keysFrom, CancellationToken cancellation) => Reach(() => store.Read(keysFrom, cancellation));

    public Task<long?> TryCommit(IReadOnlyList<StoreCondition> conditions, IReadOnlyList<StorePut> puts, CancellationToken cancellation) => Reach(() => store.TryCommit(conditions, puts, cancellation));

    public async IAsyncEnumerable<StoreEvent> Watch(string keysFrom, long behindRevision, [EnumeratorCancellation] CancellationToken cancellation)
    {
        using var ends = CancellationTokenSource.CreateLinkedTokenSource(cancellation, _cut.Token);
        await using IAsyncEnumerator<StoreEvent> events = store.Watch(keysFrom, behindRevision, ends.Token).GetAsyncEnumerator(ends.Token);
        while (true)
        {
            StoreEvent change;
            try
            {
                if (IsCutOff || !await events.MoveNextAsync().ConfigureAwait(false)) throw NotReached();
                change = events.Current;
            }
            catch (OperationCanceledException) when (!cancellation.IsCancellationRequested)
            {
                throw NotReached();
            }

            yield return change;
        }
    }

    public Task<(long Lease, TimeSpan Time)> Grant(TimeSpan time, CancellationToken cancellation) => Reach(() => store.Grant(time, cancellation));

    public Task<TimeSpan?> Renew(long lease, CancellationToken cancellation) => Reach(() => store.Renew(lease, cancellation));

    public Task Revoke(long lease, CancellationToken cancellation) => Reach(async () =>
    {
        await store.Revoke(lease, cancellation).ConfigureAwait(false);
        return true;
    });

    public ValueTask DisposeAsync() => store.DisposeAsync();

    private Task<T> Reach<T>(Func<Task<T>> ask) => IsCutOff ? Task.FromException<T>(NotReached()) : ask();

    private static StoreException NotReached() => new("the store is not reached: the test has cut this node off");
}
