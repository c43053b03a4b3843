using System.Collections.Frozen;
using System.Collections.Immutable;
using RedKite.Persistence.Files;
using RedKite.Server.Cluster.Watching;
using RedKite.Server.Config;
using RedKite.Server.Logging;
using RedKite.Server.Replication;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Cluster;

/// <summary>
/// This node of a cluster: its state, the file that keeps it, and the routing that follows from it. A change is checked, written to the file and synced before it is in force, so a node that starts
/// again knows what it has answered. The node decides nothing by itself: commands and a controller change its state. What is in a store is written behind that: a start asks the store.
/// </summary>
internal sealed partial class ClusterService : IClusterMember, IDisposable
{
    private readonly ServerCore _core;
    private readonly IClusterHost _host;
    private readonly ClusterFile _file;
    private readonly List<LeavingSlot> _giving = []; // as soon as their keys are counted
    private readonly List<LeavingSlot> _maybeGiven = []; // those that may have left in the store
    private readonly Lock _changing = new();
    private volatile ClusterState _state;
    private volatile ClusterTopology _inForce; // by which commands are routed
    private PrimaryAddress? _primary; // the one that was asked for last; the role may follow later
    private ClusterAgreement? _agreement; // null: nothing but commands changes the topology
    private readonly Lock _finishing = new();
    private Task _later = Task.CompletedTask; // what is finished behind replies, one behind the other
    private (ImmutableArray<Reassignment> Notes, SlotSet? Slots) _awaitedSlots = ([], null); // by the notes of the topology; the same set as long as these are the same
    private Dictionary<long, long> _awaitedUntilMs = []; // of each change by which slots wait for their former owner: how long clients do
    private bool _mayServe = true;
    private bool _hasAgreed; // since the start
    private bool _isFileBehind; // the file has an older topology of the store
    private string _fileFault = ""; // that was logged last; empty: it has been written since

    internal ClusterService(ServerCore core, IClusterHost host, IFiles? files)
    {
        _core = core;
        _host = host;
        _file = new ClusterFile(core.Settings, files ?? DiskFiles.Instance);
        Events = new ClusterEvents(() => core.Clock.NowMs);
        Lost = new LostWrites(core, host, files ?? DiskFiles.Instance);
        Watch = new ClusterWatch(core, host, this);
        _state = ClusterState.Alone(ClusterNode.NewId(), ClusterNode.NewId());
        _inForce = _state.Topology;
        foreach (string name in (string[])["cluster-require-full-coverage", "cluster-allow-reads-when-down", "cluster-allow-pubsubshard-when-down", "cluster-preferred-endpoint-type"])
        {
            core.Configuration.OnChange(name, () =>
            {
                lock (_changing) Route();
                _host.SlotsMoved();
                return null;
            });
        }
    }

    public ClusterState State => _state;

    public ClusterEvents Events { get; }

    /// <summary>What it has executed as a primary and its successor lacks.</summary>
    internal LostWrites Lost { get; }

    public string? LostWrites => Lost.News;

    /// <summary>What this node knows about the cluster, for metrics, findings and the page.</summary>
    internal ClusterWatch Watch { get; }

    public bool IsUp => IsUpBy(_state.Topology) && !HasLostLease;

    /// <summary>By what commands are admitted; null: nothing yet.</summary>
    internal SlotRouting? Routing => _core.Routing.Value;

    /// <summary>What is removed of slots that other nodes have.</summary>
    internal SlotRemovals Removals => _core.Routing.Hidden.Removals;

    /// <summary>Whether a slot has keys here from when it was this node's, which are being removed.</summary>
    internal bool IsRemoving(int slot) => _core.Routing.Hidden.IsRemoving(slot);

    /// <summary>Whether the lease has ended by which the node would serve, or has not begun yet: it does not go by the store then.</summary>
    internal bool HasLostLease => _core.Routing.Lease is { HasEnded: true };

    /// <summary>What it agrees on with other nodes by a store; null: the topology is given to it.</summary>
    internal ClusterAgreement? Agreement => _agreement;

    /// <summary>The primary that the topology names for this node; null: it is a primary.</summary>
    internal PrimaryAddress? Primary => PrimaryOf(_state);

    /// <summary>How this node introduces itself to its primary; null: without a store, nothing depends on it.</summary>
    internal AgreedIdentity? Identity => _agreement is not { } agreement ? null : new AgreedIdentity(_state.SelfId, agreement.Node.Incarnation, _state.Topology.Version);

    /// <summary>The primary that this node follows has answered its link. On the link's thread.</summary>
    internal void NoteAnswer(bool isFull, CancellationToken cancellation) => Lost.NoteAnswer(isFull, _state, cancellation);

    /// <summary>Reads the file at the start; a node without one is new.</summary>
    /// <returns>What is wrong with it, in one line; null: nothing.</returns>
    internal string? Load()
    {
        try
        {
            _state = _file.Read() ?? _state;
        }
        catch (Exception failure) when (failure is TopologyException or FileFailure)
        {
            return $"the cluster's file '{_file.Name}' cannot be used: {failure.Message}";
        }

        _primary = PrimaryOf(_state);
        _doubts = _state.Giving.Count > 0; // it died while it gave them
        lock (_changing) Route();
        return null;
    }

    /// <summary>Writes the file of a new node, when nothing else hinders the start.</summary>
    /// <exception cref="RedKiteConfigException">It cannot be written.</exception>
    internal void Begin()
    {
        try
        {
            _file.Begin(_state);
        }
        catch (Exception failure) when (failure is TopologyException or FileFailure)
        {
            throw new RedKiteConfigException($"the cluster's file '{_file.Name}' cannot be written: {failure.Message}");
        }
    }

    /// <summary>Lets another server use the folder.</summary>
    public void Dispose() => _file.Dispose();

    /// <summary>Goes by a store from now on. Before the server is in use; it serves when the agreement says so.</summary>
    internal void Use(ClusterAgreement agreement)
    {
        (_agreement, _mayServe, _doubts) = (agreement, false, false); // who has which slot is the store's to say
        _core.Routing.Use(agreement.Deadline);
        Watch.Use(agreement);
        lock (_changing) Route();
    }

    public void Apply(ClusterTopology topology, bool serves)
    {
        Action? rest = null;
        bool waited;
        lock (_changing)
        {
            waited = !_state.Topology.Terms.Reassigned.IsEmpty;
            _mayServe = serves;
            if (topology.Find(_state.SelfId) is not null && (topology.Version > _state.Topology.Version || topology.Terms.ClusterId != _state.Topology.Terms.ClusterId))
            {
                ClusterState next = _state.With(topology);
                Events.NoteTopology(next.SelfId, _state.Topology, next.Topology);
                if (_state.Self.IsPrimary && next.Self.ShardId != _state.Self.ShardId && _state.Topology.RangesOf(_state.SelfId).Count > 0) Lost.NoteTakenOut(_state.Self.ShardId);
                else if (_state.Self.IsPrimary && !next.Self.IsPrimary && next.Self.ShardId == _state.Self.ShardId) Lost.NoteSuccessor(next.Self.ShardId);
                (_state, _isFileBehind) = (next, true);
            }

            Route();
            if (!_hasAgreed && topology.Find(_state.SelfId) is not null)
            {
                _hasAgreed = true;
                _core.Routing.Hidden.RemoveForeign(); // not before: slots may be this node's since its file was written
            }

            if (PrimaryOf(_state) is var primary && primary != _primary)
            {
                _primary = primary;
                rest = _host.BeginRoleChange(primary);
            }
        }

        EndCommandsBegunBefore();
        rest?.Invoke();
        _host.ReplicasChanged();
        _host.SlotsMoved();
        if (waited) _host.ResumePaused(); // what waits for something else looks again, and waits on
    }

    public void Keep()
    {
        // What pauses commands takes the lock, and must not wait for the disk.
        while (true)
        {
            ClusterState state;
            long attempts;
            lock (_changing)
            {
                if (!_isFileBehind) return;
                (state, attempts) = (_state, _file.Attempts);
            }

            try
            {
                if (!_file.TrySave(state, attempts)) continue;
            }
            catch (FileFailure failure)
            {
                lock (_changing)
                {
                    _mayServe = false;
                    Route();
                }

                throw new TopologyException($"the cluster's file cannot be written: {failure.Message}");
            }

            lock (_changing)
            {
                if (ReferenceEquals(state, _state)) _isFileBehind = false;
            }
        }
    }

    // A command that was admitted before looks again with its stripes locked. A busy script asks before each of its commands, so it does not have to end.
    private void EndCommandsBegunBefore()
    {
        foreach (RedKite.Store.Keyspace.Stripe stripe in _core.Keyspace.Stripes)
        {
            if (stripe.EnterOrGiveWay(_core.Keyspace.Scripts.Busy)) stripe.Exit();
        }
    }

    /// <summary>
    /// Changes the state, unless the change is refused. When this returns, new commands go by it; what was executing may not have ended. With a store, all of it is the rest: the topology is changed
    /// there, and then here.
    /// </summary>
    /// <param name="change">Returns another state, or why there is none. It may break a rule, which refuses it.</param>
    /// <param name="rest">What is left to do, for a thread that serves no clients: a change of this node's role waits for the old link. Returns what went wrong, as the error of a reply; null: nothing.</param>
    /// <param name="attempt">Notes what is tried in the store; null: nothing depends on it.</param>
    /// <returns>Why it was refused, as the error of a reply; null: it is in force.</returns>
    internal string? Change(Func<ClusterState, (ClusterState? Next, string? Refusal)> change, out Func<string?>? rest, StoreAttempt? attempt = null)
    {
        if (_agreement is not { } agreement) return ChangeHere(change, out rest);
        rest = () => agreement.Change(change, attempt ?? new StoreAttempt());
        return null;
    }

    public string? ChangeHere(Func<ClusterState, (ClusterState? Next, string? Refusal)> change)
    {
        string? refusal = ChangeHere(change, out Func<string?>? rest);
        if (rest is not null) DoLater(rest);
        return refusal;
    }

    /// <summary>Finishes a change in the background, behind those that were begun before it, when no reply depends on it. Failures are logged.</summary>
    internal void DoLater(Func<string?> rest)
    {
        lock (_finishing) _later = _later.ContinueWith(_ => Finish(rest), CancellationToken.None, TaskContinuationOptions.None, TaskScheduler.Default);
    }

    private void Finish(Func<string?> rest)
    {
        try
        {
            if (rest() is { } failure) _core.Log.Warning(LogEvents.ClusterRoleFailed, $"A change of the topology behind its reply: {failure}");
        }
#pragma warning disable CA1031 // On a thread of the pool it would end the process.
        catch (Exception failure)
#pragma warning restore CA1031
        {
            _core.Log.Warning(LogEvents.ClusterRoleFailed, $"A bug ended a change of the topology behind its reply. {failure}");
        }
    }

    private string? ChangeHere(Func<ClusterState, (ClusterState? Next, string? Refusal)> change, out Func<string?>? rest)
    {
        rest = null;
        lock (_changing)
        {
            try
            {
                if (_file.MayHaveRefused) _file.Save(_state, _state);
                (ClusterState? next, string? refusal) = change(_state);
                if (next is null) return refusal;
                _file.Save(next, _state);
                Events.NoteTopology(next.SelfId, _state.Topology, next.Topology);
                (_state, _isFileBehind, _fileFault) = (next, false, "");
                Route();
                if (PrimaryOf(next) is var primary && primary != _primary)
                {
                    _primary = primary;
                    Action begun = _host.BeginRoleChange(primary);
                    rest = () => EndRoleChange(begun);
                }
            }
            catch (TopologyException failure)
            {
                return "ERR " + failure.Message;
            }
            catch (FileFailure failure)
            {
                string inFile = _file.MayHaveRefused ? ", and the file may have the refused change until it can be written" : "";
                string fault = $"The cluster's file cannot be written: {failure.Message}. The change is refused{inFile}.";
                if (fault != _fileFault) _core.Log.Warning(LogEvents.ClusterFileUnwritable, fault); // not each time that a change is tried again
                _fileFault = fault;
                return "ERR the cluster's configuration cannot be written" + inFile;
            }
        }

        return null;
    }

    /// <summary>
    /// From here on this node adds no key to a slot that it has: those are sent to another node. So its keys can be counted before it gives the slot away, with nothing locked from there on.
    /// </summary>
    /// <returns>The slot, for <see cref="EndGiving"/>; null: the other node is unknown, so the slot stays.</returns>
    internal LeavingSlot? BeginGiving(int slot, string to)
    {
        lock (_changing)
        {
            if (_state.Topology.Find(to) is null) return null;
            var leaving = new LeavingSlot(slot, to, new StoreAttempt());
            _giving.Add(leaving);
            Route();
            return leaving;
        }
    }

    /// <summary>Behind <see cref="BeginGiving"/>: the slot is given away, or stays. If the store may have another topology by then, no key is added to it until this node goes by that.</summary>
    internal void EndGiving(LeavingSlot leaving)
    {
        lock (_changing)
        {
            _giving.Remove(leaving);
            if (leaving.Attempt.IsOpen) _maybeGiven.Add(leaving);
            Route();
        }
    }

    private string? EndRoleChange(Action begun)
    {
        try
        {
            begun();
            return null;
        }
#pragma warning disable CA1031 // On a thread of the pool it would end the process.
        catch (Exception failure)
#pragma warning restore CA1031
        {
            _core.Log.Warning(LogEvents.ClusterRoleFailed, $"A bug: this node's role could not be changed as the topology says. {failure}");
            return "ERR the topology is in force, but this node's role could not be changed: its log says why";
        }
    }

    /// <summary>Writes the file again. Returns why that failed; null: it did not.</summary>
    internal string? SaveAgain() => ChangeHere(static state => (state, null));

    private bool IsUpBy(ClusterTopology topology)
    {
        if (!_mayServe && _state.Self.IsPrimary) return false;
        int assigned = topology.AssignedSlots;
        return assigned > 0 && (assigned == topology.Owners.Length || !_core.Settings.ClusterRequiresFullCoverage);
    }

    private PrimaryAddress? PrimaryOf(ClusterState state) => state.Self.PrimaryId is { } id && state.Topology.Find(id) is { } node ? AddressOf(node) : null;

    /// <summary>Where replicas reach a node.</summary>
    internal PrimaryAddress AddressOf(ClusterNode node)
    {
        int port = _core.Settings.TlsReplication && node.TlsPort != 0 ? node.TlsPort : node.Port;
        return new PrimaryAddress(node.Ip.Length > 0 ? node.Ip : node.HostName, port);
    }

    private void Route()
    {
        ClusterState state = _state;
        _doubts &= state.Giving.Count > 0; // another topology may have said whose the slots are
        _maybeGiven.RemoveAll(leaving => leaving.Attempt.IsDecidedBy(state.Topology));
        foreach ((int slot, string to, _) in _giving.Concat(_maybeGiven))
        {
            if (state.Topology.OwnerOf(slot)?.Id == state.SelfId && state.Topology.Find(to) is not null) state = state.WithMigrating(slot, to);
        }

        ClusterTopology topology = state.Topology;
        Settings settings = _core.Settings;
        var nodes = new RoutedNode[topology.Nodes.Length];
        for (int i = 0; i < nodes.Length; i++)
        {
            ClusterNode node = topology.Nodes[i];
            string host = EndpointOf(node, settings.ClusterEndpointType);
            nodes[i] = new RoutedNode($"{host}:{(node.Port != 0 ? node.Port : node.TlsPort)}", $"{host}:{(node.TlsPort != 0 ? node.TlsPort : node.Port)}");
        }

        int self = topology.IndexOf(state.SelfId);
        short[] owners = topology.Owners.ToArray();
        SlotSet? doubtful = _doubts ? SlotSet.Of(state.Giving.ContainsKey) : _doubtful?.Slots;
        foreach (int slot in doubtful?.Slots() ?? []) owners[slot] = SlotRouting.NoNode;

        SlotRouting? before = _core.Routing.Value;
        _core.Routing.NoteFeeding(_mayServe || !state.Self.IsPrimary);
        if (_agreement is not null) _core.Routing.Use(ReplicasBy(topology, state.SelfId));
        if (_awaitedSlots.Notes != topology.Terms.Reassigned) _awaitedSlots = (topology.Terms.Reassigned, topology.Terms.Reassigned.IsEmpty ? null : topology.Terms.ReassignedSlots);
        ImmutableArray<Reassignment> reassigned = _agreement is null ? [] : topology.Terms.Reassigned;
        if (reassigned.Length > 0 || _awaitedUntilMs.Count > 0)
        {
            long untilMs = Math.Max(_core.Clock.SteadyMs + settings.ClusterMovePauseMs, 1);
            _awaitedUntilMs = reassigned.Select(static each => each.Since).Distinct().ToDictionary(static since => since, since => _awaitedUntilMs.GetValueOrDefault(since, untilMs));
        }

        SlotsAwaitedUntil[] awaited = [.. reassigned.Select(each => new SlotsAwaitedUntil(each.Slots, _awaitedUntilMs[each.Since]))];
        var next = new SlotRouting(owners, self, IsUpBy(topology), Moves(state.Migrating), _held, awaited)
        {
            Nodes = nodes,
            Primary = state.Self.PrimaryId is { } primary ? topology.IndexOf(primary) : SlotRouting.NoNode,
            Importing = Moves(state.Importing),
            Doubtful = doubtful,
            Awaited = _agreement is null ? null : _awaitedSlots.Slots,
            ClosesHeld = _closesHeld,
            AllowsReadsWhenDown = settings.ClusterAllowsReadsWhenDown,
            AllowsShardMessagesWhenDown = settings.ClusterAllowsShardMessagesWhenDown,
            RemovesKeys = _mayServe || topology.Terms.ClusterId.Length == 0, // those of a node that is of no cluster yet are its own
        };
        _core.Routing.Use(next);
        _inForce = topology;
        _doubtfulInForce = _doubts ? state.Giving : _doubtfulInForce.Clear();
        if (before is not null && _core.Metrics is { } metrics) metrics.ForgetSlots(slot => before.Covers(slot) && !next.Covers(slot));

        FrozenDictionary<int, int> Moves(IEnumerable<KeyValuePair<int, string>> moves) => moves.ToFrozenDictionary(static move => move.Key, move => topology.IndexOf(move.Value));
    }

    // Those that the store names as being in step: a successor is chosen only when enough of them have reported their positions.
    private static AgreedReplicas ReplicasBy(ClusterTopology topology, string selfId)
    {
        FrozenSet<string> replicas = topology.ReplicasOf(selfId).Select(static node => node.Id).ToFrozenSet(StringComparer.Ordinal);
        IEnumerable<string> inStep = topology.Find(selfId) is { } self ? topology.Terms.Of(self.ShardId).ReplicasInStep : [];
        return new AgreedReplicas(topology.Version, replicas, inStep.Where(replicas.Contains).ToFrozenSet(StringComparer.Ordinal));
    }

    /// <summary>A node's host as clients are told it, by `cluster-preferred-endpoint-type`.</summary>
    internal static string EndpointOf(ClusterNode node, ClusterEndpointType type) => type switch
    {
        ClusterEndpointType.HostName => node.HostName.Length > 0 ? node.HostName : "?",
        ClusterEndpointType.Unknown => "",
        _ => node.Ip,
    };

    // That of the route to the store, which other nodes reach, too.
    private static string OwnAddress(Settings settings)
    {
        Uri? store = settings.ClusterEtcd.Length > 0 ? new Uri(settings.ClusterEtcd.Split(',')[0]) : null;
        if (store is null) return "";
        try
        {
            using var probe = new System.Net.Sockets.UdpClient(store.Host, store.Port); // sends nothing
            return ((System.Net.IPEndPoint)probe.Client.LocalEndPoint!).Address is { IsIPv4MappedToIPv6: true } mapped ? mapped.MapToIPv4().ToString() : ((System.Net.IPEndPoint)probe.Client.LocalEndPoint!).Address.ToString();
        }
        catch (System.Net.Sockets.SocketException)
        {
            return "";
        }
    }

    public ClusterNode DescribeSelf(ClusterNode self)
    {
        Settings settings = _core.Settings;
        int port = _host.Port, tlsPort = _host.TlsPort;
        return self with
        {
            Ip = settings.ClusterAnnounceIp.Length > 0 ? settings.ClusterAnnounceIp : self.Ip.Length > 0 || _agreement is null ? self.Ip : OwnAddress(settings),
            Port = settings.ClusterAnnouncePort != 0 ? settings.ClusterAnnouncePort : port != 0 ? port : self.Port,
            TlsPort = settings.ClusterAnnounceTlsPort != 0 ? settings.ClusterAnnounceTlsPort : tlsPort != 0 ? tlsPort : self.TlsPort,
            BusPort = settings.ClusterAnnounceBusPort != 0 ? settings.ClusterAnnounceBusPort : settings.ClusterPort,
            HostName = settings.ClusterAnnounceHostName.Length > 0 ? settings.ClusterAnnounceHostName : self.HostName,
            Name = settings.ClusterAnnounceNodeName.Length > 0 ? settings.ClusterAnnounceNodeName : self.Name,
            Zone = settings.ClusterAnnounceZone.Length > 0 ? settings.ClusterAnnounceZone : self.Zone,
        };
    }
}
