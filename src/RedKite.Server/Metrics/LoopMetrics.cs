using RedKite.Net;

namespace RedKite.Server.Metrics;

/// <summary>What one event loop counts. The loop alone writes.</summary>
internal sealed class LoopMetrics(EventLoop loop)
{
    private int _suspended;

    /// <summary>The buffers of the loop's connections.</summary>
    internal BufferWatch Buffers { get; } = new();

    /// <summary>Clients that are not read from because they do not take their replies.</summary>
    internal int SuspendedClients => Volatile.Read(ref _suspended);

    internal long Cycles => loop.Cycles;

    internal long WorkMicroseconds => (long)loop.WorkTime.TotalMicroseconds;

    internal void AddSuspendedClients(int count) => Interlocked.Add(ref _suspended, count);
}
