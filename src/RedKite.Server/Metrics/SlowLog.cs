namespace RedKite.Server.Metrics;

/// <summary>A slow command, as SLOWLOG GET replies it.</summary>
internal sealed record SlowLogEntry(long Id, long UnixSeconds, long Microseconds, byte[][] Arguments, string ClientAddress, string ClientName)
{
    /// <summary>How long it waited for its turn, after the loop had begun to serve the clients that were ready with it.</summary>
    internal long WaitingMicroseconds { get; set; }

    /// <summary>How long it took until the system had taken its reply; -1: unknown.</summary>
    internal long SendingMicroseconds { get; set; } = -1;

    /// <summary>The timestamp at its end.</summary>
    internal long EndedTicks { get; set; }
}

/// <summary>The slow commands, newest first. All executors share it under a lock: slow commands are rare.</summary>
internal sealed class SlowLog
{
    private readonly Lock _lock = new();
    private readonly LinkedList<SlowLogEntry> _entries = new();
    private long _nextId;

    /// <summary>The shortest duration of a slow command.</summary>
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
    /// <param name="nowMs">The time of the command.</param>
    /// <param name="ns">Its duration.</param>
    internal SlowLogEntry Add(byte[][] arguments, string clientAddress, string clientName, long nowMs, long ns)
    {
        lock (_lock)
        {
            var entry = new SlowLogEntry(_nextId++, nowMs / 1000, ns / 1000, arguments, clientAddress, clientName);
            _entries.AddFirst(entry);
            Trim();
            return entry;
        }
    }

    /// <summary>Returns the newest entries; all for a negative count.</summary>
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
