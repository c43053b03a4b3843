using System.Collections.Frozen;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Cluster;

/// <summary>A node as redirects name it.</summary>
/// <param name="Endpoint">Its host and port.</param>
/// <param name="TlsEndpoint">The same for clients with TLS.</param>
internal sealed record RoutedNode(string Endpoint, string TlsEndpoint);

/// <summary>Slots that another node may serve still, although they have another owner.</summary>
/// <param name="Slots">The slots.</param>
/// <param name="UntilMs">Until when commands on them wait, by the steady clock.</param>
internal sealed record SlotsAwaitedUntil(SlotSet Slots, long UntilMs);

/// <summary>
/// Which slots this node serves, and where the others are. Immutable: a change of the topology makes another one, which <see cref="CurrentRouting"/> publishes. Nodes are numbers in it.
/// </summary>
internal sealed class SlotRouting
{
    /// <summary>No node.</summary>
    internal const int NoNode = -1;

    private const int WordBits = 64;

    private readonly ulong[] _served = new ulong[KeySlot.Count / WordBits];
    private readonly short[] _owners;
    private readonly SlotSet? _held;
    private readonly IReadOnlyList<SlotsAwaitedUntil> _awaited;
    private SlotRouting? _whenDown;

    /// <param name="owners">The node of each slot.</param>
    /// <param name="self">This node.</param>
    /// <param name="isUp">Whether the cluster serves.</param>
    /// <param name="migrating">Slots that leave this node key by key, and where to.</param>
    /// <param name="held">Slots that are about to be given to another node; null: none.</param>
    /// <param name="awaited">Slots that another node may serve still, although they have another owner. No slot is in two of them; null: none.</param>
    internal SlotRouting(short[] owners, int self, bool isUp, FrozenDictionary<int, int> migrating, SlotSet? held = null, IReadOnlyList<SlotsAwaitedUntil>? awaited = null)
    {
        (_owners, Self, IsUp, Migrating, _held, _awaited) = (owners, self, isUp, migrating, held, awaited ?? []);
        HasSlots = self != NoNode && owners.AsSpan().Contains((short)self);
        if (!isUp) return;
        bool migrates = migrating.Count > 0;
        for (int slot = 0; slot < owners.Length; slot++)
        {
            if (owners[slot] == self && !(migrates && migrating.ContainsKey(slot)) && !IsHeld(slot) && !IsAwaited(slot)) _served[slot / WordBits] |= 1UL << (slot % WordBits);
        }
    }

    internal required IReadOnlyList<RoutedNode> Nodes { get; init; }

    internal int Self { get; }

    /// <summary>The primary that this node follows; <see cref="NoNode"/>: it is a primary itself.</summary>
    internal required int Primary { get; init; }

    internal bool IsUp { get; }

    internal FrozenDictionary<int, int> Migrating { get; }

    /// <summary>Slots that come to this node key by key, and where from.</summary>
    internal required FrozenDictionary<int, int> Importing { get; init; }

    /// <summary>Slots of which it is not known whether they were given to another node, so this node refuses them; null: none.</summary>
    internal SlotSet? Doubtful { get; init; }

    /// <summary>Slots that another node may serve still, although they have another owner; null: none.</summary>
    internal SlotSet? Awaited { get; init; }

    /// <summary>Whether commands that read held slots wait, too: another node may have them already.</summary>
    internal bool ClosesHeld { get; init; }

    /// <summary>Whether commands that only read execute although the cluster is down.</summary>
    internal required bool AllowsReadsWhenDown { get; init; }

    /// <summary>Whether sharded channels are used although the cluster is down.</summary>
    internal required bool AllowsShardMessagesWhenDown { get; init; }

    /// <summary>Whether this node removes by itself what has expired, what is evicted and what is of slots elsewhere. With a store, a primary that may not serve does not: its successor's data is what counts.</summary>
    internal bool RemovesKeys { get; init; } = true;

    /// <summary>Whether this node has slots.</summary>
    internal bool HasSlots { get; }

    /// <summary>Whether another node may serve this one's slots by now: with a store, those of a primary that may not serve.</summary>
    internal bool MayBeReplaced => MayNotServe && HasSlots;

    /// <summary>Whether this node is a primary that may not serve, or not any more.</summary>
    internal bool MayNotServe => !IsUp && !RemovesKeys && Primary == NoNode;

    /// <summary>The same while the node's lease has ended. Made once.</summary>
    internal SlotRouting WhenDown => !IsUp && !RemovesKeys ? this : _whenDown ??= new SlotRouting(_owners, Self, isUp: false, Migrating, _held, _awaited)
    {
        Nodes = Nodes,
        Primary = Primary,
        Importing = Importing,
        ClosesHeld = ClosesHeld,
        AllowsReadsWhenDown = AllowsReadsWhenDown,
        AllowsShardMessagesWhenDown = AllowsShardMessagesWhenDown,
        RemovesKeys = false,
    };

    /// <summary>Whether every command on keys of a slot executes here and now: nothing else about it has to be looked at.</summary>
    internal bool Serves(int slot) => ((_served[slot / WordBits] >> (slot % WordBits)) & 1) != 0;

    /// <summary>The same for commands that only read, of a client that reads from replicas (READONLY): the slot is that of the primary that this node follows.</summary>
    internal bool ServesReads(int slot) => IsUp && Primary != NoNode && _owners[slot] == Primary && !IsAwaited(slot);

    /// <summary>The node that has a slot; <see cref="NoNode"/>: none has.</summary>
    internal int OwnerOf(int slot) => _owners[slot];

    /// <summary>Whether the slots are the same nodes' as in another one, none comes key by key, and the node has the same role.</summary>
    internal bool HasOwnersOf(SlotRouting other) => Self == other.Self && Primary == other.Primary && Importing.Count == 0 && other.Importing.Count == 0 && _owners.AsSpan().SequenceEqual(other._owners);

    /// <summary>Whether a slot is this node's, or that of the primary that it follows.</summary>
    internal bool Covers(int slot) => _owners[slot] is var owner && owner != NoNode && (owner == Self || owner == Primary);

    /// <summary>Whether the slot is about to be given to another node: what would write to it and began before that is refused.</summary>
    internal bool IsHeld(int slot) => _held is { } held && held.Contains(slot);

    /// <summary>Whether any slot is: what would write to all keys and began before that is refused.</summary>
    internal bool HoldsSlots => _held is { IsEmpty: false };

    /// <summary>Whether the slot is held for commands that read, too.</summary>
    internal bool IsClosed(int slot) => ClosesHeld && IsHeld(slot);

    /// <summary>Whether another node may serve the slot still, so that its owner does not yet.</summary>
    internal bool IsAwaited(int slot) => _awaited.Count > 0 && AwaitedUntilMs(slot) != 0;

    /// <summary>Until when commands on an awaited slot wait, by the steady clock; 0: the slot is not. Behind that they are refused, so that clients hear of it.</summary>
    internal long AwaitedUntilMs(int slot)
    {
        foreach (SlotsAwaitedUntil awaited in _awaited)
        {
            if (awaited.Slots.Contains(slot)) return awaited.UntilMs;
        }

        return 0;
    }

    /// <summary>Whether keys of the slot come or go, so that what a command does depends on which of its keys are here.</summary>
    internal bool IsMoving(int slot) => Migrating.ContainsKey(slot) || Importing.ContainsKey(slot);
}
