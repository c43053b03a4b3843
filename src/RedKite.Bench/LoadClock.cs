using System.Diagnostics;

namespace RedKite.Bench;

/// <summary>The clock for latencies, in nanoseconds from an arbitrary origin.</summary>
internal static class LoadClock
{
    internal const long NsPerSecond = 1_000_000_000;

    private static readonly long NsPerTick = NsPerSecond / Stopwatch.Frequency; // 1 on Linux and macOS, 100 on Windows

    internal static long NowNs() => Stopwatch.GetTimestamp() * NsPerTick;
}
