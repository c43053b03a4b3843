using System.Text;
using RedKite.Server.Cluster.Store;

namespace RedKite.Server.Cluster.Agreement;

/// <summary>
/// Sees to a cluster: of all controllers, one is active, by a key in the store that ends with its lease. It has nothing of its own: what it does follows from the store (<see cref="Succession"/>), and
/// each of its changes holds only if it is still the active one.
/// </summary>
internal sealed class ClusterController
{
    private const int RenewalsPerLease = 3;

    private static readonly TimeSpan Retry = TimeSpan.FromMilliseconds(500);

    private readonly IClusterStore _store;
    private readonly string _name;
    private readonly TimeProvider _time;
    private readonly TimeSpan _lease;
    private readonly Func<bool> _joins;
    private readonly Action<AgreementEvent, string> _log;
    private readonly Wake _wake;
    private readonly Lock _seeing = new(); // what was seen: the watch changes it, and the work reads it
    private readonly Dictionary<string, NodeStatus> _alive = new(StringComparer.Ordinal);
    private readonly Dictionary<string, (long SealedAt, long Since)> _sealed = new(StringComparer.Ordinal);
    private SharedTopology? _topology;
    private long _lockRevision;
    private long _leaseId;
    private string _lastFault = "";

    /// <param name="store">The store.</param>
    /// <param name="name">Who it is, for people who read the key.</param>
    /// <param name="time">The clock.</param>
    /// <param name="lease">How long it may be away before another one is active.</param>
    /// <param name="joins">Whether new nodes become replicas.</param>
    /// <param name="log">Told what it does.</param>
    internal ClusterController(IClusterStore store, string name, TimeProvider time, TimeSpan lease, Func<bool> joins, Action<AgreementEvent, string> log)
    {
        (_store, _name, _time, _lease, _joins, _log) = (store, name, time, lease, joins, log);
        _wake = new Wake(time);
    }

    /// <summary>Whether this is the active one, as far as it knows.</summary>
    internal bool IsActive { get; private set; }

    /// <summary>The lease that it holds; 0: none yet.</summary>
    internal long Lease => Volatile.Read(ref _leaseId);

    /// <summary>Works until it is cancelled.</summary>
    internal async Task Run(CancellationToken cancellation)
    {
        while (!cancellation.IsCancellationRequested)
        {
            try
            {
                await Serve(cancellation);
            }
            catch (OperationCanceledException) when (cancellation.IsCancellationRequested)
            {
                return;
            }
            catch (StoreException failure)
            {
                Note(AgreementEvent.StoreAway, "The controller cannot use the store: " + failure.Message);
            }
            catch (TopologyException failure)
            {
                Note(AgreementEvent.Refused, "The controller stands still: " + failure.Message);
            }
#pragma warning disable CA1031 // The next attempt may go well.
            catch (Exception failure)
#pragma warning restore CA1031
            {
                Note(AgreementEvent.Refused, $"A bug stopped the controller for a moment. {failure}");
            }
            finally
            {
                IsActive = false;
            }

            try
            {
                await Wake.Delay(_time, Retry, cancellation);
            }
            catch (OperationCanceledException)
            {
                return;
            }
        }
    }

    // From becoming the active one to the end of that.
    private async Task Serve(CancellationToken cancellation)
    {
        (long lease, _) = await _store.Grant(_lease, cancellation);
        Volatile.Write(ref _leaseId, lease);
        using var life = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        Task[] tasks = [];
        try
        {
            tasks = [Renew(lease, life.Token)];
            await Lead(lease, tasks[0], life.Token);
            IsActive = true;
            StoreSnapshot snapshot = await _store.Read("", cancellation);
            lock (_seeing)
            {
                _alive.Clear();
                _sealed.Clear();
                _topology = null;
            }

            foreach (StoreEntry entry in snapshot.Entries) See(entry.Key, entry);
            tasks = [.. tasks, Follow(snapshot.Revision, life.Token), Work(life.Token)];
            await await Task.WhenAny(tasks);
        }
        finally
        {
            life.Cancel();
            foreach (Task task in tasks) await task.ContinueWith(static _ => { }, CancellationToken.None, TaskContinuationOptions.ExecuteSynchronously, TaskScheduler.Default);
            await GiveBack(lease);
        }
    }

    // Waits until no other one is active. It reads first: every node may wait here, and a transaction that fails is an entry in the log of etcd as well.
    private async Task Lead(long lease, Task renewing, CancellationToken cancellation)
    {
        while (true)
        {
            if (renewing.IsCompleted) await renewing;
            if (!(await _store.Read(StoreKeys.Controller, cancellation)).Entries.Any(static entry => entry.Key == StoreKeys.Controller)
                && await _store.TryCommit([StoreCondition.Absent(StoreKeys.Controller)], [new StorePut(StoreKeys.Controller, Encoding.UTF8.GetBytes(_name), lease)], cancellation) is { } revision)
            {
                _lockRevision = revision;
                return;
            }

            await Wake.Delay(_time, Retry, cancellation);
        }
    }

    private async Task Renew(long lease, CancellationToken cancellation)
    {
        while (true)
        {
            await Wake.Delay(_time, _lease / RenewalsPerLease, cancellation);
            try
            {
                if (await _store.Renew(lease, cancellation) is null) throw new TopologyException("its lease has ended");
            }
            catch (StoreException)
            {
                // The lease may last nevertheless; when it does not, no change of this controller holds.
            }
        }
    }

    private async Task Follow(long revision, CancellationToken cancellation)
    {
        await foreach (StoreEvent change in _store.Watch("", revision, cancellation))
        {
            if (change.Key.StartsWith(StoreKeys.Figures, StringComparison.Ordinal)) continue; // nothing is decided by it
            if (change.Key == StoreKeys.Controller) throw new TopologyException("another one is active");
            See(change.Key, change.Entry);
            _wake.Set();
        }
    }

    private void See(string key, StoreEntry? entry)
    {
        lock (_seeing) SeeLocked(key, entry);
    }

    private void SeeLocked(string key, StoreEntry? entry)
    {
        if (key == StoreKeys.Topology)
        {
            if (entry is null) _topology = null;
            else if (_topology is null || entry.Revision > _topology.Revision) _topology = SharedTopology.Of(entry);
        }
        else if (key.StartsWith(StoreKeys.Nodes, StringComparison.Ordinal))
        {
            string id = key[StoreKeys.Nodes.Length..];
            _alive.Remove(id);
            if (entry is not null) _alive[id] = NodeStatus.Read(entry.Value);
        }
    }

    private async Task Work(CancellationToken cancellation)
    {
        while (true)
        {
            while (await Step(cancellation))
            {
            }

            await _wake.Wait(Retry, cancellation); // a choice that waits for more is looked at again
        }
    }

    // Makes one change, if there is one to make. It is about all shards: when a zone is gone, each of them would be a topology of its own that every node reads.
    private async Task<bool> Step(CancellationToken cancellation)
    {
        if (Planned() is not ({ } topology, { } change)) return false;
        if (await topology.TryReplace(_store, change.Next, [.. change.Conditions, new StoreCondition(StoreKeys.Controller, _lockRevision)], cancellation) is not { } replaced) return false;
        lock (_seeing)
        {
            if (_topology is null || replaced.Revision > _topology.Revision) _topology = replaced;
        }

        foreach (string text in change.Texts) _log(AgreementEvent.Changed, text);
        return true;
    }

    private (SharedTopology? Topology, PlannedChange? Change) Planned()
    {
        lock (_seeing)
        {
            return (_topology, _topology is { } topology ? Succession.Next(topology.Topology, _alive, id => SealedFor(topology, id), _joins()) : null);
        }
    }

    private TimeSpan SealedFor(SharedTopology topology, string shardId)
    {
        long sealedAt = topology.Topology.Terms.Of(shardId).SealedAt;
        if (!_sealed.TryGetValue(shardId, out (long SealedAt, long Since) known) || known.SealedAt != sealedAt) _sealed[shardId] = known = (sealedAt, _time.GetTimestamp());
        return _time.GetElapsedTime(known.Since);
    }

    private async Task GiveBack(long lease)
    {
        try
        {
            await _store.Revoke(lease, CancellationToken.None);
        }
        catch (StoreException)
        {
            // It ends by itself.
        }
    }

    // Once for each fault.
    private void Note(AgreementEvent what, string text)
    {
        if (text == _lastFault) return;
        _lastFault = text;
        _log(what, text);
    }
}
