namespace RedKite.Server.Metrics;

/// <summary>
/// Returns what the managed heap no longer needs to the system, for MEMORY PURGE. What large states of clients have left there (subscriptions, watched and tracked keys, users, logs)
/// would stay until a collection of the oldest generation, which a server that allocates nothing does not make for hours.
/// </summary>
/// <remarks>All threads stop meanwhile: for some 10 ms and a few more for each 10 MB that is in use there. So the command alone causes it, and in the server's own program alone.</remarks>
internal static class ManagedHeap
{
    internal static void Release() => GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
}
