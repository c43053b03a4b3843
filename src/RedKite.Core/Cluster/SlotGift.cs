using RedKite.Store.Keyspace;

namespace RedKite.Server.Cluster;

/// <summary>A destination's promise to keep what it has received of slots that move, as the store has it.</summary>
/// <param name="Revision">The store's revision of the promise.</param>
/// <param name="Epoch">The destination's epoch when it promised. It has another one when it has lost the role of a primary and got it back: what it had received was removed in between.</param>
internal readonly record struct PromisedSlots(long Revision, long Epoch);

/// <summary>
/// Slots that this node gives to another one by a transaction in the cluster's store. From when it has begun until it has ended, the transaction may have happened: this node neither serves nor removes the slots.
/// Who has asked for it may withdraw it until it has begun: one atomic word decides.
/// </summary>
/// <param name="slots">The slots.</param>
/// <param name="toId">The node that has promised to keep what it has received.</param>
/// <param name="moveId">The move.</param>
/// <param name="promise">The promise.</param>
internal sealed class SlotGift(SlotSet slots, string toId, string moveId, PromisedSlots promise)
{
    private const int Waits = 0;
    private const int HasBegun = 1;
    private const int IsWithdrawn = 2;

    private readonly TaskCompletionSource<string?> _ended = new();
    private int _state;

    internal SlotSet Slots => slots;

    internal string ToId => toId;

    internal string MoveId => moveId;

    internal PromisedSlots Promise => promise;

    /// <summary>The shard of that node, when it has begun.</summary>
    internal string ToShardId { get; private set; } = "";

    /// <summary>Completes when the outcome is known and this node goes by it: why the slots were not given, in one line; null: they were.</summary>
    internal Task<string?> Ended => _ended.Task;

    /// <summary>Begins, unless it was withdrawn.</summary>
    internal bool TryBegin() => Interlocked.CompareExchange(ref _state, HasBegun, Waits) == Waits;

    /// <summary>Notes the destination's shard, as the topology has it now.</summary>
    internal void NoteShard(string shardId) => ToShardId = shardId;

    /// <summary>Withdraws it, unless it has begun.</summary>
    internal bool TryWithdraw() => Interlocked.CompareExchange(ref _state, IsWithdrawn, Waits) == Waits;

    internal void End(string? refusal) => _ended.TrySetResult(refusal);
}
