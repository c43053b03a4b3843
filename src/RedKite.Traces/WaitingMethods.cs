namespace RedKite.Traces;

/// <summary>
/// Methods whose native calls wait. The sampling profiler cannot distinguish a thread that sleeps in a system call from one
/// that works in it, but the innermost managed frame identifies the call. The time that epoll_wait takes when events are
/// already pending counts as waiting.
/// </summary>
internal static class WaitingMethods
{
    private static readonly string[] Prefixes =
    [
        "RedKite.Net.Interop.LinuxCalls.EpollWait",
        "System.Threading.", // monitors, events, sleeps, the thread pool's semaphores: their native calls wait
        "System.Net.Sockets.SocketAsyncEngine.EventLoop",
        "Interop+Sys.WaitForSocketEvents",
    ];

    internal static bool Contains(string method) => Array.Exists(Prefixes, prefix => method.StartsWith(prefix, StringComparison.Ordinal));
}
