namespace RedKite.Server.Metrics;

/// <summary>The longest duration of an event within one second.</summary>
internal readonly record struct LatencySample(long UnixSeconds, long Ms);

/// <summary>The samples of one class of events.</summary>
internal sealed record LatencyEvent(string Name, LatencySample[] Samples, long WorstMs)
{
    internal LatencySample Latest => Samples[^1];
}

/// <summary>
/// LATENCY's record of events that took longer than latency-monitor-threshold: the last samples of each class, at most one
/// a second. All executors share it under a lock: such events are rare.
/// </summary>
internal sealed class LatencyMonitor(KeptMemory kept)
{
    /// <summary>The class of waits for keys that another command has locked.</summary>
    internal const string LockWait = "lock-wait";

    private const int SamplesMax = 160;
    private const int RecordBytes = 256 + (SamplesMax * 16); // a class with all of its samples

    private readonly Lock _lock = new();
    private readonly SortedDictionary<string, Record> _events = new(StringComparer.Ordinal);

    /// <summary>The shortest duration that is recorded; larger than any while the monitor is off.</summary>
    internal long ThresholdNs { get; private set; } = long.MaxValue;

    internal bool IsOn => ThresholdNs != long.MaxValue;

    /// <summary>All events, by name; a copy.</summary>
    internal LatencyEvent[] Events
    {
        get
        {
            lock (_lock) return [.. _events.Select(entry => Copy(entry.Key, entry.Value))];
        }
    }

    internal void SetThreshold(long ms) => ThresholdNs = ms == 0 ? long.MaxValue : ms * 1_000_000;

    /// <summary>Records a slow command. Commands that are declared fast are a class of their own.</summary>
    internal void AddCommand(bool isFast, long nowMs, long ns) => Add(isFast ? "fast-command" : "command", nowMs, ns);

    internal void Add(string name, long nowMs, long ns)
    {
        var sample = new LatencySample(nowMs / 1000, ns / 1_000_000);
        lock (_lock)
        {
            if (!_events.TryGetValue(name, out Record? known))
            {
                _events.Add(name, known = new Record());
                kept.Add(Kept.Latency, RecordBytes);
            }

            known.WorstMs = Math.Max(known.WorstMs, sample.Ms);
            if (known.Last.UnixSeconds == sample.UnixSeconds)
            {
                known.Last = sample with { Ms = Math.Max(sample.Ms, known.Last.Ms) };
            }
            else
            {
                if (known.Last.UnixSeconds != 0) known.Samples.Enqueue(known.Last);
                if (known.Samples.Count == SamplesMax) known.Samples.Dequeue();
                known.Last = sample;
            }
        }
    }

    internal LatencyEvent? Find(string name)
    {
        lock (_lock) return _events.TryGetValue(name, out Record? known) ? Copy(name, known) : null;
    }

    /// <summary>Removes one class of events; false if there is no such class.</summary>
    internal bool Reset(string name)
    {
        lock (_lock)
        {
            if (!_events.Remove(name)) return false;
            kept.Add(Kept.Latency, -RecordBytes);
            return true;
        }
    }

    /// <summary>Removes all events and returns the number of their classes.</summary>
    internal int ResetAll()
    {
        lock (_lock)
        {
            int count = _events.Count;
            kept.Add(Kept.Latency, -(long)count * RecordBytes);
            _events.Clear();
            return count;
        }
    }

    private static LatencyEvent Copy(string name, Record known) => new(name, [.. known.Samples, known.Last], known.WorstMs);

    private sealed class Record
    {
        internal Queue<LatencySample> Samples { get; } = new(SamplesMax);

        internal LatencySample Last { get; set; }

        internal long WorstMs { get; set; }
    }
}
