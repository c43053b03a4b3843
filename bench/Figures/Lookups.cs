namespace RedKite.Figures;

/// <summary>
/// How many of the GETs found their key, by the server's own count. A GET that finds nothing is cheaper, so a figure is
/// only worth what is known about this.
/// </summary>
internal static class Lookups
{
    /// <summary>Null from a server that does not count them, such as the floor.</summary>
    internal static (long Hits, long Lookups)? Read(ServerUnderTest server)
    {
        using RespConnection connection = server.Connect();
        return connection.ReadInfo("stats", "keyspace_hits") is { } hits && connection.ReadInfo("stats", "keyspace_misses") is { } misses
            ? (hits, hits + misses)
            : null;
    }

    internal static double? HitShare((long Hits, long Lookups)? before, (long Hits, long Lookups)? after) =>
        before is { } first && after is { } last && last.Lookups > first.Lookups
            ? (double)(last.Hits - first.Hits) / (last.Lookups - first.Lookups)
            : null;
}
