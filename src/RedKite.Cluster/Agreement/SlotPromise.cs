using System.Text;
using RedKite.Server.Cluster.Store;

namespace RedKite.Server.Cluster.Agreement;

/// <summary>
/// A node's promise to keep what it has received of slots that move: a key in the store, which ends with the node's lease. The transaction that gives the slots to the node requires the key and removes it, so when the key is gone, the
/// topology that is read behind that says who has the slots, and that stays so.
/// </summary>
internal static class SlotPromise
{
    private static readonly TimeSpan Retry = TimeSpan.FromMilliseconds(200);

    /// <summary>Makes a promise.</summary>
    /// <returns>Its revision. If this fails, the promise does not hold, even if the key is there: its revision is not known.</returns>
    /// <exception cref="StoreException">The store is not reached, or the lease has ended.</exception>
    internal static async Task<long> Make(IClusterStore store, string moveId, string nodeId, long lease, CancellationToken cancellation) =>
        await store.TryCommit([StoreCondition.Absent(StoreKeys.Import(moveId))], [new StorePut(StoreKeys.Import(moveId), Encoding.ASCII.GetBytes(nodeId), lease)], cancellation) ?? throw new StoreException("the move has been promised before");

    /// <summary>Takes a promise back, as often as it takes to hear that it is gone, and which topology is behind that.</summary>
    /// <returns>The topology that was read behind that.</returns>
    internal static async Task<SharedTopology?> Withdraw(IClusterStore store, string moveId, TimeProvider time, CancellationToken cancellation)
    {
        while (true)
        {
            try
            {
                await store.TryCommit([], [new StorePut(StoreKeys.Import(moveId), Value: null)], cancellation);
                return await SharedTopology.Read(store, cancellation);
            }
            catch (Exception failure) when (failure is StoreException or TopologyException)
            {
                await Wake.Delay(time, Retry, cancellation);
            }
        }
    }
}
