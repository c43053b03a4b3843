namespace RedKite.Server.Metrics;

/// <summary>
/// Samples the executors frequently while they execute pipelines, so that a slow command is known by its position in its run
/// (<see cref="RunProgress"/>). Otherwise it sleeps; the next executor that begins a pipeline wakes it.
/// </summary>
internal sealed class RunWatch : IDisposable
{
    // Each look costs a wake-up of the thread, 25 to 50 microseconds of CPU. From a threshold of 4 ms on, both times together are less
    // than it, so that a slow command is certainly seen twice.
    private const int LookPercentOfThreshold = 70;
    private const int LookAgainPercentOfThreshold = 20;
    private const int LookMsMin = 2;
    private const int LookAgainMsMin = 1;

    private readonly AutoResetEvent _wake = new(initialState: false);
    private volatile bool _sleeps;
    private bool _lookAgain;
    private long _pipelines;

    /// <summary>Whether an executor that begins a pipeline must wake it.</summary>
    internal bool Sleeps => _sleeps;

    internal void Wake()
    {
        _sleeps = false;
        _wake.Set();
    }

    /// <summary>Waits until the next sample, or for less. Only the diagnostics thread calls this.</summary>
    /// <param name="milliseconds">How long at most.</param>
    /// <param name="threshold">The nanoseconds from which a command is slow; the largest number: no command is.</param>
    internal void Wait(int milliseconds, long threshold)
    {
        if (!_sleeps && threshold < long.MaxValue)
        {
            long lookMs = _lookAgain
                ? Math.Max(threshold / 1_000_000 * LookAgainPercentOfThreshold / 100, LookAgainMsMin)
                : Math.Max(threshold / 1_000_000 * LookPercentOfThreshold / 100, LookMsMin);
            milliseconds = (int)Math.Min(milliseconds, lookMs);
        }

        _wake.WaitOne(milliseconds);
    }

    /// <summary>Looks at every executor.</summary>
    internal void Look(ExecutorMetrics[] executors)
    {
        _lookAgain = false;
        foreach (ExecutorMetrics executor in executors) _lookAgain |= executor.Progress.Look();
    }

    /// <summary>Sleeps if no pipeline was begun since the last call.</summary>
    internal void SleepIfIdle(ExecutorMetrics[] executors)
    {
        long pipelines = 0;
        foreach (ExecutorMetrics executor in executors) pipelines += executor.Progress.Pipelines;
        _sleeps = pipelines == _pipelines;
        _pipelines = pipelines;
    }

    public void Dispose() => _wake.Dispose();
}
