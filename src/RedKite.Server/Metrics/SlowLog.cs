namespace RedKite.Server.Metrics;

/// <summary>A command that took long, as SLOWLOG GET tells it.</summary>
internal sealed record SlowLogEntry(long Id, long UnixSeconds, long Microseconds, byte[][] Arguments, string ClientAddress, string ClientName);

/// <summary>The slow commands, newest first. Shared by all executors under a lock: slow commands are rare.</summary>
internal sealed class SlowLog
{
    private readonly Lock _lock = new();
    private readonly LinkedList<SlowLogEntry> _entries = new();
    private long _nextId;

    /// <summary>What counts as slow.</summary>
    internal long ThresholdNs { get; set; } = long.MaxValue;

    internal long MaxLength { get; set; }

    internal int Length
    {
        get
        {
            lock (_lock) return _entries.Count;
        }
    }

    /// <param name="arguments">The request as logs show it.</param>
    /// <param name="clientAddress">Empty for a caller in the process.</param>
    /// <param name="clientName">Empty if the client has none.</param>
    /// <param name="nowMs">When the command was executed.</param>
    /// <param name="ns">How long it took.</param>
    internal void Add(byte[][] arguments, string clientAddress, string clientName, long nowMs, long ns)
    {
        lock (_lock)
        {
            _entries.AddFirst(new SlowLogEntry(_nextId++, nowMs / 1000, ns / 1000, arguments, clientAddress, clientName));
            Trim();
        }
    }

    /// <summary>The newest entries; a negative count: all.</summary>
    internal SlowLogEntry[] Newest(long count)
    {
        lock (_lock)
        {
            return [.. count < 0 ? _entries : _entries.Take((int)Math.Min(count, _entries.Count))];
        }
    }

    internal void Clear()
    {
        lock (_lock) _entries.Clear();
    }

    private void Trim()
    {
        while (_entries.Count > MaxLength) _entries.RemoveLast();
    }
}
