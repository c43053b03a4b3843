using RedKite.Server.Replication;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Cluster;

/// <content>
/// How slots change their owner as a whole. With a store, one transaction changes it (<see cref="SlotGift"/>). Without one, the node that gives them first writes to its file that it does; the other one takes them, and then this
/// one gives them up. If it dies in between, or does not hear whether they were taken, this node refuses them until it has asked the other one. So two nodes never accept writes to the same slot.
/// </content>
internal sealed partial class ClusterService : IClusterOwnership
{
    private SlotSet? _held;
    private bool _closesHeld;
    private SlotGift? _doubtful; // whether the store says that the other node has the slots is not known
    private bool _doubts; // whether what is being given may be the other node's already

    public string SelfId => _state.SelfId;

    public bool IsPrimary => _state.Self.IsPrimary;

    public IReadOnlyDictionary<int, string> Doubtful
    {
        get
        {
            lock (_changing) return _doubts ? _state.Giving : System.Collections.Immutable.ImmutableSortedDictionary<int, string>.Empty;
        }
    }

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
            (_held, _closesHeld) = (slots, closes);
            Route();
        }
    }

    public bool HasStore => _agreement is not null;

    public SlotGift BeginGift(SlotSet slots, string toId, string moveId, long promisedAt)
    {
        var gift = new SlotGift(slots, toId, moveId, promisedAt);
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

    public string? Promise(string moveId, out long revision, CancellationToken cancellation) => _agreement!.Promise(moveId, out revision, cancellation);

    public void Withdraw(string moveId, CancellationToken cancellation) => _agreement!.Withdraw(moveId, cancellation);

    public long VersionInForce
    {
        get
        {
            lock (_changing) return _state.Topology.Version;
        }
    }

    public GiveOutcome TryGive(SlotSet slots, string fromId, string toId, Func<GiveOutcome> take)
    {
        if (_doubts || _agreement is not null) return GiveOutcome.Refused; // one at a time
        string? refusal = ChangeHere(state => FaultOf(state, slots, fromId, toId) is { } fault ? (null, fault) : (state.WithGiving(slots.Slots(), toId), null));
        if (refusal is not null) return GiveOutcome.Refused;
        GiveOutcome outcome = take();
        if (outcome == GiveOutcome.Unknown)
        {
            lock (_changing)
            {
                _doubts = true;
                Route();
            }

            return outcome;
        }

        Resolve(slots, toId, areGiven: outcome == GiveOutcome.Given);
        return outcome;
    }

    public string? Take(SlotSet slots, string fromId) => _agreement is not null ? "ERR slots are given by the store" : ChangeHere(state =>
    {
        if (FaultOf(state, slots, fromId, state.SelfId) is { } fault) return (null, fault);
        ClusterTopology topology = state.Topology.WithOwner(slots.Slots(), state.SelfId);
        long epoch = Math.Max(topology.Epoch, topology.Nodes.Max(static node => node.Epoch)) + 1; // by that, other nodes prefer it as the slots' owner
        return (state.With(topology.WithNode(state.SelfId, topology.Find(state.SelfId)! with { Epoch = epoch }).WithEpoch(epoch)), null);
    });

    public void Resolve(SlotSet slots, string toId, bool areGiven)
    {
        string? refusal = ChangeHere(state =>
        {
            ClusterState next = state.WithGiving(slots.Slots(), null);
            return (areGiven && state.Topology.Find(toId) is { IsPrimary: true } ? next.With(next.Topology.WithOwner(slots.Slots().Where(slot => state.Giving.ContainsKey(slot)), toId)) : next, null);
        });
        lock (_changing)
        {
            // Without the file, what was decided is not kept: the slots are in doubt until it is.
            _doubts = (refusal is not null && areGiven) || (_doubts && _state.Giving.Count > 0);
            Route();
        }
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
