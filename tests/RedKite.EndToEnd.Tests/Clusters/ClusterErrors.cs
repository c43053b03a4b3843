namespace RedKite.EndToEnd.Tests.Clusters;

/// <summary>The errors that clients of a cluster may get while its topology changes: those that docs/cluster.md names.</summary>
internal static class ClusterErrors
{
    private static readonly string[] OfServers = ["ASK", "CLUSTERDOWN", "LOADING", "MISCONF", "MOVED", "NOREPLICAS", "TRYAGAIN"];

    /// <summary>What libraries say themselves when a connection ends, or no node answers in time, is no error of a server.</summary>
    internal static void Expect(IEnumerable<string> seen) => Assert.DoesNotContain(seen, static error => error != "connection" && !error.StartsWith("library:", StringComparison.Ordinal) && !OfServers.Contains(error));
}
