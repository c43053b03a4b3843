using RedKite.Server.Model;

namespace RedKite.Server.Replication;

/// <summary>What the walk of a full synchronization waits on until its replicas have taken something of the data.</summary>
internal sealed class SynchronizationProgress(ServerClock clock)
{
    private readonly object _changed = new(); // a monitor: the walk waits on it

    /// <summary>The time at which something was taken; steady.</summary>
    internal long NowMs => clock.SteadyMs;

    /// <summary>A replica was sent some of the data, or is gone. On its loop.</summary>
    internal void Note()
    {
        lock (_changed) Monitor.PulseAll(_changed);
    }

    /// <summary>Waits until a condition holds, looking again at each progress and every few milliseconds. On the walk's thread.</summary>
    internal void WaitUntil(Func<bool> condition, int intervalMs)
    {
        lock (_changed)
        {
            while (!condition()) Monitor.Wait(_changed, intervalMs);
        }
    }
}
