namespace RedKite;

/// <summary>RedKite's version, the Redis version that it speaks, by which clients choose features, and those with which it was compared.</summary>
public static class ServerVersion
{
    /// <summary>RedKite's own version.</summary>
    public static string Text { get; } = typeof(ServerVersion).Assembly.GetName().Version!.ToString(3);

    /// <summary>
    /// The newest version of Redis of which RedKite has all commands. It is the <c>redis_version</c> of INFO and the <c>version</c> of HELLO,
    /// unless the setting <c>reported-redis-version</c> names another.
    /// </summary>
    public const string Redis = "8.12.0";

    /// <summary>
    /// The versions of redis-server with which replies are compared: every command and option with the oldest that has it. There is none for those that are newer
    /// than the last.
    /// </summary>
    public const string ComparedRedis = "8.0.2,8.6.3";

    /// <summary>The version of Redis in whose form data files are written.</summary>
    internal const string DataFiles = "8.0.2";

    /// <summary>What the server says about itself.</summary>
    /// <param name="redis">The Redis version that clients are told.</param>
    internal static string Describe(string redis) => $"RedKite {Text} (Redis {redis}, compared with {ComparedRedis.Replace(",", " and ", StringComparison.Ordinal)})";
}
