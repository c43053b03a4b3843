using System.Diagnostics;

namespace RedKite.Server.Durability;

/// <summary>
/// The pace of a thread that works for seconds beside the loops, in slices: it works for a millisecond at a time, and rests as long while commands are executed. Between two slices a thread that waits for this core goes
/// first: otherwise a loop would wait for a turn of the scheduler, some milliseconds.
/// </summary>
/// <param name="commands">The number of commands so far, by which the thread sees whether the server is busy.</param>
internal struct WorkPace(Func<long> commands)
{
    private const long WorkMs = 1;
    private const int RestMs = 1;

    private long _start = Stopwatch.GetTimestamp();
    private long _commands = commands();

    /// <summary>After a slice. No stripe is locked.</summary>
    internal void Rest()
    {
        if (Stopwatch.GetElapsedTime(_start).TotalMilliseconds < WorkMs)
        {
            Thread.Yield();
            return;
        }

        long now = commands();
        if (now != _commands) Thread.Sleep(RestMs);
        _commands = now;
        _start = Stopwatch.GetTimestamp();
    }
}
