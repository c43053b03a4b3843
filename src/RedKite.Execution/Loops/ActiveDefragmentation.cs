using System.Diagnostics;
using RedKite.Server.Config;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Loops;

/// <summary>
/// Decides when one loop's share of the store is defragmented, and at which share of the loop's time. As in Redis, the work grows from
/// active-defrag-cycle-min at the lower threshold of free space to active-defrag-cycle-max at the upper one.
/// </summary>
/// <remarks>
/// A server with a memory limit is full, and the machine may have little more. So with maxmemory it runs by default
/// (defrag-under-maxmemory), and the thresholds are parts of the limit.
/// </remarks>
internal sealed class ActiveDefragmentation(Settings settings, Keyspace keyspace, ExecutorMetrics metrics, LatencyMonitor latencyMonitor, int firstStripe, int loops)
{
    // A slice of the loop's other background work takes as long.
    private const long SliceMicroseconds = 100;

    // How often the free space is added up while there is little of it.
    private const int CheckEveryMs = 100;

    // With maxmemory: parts of it that may be free between blocks before work begins, and above which it takes its largest share.
    private const long LimitPartMin = 64;
    private const long LimitPartMax = 20;

    // A pass that could move nothing takes no time, so a rest proportional to it would be none. The next one may move something,
    // because locked stripes are skipped.
    private const int RestMs = 10;

    private static readonly long SliceTicks = SliceMicroseconds * Stopwatch.Frequency / 1_000_000;

    private readonly Defragmentation _defragmentation = new(keyspace, firstStripe, loops);
    private int _cpuPercent; // 0: nothing is to be done
    private long _nextCheckMs;
    private long _nextSliceTicks;
    private long _movedInPass;

    /// <summary>Does a slice of work if one is due.</summary>
    /// <param name="nowMs">The time.</param>
    /// <returns>The microseconds until the next slice, or null if there is nothing to do.</returns>
    internal long? Run(long nowMs)
    {
        if (nowMs >= _nextCheckMs || nowMs < _nextCheckMs - CheckEveryMs)
        {
            _nextCheckMs = nowMs + CheckEveryMs;
            _cpuPercent = CpuPercent();
            metrics.DefragmentationCpuPercent = _cpuPercent;
        }

        if (_cpuPercent == 0) return null;
        long start = Stopwatch.GetTimestamp();
        if (start >= _nextSliceTicks)
        {
            bool passEnded = _defragmentation.Run(start + SliceTicks);
            DefragmentationCounts counts = _defragmentation.TakeCounts();
            metrics.CountDefragmentation(counts);
            _movedInPass += counts.Hits;
            long ticks = Stopwatch.GetTimestamp() - start;
            start += ticks;
            long ns = ServerClock.TicksToNs(ticks);
            if (ns >= latencyMonitor.ThresholdNs) latencyMonitor.Add("active-defrag-cycle", nowMs, ns);
            bool rests = passEnded && _movedInPass == 0;
            _nextSliceTicks = start + (rests ? RestMs * Stopwatch.Frequency / 1000 : ticks * (100 - _cpuPercent) / _cpuPercent);
            if (passEnded) _movedInPass = 0;
        }

        return (_nextSliceTicks - start) * 1_000_000 / Stopwatch.Frequency;
    }

    private int CpuPercent()
    {
        if (!settings.ActiveDefragmentation && !settings.LimitDefragmentation) return 0;
        long free = keyspace.FragmentedBytes;
        long limit = (long)Math.Min(settings.MaxMemoryBytes, long.MaxValue);
        double byLimit = limit == 0 || !settings.LimitDefragmentation ? 0 : Share(free, limit / LimitPartMin, limit / LimitPartMax);
        double percent = free * 100.0 / Math.Max(1, keyspace.UsedBytes);
        double byThresholds = !settings.ActiveDefragmentation || (ulong)free < settings.DefragmentationIgnoredBytes ? 0 : Share(percent, settings.DefragmentationLowerPercent, settings.DefragmentationUpperPercent);
        double share = Math.Max(byLimit, byThresholds);
        if (share <= 0) return 0;
        int min = settings.DefragmentationCpuPercentMin;
        return min + (int)(share * Math.Max(0, settings.DefragmentationCpuPercentMax - min));
    }

    // The position of a value between two bounds: 0 below the lower one, 1 from the upper one on.
    private static double Share(double value, double lower, double upper) =>
        value <= lower ? 0 : value >= upper ? 1 : Math.Max(0.01, (value - lower) / (upper - lower));
}
