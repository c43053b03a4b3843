using System.Diagnostics;

namespace RedKite.Store.Keyspace;

/// <summary>
/// How long the current thread has waited for locks: the last waits that were long enough to sleep. What a command's time consists of is asked
/// rarely, of commands that took long; so the waits are kept where they happen, and the others cost nothing.
/// </summary>
internal sealed class ThreadWaits
{
    private const int WaitsMax = 128; // as many as a run of short commands may have
    private const int NotedMicroseconds = 50;

    private static readonly long NotedTicks = NotedMicroseconds * Stopwatch.Frequency / 1_000_000;

    [ThreadStatic]
    private static ThreadWaits? _ofThread;

    private readonly (long Start, long Ticks)[] _waits = new (long, long)[WaitsMax];
    private int _next;

    /// <summary>Notes a wait that has ended.</summary>
    /// <param name="start">The timestamp at its begin.</param>
    /// <param name="ticks">How long it took.</param>
    internal static void Note(long start, long ticks)
    {
        if (ticks < NotedTicks) return;
        ThreadWaits waits = _ofThread ??= new ThreadWaits();
        waits._waits[waits._next++ % WaitsMax] = (start, ticks);
        if (waits._next == 2 * WaitsMax) waits._next = WaitsMax;
    }

    /// <summary>The ticks that the thread has waited for locks in waits that began at a timestamp or later.</summary>
    internal static long Since(long start)
    {
        if (_ofThread is not { } waits) return 0;
        long ticks = 0;
        for (int i = 1; i <= Math.Min(waits._next, WaitsMax); i++)
        {
            (long began, long took) = waits._waits[(waits._next - i) % WaitsMax];
            if (began < start) break; // the others are older
            ticks += took;
        }

        return ticks;
    }
}
