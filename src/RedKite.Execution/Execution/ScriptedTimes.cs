using System.Diagnostics;
using RedKite.Server.Metrics;
using RedKite.Server.Model;

namespace RedKite.Server.Execution;

/// <summary>
/// Decides which short commands of scripts are timed, because two readings of the clock would be a good part of their time. One in
/// eight is timed, at random, and so is each one whose last measured call was not short or would be logged. All others count with
/// the time of the last measured call.
/// </summary>
internal sealed class ScriptedTimes
{
    private static readonly long EstimatedTicksMax = Stopwatch.Frequency / 100_000; // 10 microseconds

    private uint _random;

    /// <summary>The stopwatch ticks to count for the next call; 0: the call is to be timed.</summary>
    /// <param name="metrics">The command's.</param>
    /// <param name="loggedNs">The shortest time that is logged.</param>
    internal long Estimate(CommandMetrics metrics, long loggedNs)
    {
        _random = (_random * 1_664_525) + 1_013_904_223;
        if (_random >> 29 == 0) return 0;
        long last = metrics.TicksInScript;
        return last <= EstimatedTicksMax && ServerClock.TicksToNs(last) < loggedNs ? last : 0;
    }
}
