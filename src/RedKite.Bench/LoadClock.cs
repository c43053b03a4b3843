using System.Diagnostics;

namespace RedKite.Bench;

/// <summary>The clock that latencies are measured with, in nanoseconds from no particular moment.</summary>
internal static class LoadClock
{
    internal const long NsPerSecond = 1_000_000_000;

    private static readonly long NsPerTick = NsPerSecond / Stopwatch.Frequency; // 1 on Linux and macOS, 100 on Windows

    internal static long NowNs() => Stopwatch.GetTimestamp() * NsPerTick;
}
