using System.Diagnostics;
using RedKite.Server.Metrics;
using RedKite.Server.Model;

namespace RedKite.Server.Execution;

/// <summary>
/// Which short commands of scripts are timed: two readings of the clock would be a good part of their time. One in eight is, by chance,
/// and each whose last one was not short or would be logged; any other counts as long as the last one.
/// </summary>
internal sealed class ScriptedTimes
{
    private static readonly long EstimatedTicksMax = Stopwatch.Frequency / 100_000; // 10 microseconds

    private uint _random;

    /// <summary>How many ticks of the stopwatch the next call counts; 0: it is to be timed.</summary>
    /// <param name="metrics">The command's.</param>
    /// <param name="loggedNs">From when on a command is logged.</param>
    internal long Estimate(CommandMetrics metrics, long loggedNs)
    {
        _random = (_random * 1_664_525) + 1_013_904_223;
        if (_random >> 29 == 0) return 0;
        long last = metrics.TicksInScript;
        return last <= EstimatedTicksMax && ServerClock.TicksToNs(last) < loggedNs ? last : 0;
    }
}
