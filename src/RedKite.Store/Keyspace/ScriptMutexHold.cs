using System.Diagnostics;

namespace RedKite.Store.Keyspace;

/// <summary>
/// A thread's hold on the script mutex. It lasts over several scripts: handing the mutex to another thread wakes that thread, which costs
/// more than a short script.
/// </summary>
/// <remarks>The thread that begins a hold ends it before it waits for anything but stripes, and before long commands other than scripts.</remarks>
internal sealed class ScriptMutexHold(ScriptMutex mutex)
{
    // Another thread's script waits this long for the scripts of a hold, and for the last one to finish.
    private const long MicrosecondsMax = 400;

    private static readonly long TicksMax = MicrosecondsMax * Stopwatch.Frequency / 1_000_000;

    private long _began;

    internal bool HasBegun { get; private set; }

    /// <summary>Waits until no other thread runs scripts, unless the hold has begun before. No stripe is locked.</summary>
    /// <param name="now">The timestamp.</param>
    /// <param name="givesUp">Up: it waits no longer. Null: it waits until another thread's script is busy.</param>
    /// <returns>False if it has given up.</returns>
    internal bool Begin(long now, WaitFlag? givesUp = null)
    {
        if (TryBegin(now)) return true;
        if (mutex.Enter(givesUp ?? mutex.Busy)) _began = Stopwatch.GetTimestamp();
        else return false;
        HasBegun = true;
        return true;
    }

    /// <summary>The same without waiting: false if another thread runs a script.</summary>
    internal bool TryBegin(long now)
    {
        EndIfOverdue(now);
        if (HasBegun) return true;
        if (!mutex.TryEnter()) return false;
        _began = now;
        return HasBegun = true;
    }

    /// <summary>Ends the hold if it has lasted long.</summary>
    internal void EndIfOverdue(long now)
    {
        if (HasBegun && now - _began >= TicksMax) End();
    }

    /// <summary>Lets the scripts of other threads run.</summary>
    internal void End()
    {
        if (!HasBegun) return;
        HasBegun = false;
        mutex.Exit();
    }
}
