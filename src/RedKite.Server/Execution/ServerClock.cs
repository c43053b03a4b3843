using System.Diagnostics;

namespace RedKite.Server.Execution;

/// <summary>
/// The server's wall clock: the system's, or one that a test holds in its hands. On the system's clock, the time follows
/// from a monotonic timestamp that the caller has read anyway, and is set right by the wall clock ten times a second.
/// </summary>
internal sealed class ServerClock
{
    private static readonly double MsPerTick = 1000.0 / Stopwatch.Frequency;

    private readonly TimeProvider? _testProvider;
    private long _anchorMs; // the Unix time at timestamp 0

    internal ServerClock(TimeProvider provider)
    {
        _testProvider = ReferenceEquals(provider, TimeProvider.System) ? null : provider;
        Anchor();
    }

    /// <summary>Reads the time.</summary>
    internal long NowMs => NowMicroseconds / 1000;

    /// <summary>Reads the time in Unix microseconds.</summary>
    internal long NowMicroseconds =>
        ((_testProvider?.GetUtcNow().UtcTicks ?? DateTime.UtcNow.Ticks) - DateTime.UnixEpoch.Ticks) / TimeSpan.TicksPerMicrosecond;

    /// <summary>The time at a <see cref="Stopwatch"/> timestamp of just now, in Unix milliseconds.</summary>
    internal long MsAt(long timestamp) => _testProvider is null ? Volatile.Read(ref _anchorMs) + (long)(timestamp * MsPerTick) : NowMs;

    /// <summary>Sets the clock right: the wall clock may be moved, or run at another pace.</summary>
    internal void Anchor()
    {
        long timestamp = Stopwatch.GetTimestamp();
        Volatile.Write(ref _anchorMs, NowMs - (long)(timestamp * MsPerTick));
    }
}
