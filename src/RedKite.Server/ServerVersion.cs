namespace RedKite.Server;

/// <summary>The product's version, and the Redis version whose behaviour it has: clients decide by the latter what they send.</summary>
public static class ServerVersion
{
    /// <summary>RedKite's own version.</summary>
    public static string Text { get; } = typeof(ServerVersion).Assembly.GetName().Version!.ToString(3);

    /// <summary>What INFO gives as redis_version and HELLO as version.</summary>
    public const string Redis = "7.4.0";
}
