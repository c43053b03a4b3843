namespace RedKite.Profile;

/// <summary>
/// Methods whose native calls wait. The sample profiler cannot tell a thread that sleeps in a system call from one that
/// works in it, but the innermost managed frame says which call it is. That epoll_wait itself takes some time when events
/// are there already is counted as waiting.
/// </summary>
internal static class WaitingMethods
{
    private static readonly string[] Prefixes =
    [
        "RedKite.Net.Interop.LinuxCalls.EpollWait",
        "System.Threading.", // monitors, events, sleeps, the thread pool's semaphores: what they call natively is a wait
        "System.Net.Sockets.SocketAsyncEngine.EventLoop",
        "Interop+Sys.WaitForSocketEvents",
    ];

    internal static bool Contains(string method) => Array.Exists(Prefixes, prefix => method.StartsWith(prefix, StringComparison.Ordinal));
}
