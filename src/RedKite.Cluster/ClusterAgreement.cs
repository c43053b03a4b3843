using RedKite.Server.Cluster.Agreement;
using RedKite.Server.Cluster.Store;
using RedKite.Server.Cluster.Watching;
using RedKite.Server.Logging;

namespace RedKite.Server.Cluster;

/// <summary>A node's agreement with its cluster by a store: its agent, and its controller, if it may be one.</summary>
internal sealed class ClusterAgreement : IDisposable
{
    private const int AttemptsMax = 20; // to replace a topology that others replace, too
    private static readonly TimeSpan AnswerLimit = TimeSpan.FromSeconds(10);
    private static readonly TimeSpan Rest = TimeSpan.FromMilliseconds(2); // between looks whether this node has seen a change
    private static readonly TimeSpan OwnersRest = TimeSpan.FromMilliseconds(5); // between looks whether former owners of slots have seen a change
    private static readonly TimeSpan OwnersRestMax = TimeSpan.FromMilliseconds(200);
    private static readonly TimeSpan Retry = TimeSpan.FromMilliseconds(500);

    private readonly ServerCore _core;
    private readonly IClusterMember _cluster;
    private readonly WatchedStore _store;
    private readonly NodeAgent _agent;
    private readonly ClusterController? _controller;
    private readonly CancellationTokenSource _stop = new();
    private Task _work = Task.CompletedTask;

    /// <param name="core">The server.</param>
    /// <param name="host">What the server does for it.</param>
    /// <param name="cluster">The node.</param>
    /// <param name="store">The store, which this owns.</param>
    internal ClusterAgreement(ServerCore core, IClusterHost host, IClusterMember cluster, IClusterStore store)
    {
        (_core, _cluster, _store) = (core, cluster, new WatchedStore(store));
        var lease = TimeSpan.FromMilliseconds(core.Settings.ClusterLeaseMs);
        TimeProvider time = core.Clock.Provider;
        Deadline = new LeaseDeadline(time);
        Node = new AgreedNode(core, host, cluster);
        _agent = new NodeAgent(_store, Node, Deadline, time, lease);
        if (core.Settings.ClusterController) _controller = new ClusterController(_store, Node.Id, time, lease, () => core.Settings.ClusterAutoJoin, Node.Log);
    }

    internal LeaseDeadline Deadline { get; }

    internal AgreedNode Node { get; }

    /// <summary>The store, and how it is used.</summary>
    internal WatchedStore Store => _store;

    /// <summary>Whether this node's controller is the active one.</summary>
    internal bool IsController => _controller?.IsActive == true;

    /// <summary>The leases that it holds: the node's and its controller's.</summary>
    internal IEnumerable<long> Leases => [_agent.Lease, _controller?.Lease ?? 0];

    /// <summary>The lease of the node's registration; 0: none.</summary>
    internal long NodeLease => _agent.Lease;

    /// <summary>The version of the topology in the store as it was last seen; 0: there was none.</summary>
    internal long LatestVersion => _agent.Latest?.Topology.Version ?? 0;

    /// <summary>Why the node does not serve as it should, in one line; empty: nothing is wrong.</summary>
    internal string Fault => _agent.Fault;

    /// <summary>Begins, when the data is loaded.</summary>
    /// <param name="watch">What watches the cluster as long as this goes on.</param>
    internal void Begin(Func<CancellationToken, Task> watch) => _work = Task.WhenAll(Task.Run(() => Observe(_agent.Run(_stop.Token))), Task.Run(() => Observe(_controller?.Run(_stop.Token) ?? Task.CompletedTask)), Task.Run(() => watch(_stop.Token)));

    /// <summary>Has the agent look again at what it is to do: a setting has changed, or a replica has come. From any thread, and not on it.</summary>
    internal void LookAgain() => ThreadPool.UnsafeQueueUserWorkItem(static agent => agent.LookAgain(), _agent, preferLocal: false);

    /// <summary>
    /// Changes the topology in the store, unless the change is refused, and waits until this node goes by it, the nodes that lose slots by it do, and those that get them serve them (<see cref="Reassignments"/>). What the change does beside the topology holds in this node alone.
    /// </summary>
    /// <param name="change">The change.</param>
    /// <param name="attempt">Notes what is tried.</param>
    /// <param name="returns">Whether this node, if it was taken out of the cluster, becomes one of it again.</param>
    /// <returns>Why it was refused, as the error of a reply; null: it is in force.</returns>
    internal string? Change(Func<ClusterState, (ClusterState? Next, string? Refusal)> change, StoreAttempt attempt, bool returns = false)
    {
        string? refusal;
        bool isDone = false;
        try
        {
            using var limit = CancellationTokenSource.CreateLinkedTokenSource(_stop.Token);
            limit.CancelAfter(AnswerLimit);
            refusal = Change(change, attempt, returns, limit).GetAwaiter().GetResult();
            isDone = refusal is null;
            return refusal;
        }
        catch (Exception failure) when (failure is OperationCanceledException or ObjectDisposedException)
        {
            return "ERR the cluster's store does not answer: the change may have happened";
        }
        catch (StoreException failure)
        {
            return $"ERR the cluster's store is not reached: {failure.Message}. The change may have happened";
        }
        catch (TopologyException failure)
        {
            return "ERR " + failure.Message;
        }
        finally
        {
            if (!isDone && attempt.IsOpen && !attempt.IsDecidedBy(_cluster.State.Topology)) _ = Task.Run(() => Observe(Settle(attempt)));
        }
    }

    // Why this node does not become one of the cluster by a change that it makes.
    private string? RefusalOfJoin(ClusterTopology topology, bool returns)
    {
        if (Node.HasKeysOfItsOwn) return WouldLoseKeys;
        return !returns && topology.Terms.Removed.Contains(Node.Id) ? "ERR this node was taken out of the cluster: CLUSTER MEET brings it back" : null;
    }

    private const string WouldLoseKeys = "ERR the node has keys and is of no cluster yet: it would lose them, so it must be empty";

    private async Task<string?> Change(Func<ClusterState, (ClusterState? Next, string? Refusal)> change, StoreAttempt attempt, bool returns, CancellationTokenSource limit)
    {
        CancellationToken cancellation = limit.Token;
        for (int i = 0; i < AttemptsMax; i++)
        {
            SharedTopology? shared = await SharedTopology.Read(_store, cancellation);
            ClusterState own = _cluster.State;
            ClusterTopology before = shared?.Topology ?? Founded(own.Topology.WithNode(own.SelfId, Node.Describe()));
            if (before.Find(own.SelfId) is null)
            {
                if (shared is not null && RefusalOfJoin(before, returns) is { } unfit) return unfit;
                before = before.WithJoined(Node.Describe());
            }

            ClusterState state = own.With(before);
            (ClusterState? next, string? refusal) = change(state);
            if (next is null) return refusal;
            long version = before.Version;
            HashSet<string> losers = [];
            if (next.Topology != shared?.Topology) // a node that has joined by it is a change, too
            {
                ClusterTopology wanted = next.Topology.WithTerms(before.Terms with { Shards = next.Topology.Terms.Shards, Removed = next.Topology.Terms.Removed });
                SharedTopology? replaced = shared is null ? await TryFound(wanted, cancellation) : await TryReplace(shared, wanted, attempt, cancellation);
                if (replaced is null) continue;
                version = replaced.Topology.Version;
                losers = [.. Enumerable.Range(0, RedKite.Store.Keyspace.KeySlot.Count).Select(slot => FormerOwner(before, wanted, slot)).OfType<string>()];
            }

            while (_cluster.InForce.Version < version) await Task.Delay(Rest, cancellation);
            ClusterState here = _cluster.State;
            refusal = here.WithMovesOf(state, next).HasMovesOf(here) ? null : _cluster.ChangeHere(now => (now.WithMovesOf(state, next), null)); // which writes the file, and other changes wait for that
            if (losers.Count > 0) await UntilGoneBy(version, losers, limit);
            await UntilServed(version, limit);
            return refusal;
        }

        return "ERR the topology is changed by others all the time";
    }

    private Task<SharedTopology?> TryReplace(SharedTopology shared, ClusterTopology next, StoreAttempt attempt, CancellationToken cancellation)
    {
        attempt.Note(shared.Topology.Terms.ClusterId, shared.Topology.Version + 1);
        return shared.TryReplace(_store, next, [], cancellation);
    }

    // What was sent and not answered may still be executed, unless the store has another version by then: so one is put there.
    private async Task Settle(StoreAttempt attempt)
    {
        while (true)
        {
            try
            {
                if (await SharedTopology.Read(_store, _stop.Token) is not { } shared) return;
                if (attempt.IsDecidedBy(shared.Topology) || await shared.TryReplace(_store, shared.Topology, [], _stop.Token) is not null) return;
            }
            catch (StoreException)
            {
                await Task.Delay(Retry, _stop.Token);
            }
        }
    }

    // The node that loses a slot; null: none does.
    private static string? FormerOwner(ClusterTopology before, ClusterTopology after, int slot) => before.OwnerOf(slot)?.Id is { } owner && owner != after.OwnerOf(slot)?.Id ? owner : null;

    // Waits until none of some nodes serves by an older topology. That of one which stands still ends with its lease.
    private async Task UntilGoneBy(long version, HashSet<string> ids, CancellationTokenSource limit)
    {
        limit.CancelAfter(AnswerLimit + TimeSpan.FromMilliseconds(_core.Settings.ClusterLeaseMs));
        string behind = "";
        try
        {
            while (true)
            {
                StoreSnapshot snapshot = await _store.Read(StoreKeys.Nodes, limit.Token);
                NodeStatus? old = snapshot.Entries.Select(static entry => NodeStatus.Read(entry.Value)).FirstOrDefault(status => status.Serves && status.Version < version && ids.Contains(status.Node.Id));
                if (old is null) break;
                behind = old.Node.Id;
                await Task.Delay(OwnersRest, limit.Token);
            }
        }
        catch (OperationCanceledException) when (behind.Length > 0 && !_stop.IsCancellationRequested)
        {
            throw new TopologyException($"node {behind} has not seen yet who has which slots, and may serve slots that it has lost. The change has happened");
        }

        limit.CancelAfter(AnswerLimit);
    }

    // Their owner says so.
    private async Task UntilServed(long version, CancellationTokenSource limit)
    {
        if (!IsAwaited()) return;
        limit.CancelAfter(AnswerLimit + TimeSpan.FromMilliseconds(_core.Settings.ClusterLeaseMs));
        try
        {
            for (TimeSpan rest = OwnersRest; IsAwaited(); rest = rest * 2 < OwnersRestMax ? rest * 2 : OwnersRestMax)
            {
                _agent.LookAtSlots(); // if they are this node's
                await Task.Delay(rest, limit.Token);
            }
        }
        catch (OperationCanceledException) when (!_stop.IsCancellationRequested)
        {
            throw new TopologyException("the slots are not served yet: another node may still serve them. The change has happened");
        }

        // By what is in force: a topology is seen a moment before commands are routed by it.
        bool IsAwaited() => _cluster.InForce.Terms.Reassigned.Any(each => each.Since == version);
    }

    // The first change makes the cluster.
    private static ClusterTopology Founded(ClusterTopology own) => own.WithTerms(own.Terms.ClusterId.Length > 0 ? own.Terms : own.Terms with { ClusterId = ClusterNode.NewId() });

    private async Task<SharedTopology?> TryFound(ClusterTopology topology, CancellationToken cancellation)
    {
        topology = topology.WithVersion(topology.Version + 1);
        long? revision = await _store.TryCommit([StoreCondition.Absent(StoreKeys.Topology)], [new StorePut(StoreKeys.Topology, TopologyDocument.WriteShared(topology))], cancellation);
        return revision is { } written ? new SharedTopology(topology, written) : null;
    }

    /// <summary>Gives slots to another node (<see cref="NodeAgent.Give"/>).</summary>
    internal void Give(SlotGift gift) => _agent.Give(gift);

    /// <inheritdoc cref="IClusterOwnership.Promise"/>
    internal string? Promise(string moveId, out PromisedSlots promise, CancellationToken cancellation)
    {
        promise = default;
        ClusterNode self = _cluster.State.Self;
        if (!self.IsPrimary || Deadline.HasEnded) return "ERR the destination is no primary that may serve";
        try
        {
            using var limit = CancellationTokenSource.CreateLinkedTokenSource(cancellation, _stop.Token);
            limit.CancelAfter(AnswerLimit);
            promise = new PromisedSlots(SlotPromise.Make(_store, moveId, Node.Id, _agent.Lease, limit.Token).GetAwaiter().GetResult(), self.Epoch);
            return null;
        }
        catch (Exception failure) when (failure is OperationCanceledException or ObjectDisposedException)
        {
            return "ERR the cluster's store does not answer the destination";
        }
        catch (StoreException failure)
        {
            return $"ERR the destination does not reach the cluster's store: {failure.Message}";
        }
    }

    /// <inheritdoc cref="IClusterOwnership.Withdraw"/>
    internal void Withdraw(string moveId, CancellationToken cancellation)
    {
        using var either = CancellationTokenSource.CreateLinkedTokenSource(cancellation, _stop.Token);
        _agent.Withdraw(moveId, () => _cluster.InForce.Version, either.Token).GetAwaiter().GetResult();
    }

    /// <summary>Whether the store's topology has this node, which may not have seen yet that it was taken out. Returns the error of a reply if it has, or that is not known; null: it has not.</summary>
    internal string? IsMember()
    {
        try
        {
            using var limit = new CancellationTokenSource(AnswerLimit);
            SharedTopology? shared = SharedTopology.Read(_store, limit.Token).GetAwaiter().GetResult();
            _agent.See(shared); // a node that forgets its cluster does not go by an older one again
            return shared?.Topology.Find(Node.Id) is null ? null : "ERR this node is one of its cluster: CLUSTER FORGET takes it out, on another node";
        }
        catch (Exception failure) when (failure is OperationCanceledException or ObjectDisposedException)
        {
            return "ERR the cluster's store does not answer";
        }
        catch (StoreException failure)
        {
            return $"ERR the cluster's store is not reached: {failure.Message}";
        }
        catch (TopologyException failure)
        {
            return "ERR " + failure.Message;
        }
    }

    /// <summary>Makes a node, which the store knows by its address, one of the cluster: a primary without slots.</summary>
    /// <returns>Why it was refused, as the error of a reply; null: it is one.</returns>
    internal string? Meet(string host, int port)
    {
        try
        {
            using var limit = new CancellationTokenSource(AnswerLimit);
            StoreSnapshot snapshot = _store.Read(StoreKeys.Nodes, limit.Token).GetAwaiter().GetResult();
            NodeStatus? status = snapshot.Entries.Select(static entry => NodeStatus.Read(entry.Value)).FirstOrDefault(status => status.Node is { } node && (node.Ip == host || node.HostName == host) && (node.Port == port || node.TlsPort == port));
            if (status is null) return "ERR no node with this address is registered in the cluster's store";
            if (status.HasKeysOfItsOwn || Node.HasKeysOfItsOwn) return WouldLoseKeys;
            ClusterNode found = status.Node;
            return Change(state => state.Topology.Find(found.Id) is not null ? (state, null) : (state.With(state.Topology.WithJoined(found)), null), new StoreAttempt(), returns: true);
        }
        catch (OperationCanceledException)
        {
            return "ERR the cluster's store does not answer";
        }
        catch (StoreException failure)
        {
            return $"ERR the cluster's store is not reached: {failure.Message}";
        }
        catch (TopologyException failure)
        {
            return "ERR " + failure.Message;
        }
    }

    private async Task Observe(Task work)
    {
        try
        {
            await work;
        }
#pragma warning disable CA1031 // It would end in silence.
        catch (Exception failure) when (!_stop.IsCancellationRequested)
#pragma warning restore CA1031
        {
            Deadline.End();
            _core.Log.Warning(LogEvents.ClusterRefused, $"A bug ended the agreement with the cluster, and this node does not serve any more. {failure}");
        }
        catch (Exception failure) when (failure is OperationCanceledException or StoreException or ObjectDisposedException)
        {
            // It is stopped.
        }
    }

    /// <summary>Ends it: the node does not serve any more, and gives its lease back.</summary>
    public void Dispose()
    {
        Deadline.End();
        _stop.Cancel();
        _work.Wait(AnswerLimit);
        _store.DisposeAsync().AsTask().Wait(AnswerLimit);
        _stop.Dispose();
    }
}
