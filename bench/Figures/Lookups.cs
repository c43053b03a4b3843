namespace RedKite.Figures;

/// <summary>
/// The share of GETs that found their key, by the server's own counters. A miss is cheaper than a hit, so a figure means
/// nothing without it.
/// </summary>
internal static class Lookups
{
    /// <summary>Returns null for a server that does not count them, such as the floor.</summary>
    internal static (long Hits, long Lookups)? Read(ServerUnderTest server)
    {
        using SetupConnection connection = server.Connect();
        return connection.ReadInfo("stats", "keyspace_hits") is { } hits && connection.ReadInfo("stats", "keyspace_misses") is { } misses
            ? (hits, hits + misses)
            : null;
    }

    internal static double? HitShare((long Hits, long Lookups)? before, (long Hits, long Lookups)? after) =>
        before is { } first && after is { } last && last.Lookups > first.Lookups
            ? (double)(last.Hits - first.Hits) / (last.Lookups - first.Lookups)
            : null;
}
