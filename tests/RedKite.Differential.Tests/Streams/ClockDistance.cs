using System.Diagnostics;

namespace RedKite.Differential.Tests.Streams;

/// <summary>
/// The maximum time between the executions of a command on the two servers. Both execute it between its sending and the last
/// reply, so the longest exchange since the servers were emptied is a bound: if the machine stalls, the bound grows, and
/// comparisons of times allow for it. Each pair of servers is used by one thread at a time, which has a bound of its own.
/// </summary>
internal static class ClockDistance
{
    // Allows for rounding to seconds and for cached clocks.
    private const long MinMs = 3_000;

    [ThreadStatic]
    private static long _longestMs;

    /// <summary>The maximum difference of a time that one command started and another reads.</summary>
    public static long Ms => MinMs + (2 * _longestMs);

    public static void Reset() => _longestMs = 0;

    /// <summary>Records an exchange with both servers that began at a <see cref="Stopwatch"/> timestamp.</summary>
    public static void RecordExchange(long startTimestamp) => _longestMs = Math.Max(_longestMs, (long)Stopwatch.GetElapsedTime(startTimestamp).TotalMilliseconds);
}
