using System.Diagnostics;

namespace RedKite.Server.Metrics;

/// <summary>
/// The command of a run that an executor is executing. Short commands share two readings of the clock, so a slow one among them
/// cannot be identified by its time; but while it executes, the diagnostics thread sees the executor at the same position twice.
/// </summary>
internal sealed class RunProgress
{
    // More than the commands of a run: each run has positions of its own.
    private const int PositionsOfRun = 128;

    private static readonly TimeSpan Lingering = TimeSpan.FromMicroseconds(20); // a short command takes one or two

    private volatile SlowPosition? _slow;
    private long _run;
    private long _position; // 0: between runs
    private long _seen;
    private int _looks;

    /// <summary>Begins a run. Only the executor calls this.</summary>
    internal void Begin() => _position = _run += PositionsOfRun;

    /// <summary>Moves on to the next command.</summary>
    internal void Advance() => _position++;

    /// <summary>Ends a run.</summary>
    internal void End() => _position = 0;

    /// <summary>The number of batches of several commands that were begun. Only in these may a command have no time of its own.</summary>
    internal long Pipelines { get; private set; }

    /// <summary>Counts a batch of several commands. Only the executor calls this.</summary>
    internal void BeginPipeline() => Pipelines++;

    /// <summary>The command of the last run that was seen executing for longest, counted from the run's first; -1: none was seen twice.</summary>
    internal int SlowestOf(int length) => _slow is { } slow && slow.Position >= _run && slow.Position < _run + length ? (int)(slow.Position - _run) : -1;

    /// <summary>Samples the executor's position. Only the diagnostics thread calls this.</summary>
    /// <returns>True: the executor lingers at a position that was not seen before. To look again soon may show a slow command.</returns>
    internal bool Look()
    {
        long position = Volatile.Read(ref _position);
        if (position != _seen || position == 0)
        {
            _seen = position;
            _looks = 0;
            return position != 0 && Lingers(position);
        }

        _looks++;
        if (_slow is not { } slow || slow.Position / PositionsOfRun != position / PositionsOfRun || _looks >= slow.Looks) _slow = new SlowPosition(position, _looks);
        return false;
    }

    private bool Lingers(long position)
    {
        long start = Stopwatch.GetTimestamp();
        do
        {
            Thread.SpinWait(10);
            if (Volatile.Read(ref _position) != position) return false;
        }
        while (Stopwatch.GetElapsedTime(start) < Lingering);
        return true;
    }

    private sealed record SlowPosition(long Position, int Looks);
}
