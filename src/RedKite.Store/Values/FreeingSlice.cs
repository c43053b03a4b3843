using System.Diagnostics;

namespace RedKite.Store.Values;

/// <summary>
/// How much is freed at once, with a stripe's lock held: small steps until either limit is met. Time, because a block may
/// take ten nanoseconds or, where the C runtime gives its pages back, some microseconds; and a number of steps, so that a clock
/// that stands still is no reason to go on.
/// </summary>
internal struct FreeingSlice
{
    /// <summary>Blocks in one step of freeing a value; the clock is looked at after each step.</summary>
    internal const int BlocksPerStep = 8;

    /// <summary>Steps in one slice.</summary>
    internal const int StepsMax = 64;

    private const int MicrosecondsMax = 50;

    private static readonly long TicksMax = MicrosecondsMax * Stopwatch.Frequency / 1_000_000;

    private long _end;
    private int _stepsLeft;

    /// <summary>Whether the step that was just made is the slice's last.</summary>
    internal bool IsOver => --_stepsLeft == 0 || Stopwatch.GetTimestamp() >= _end;

    internal static FreeingSlice Begin() => new() { _end = Stopwatch.GetTimestamp() + TicksMax, _stepsLeft = StepsMax };
}
