using System.Diagnostics;

namespace RedKite.Server.Model;

/// <summary>
/// The server's wall clock: the system's, or one that a test controls. With the system's clock, the time is derived from a
/// monotonic timestamp that the caller has already read, and adjusted to the wall clock ten times a second. What waits uses the steady
/// time, which cannot be set: timeouts, pauses and idle times do not change when the wall clock jumps.
/// </summary>
internal sealed class ServerClock
{
    private const int ReadingsMax = 8;

    private static readonly double NsPerTick = 1e9 / Stopwatch.Frequency;
    private static readonly double MsPerTick = 1000.0 / Stopwatch.Frequency;
    private static readonly long CloseTicks = Stopwatch.Frequency / 20_000; // 50 microseconds

    private readonly TimeProvider? _testProvider;
    private readonly long _steadyAnchor; // as it was at the start
    private readonly long _steadyStartMs; // of a test's clock
    private readonly long _testStart;
    private int _ticks;
    private long _anchor; // the Unix time at timestamp 0, in the timestamp's ticks: milliseconds would make it jump by one

    internal ServerClock(TimeProvider provider)
    {
        Provider = provider;
        _testProvider = ReferenceEquals(provider, TimeProvider.System) ? null : provider;
        Anchor();
        _steadyAnchor = _anchor;
        _steadyStartMs = NowMs;
        _testStart = provider.GetTimestamp();
    }

    /// <summary>How often the clock was adjusted: some ten times a second.</summary>
    internal int Ticks => Volatile.Read(ref _ticks);

    /// <summary>Whether it is the system's clock.</summary>
    internal bool IsSystem => _testProvider is null;

    /// <summary>Where the time comes from, for timers.</summary>
    internal TimeProvider Provider { get; }

    /// <summary>Converts ticks of <see cref="Stopwatch"/> to nanoseconds.</summary>
    internal static long TicksToNs(long ticks) => NsPerTick == 1 ? ticks : (long)(ticks * NsPerTick);

    /// <summary>Reads the time.</summary>
    internal long NowMs => NowMicroseconds / 1000;

    /// <summary>Reads the time in Unix microseconds.</summary>
    internal long NowMicroseconds =>
        ((_testProvider?.GetUtcNow().UtcTicks ?? DateTime.UtcNow.Ticks) - DateTime.UnixEpoch.Ticks) / TimeSpan.TicksPerMicrosecond;

    /// <summary>The time of a recent <see cref="Stopwatch"/> timestamp, in Unix milliseconds.</summary>
    internal long MsAt(long timestamp) => _testProvider is null ? (long)((Volatile.Read(ref _anchor) + timestamp) * MsPerTick) : NowMs;

    /// <summary>The same in Unix microseconds.</summary>
    internal long MicrosecondsAt(long timestamp) => _testProvider is null ? Scaled(Volatile.Read(ref _anchor) + timestamp, Stopwatch.Frequency, 1_000_000) : NowMicroseconds;

    /// <summary>The steady time of a recent <see cref="Stopwatch"/> timestamp: milliseconds that only grow, as fast as time passes.</summary>
    internal long SteadyMsAt(long timestamp) => _testProvider is { } test
        ? _steadyStartMs + (long)test.GetElapsedTime(_testStart).TotalMilliseconds
        : (long)((_steadyAnchor + timestamp) * MsPerTick);

    /// <summary>Reads the steady time.</summary>
    internal long SteadyMs => SteadyMsAt(Stopwatch.GetTimestamp());

    /// <summary>Adjusts the clock: the wall clock may be set, or run at a different rate.</summary>
    internal void Anchor()
    {
        // Both clocks must be read at the same moment: if the thread was interrupted in between, the readings are repeated.
        long before, microseconds, after;
        int readings = 0;
        do
        {
            before = Stopwatch.GetTimestamp();
            microseconds = NowMicroseconds;
            after = Stopwatch.GetTimestamp();
        }
        while (after - before > CloseTicks && ++readings < ReadingsMax);

        Volatile.Write(ref _anchor, Scaled(microseconds, 1_000_000, Stopwatch.Frequency) - before - ((after - before) / 2));
        _ticks++;
    }

    // value * to / from, where the product does not fit in 64 bits.
    private static long Scaled(long value, long from, long to) => (value / from * to) + (value % from * to / from);
}
