using RedKite.Server.Cluster.Agreement;
using RedKite.Server.Cluster.Store;
using RedKite.Server.Metrics;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Cluster.Watching;

/// <summary>
/// What this node knows of its cluster, for metrics, findings, reports and the page. With a store it says every few seconds what the others are to know of it (<see cref="NodeFigures"/>), and reads what they
/// say. Nothing is decided by any of that, and a fault of it ends nothing.
/// </summary>
internal sealed class ClusterWatch(ServerCore core, IClusterHost host, IClusterMember cluster) : IClusterWatch
{
    // Each of n nodes reads n reports every n/20 seconds, so a node reads about 20 reports a second, however many there are.
    private static readonly TimeSpan Every = TimeSpan.FromSeconds(5);
    private static readonly TimeSpan EveryForEachNode = TimeSpan.FromMilliseconds(50);
    private const double Jitter = 0.2; // so that nodes do not write at the same distances: the clocks are compared by who writes before whom
    private const int StaleAfter = 3; // periods
    private const double SkewKeptSeconds = 60;
    private const int HottestEvery = 5; // seconds: it merges the counts of some thousands of keys

    private readonly Lock _lock = new();
    private readonly Dictionary<string, (long Revision, long AtMs)> _seen = new(StringComparer.Ordinal); // what each node has said last, and when that was seen first
    private readonly Dictionary<string, (double Seconds, long AtMs)> _ahead = new(StringComparer.Ordinal); // clocks
    private readonly Dictionary<int, long> _keyByKey = []; // since when slots move
    private readonly Dictionary<(long Since, string FromId), long> _awaited = []; // since when slots wait for their former owner, as this node has seen it
    private readonly Queue<(long Version, long AtMs)> _versions = new(); // the newer ones, and when each was seen first
    private WatchedStore? _store;
    private ClusterAgreement? _agreement;
    private ClusterReading? _reading;
    private long _readAtMs;
    private long _versionBefore; // the newest that was in the store five seconds ago
    private double _period = Every.TotalSeconds;
    private (int Slot, double Percent) _hottest = (KeySlot.None, 0);
    private bool _hadLease;
    private int _asked;
    private (ClusterTopology? Of, int Owned, int Uncovered) _slots;

    public IReadOnlyList<ClusterEvent> Events => cluster.Events.All;

    /// <summary>Uses a store. Before the server is in use.</summary>
    internal void Use(ClusterAgreement agreement) => (_agreement, _store) = (agreement, agreement.Store);

    /// <summary>Says and reads, until it is cancelled.</summary>
    internal async Task Run(CancellationToken cancellation)
    {
        while (!cancellation.IsCancellationRequested)
        {
            try
            {
                await Look(cancellation);
            }
            catch (StoreException)
            {
                // It is counted.
            }
            catch (OperationCanceledException) when (cancellation.IsCancellationRequested)
            {
                return;
            }
#pragma warning disable CA1031 // The node serves, whether it is watched or not.
            catch (Exception failure)
#pragma warning restore CA1031
            {
                cluster.Events.Note(ClusterEvents.Refused, "A bug: the cluster could not be looked at. " + failure.Message);
            }

            try
            {
                await Task.Delay(TimeSpan.FromSeconds(_period * (1 - Jitter + (2 * Jitter * Random.Shared.NextDouble()))), cancellation);
            }
            catch (OperationCanceledException)
            {
                return;
            }
        }
    }

    /// <summary>Says what the others are to know, and reads what they say.</summary>
    internal async Task Look(CancellationToken cancellation)
    {
        if (_store is not { } store || _agreement is not { } agreement) return;
        _hottest = HotKeySketch.HottestSlot(core.Metrics.Executors, core.Clock.NowMs);
        if (!agreement.Deadline.HasEnded)
        {
            NodeFigures own = Own();
            await store.TryCommit([], [new StorePut(StoreKeys.Figures + cluster.State.SelfId, NodeFiguresDocument.Write(own), agreement.NodeLease)], cancellation);
        }

        if (!core.Settings.Diagnostics) return;
        StoreSnapshot snapshot = await store.Read("", cancellation);
        long steadyMs = core.Clock.SteadyMs, unixMs = core.Clock.NowMs;
        var reading = ClusterReading.Of(snapshot);
        lock (_lock)
        {
            NoteVersion(reading.Topology?.Version ?? 0, steadyMs);
            foreach ((string id, (NodeFigures figures, long revision)) in reading.Figures) See(id, figures, revision, steadyMs, unixMs);
            foreach (string id in _seen.Keys.Where(id => !reading.Figures.ContainsKey(id)).ToArray())
            {
                _seen.Remove(id);
                _ahead.Remove(id);
            }

            (_reading, _readAtMs) = (reading, steadyMs);
            _period = Math.Max(Every.TotalSeconds, reading.Alive.Count * EveryForEachNode.TotalSeconds);
        }
    }

    private void NoteVersion(long version, long steadyMs)
    {
        if (version > Math.Max(_versionBefore, _versions.LastOrDefault().Version)) _versions.Enqueue((version, steadyMs));
        while (_versions.TryPeek(out (long Version, long AtMs) first) && steadyMs - first.AtMs >= Every.TotalMilliseconds) _versionBefore = _versions.Dequeue().Version;
    }

    // The report was written before this clock is read, so a later time in it shows that the other clock is ahead, by at least the difference. The closer the two moments, the better the bound: the greatest of a minute counts.
    private void See(string id, NodeFigures figures, long revision, long steadyMs, long unixMs)
    {
        if (_seen.TryGetValue(id, out (long Revision, long AtMs) seen) && seen.Revision == revision) return;
        _seen[id] = (revision, steadyMs);
        if (id == cluster.State.SelfId) return;
        double ahead = Math.Max(0, (figures.UnixMs - unixMs) / 1000.0);
        if (!_ahead.TryGetValue(id, out (double Seconds, long AtMs) last) || ahead >= last.Seconds || steadyMs - last.AtMs > SkewKeptSeconds * 1000) _ahead[id] = (ahead, steadyMs);
    }

    public ClusterFigures Figures()
    {
        ClusterState state = cluster.State;
        ClusterTopology topology = state.Topology;
        int doubtful = cluster.InDoubt.Count;
        double wholeSeconds = host.Moves.Where(static move => !move.HasEnded).Select(static move => move.Seconds).DefaultIfEmpty().Max();
        if (_store is null && ++_asked % HottestEvery == 1) _hottest = HotKeySketch.HottestSlot(core.Metrics.Executors, core.Clock.NowMs);
        lock (_lock)
        {
            if (!ReferenceEquals(_slots.Of, topology)) _slots = (topology, topology.RangesOf(state.SelfId).Sum(static range => range.Last - range.First + 1), topology.Owners.Length - topology.AssignedSlots);
            var figures = new ClusterFigures
            {
                Version = topology.Version,
                OwnedSlots = _slots.Owned,
                UncoveredSlots = _slots.Uncovered,
                Nodes = topology.Nodes.Length,
                Elections = cluster.Events.Elections,
                Takeovers = cluster.Events.Takeovers,
                OldestMoveSeconds = Math.Max(wholeSeconds, KeyByKeySeconds(state)),
                DoubtfulSlots = doubtful,
                AwaitedSeconds = AwaitedSeconds(topology),
                HottestSlot = _hottest.Slot,
                HottestSlotPercent = _hottest.Percent,
            };
            if (_store is not { } store || _agreement is not { } agreement) return figures;

            double left = agreement.Deadline.Left.TotalSeconds;
            _hadLease |= left > 0;
            long latest = agreement.LatestVersion;
            return OfReading(figures) with
            {
                LeaseSeconds = _hadLease ? left : double.NaN,
                Renewals = store.Renewals,
                RenewalMicroseconds = store.RenewalMicroseconds,
                LastRenewalMicroseconds = store.LastRenewalMicroseconds is >= 0 and var micros ? micros : double.NaN,
                StoreRequests = store.Requests,
                StoreErrors = store.Errors,
                StoreMicroseconds = store.Microseconds,
                StoreAwaySeconds = store.AwaySeconds,
                VersionsBehind = Math.Max(0, latest - topology.Version),
                LateDisconnections = agreement.Deadline.Late,
                LostWrites = cluster.LostWrites is null ? 0 : 1,
            };
        }
    }

    private ClusterFigures OfReading(ClusterFigures figures)
    {
        if (_reading is not { Topology: not null } reading || core.Clock.SteadyMs - _readAtMs > StaleAfter * _period * 1000) return figures;
        ClusterNode[] primaries = reading.Primaries;
        (double busiest, double loadUneven) = reading.Spread(static node => node.CommandsPerSecond);
        (double fullest, double memoryUneven) = reading.Spread(static node => node.UsedBytes);
        return figures with
        {
            Nodes = reading.Topology.Nodes.Length,
            NodesAlive = reading.Topology.Nodes.Count(node => reading.Alive.ContainsKey(node.Id)),
            Controllers = reading.Controller.Length > 0 ? 1 : 0,
            NodesBehind = reading.NodesBehind(_versionBefore).Count(),
            ShardsDown = primaries.Count(reading.IsDown),
            ShardsAtRisk = primaries.Count(primary => reading.Hindrance(primary).Length > 0),
            BusiestShard = busiest,
            LoadUneven = loadUneven,
            FullestShardBytes = fullest,
            MemoryUneven = memoryUneven,
            ClockSkewSeconds = Skew(),
        };
    }

    // What this node has seen, and what others have.
    private double Skew()
    {
        double own = _ahead.Count == 0 ? 0 : _ahead.Values.Max(static clock => clock.Seconds);
        return Math.Max(own, _reading!.Figures.Where(node => node.Key != cluster.State.SelfId).Select(static node => node.Value.Figures.ClockAheadSeconds).DefaultIfEmpty().Max());
    }

    // Of the slot that has moved key by key for the longest time.
    private double KeyByKeySeconds(ClusterState state)
    {
        long nowMs = core.Clock.SteadyMs;
        foreach (int slot in _keyByKey.Keys.Where(slot => !state.Migrating.ContainsKey(slot) && !state.Importing.ContainsKey(slot)).ToArray()) _keyByKey.Remove(slot);
        foreach (int slot in state.Migrating.Keys.Concat(state.Importing.Keys)) _keyByKey.TryAdd(slot, nowMs);
        return _keyByKey.Count == 0 ? 0 : (nowMs - _keyByKey.Values.Min()) / 1000.0;
    }

    private double AwaitedSeconds(ClusterTopology topology)
    {
        if (topology.Terms.Reassigned.IsEmpty && _awaited.Count == 0) return 0;
        long nowMs = core.Clock.SteadyMs;
        HashSet<(long, string)> notes = [.. topology.Terms.Reassigned.Select(static note => (note.Since, note.FromId))];
        foreach ((long, string) note in _awaited.Keys.Where(note => !notes.Contains(note)).ToArray()) _awaited.Remove(note);
        foreach ((long, string) note in notes) _awaited.TryAdd(note, nowMs);
        return _awaited.Count == 0 ? 0 : (nowMs - _awaited.Values.Min()) / 1000.0;
    }

    // What this node says of itself.
    private NodeFigures Own()
    {
        ClusterState state = cluster.State;
        MetricsRegistry registry = core.Metrics;
        bool serves = state.Self.IsPrimary && cluster.IsUp;
        long keys = 0;
        foreach (Database database in core.Keyspace.Databases) keys += database.VisibleCount;
        (string Id, double Seconds) ahead;
        lock (_lock) ahead = _ahead.Select(static clock => (clock.Key, clock.Value.Seconds)).Where(static clock => clock.Seconds > 0).OrderByDescending(static clock => clock.Seconds).FirstOrDefault(("", 0));
        (string History, long Offset)? position = host.Position;
        return new NodeFigures
        {
            UnixMs = core.Clock.NowMs,
            Serves = serves,
            Keys = keys,
            UsedBytes = MemoryFigures.Of(registry).Used,
            MaxBytes = (long)core.Settings.MaxMemoryBytes,
            CommandsPerSecond = registry.Server.Rates.Commands,
            History = position?.History ?? "",
            Offset = position?.Offset ?? -1,
            IsLinkUp = core.Replication.LinkStatus is { } link ? link.State == Replication.ReplicaLinkState.Connected : null,
            LeaseSeconds = _agreement?.Deadline.Left.TotalSeconds ?? 0,
            RenewalMicroseconds = Math.Max(0, _store?.LastRenewalMicroseconds ?? 0),
            Fault = _agreement?.Fault ?? "",
            ClockAheadSeconds = ahead.Seconds,
            ClockAheadId = ahead.Id,
            HottestSlot = _hottest.Slot,
            HottestSlotPercent = _hottest.Percent,
            KeysByPart = serves ? KeysByPart(state) : [],
            Moves = [.. host.Moves.Where(static move => !move.HasEnded)],
        };
    }

    private long[] KeysByPart(ClusterState state)
    {
        long[] keys = new long[NodeFigures.PartsOfSlots];
        foreach (SlotRange range in state.Topology.RangesOf(state.SelfId))
        {
            for (int slot = range.First; slot <= range.Last; slot++)
            {
                foreach (Database database in core.Keyspace.Databases) keys[slot * NodeFigures.PartsOfSlots / KeySlot.Count] += database.CountOfSlot(slot);
            }
        }

        return keys;
    }

    public ClusterPicture Picture()
    {
        ClusterState state = cluster.State;
        NodeFigures own = Own();
        IReadOnlyDictionary<int, string> doubtful = cluster.InDoubt;
        IReadOnlyList<MoveProgress> moves = host.Moves;
        lock (_lock)
        {
            ClusterReading? reading = _reading;
            ClusterTopology topology = state.Topology;
            return new ClusterPicture
            {
                SelfId = state.SelfId,
                ClusterId = topology.Terms.ClusterId,
                HasStore = _store is not null,
                IsUp = cluster.IsUp,
                Version = topology.Version,
                StoreVersion = _agreement is { } agreement ? Math.Max(agreement.LatestVersion, reading?.Topology?.Version ?? 0) : topology.Version,
                Fault = _agreement?.Fault ?? "",
                LostWrites = cluster.LostWrites ?? "",
                Controller = _agreement?.IsController == true ? state.SelfId : reading?.Controller ?? "",
                IsController = _agreement?.IsController == true,
                LeaseSecondsMax = core.Settings.ClusterLeaseMs / 1000.0,
                AgeSeconds = reading is null ? double.NaN : (core.Clock.SteadyMs - _readAtMs) / 1000.0,
                StoreError = _store is { AwaySeconds: > 0 } away ? away.LastError : "",
                Shards = [.. topology.Nodes.Where(static node => node.IsPrimary).Select(primary => Pictured(topology, primary, reading))],
                Nodes = [.. topology.Nodes.Select(node => Pictured(node, reading, own)), .. Joining(topology, reading, own)],
                Moves = moves,
                Migrating = state.Migrating,
                Importing = state.Importing,
                Doubtful = doubtful,
                Awaited = Reassignments.Awaited(topology, reading?.Alive.Values ?? []),
            };
        }
    }

    private static PicturedShard Pictured(ClusterTopology topology, ClusterNode primary, ClusterReading? reading)
    {
        ShardTerms terms = topology.Terms.Of(primary.ShardId);
        string hindrance = reading?.Topology?.Find(primary.Id) is { IsPrimary: true } known ? reading.Hindrance(known) : "";
        return new PicturedShard(primary.ShardId, primary.Id, topology.RangesOf(primary.Id), terms.IsSealed, terms.Acks, [.. terms.ReplicasInStep], hindrance);
    }

    private IEnumerable<PicturedNode> Joining(ClusterTopology topology, ClusterReading? reading, NodeFigures own) =>
        reading is null ? [] : reading.Alive.Values.Where(status => topology.Find(status.Node.Id) is null).Take(ClusterLimits.NodesMax).Select(status => Pictured(status.Node, reading, own));

    private PicturedNode Pictured(ClusterNode node, ClusterReading? reading, NodeFigures own)
    {
        bool isSelf = node.Id == cluster.State.SelfId;
        NodeStatus? status = reading?.Alive.GetValueOrDefault(node.Id);
        NodeFigures? figures = FiguresOf(node.Id);
        long lag = node.PrimaryId is { } primaryId && figures is { Offset: >= 0 } && FiguresOf(primaryId) is { Offset: >= 0 } primary ? Math.Max(0, primary.Offset - figures.Offset) : -1;
        double age = isSelf ? 0 : figures is not null && _seen.TryGetValue(node.Id, out (long Revision, long AtMs) seen) ? (core.Clock.SteadyMs - seen.AtMs) / 1000.0 : double.NaN;
        return new PicturedNode(node.Id, node.Address, node.Name, node.Zone, node.ShardId, node.PrimaryId, reading is null ? null : status is not null, isSelf ? cluster.State.Topology.Version : status?.Version ?? -1, figures?.Offset ?? status?.Position.Offset ?? -1, lag, figures, age);

        NodeFigures? FiguresOf(string id) => id == cluster.State.SelfId ? own : reading?.Figures.TryGetValue(id, out (NodeFigures Figures, long Revision) said) == true ? said.Figures : null;
    }
}
