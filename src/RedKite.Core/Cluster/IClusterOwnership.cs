using RedKite.Server.Model;
using RedKite.Server.Replication;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Cluster;

/// <summary>How an attempt to give slots to another node has ended.</summary>
internal enum GiveOutcome
{
    /// <summary>They are its now.</summary>
    Given,

    /// <summary>They are still this node's.</summary>
    Refused,

    /// <summary>The outcome is unknown: this node refuses the slots until it is known.</summary>
    Unknown,
}

/// <summary>Who has which slot, for what moves slots as a whole.</summary>
internal interface IClusterOwnership
{
    string SelfId { get; }

    bool IsPrimary { get; }

    /// <summary>The id of a slot's node; null: it has none.</summary>
    string? OwnerOf(int slot);

    /// <summary>Whether a node is known, and whether it is a primary.</summary>
    bool IsKnown(string id, out bool isPrimary);

    /// <summary>Where a node is reached by other nodes; null: that is not known.</summary>
    PrimaryAddress? AddressOf(string id);

    /// <summary>Slots of which it is not known, without a store, whether they were given, and to which node; empty: none.</summary>
    IReadOnlyDictionary<int, string> Doubtful { get; }

    /// <summary>Has commands that write to some slots refused with their stripes locked; null: no more. Those that begin wait by a pause.</summary>
    /// <param name="slots">The slots.</param>
    /// <param name="closes">Whether commands that read wait, too: another node may have the slots already.</param>
    void Hold(SlotSet? slots, bool closes = false);

    /// <summary>
    /// Writes to this node's file that another node may have some slots from now on: a start asks that node. Without a store, and before the slots are held, so that nothing waits for the disk. It stays until <see cref="EndIntent"/>.
    /// </summary>
    /// <returns>Why not, as the error of a reply; null: it is written.</returns>
    string? Intend(SlotSet slots, string fromId, string toId);

    /// <summary>
    /// Gives slots to another node: the one step by which their owner changes. Without a store, the other node changes its topology and keeps it in its file first; then this node goes by it, whose file has the intent still.
    /// </summary>
    /// <param name="slots">The slots, which are held, and of which <see cref="Intend"/> was called.</param>
    /// <param name="fromId">This node.</param>
    /// <param name="toId">The other one, which has all of their data.</param>
    /// <param name="take">Has the other node take them.</param>
    GiveOutcome TryGive(SlotSet slots, string fromId, string toId, Func<GiveOutcome> take);

    /// <summary>Ends an intent, whose outcome is known, and writes that to the file. Nothing waits for it: until it is written, a start asks the other node.</summary>
    void EndIntent(SlotSet slots);

    /// <summary>Takes slots whose data was received. Returns why not, as the error of a reply; null: they are this node's.</summary>
    string? Take(SlotReception reception);

    /// <summary>Writes this node's file again if a change that was refused may be in it, as the disk failed. Returns why it may still be, as the error of a reply; null: the file says what is in force.</summary>
    string? SettleFile();

    /// <summary>Ends a doubt. Returns why it lasts, as the error of a reply, if the file cannot be written; null: it has ended.</summary>
    string? Resolve(SlotSet slots, string toId, bool areGiven);

    /// <summary>Whether slots are given by a transaction in the cluster's store (<see cref="BeginGift"/>), and not by the two nodes alone (<see cref="TryGive"/>).</summary>
    bool HasStore { get; }

    /// <summary>
    /// Gives slots, which are held, to a node that has promised to keep what it has received of them. The transaction requires that promise, that the node has kept its role since, this node's registration and the topology by which
    /// it serves.
    /// </summary>
    SlotGift BeginGift(SlotSet slots, string toId, string moveId, PromisedSlots promise);

    /// <summary>Refuses the slots of a gift of which it is not known whether they were given; null: it is known.</summary>
    void Doubt(SlotGift? gift);

    /// <summary>Puts into the store that this node keeps what it has received in a move, until <see cref="Withdraw"/> has returned.</summary>
    /// <param name="moveId">The move.</param>
    /// <param name="promise">The promise. It is about what this node has received in its role of now: whether that has gone on since before must be looked at behind it.</param>
    /// <param name="cancellation">The node stops.</param>
    /// <returns>Why not, as the error of a reply; null: it is there.</returns>
    string? Promise(string moveId, out PromisedSlots promise, CancellationToken cancellation);

    /// <summary>Takes a promise back. When this returns, no transaction gives the slots by it any more, and this node goes by a topology that is not older.</summary>
    /// <exception cref="OperationCanceledException">The node stops. The promise may be there.</exception>
    void Withdraw(string moveId, CancellationToken cancellation);
}
