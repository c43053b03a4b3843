using RedKite.Server.Cluster.Store;

namespace RedKite.Server.Cluster.Agreement;

/// <summary>The topology as the store has it.</summary>
/// <param name="Topology">The topology.</param>
/// <param name="Revision">The revision at which it was written.</param>
internal sealed record SharedTopology(ClusterTopology Topology, long Revision)
{
    internal static SharedTopology Of(StoreEntry entry)
    {
        try
        {
            return new SharedTopology(TopologyDocument.ReadShared(entry.Value), entry.Revision);
        }
        catch (TopologyException failure)
        {
            throw new TopologyException($"the topology in the store cannot be used: {failure.Message}");
        }
    }

    /// <summary>Reads it. Null: the store has none, as no cluster was created.</summary>
    /// <exception cref="StoreException">The store is not reached.</exception>
    /// <exception cref="TopologyException">It is broken, or of another version.</exception>
    internal static async Task<SharedTopology?> Read(IClusterStore store, CancellationToken cancellation)
    {
        StoreSnapshot snapshot = await store.Read(StoreKeys.Topology, cancellation);
        return snapshot.Entries.FirstOrDefault(static entry => entry.Key == StoreKeys.Topology) is { } entry ? Of(entry) : null;
    }

    /// <summary>Replaces it by another one, with the next version. Slots that get another owner by it are not served at once (<see cref="Reassignments"/>), unless they are given.</summary>
    /// <param name="store">The store.</param>
    /// <param name="next">The other one.</param>
    /// <param name="conditions">What must hold beside this being the topology still.</param>
    /// <param name="cancellation">Ends the attempt.</param>
    /// <param name="taken">The promise by which slots are given: it must be as it was, and is removed with it. The node that gives them serves them no more. Null: no slots are given.</param>
    /// <returns>What is in the store now; null: it was replaced before, or a condition does not hold.</returns>
    /// <exception cref="StoreException">The store is not reached: the replacement may have happened.</exception>
    internal async Task<SharedTopology?> TryReplace(IClusterStore store, ClusterTopology next, IEnumerable<StoreCondition> conditions, CancellationToken cancellation, StoreCondition? taken = null)
    {
        if (taken is null) next = Reassignments.Note(Topology, next);
        next = next.WithEpochsOfNewPrimaries(Topology);
        next = next.WithVersion(Topology.Version + 1);
        List<StoreCondition> all = [new StoreCondition(StoreKeys.Topology, Revision), .. conditions];
        List<StorePut> puts = [new StorePut(StoreKeys.Topology, TopologyDocument.WriteShared(next))];
        if (taken is not null)
        {
            all.Add(taken);
            puts.Add(new StorePut(taken.Key, Value: null));
        }

        long? revision = await store.TryCommit(all, puts, cancellation);
        return revision is { } written ? new SharedTopology(next, written) : null;
    }
}
