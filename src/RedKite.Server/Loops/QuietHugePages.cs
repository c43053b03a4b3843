using RedKite.Store.Keyspace;

namespace RedKite.Server.Loops;

/// <summary>
/// Replaces ordinary pages by huge ones while the server is quiet, which makes lookups among millions of keys cheaper. Only if
/// quiet-huge-pages is set, and only as much as lookups can repay: replacing 2 MiB takes about 9 ms of CPU, which a data set
/// that is loaded and rarely read never gains.
/// </summary>
/// <remarks>
/// Off by default: it does not pay for itself in ordinary loads. For 3,000,000 new keys of 256 bytes it would take 1.3 us of
/// CPU per key, as much as 25 lookups of each key gain.
/// </remarks>
internal sealed class QuietHugePages(Keyspace keyspace)
{
    /// <summary>
    /// The most that a huge page gains per lookup: 50 ns, measured with 5,000,000 keys (round 46 of docs/performance-log.md).
    /// Fewer keys gain less.
    /// </summary>
    internal const long GainNsPerLookup = 50;

    private const int CheckEveryMs = 50;
    private const int QuietPart = 4; // Quiet: all loops together use less than this part of a core.

    private long _checkedMs;
    private long _loopMicroseconds;
    private long _hits;
    private long _creditNs;

    /// <summary>The setting quiet-huge-pages.</summary>
    internal bool IsEnabled { get; set; }

    /// <summary>Begins to replace one region if the server is quiet and its lookups have paid for it.</summary>
    /// <param name="loopMicroseconds">Busy time of all loops since the start.</param>
    /// <param name="hits">Lookups that found their key; a lower number than before is a counter that was reset.</param>
    internal void Use(long nowMs, long loopMicroseconds, long hits)
    {
        long elapsedMs = nowMs - _checkedMs;
        if (elapsedMs is >= 0 and < CheckEveryMs) return;
        bool isQuiet = loopMicroseconds - _loopMicroseconds < elapsedMs * (1000 / QuietPart);
        _creditNs += GainNsPerLookup * Math.Max(0, hits - _hits);
        (_checkedMs, _loopMicroseconds, _hits) = (nowMs, loopMicroseconds, hits);
        if (IsEnabled && isQuiet && keyspace.MakingHugeCpuNs < _creditNs) keyspace.BeginMakingHuge();
    }
}
