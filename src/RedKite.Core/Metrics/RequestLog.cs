namespace RedKite.Server.Metrics;

/// <summary>A request that was slow or large, as SLOWLOG GET and COMMANDLOG GET return it.</summary>
/// <param name="ArgumentCount">The number of the request's arguments, of which the entry may have fewer.</param>
/// <param name="Value">How long it executed, in microseconds, or how large it or its reply was, in bytes.</param>
internal sealed record RequestLogEntry(long Id, long UnixSeconds, long Value, byte[][] Arguments, int ArgumentCount, string ClientAddress, string ClientName)
{
    // The entry, its place in the log, and the array of arguments; an argument's array with its place.
    private const int Overhead = 176;
    private const int ArgumentOverhead = 32;

    /// <summary>Memory of the entry.</summary>
    internal long KeptBytes { get; } = Overhead + Arguments.Sum(argument => (long)argument.Length + ArgumentOverhead) + ((long)(ClientAddress.Length + ClientName.Length) * sizeof(char));

    /// <summary>How long it waited for its turn, after the loop had begun to serve the clients that were ready with it.</summary>
    internal long WaitingMicroseconds { get; set; }

    /// <summary>How long it took until the system had taken its reply; -1: unknown.</summary>
    internal long SendingMicroseconds { get; set; } = -1;

    /// <summary>The timestamp at its end.</summary>
    internal long EndedTicks { get; set; }
}

/// <summary>
/// The requests that were slow, large, or had large replies, newest first: one log for each of the three. All executors share it
/// under a lock: such requests are rare.
/// </summary>
internal sealed class RequestLog(LimitCounts limits, KeptMemory kept)
{
    private readonly Lock _lock = new();
    private readonly LinkedList<RequestLogEntry> _entries = new();
    private long _nextId;

    /// <summary>The smallest value that is logged: nanoseconds, or bytes.</summary>
    internal long Threshold { get; set; } = long.MaxValue;

    internal long MaxLength { get; set; }

    internal int Length
    {
        get
        {
            lock (_lock) return _entries.Count;
        }
    }

    /// <param name="arguments">The request as logs show it.</param>
    /// <param name="argumentCount">How many arguments it had.</param>
    /// <param name="clientAddress">Empty for a caller in the process.</param>
    /// <param name="clientName">Empty if the client has none.</param>
    /// <param name="nowMs">The time of the command.</param>
    /// <param name="value">Microseconds or bytes.</param>
    internal RequestLogEntry Add(byte[][] arguments, int argumentCount, string clientAddress, string clientName, long nowMs, long value)
    {
        lock (_lock)
        {
            var entry = new RequestLogEntry(_nextId, nowMs / 1000, value, arguments, argumentCount, clientAddress, clientName);
            if (MaxLength == 0) return entry; // as in Redis, a log without capacity counts nothing and keeps its entries

            _nextId++;
            _entries.AddFirst(entry);
            kept.Add(Kept.RequestLogs, entry.KeptBytes);
            if (_entries.Count > MaxLength) limits.Note(Limit.RequestLogEntries);
            while (_entries.Count > MaxLength)
            {
                kept.Add(Kept.RequestLogs, -_entries.Last!.Value.KeptBytes);
                _entries.RemoveLast();
            }

            return entry;
        }
    }

    /// <summary>Returns the newest entries; all for a negative count.</summary>
    internal RequestLogEntry[] Newest(long count)
    {
        lock (_lock)
        {
            return [.. count < 0 ? _entries : _entries.Take((int)Math.Min(count, _entries.Count))];
        }
    }

    internal void Clear()
    {
        lock (_lock)
        {
            foreach (RequestLogEntry entry in _entries) kept.Add(Kept.RequestLogs, -entry.KeptBytes);
            _entries.Clear();
        }
    }
}
