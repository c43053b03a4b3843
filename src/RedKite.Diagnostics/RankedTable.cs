using static RedKite.Server.Diagnostics.MetricUnit;

namespace RedKite.Server.Diagnostics;

/// <summary>One value that is kept of each command or loop.</summary>
/// <param name="Name">The name in the file, the debug package and the interface of the page.</param>
/// <param name="IsPeak">Whether a minute has the largest value of its seconds instead of the mean.</param>
/// <param name="Help">One sentence for the documentation.</param>
internal sealed record RankedSeries(string Name, MetricUnit Unit, bool IsPeak, string Help);

/// <summary>A kind of things that have a history each, of which only the most active are kept.</summary>
/// <param name="Name">In the history's file, and of its table in the debug package.</param>
/// <param name="RecordsMax">How many of them a second or a minute keeps: those with the most of the first series.</param>
/// <param name="IsIdleWhenAbsent">Whether one without a record did nothing; otherwise it was not there.</param>
internal sealed record RankedKind(string Name, int RecordsMax, bool IsIdleWhenAbsent, RankedSeries[] Series)
{
    internal int Find(string series) => Array.FindIndex(Series, row => row.Name == series);
}

/// <summary>What <see cref="RankedHistory"/> keeps, one row each. docs/reference/metrics.md has it.</summary>
internal static class RankedTable
{
    /// <summary>
    /// By the time that they executed, because that ranks them by what they cost: a mean per call would put a rare slow command before the
    /// one that fills the server. It follows from the time and the calls.
    /// </summary>
    internal static readonly RankedKind Commands = new("commands", RecordsMax: 20, IsIdleWhenAbsent: true,
    [
        new("command_microseconds", Microseconds, IsPeak: false, "Time that it executed in each second."),
        new("command_calls", Count, IsPeak: false, "Calls per second."),
        new("command_failures", Count, IsPeak: false, "Calls per second that failed or were refused."),
        new("command_p99", Microseconds, IsPeak: true, "99th percentile of a second's execution times."),
        new("command_max", Microseconds, IsPeak: true, "Longest execution time."),
    ]);

    internal static readonly RankedKind Loops = new("loops", RecordsMax: 16, IsIdleWhenAbsent: false,
    [
        new("loop_busy_percent", Percent, IsPeak: false, "Share of its time that the loop worked, without work in slices that it did because it had nothing else to do."),
        new("loop_longest_turn", Microseconds, IsPeak: true, "Longest iteration of those that were timed."),
        new("loop_messages_waiting", Count, IsPeak: true, "Messages of other threads that waited for it."),
    ]);
}
