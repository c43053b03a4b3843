namespace RedKite;

/// <summary>RedKite's version, and the Redis version whose behaviour it has, by which clients choose features.</summary>
public static class ServerVersion
{
    /// <summary>RedKite's own version.</summary>
    public static string Text { get; } = typeof(ServerVersion).Assembly.GetName().Version!.ToString(3);

    /// <summary>The version of Redis with which every reply is compared.</summary>
    public const string Redis = "8.0.2";

    /// <summary>
    /// The <c>redis_version</c> of INFO and the <c>version</c> of HELLO, unless the setting <c>reported-redis-version</c> names another: the newest
    /// version of which RedKite has all commands but MIGRATE.
    /// </summary>
    public const string ReportedRedis = "8.12.0";
}
