using RedKite.Server.Cluster.Store;

namespace RedKite.Server.Cluster.Agreement;

/// <summary>
/// Keeps a node in agreement with its cluster by the store: holds its lease, says how far it is, goes by the topology, and does what the topology asks of it. It decides nothing about other nodes.
/// </summary>
/// <remarks>
/// A node serves until its deadline, which counts from when the last renewal was sent that the store answered. Its key in the store ends with the lease, and another node is made the primary of its
/// shard only when that key is gone. A node that registers again reads the topology behind that, before it has a deadline: it has learned what was decided while its key was away.
/// All work is done by one task, one step after the other. But the lease is renewed beside that, and the topology is kept: slots and other nodes do not wait for this node's disk. Nothing that it says of itself depends on its
/// file, as it does not serve after a start before it goes by the store.
/// </remarks>
internal sealed partial class NodeAgent
{
    /// <summary>By how much less than its lease a node serves, in parts of the lease: the clocks of a node and the store may run at different rates.</summary>
    internal const int MarginDivisor = 20;

    private const int RenewalsPerLease = 3;

    private static readonly TimeSpan Retry = TimeSpan.FromMilliseconds(500);
    private static readonly TimeSpan HandoverWaitsMax = TimeSpan.FromSeconds(5); // clients, for the store's answer

    private readonly IClusterStore _store;
    private readonly INode _node;
    private readonly LeaseDeadline _deadline;
    private readonly TimeProvider _time;
    private readonly TimeSpan _lease;
    private readonly Wake _wake;
    private readonly Wake _wakeRenewal;
    private readonly Wake _wakeKeeping;
    private readonly Lock _seeing = new();
    private SharedTopology? _latest; // that was read or watched
    private (long Version, bool Serves) _applied = (-1, false);
    private bool _cannotKeep; // the topology: the node has stopped serving, and goes by it anew in the next registration
    private NodeStatus? _reported;
    private long _reportedRevision;
    private long _reportedAt;
    private bool _isReportInDoubt; // the key in the store may have another revision
    private long _leaseId;
    private string _lastFault = "";

    internal NodeAgent(IClusterStore store, INode node, LeaseDeadline deadline, TimeProvider time, TimeSpan lease)
    {
        (_store, _node, _deadline, _time, _lease) = (store, node, deadline, time, lease);
        (_wake, _wakeRenewal, _wakeKeeping) = (new Wake(time), new Wake(time), new Wake(time));
    }

    /// <summary>How often a position is reported that has moved, while nothing waits for it.</summary>
    internal static TimeSpan ReportEvery { get; } = TimeSpan.FromSeconds(5);

    /// <summary>The topology in the store as it was last seen; null: none was.</summary>
    internal SharedTopology? Latest => Volatile.Read(ref _latest);

    /// <summary>Why the node does not serve as it should, in one line; empty: nothing is wrong.</summary>
    internal string Fault => Volatile.Read(ref _lastFault);

    /// <summary>The lease of its registration.</summary>
    internal long Lease => Volatile.Read(ref _leaseId);

    /// <summary>Has it look again at what it is to do, and renew its lease. From any thread.</summary>
    internal void LookAgain()
    {
        _wake.Set();
        _wakeRenewal.Set();
    }

    /// <summary>Works until it is cancelled.</summary>
    internal async Task Run(CancellationToken cancellation)
    {
        while (!cancellation.IsCancellationRequested)
        {
            try
            {
                await Live(cancellation);
            }
            catch (OperationCanceledException) when (cancellation.IsCancellationRequested)
            {
                return;
            }
            catch (StoreException failure)
            {
                Note(AgreementEvent.StoreAway, failure.Message);
            }
            catch (TopologyException failure)
            {
                Note(AgreementEvent.Refused, failure.Message);
            }
#pragma warning disable CA1031 // A node that registers again is better than one that never does.
            catch (Exception failure)
#pragma warning restore CA1031
            {
                Note(AgreementEvent.Refused, $"A bug ended the registration. {failure}");
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

    // One registration, up to its end.
    private async Task Live(CancellationToken cancellation)
    {
        long sent = _time.GetTimestamp();
        (_leaseId, TimeSpan valid) = await _store.Grant(_lease, cancellation);
        using var life = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        Task[] tasks = [];
        try
        {
            await Register(cancellation);
            StoreSnapshot snapshot = await _store.Read(StoreKeys.Topology, cancellation); // behind the registration
            lock (_seeing) _latest = TopologyIn(snapshot);
            await Look(cancellation);
            await Keep(); // a node that cannot keep anything does not begin to serve
            EndGiftsBegunBefore();
            Extend(sent, valid);
            tasks = [Renew(life.Token), Follow(snapshot.Revision, life.Token), Work(life.Token), KeepEach(life.Token)];
            await await Task.WhenAny(tasks);
        }
        finally
        {
            _deadline.End();
            life.Cancel();
            foreach (Task task in tasks) await task.ContinueWith(static _ => { }, CancellationToken.None, TaskContinuationOptions.ExecuteSynchronously, TaskScheduler.Default);
            _deadline.End(); // an answer of the store may have extended it meanwhile
            if (_cannotKeep) (_applied, _cannotKeep) = ((-1, false), false);
            await GiveBack();
        }
    }

    private async Task Register(CancellationToken cancellation)
    {
        string key = StoreKeys.Node(_node.Id);
        StoreSnapshot before = await _store.Read(key, cancellation);
        if (before.Entries.FirstOrDefault(entry => entry.Key == key) is { } other) throw new TopologyException($"the id {_node.Id} is registered already{AddressIn(other)}: that is this node's life before, whose lease ends by itself, or another node with the same id");
        _reported = StatusOfNow(sealedAt: 0, DataPosition.None);
        long? revision = await _store.TryCommit([StoreCondition.Absent(key)], [new StorePut(key, _reported.Write(), _leaseId)], cancellation);
        _reportedRevision = revision ?? throw new TopologyException($"the id {_node.Id} was registered by another node at the same time");
        _isReportInDoubt = false;
        _reportedAt = _time.GetTimestamp();
    }

    private static string AddressIn(StoreEntry entry)
    {
        try
        {
            ClusterNode node = NodeStatus.Read(entry.Value).Node;
            return $" at {(node.Ip.Length > 0 ? node.Ip : node.HostName)}:{(node.Port != 0 ? node.Port : node.TlsPort)}";
        }
        catch (TopologyException)
        {
            return "";
        }
    }

    private async Task Renew(CancellationToken cancellation)
    {
        TimeSpan rest = _lease / RenewalsPerLease;
        while (true)
        {
            await _wakeRenewal.Wait(rest, cancellation);
            long sent = _time.GetTimestamp();
            try
            {
                if (await _store.Renew(_leaseId, cancellation) is not { } valid) throw new TopologyException("the lease has ended: the store was not reached for too long, or the node stood still");
                Extend(sent, valid);
                rest = _lease / RenewalsPerLease;
            }
            catch (StoreException failure)
            {
                rest = Retry;
                Note(AgreementEvent.StoreAway, failure.Message); // the deadline comes nearer; the lease may last nevertheless
            }
        }
    }

    private void Extend(long sent, TimeSpan valid) => _deadline.Extend(sent, valid - valid / MarginDivisor);

    // Sees every change of the topology, or reads it anew.
    private async Task Follow(long revision, CancellationToken cancellation)
    {
        while (true)
        {
            try
            {
                await foreach (StoreEvent change in _store.Watch(StoreKeys.Topology, revision, cancellation))
                {
                    revision = change.Revision;
                    if (change.Key == StoreKeys.Topology) See(change.Entry is { } entry ? SharedTopology.Of(entry) : null);
                }
            }
            catch (StoreException failure)
            {
                Note(AgreementEvent.StoreAway, failure.Message);
                await Wake.Delay(_time, Retry, cancellation);
                revision = await ReadAgain(revision, cancellation);
            }
        }
    }

    private async Task<long> ReadAgain(long revision, CancellationToken cancellation)
    {
        try
        {
            StoreSnapshot snapshot = await _store.Read(StoreKeys.Topology, cancellation);
            See(TopologyIn(snapshot));
            return snapshot.Revision;
        }
        catch (StoreException)
        {
            return revision; // the watch fails again
        }
    }

    private static SharedTopology? TopologyIn(StoreSnapshot snapshot) =>
        snapshot.Entries.FirstOrDefault(static entry => entry.Key == StoreKeys.Topology) is { } entry ? SharedTopology.Of(entry) : null;

    // Its own changes may be answered behind newer ones of others.
    internal void See(SharedTopology? seen)
    {
        lock (_seeing)
        {
            if (seen is not null && _latest is { } latest && seen.Revision <= latest.Revision) return;
            Volatile.Write(ref _latest, seen);
        }

        _wake.Set();
    }

    private async Task Work(CancellationToken cancellation)
    {
        TimeSpan rest = _lease / RenewalsPerLease;
        while (true)
        {
            await _wake.Wait(rest, cancellation);
            rest = Retry;
            if (!await TryStep(cancellation)) continue;
            (TimeSpan? again, AgreementEvent what, string fault) = await EndReassignments(cancellation);
            bool waits = Latest is { } seen && seen.Topology.Find(_node.Id) is null && _node.HasKeysOfItsOwn;
            if (waits) Note(AgreementEvent.Refused, "this node has keys and is not one of the cluster in the store: as a replica it would lose them, so it joins when it is empty");
            else Note(what, fault); // or that there is none any more
            rest = again ?? _lease / RenewalsPerLease;
        }
    }

    // Does everything that is due. False: the store did not answer a look. The lease is renewed apart from that, so no other node takes over, and what this node goes by stays in force, as when the watch is
    // late: another registration would have the shard wait for nothing. What is begun behind the look, slots and roles that are given away, needs an outcome: there a store that is away ends the registration.
    private async Task<bool> TryStep(CancellationToken cancellation)
    {
        ShardTerms terms;
        try
        {
            terms = await Look(cancellation);
        }
        catch (StoreException failure)
        {
            _isReportInDoubt = true;
            Note(AgreementEvent.StoreAway, failure.Message);
            return false;
        }

        await GiveAll(cancellation);
        if (terms.HandoverTo.Length > 0 && !terms.IsSealed && _applied.Serves && Latest is { } latest && latest.Topology.Version == _applied.Version) await HandOver(latest, terms.HandoverTo, cancellation);
        return true;
    }

    // Goes by the topology, and says how far the node is. What is known already comes first, as it may take rights away, and the store may not answer what follows.
    private async Task<ShardTerms> Look(CancellationToken cancellation)
    {
        ShardTerms terms = await GoBy(Latest, cancellation);
        if (_isReportInDoubt) await ReadReport(cancellation);
        if (Latest is { } latest) terms = await GoBy(await Claim(latest, cancellation), cancellation);
        if (!terms.IsSealed) await Report(StatusOfNow(sealedAt: 0, _node.Position), cancellation);
        else if (_reported?.SealedAt != terms.SealedAt || _reported.IsNoSuccessor != _node.IsNoSuccessor) await Report(StatusOfNow(terms.SealedAt, await _node.Seal()), cancellation);
        return terms;
    }

    // Returns the terms of the node's shard.
    private async Task<ShardTerms> GoBy(SharedTopology? latest, CancellationToken cancellation)
    {
        if (latest is not null) Check(latest.Topology);
        if (latest?.Topology.Find(_node.Id) is not { } self)
        {
            if (!_applied.Serves) return ShardTerms.None;
            await Apply(_node.Topology, serves: false); // it was taken out

            // Others may serve its slots as soon as it says so. A busy script is not waited for: no reply leaves to what it does by the topology of before.
            _deadline.End();
            _wakeRenewal.Set();
            return ShardTerms.None;
        }

        ShardTerms terms = latest.Topology.Terms.Of(self.ShardId);
        bool serves = self.IsPrimary && Fits(terms);
        if (serves && !_applied.Serves)
        {
            await Apply(latest.Topology, serves: false); // what takes rights away does not wait for the store
            serves = await ReportServing(latest, cancellation);
        }

        await Apply(latest.Topology, serves);
        return terms;
    }

    private void Check(ClusterTopology topology)
    {
        ClusterTopology own = _node.Topology;
        if (own.Terms.ClusterId.Length > 0 && own.Terms.ClusterId != topology.Terms.ClusterId) throw new TopologyException($"the store has the cluster {topology.Terms.ClusterId}, and this node's data is of the cluster {own.Terms.ClusterId}");
        if (own.Terms.ClusterId.Length > 0 && topology.Version < own.Version) throw new TopologyException($"the topology in the store has the version {topology.Version}, and this node has seen {own.Version}: the store has lost changes");
    }

    // In the role of a replica, the history is still that of the primary before. Without acknowledgements it decides nothing, and the first replica that comes may begin another one.
    private bool Fits(ShardTerms terms) =>
        _node.Topology.Find(_node.Id) is { IsPrimary: true } && !terms.IsSealed && terms.Incarnation == _node.Incarnation && terms.Acks >= _node.Acks && (terms.Acks == 0 || terms.History == _node.Position.History);

    // What was sent by a registration that has ended may arrive when the node serves by the next one, and must not hold then.
    private StoreCondition OfThisLife => new(StoreKeys.Node(_node.Id), _reportedRevision);

    // Puts into the topology what only this node knows: its addresses, and as a primary the terms on which it serves.
    private async Task<SharedTopology> Claim(SharedTopology latest, CancellationToken cancellation)
    {
        if (latest.Topology.Find(_node.Id) is not { } self) return latest;
        ClusterTopology next = latest.Topology;
        ClusterNode described = _node.Describe() with { ShardId = self.ShardId, PrimaryId = self.PrimaryId, Epoch = self.Epoch };
        try
        {
            if (described != self) next = next.WithNode(self.Id, described);
        }
        catch (TopologyException failure)
        {
            _node.Log(AgreementEvent.Refused, $"The node's addresses cannot be announced: {failure.Message}");
        }

        ShardTerms terms = next.Terms.Of(self.ShardId);
        if (self.IsPrimary && !terms.IsSealed && (terms.Incarnation.Length == 0 || terms.Incarnation == _node.Incarnation) && _node.Topology.Find(_node.Id) is { IsPrimary: true })
        {
            // A replica that was taken out may alone have a write that it acknowledged, until the replicas that still count have everything.
            ClusterTopology applied = _node.Topology;
            bool mayDrop = _node.CountedReplicasHaveAll;
            IEnumerable<string> stay = terms.ReplicasInStep.Where(id => id != self.Id && (!mayDrop || next.Find(id)?.PrimaryId == self.Id || applied.Find(id)?.PrimaryId == self.Id));
            IEnumerable<string> inStep = _node.ReplicasInStep.Where(id => next.Find(id)?.PrimaryId == self.Id);
            ShardTerms wanted = terms.WithInStep([.. stay, .. inStep]) with { Incarnation = _node.Incarnation, Acks = _node.Acks, History = _node.Position.History };
            if (wanted != terms) next = next.WithTerms(self.ShardId, wanted);
        }

        if (next == latest.Topology) return latest;
        if (await latest.TryReplace(_store, next, [OfThisLife], cancellation) is not { } replaced)
        {
            _isReportInDoubt = true;
            return latest; // the watch brings what is there now
        }

        See(replaced);
        return Latest ?? latest;
    }

    private async Task Apply(ClusterTopology topology, bool serves)
    {
        if (_applied == (topology.Version, serves) && _node.Topology.Version == topology.Version) return; // CLUSTER RESET forgets it
        await _node.Apply(topology, serves);
        _applied = (topology.Version, serves);
        _wakeKeeping.Set();
        _wake.Set(); // the role may have changed, and with it what there is to claim
    }

    private async Task KeepEach(CancellationToken cancellation)
    {
        while (true)
        {
            await _wakeKeeping.Wait(Timeout.InfiniteTimeSpan, cancellation);
            await Keep();
        }
    }

    private async Task Keep()
    {
        try
        {
            await _node.Keep();
        }
        catch (TopologyException)
        {
            _cannotKeep = true;
            throw;
        }
    }

    private NodeStatus StatusOfNow(long sealedAt, DataPosition position) =>
        new() { Node = _node.Describe() with { ShardId = "" }, Incarnation = _node.Incarnation, Version = _applied.Version, SealedAt = sealedAt, Position = position, Serves = _applied.Serves, IsNoSuccessor = _node.IsNoSuccessor, HasKeysOfItsOwn = _node.HasKeysOfItsOwn };

    // Before it serves, so that another node which takes slots from this one waits for it. Returns whether the store has it, and still the topology by which the node will serve; otherwise
    // the watch brings another one.
    private Task<bool> ReportServing(SharedTopology latest, CancellationToken cancellation) =>
        TryReport(StatusOfNow(sealedAt: 0, _node.Position) with { Serves = true, Version = latest.Topology.Version }, [OfThisLife, new StoreCondition(StoreKeys.Topology, latest.Revision)], cancellation);

    private async Task Report(NodeStatus status, CancellationToken cancellation)
    {
        bool isDue = _time.GetElapsedTime(_reportedAt) >= ReportEvery;
        if (status == _reported || (!isDue && status with { Position = _reported!.Position } == _reported && status.SealedAt == 0)) return;
        if (!await TryReport(status, [OfThisLife], cancellation)) _wake.Set();
    }

    private async Task<bool> TryReport(NodeStatus status, IReadOnlyList<StoreCondition> conditions, CancellationToken cancellation)
    {
        long? revision = await _store.TryCommit(conditions, [new StorePut(StoreKeys.Node(_node.Id), status.Write(), _leaseId)], cancellation);
        if (revision is { } written)
        {
            (_reportedRevision, _reported, _reportedAt) = (written, status, _time.GetTimestamp());
            return true;
        }

        await ReadReport(cancellation); // one before, without an answer, may have come late
        return false;
    }

    // What the store has of this registration, as a report without an answer may have arrived, or still may. Only this process writes its incarnation, and nothing that a registration before has sent fits
    // the key of this one.
    private async Task ReadReport(CancellationToken cancellation)
    {
        string key = StoreKeys.Node(_node.Id);
        StoreEntry? entry = (await _store.Read(key, cancellation)).Entries.FirstOrDefault(entry => entry.Key == key);
        if (entry is null || NodeStatus.Read(entry.Value) is not { } status || status.Incarnation != _node.Incarnation) throw new TopologyException("this node's key in the store was removed or written by another one");
        (_reportedRevision, _reported, _isReportInDoubt) = (entry.Revision, status, false);
    }

    // The role goes to a replica that has everything. Nothing is written from before the change until this node knows what came of it.
    private async Task HandOver(SharedTopology latest, string to, CancellationToken cancellation)
    {
        ClusterNode self = latest.Topology.Find(_node.Id)!;
        ShardTerms terms = latest.Topology.Terms.Of(self.ShardId) with { HandoverTo = "" };
        ClusterTopology next = latest.Topology.WithTerms(self.ShardId, terms);
        if (latest.Topology.Find(to) is not { } replica || replica.PrimaryId != self.Id || await IncarnationOf(to, cancellation) is not { } incarnation || !await _node.PrepareHandover(replica, incarnation, cancellation))
        {
            await DropHandover(latest, next, to, cancellation);
            return;
        }

        bool catchesUp = false;
        try
        {
            await using ITimer limit = _time.CreateTimer(static agent => ((NodeAgent)agent!).EndHandover(), this, HandoverWaitsMax, Timeout.InfiniteTimeSpan); // what waited is refused then, as nothing is served
            await Apply(latest.Topology, serves: false); // from here on the other one may serve
            catchesUp = await _node.ConfirmHandover(replica, incarnation, cancellation); // what had begun when writes were made to wait has ended only now
            SharedTopology? now = latest;
            if (catchesUp)
            {
                next = next.WithTerms(self.ShardId, terms.WithInStep([.. terms.ReplicasInStep, self.Id]) with { Incarnation = incarnation, TakenOverAt = _node.Position.Offset, TakenOverFrom = _node.Position.History, TakenOverIn = 0 }).WithPrimary(to, Math.Max(next.Epoch, next.Nodes.Max(static node => node.Epoch)) + 1);
                await Replace(latest, next, cancellation);
                now = Latest;
            }

            // In front of the end: what waits is served if the role has stayed here, as another change of the topology was first. All along the store says of this node that it serves.
            if (now?.Topology.Find(_node.Id) is { } me)
            {
                Check(now.Topology);
                await Apply(now.Topology, me.IsPrimary && Fits(now.Topology.Terms.Of(me.ShardId)));
            }
        }
        finally
        {
            _node.EndHandover();
        }

        if (!catchesUp) await DropHandover(latest, next, to, cancellation);
    }

    private void EndHandover()
    {
        try
        {
            _node.EndHandover();
        }
#pragma warning disable CA1031 // On a timer's thread it would end the process.
        catch (Exception failure)
#pragma warning restore CA1031
        {
            _node.Log(AgreementEvent.Refused, $"A bug kept commands waiting for a handover. {failure}");
        }
    }

    private async Task DropHandover(SharedTopology latest, ClusterTopology next, string to, CancellationToken cancellation)
    {
        _node.Log(AgreementEvent.Changed, $"The role is not handed over to {to}, which is not there or does not catch up.");
        await Replace(latest, next, cancellation);
    }

    // Until it is known what the store has: otherwise this node would serve by what may not be true any more.
    private async Task<SharedTopology?> Replace(SharedTopology latest, ClusterTopology next, CancellationToken cancellation, StoreCondition? taken = null)
    {
        while (true)
        {
            try
            {
                SharedTopology? now = await latest.TryReplace(_store, next, [OfThisLife], cancellation, taken);
                if (now is null)
                {
                    _isReportInDoubt = true;
                    now = await SharedTopology.Read(_store, cancellation);
                }

                See(now);
                return now;
            }
            catch (StoreException failure)
            {
                Note(AgreementEvent.StoreAway, failure.Message);
                await Wake.Delay(_time, Retry, cancellation);
            }
        }
    }

    private async Task<string?> IncarnationOf(string id, CancellationToken cancellation)
    {
        string key = StoreKeys.Node(id);
        return (await _store.Read(key, cancellation)).Entries.FirstOrDefault(entry => entry.Key == key) is { } entry ? NodeStatus.Read(entry.Value).Incarnation : null;
    }

    private async Task GiveBack()
    {
        try
        {
            await _store.Revoke(_leaseId, CancellationToken.None);
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
        Volatile.Write(ref _lastFault, text);
        if (text.Length > 0) _node.Log(what, text);
    }
}
