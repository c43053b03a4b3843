namespace RedKite.Server;

/// <summary>RedKite's version, and the version of Redis whose behaviour it has. Clients choose features by the latter.</summary>
public static class ServerVersion
{
    /// <summary>RedKite's own version.</summary>
    public static string Text { get; } = typeof(ServerVersion).Assembly.GetName().Version!.ToString(3);

    /// <summary>The <c>redis_version</c> of INFO and the <c>version</c> of HELLO.</summary>
    public const string Redis = "8.0.2";
}
