using System.Text;

namespace RedKite.Server.Cluster.Store;

/// <summary>What a transaction may have, whatever the store: etcd's own limits, unless it is configured otherwise.</summary>
internal static class StoreLimits
{
    /// <summary>Conditions, and keys that are written or removed.</summary>
    internal const int TransactionKeysMax = 128;

    /// <summary>Bytes of the keys and values that are written. etcd takes requests of 1.5 MiB, with what its protocol adds.</summary>
    internal const int TransactionBytesMax = 1_500_000;

    /// <summary>Refuses a transaction that no store takes.</summary>
    /// <exception cref="StoreException">It is too large, or has a key twice.</exception>
    internal static void Check(IReadOnlyList<StoreCondition> conditions, IReadOnlyList<StorePut> puts)
    {
        if (conditions.Count > TransactionKeysMax || puts.Count > TransactionKeysMax)
            throw new StoreException($"A transaction has {Math.Max(conditions.Count, puts.Count)} keys; at most {TransactionKeysMax} are possible.");

        long bytes = 0;
        var keys = new HashSet<string>(puts.Count, StringComparer.Ordinal);
        foreach (StorePut put in puts)
        {
            if (!keys.Add(put.Key)) throw new StoreException($"A transaction writes '{put.Key}' twice.");
            bytes += Encoding.UTF8.GetByteCount(put.Key) + (put.Value?.Length ?? 0);
        }

        if (bytes > TransactionBytesMax) throw new StoreException($"A transaction has {bytes} bytes; at most {TransactionBytesMax} are possible.");
    }
}
