using RedKite.Server.Cluster.Store;

namespace RedKite.Server.Cluster.Agreement;

/// <content>
/// Slots that this node gives away as a whole. The node that receives them has put a promise into the store, which ends with its lease: while it is there, that node keeps what it has received. One transaction changes the owner and
/// takes the promise; it requires the promise, that the node has had its role since then, this node's registration, and the topology by which this node serves. A transaction without an answer is sent again until the outcome is known. If this registration ends before that,
/// it cannot happen any more, and the topology that is read behind the next registration says whether it has.
/// </content>
internal sealed partial class NodeAgent
{
    private const int GiftAttemptsMax = 20; // while others change the topology

    /// <summary>Why slots were not given: whether they were was read behind the next registration.</summary>
    internal const string RegistrationEnded = "this node's registration in the store has ended";

    private static readonly TimeSpan LookAtVersion = TimeSpan.FromMilliseconds(2);

    private readonly List<SlotGift> _gifts = []; // those that have not ended, under the lock

    /// <summary>Gives slots to another node, as soon as nothing else is being done. From any thread.</summary>
    internal void Give(SlotGift gift)
    {
        lock (_seeing) _gifts.Add(gift);
        _wake.Set();
    }

    /// <summary>Takes a promise of this node back (<see cref="IClusterOwnership.Withdraw"/>).</summary>
    /// <param name="moveId">The move.</param>
    /// <param name="versionInForce">The version of the topology by which everything goes that begins now.</param>
    /// <param name="cancellation">The node stops.</param>
    internal async Task Withdraw(string moveId, Func<long> versionInForce, CancellationToken cancellation)
    {
        SharedTopology? behind = await SlotPromise.Withdraw(_store, moveId, _time, cancellation);
        while (behind?.Topology.Find(_node.Id) is not null && versionInForce() < behind.Topology.Version)
        {
            // A node that was taken out since then goes by no other topology any more, and no slot is its.
            if (Latest is { } latest && latest.Topology.Version >= behind.Topology.Version && latest.Topology.Find(_node.Id) is null) return;
            await Wake.Delay(_time, LookAtVersion, cancellation);
        }
    }

    private SlotGift[] Gifts
    {
        get
        {
            lock (_seeing) return [.. _gifts];
        }
    }

    private async Task GiveAll(CancellationToken cancellation)
    {
        foreach (SlotGift gift in Gifts)
        {
            if (gift.TryBegin()) End(gift, await TryGive(gift, cancellation));
            else if (!gift.Ended.IsCompleted) Forget(gift); // it was withdrawn
        }
    }

    // What a registration before this one has begun: the topology was read behind its end, and this node goes by it.
    private void EndGiftsBegunBefore()
    {
        foreach (SlotGift gift in Gifts) End(gift, !gift.TryWithdraw() && Latest is { } latest && IsGiven(latest.Topology, gift) ? null : RegistrationEnded);
    }

    private void End(SlotGift gift, string? refusal)
    {
        Forget(gift);
        gift.End(refusal);
    }

    private void Forget(SlotGift gift)
    {
        lock (_seeing) _gifts.Remove(gift);
    }

    // Returns why not; null: they are given, and this node goes by that.
    private async Task<string?> TryGive(SlotGift gift, CancellationToken cancellation)
    {
        var promise = new StoreCondition(StoreKeys.Import(gift.MoveId), gift.Promise.Revision);
        for (int attempt = 0; attempt < GiftAttemptsMax; attempt++)
        {
            await Look(cancellation);
            if (Latest is not { } latest || latest.Topology.Version != _applied.Version) continue;
            if (RefusalOf(latest.Topology, gift) is { } refusal) return refusal;
            ClusterTopology next = latest.Topology;
            ClusterNode to = next.Find(gift.ToId)!;
            gift.NoteShard(to.ShardId);
            long epoch = Math.Max(next.Epoch, next.Nodes.Max(static node => node.Epoch)) + 1; // by that, clients prefer the slots' new owner
            next = next.WithOwner(gift.Slots.Slots(), to.Id).WithNode(to.Id, to with { Epoch = epoch }).WithEpoch(epoch);
            SharedTopology? now = await Replace(latest, next, cancellation, promise);
            bool isGiven = now is not null && IsGiven(now.Topology, gift);
            if (isGiven && Latest?.Topology is { } given && given.Find(_node.Id) is { IsPrimary: true } self) await GoBy(given, self);
            else await Look(cancellation);
            if (isGiven) return null;
            if (now?.Revision == latest.Revision) return await IsThere(promise, cancellation) ? RegistrationEnded : "the destination keeps what it has received no more: its registration in the store has ended, or it has ended the move";
        }

        return "the topology is changed by others all the time";
    }

    // Of a look, what clients wait for; the next step does the rest.
    private async Task GoBy(ClusterTopology topology, ClusterNode self)
    {
        Check(topology);
        await Apply(topology, _applied.Serves && Fits(topology.Terms.Of(self.ShardId)));
    }

    private string? RefusalOf(ClusterTopology topology, SlotGift gift)
    {
        if (!gift.Slots.Slots().All(slot => topology.OwnerOf(slot)?.Id == _node.Id)) return "the source does not own the slots any more";
        if (!_applied.Serves) return "the source does not serve";
        if (topology.Terms.ReassignedSlots.Overlaps(gift.Slots)) return "the source does not serve some of the slots yet: another node may still";
        if (topology.Find(gift.ToId) is not { IsPrimary: true } to) return "the destination is no primary any more";
        if (to.Epoch != gift.Promise.Epoch) return "the destination has another epoch than when it promised: it may have removed what it had received, as a replica in between";
        return topology.Terms.Of(to.ShardId).IsSealed ? "the destination does not serve: a primary is chosen for its shard" : null;
    }

    // Perhaps to a replica that has become the primary since.
    private static bool IsGiven(ClusterTopology topology, SlotGift gift) => gift.Slots.Slots().All(slot => topology.OwnerOf(slot)?.ShardId == gift.ToShardId);

    private async Task<bool> IsThere(StoreCondition key, CancellationToken cancellation)
    {
        try
        {
            return (await _store.Read(key.Key, cancellation)).Entries.Any(entry => entry.Key == key.Key && entry.Revision == key.Revision);
        }
        catch (StoreException)
        {
            return false;
        }
    }
}
