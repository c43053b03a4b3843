namespace RedKite.Server.Metrics;

/// <summary>
/// Samples the executors frequently while they execute anything, so that a slow command is known by its position in its run
/// (<see cref="RunProgress"/>). When nothing executes it sleeps; the next executor wakes it.
/// </summary>
internal sealed class RunWatch : IDisposable
{
    // A command that takes two of these is certainly seen twice.
    private const int LookMsMin = 2;
    private const int LookMsMax = 5;

    private readonly AutoResetEvent _wake = new(initialState: false);
    private volatile bool _sleeps;
    private long _commands;

    /// <summary>Whether an executor that begins must wake it.</summary>
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
        if (!_sleeps && threshold < long.MaxValue) milliseconds = (int)Math.Min(milliseconds, Math.Clamp(threshold / 2_000_000, LookMsMin, LookMsMax));
        _wake.WaitOne(milliseconds);
    }

    /// <summary>Looks at every executor.</summary>
    internal static void Look(ExecutorMetrics[] executors)
    {
        foreach (ExecutorMetrics executor in executors) executor.Progress.Look();
    }

    /// <summary>Sleeps if nothing was executed since the last call.</summary>
    internal void SleepIfIdle(ExecutorMetrics[] executors)
    {
        long commands = 0;
        foreach (ExecutorMetrics executor in executors) commands += executor.CommandsProcessed;
        _sleeps = commands == _commands;
        _commands = commands;
    }

    public void Dispose() => _wake.Dispose();
}
