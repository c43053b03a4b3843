using RedKite.Store.Keyspace;

namespace RedKite.Server.Loops;

/// <summary>
/// Replaces ordinary pages by huge ones while the server is quiet, which makes lookups among millions of keys cheaper. Replacing
/// 2 MiB takes 5 to 9 ms of CPU, which never pays for data that is loaded and rarely read, so lookups limit how much is replaced.
/// </summary>
/// <remarks>
/// The time that a lookup saves depends on the machine: 50 ns, or more than a microsecond in some virtual machines, so it is measured. The CPU
/// spent exceeds what the lookups so far would have saved by one region at most. Under a steady load it has paid for itself after
/// the same number of further lookups.
/// </remarks>
internal sealed class QuietHugePages(Keyspace keyspace)
{
    /// <summary>How often the saving is measured again. A measurement takes up to 20 ms.</summary>
    internal const int MeasureEveryMs = 60_000;

    // Fewer lookups than this never pay for a region, nor for a measurement.
    internal const int LookupsMin = 20_000;

    private const int CheckEveryMs = 50;
    private const int QuietPart = 4; // Quiet: all loops together use less than this part of a core.

    private long _checkedMs;
    private long _measuredMs = long.MinValue;
    private long _loopMicroseconds;
    private long _hits;
    private long _lookups;
    private long _lookupsAtMeasurement;

    /// <summary>Begins to replace one region if the server is quiet and its lookups have paid for it.</summary>
    /// <param name="loopMicroseconds">Busy time of all loops since the start.</param>
    /// <param name="hits">Lookups that found their key; a lower number than before is a counter that was reset.</param>
    /// <param name="isEnabled">The setting quiet-huge-pages.</param>
    internal void Use(long nowMs, long loopMicroseconds, long hits, bool isEnabled)
    {
        long elapsedMs = nowMs - _checkedMs;
        if (elapsedMs is >= 0 and < CheckEveryMs) return;
        bool isQuiet = loopMicroseconds - _loopMicroseconds < elapsedMs * (1000 / QuietPart);
        _lookups += Math.Max(0, hits - _hits);
        (_checkedMs, _loopMicroseconds, _hits) = (nowMs, loopMicroseconds, hits);
        if (!isEnabled || !isQuiet || _lookups < LookupsMin) return;
        if (_measuredMs == long.MinValue || (nowMs - _measuredMs >= MeasureEveryMs && _lookups - _lookupsAtMeasurement >= LookupsMin))
        {
            (_measuredMs, _lookupsAtMeasurement) = (nowMs, _lookups);
            keyspace.BeginMeasuringTranslation();
        }
        else if (keyspace.MakingHugeCpuNs < keyspace.TranslationNs * _lookups)
        {
            keyspace.BeginMakingHuge();
        }
    }
}
