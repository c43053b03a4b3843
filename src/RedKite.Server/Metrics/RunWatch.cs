namespace RedKite.Server.Metrics;

/// <summary>
/// Samples the executors frequently while they execute runs of several commands, so that a slow one is known by its position in its run
/// (<see cref="RunProgress"/>). Otherwise it sleeps; the next executor that begins such a run wakes it.
/// </summary>
internal sealed class RunWatch : IDisposable
{
    // Each look costs a wake-up of the thread, 25 to 50 microseconds of CPU. Together these are less than a threshold: a command that
    // is slow is certainly seen twice.
    private const int LookPercentOfThreshold = 70;
    private const int LookAgainPercentOfThreshold = 20;
    private const int LookMsMin = 2;
    private const int LookAgainMsMin = 1;

    private readonly AutoResetEvent _wake = new(initialState: false);
    private volatile bool _sleeps;
    private bool _lookAgain;
    private long _sharedRuns;

    /// <summary>Whether an executor that begins a run of several commands must wake it.</summary>
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

    /// <summary>Sleeps if there was no run of several commands since the last call.</summary>
    internal void SleepIfIdle(ExecutorMetrics[] executors)
    {
        long sharedRuns = 0;
        foreach (ExecutorMetrics executor in executors) sharedRuns += executor.Progress.SharedRuns;
        _sleeps = sharedRuns == _sharedRuns;
        _sharedRuns = sharedRuns;
    }

    public void Dispose() => _wake.Dispose();
}
