using System.Collections.Immutable;
using RedKite.Persistence.Files;
using RedKite.Server.Logging;
using RedKite.Server.Model;
using RedKite.Server.Replication;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Cluster;

/// <content>
/// How slots change their owner as a whole. With a store, one transaction changes it (<see cref="SlotGift"/>). Without one, the node that gives them first writes to its file that it will; the other one takes them, and then this
/// one gives them up, and writes that. If it dies in between, or does not hear whether they were taken, this node refuses them until it has asked the other one. So two nodes never accept writes to the same slot.
/// </content>
internal sealed partial class ClusterService : IClusterOwnership
{
    private SlotSet? _held;
    private bool _closesHeld;
    private SlotGift? _doubtful; // whether the store says that the other node has the slots is not known
    private (ClusterState? State, ClusterState? Given) _intended; // what is in force with an intent, and what will be when it has come true: made before writes wait
    private volatile ImmutableSortedDictionary<int, string> _doubtfulInForce = ImmutableSortedDictionary<int, string>.Empty; // by the routing
    private volatile bool _doubts; // whether what is being given may be the other node's already

    public string SelfId => _state.SelfId;

    public bool IsPrimary => _state.Self.IsPrimary;

    // Loops ask, and a change holds the lock while it is written to the disk.
    public IReadOnlyDictionary<int, string> Doubtful => _doubtfulInForce;

    public IReadOnlyDictionary<int, string> InDoubt
    {
        get
        {
            lock (_changing) return _doubtful is { } gift ? gift.Slots.Slots().ToDictionary(static slot => slot, _ => gift.ToId) : Doubtful;
        }
    }

    public string? OwnerOf(int slot) => _state.Topology.OwnerOf(slot)?.Id;

    public bool IsKnown(string id, out bool isPrimary)
    {
        ClusterNode? node = _state.Topology.Find(id);
        isPrimary = node is { IsPrimary: true };
        return node is not null;
    }

    public PrimaryAddress? AddressOf(string id) => _state.Topology.Find(id) is { } node && (node.Ip.Length > 0 || node.HostName.Length > 0) ? AddressOf(node) : null;

    public void Hold(SlotSet? slots, bool closes = false)
    {
        lock (_changing)
        {
            if (_held == slots && _closesHeld == closes) return;
            (_held, _closesHeld) = (slots, closes);
            Route();
        }
    }

    public bool HasStore => _agreement is not null;

    public SlotGift BeginGift(SlotSet slots, string toId, string moveId, PromisedSlots promise)
    {
        var gift = new SlotGift(slots, toId, moveId, promise);
        _agreement!.Give(gift);
        return gift;
    }

    public void Doubt(SlotGift? gift)
    {
        lock (_changing)
        {
            _doubtful = gift;
            Route();
        }
    }

    public string? Promise(string moveId, out PromisedSlots promise, CancellationToken cancellation) => _agreement!.Promise(moveId, out promise, cancellation);

    public void Withdraw(string moveId, CancellationToken cancellation) => _agreement!.Withdraw(moveId, cancellation);

    public ClusterTopology InForce => _inForce;

    public string? Intend(SlotSet slots, string fromId, string toId)
    {
        if (_agreement is not null) return "ERR slots are given by the store";
        string? refusal = ChangeHere(state =>
            FaultOf(state, slots, fromId, toId) is { } fault ? (null, fault) : _doubts ? (null, "ERR it is not known yet whether other slots were given") : (state.WithGiving(slots.Slots(), toId), null)); // one at a time
        if (refusal is not null) return refusal;
        ClusterState intended = _state;
        _intended = (intended, Given(intended, slots, toId));
        return null;
    }

    public GiveOutcome TryGive(SlotSet slots, string fromId, string toId, Func<GiveOutcome> take)
    {
        lock (_changing)
        {
            // Another topology may have come since the intent, and removed it.
            if (_doubts || FaultOf(_state, slots, fromId, toId) is not null || !slots.Slots().All(slot => _state.Giving.GetValueOrDefault(slot) == toId)) return GiveOutcome.Refused;
        }

        GiveOutcome outcome = GiveOutcome.Unknown;
        try
        {
            return outcome = take();
        }
        finally
        {
            if (outcome != GiveOutcome.Refused) GoBy(outcome, slots, toId);
        }
    }

    private void GoBy(GiveOutcome outcome, SlotSet slots, string toId)
    {
        lock (_changing)
        {
            if (outcome == GiveOutcome.Unknown)
            {
                _doubts = true;
            }
            else
            {
                ClusterState next = ReferenceEquals(_intended.State, _state) ? _intended.Given! : Given(_state, slots, toId);
                Events.NoteTopology(next.SelfId, _state.Topology, next.Topology);
                _state = next;
                (_held, _closesHeld) = (null, false); // in the same step: another routing costs what writes wait for
            }

            Route();
        }
    }

    public void EndIntent(SlotSet slots)
    {
        lock (_changing)
        {
            _state = _state.WithGiving(slots.Slots(), null); // also without the file: a later doubt is about its own slots alone
            _intended = default;
            try
            {
                _file.Save(_state, _state);
            }
            catch (Exception failure) when (failure is TopologyException or FileFailure)
            {
                _core.Log.Warning(LogEvents.ClusterFileUnwritable, $"The cluster's file cannot be written: {failure.Message}. Until it is, a start asks again which node has the slots of the last move.");
            }
        }
    }

    public string? Take(SlotReception reception) => _agreement is not null ? "ERR slots are given by the store" : ChangeHere(state =>
    {
        if (FaultOf(state, reception.Slots, reception.SourceId, state.SelfId) is { } fault) return (null, fault);
        if (reception.Failure is { } failure) return (null, "ERR " + failure); // by another topology in between, too, which this lock excludes from here on
        ClusterTopology topology = state.Topology.WithOwner(reception.Slots.Slots(), state.SelfId);
        long epoch = Math.Max(topology.Epoch, topology.Nodes.Max(static node => node.Epoch)) + 1; // by that, other nodes prefer it as the slots' owner
        return (state.With(topology.WithNode(state.SelfId, topology.Find(state.SelfId)! with { Epoch = epoch }).WithEpoch(epoch)), null);
    });

    public string? SettleFile() => _file.MayHaveRefused ? SaveAgain() : null;

    public string? Resolve(SlotSet slots, string toId, bool areGiven)
    {
        string? refusal = ChangeHere(state => (areGiven ? Given(state, slots, toId) : state.WithGiving(slots.Slots(), null), null));
        lock (_changing)
        {
            // Without the file, what was decided is not kept: the slots are in doubt until it is.
            _doubts = (refusal is not null && areGiven) || (_doubts && _state.Giving.Count > 0);
            Route();
        }

        return refusal;
    }

    // Those that another topology has not given to others since.
    private static ClusterState Given(ClusterState state, SlotSet slots, string toId)
    {
        ClusterState next = state.WithGiving(slots.Slots(), null);
        return state.Topology.Find(toId) is { IsPrimary: true } ? next.With(next.Topology.WithOwner(slots.Slots().Where(slot => state.Giving.ContainsKey(slot)), toId)) : next;
    }

    private static string? FaultOf(ClusterState state, SlotSet slots, string fromId, string toId)
    {
        if (state.Topology.Find(toId) is not { IsPrimary: true }) return "ERR the destination is no primary";
        foreach (int slot in slots.Slots())
        {
            if (state.Topology.OwnerOf(slot)?.Id != fromId) return "ERR the source does not own the slots any more";
        }

        return null;
    }
}
