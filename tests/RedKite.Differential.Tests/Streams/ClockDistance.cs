using System.Diagnostics;

namespace RedKite.Differential.Tests.Streams;

/// <summary>
/// How far apart in time the two servers may have executed a command. Both do it between its sending and the last of both
/// replies, so the longest exchange since the servers were emptied bounds the distance: a machine that stops for seconds in
/// between makes it longer, and a reply about time is compared with what was possible.
/// </summary>
internal static class ClockDistance
{
    // What rounding to seconds and clocks that are read now and then account for.
    private const long LeastMs = 3_000;

    private static long _longestMs;

    /// <summary>A time that began with one command and was asked for by another is so far apart at most.</summary>
    public static long Ms => LeastMs + (2 * _longestMs);

    public static void Reset() => _longestMs = 0;

    /// <summary>An exchange with both servers that began at a <see cref="Stopwatch"/> timestamp is over.</summary>
    public static void NoteExchange(long startTimestamp) => _longestMs = Math.Max(_longestMs, (long)Stopwatch.GetElapsedTime(startTimestamp).TotalMilliseconds);
}
