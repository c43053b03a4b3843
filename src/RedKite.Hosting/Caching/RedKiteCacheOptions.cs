namespace RedKite.Hosting;

/// <summary>Where a cache keeps its entries.</summary>
public sealed class RedKiteCacheOptions
{
    /// <summary>A prefix of all keys, which keeps the caches of several applications apart; as in Microsoft's packages for Redis.</summary>
    public string InstanceName { get; set; } = "";

    /// <summary>The index of the database.</summary>
    public int Database { get; set; }
}
