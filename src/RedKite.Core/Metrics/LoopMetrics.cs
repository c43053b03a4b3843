using RedKite.Net;

namespace RedKite.Server.Metrics;

/// <summary>The counters of one event loop. Only the loop writes them.</summary>
internal sealed class LoopMetrics(EventLoop loop, ExecutorMetrics executor)
{
    /// <summary>
    /// Managed memory of one connection without its buffers: the connection, its session and their places in the server's
    /// tables. Measured over 2,000 connections on epoll, and checked by a test.
    /// </summary>
    internal const int ConnectionBytes = 540;

    private int _suspended;
    private long _sparedNs;

    /// <summary>The buffers of the loop's connections.</summary>
    internal BufferWatch Buffers { get; } = new();

    internal int Connections => loop.ConnectionCount;

    /// <summary>Receives and sends on the loop's connections.</summary>
    internal long Reads => executor.Reads;

    internal long Writes => executor.Writes;

    /// <summary>Clients that the server has stopped reading from because they do not read their replies.</summary>
    internal int SuspendedClients => Volatile.Read(ref _suspended);

    internal long Cycles => loop.Cycles;

    internal long WorkMicroseconds => (long)loop.WorkTime.TotalMicroseconds;

    /// <summary>The part of it for which requests may have had to wait: not slices that were done because there was nothing else to do.</summary>
    internal long BusyMicroseconds => WorkMicroseconds - (Volatile.Read(ref _sparedNs) / 1000);

    /// <summary>Counts a slice of background work, or of work that a client waits for, that was done because no commands had come since the last one.</summary>
    internal void AddSpared(long ns) => Volatile.Write(ref _sparedNs, _sparedNs + ns);

    /// <summary>Messages from other threads that wait to be handled.</summary>
    internal int MessagesWaiting => loop.MessagesWaiting;

    /// <summary>The share of its time that the loop worked in the last second. Set by the diagnostics thread.</summary>
    internal double UtilizationPercent { get; set; }

    /// <summary>The longest timed iteration of the last second. Set by the diagnostics thread.</summary>
    internal double LongestIterationMicroseconds { get; set; }

    /// <summary>The longest iteration of those that were timed since the last call.</summary>
    internal TimeSpan TakeLongestIteration() => loop.TakeLongestCycle();

    internal void AddSuspendedClients(int count) => Interlocked.Add(ref _suspended, count);
}
