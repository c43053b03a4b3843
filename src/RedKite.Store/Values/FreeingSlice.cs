using System.Diagnostics;

namespace RedKite.Store.Values;

/// <summary>
/// The limits of freeing memory with a stripe's lock held: small steps until either limit is reached. A time limit, because a block
/// may take ten nanoseconds or, if the C runtime releases its pages, some microseconds; and a number of steps, so that freeing also
/// ends with a clock that stands still.
/// </summary>
internal struct FreeingSlice
{
    /// <summary>Blocks per step of freeing a value; the clock is read after each step.</summary>
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
