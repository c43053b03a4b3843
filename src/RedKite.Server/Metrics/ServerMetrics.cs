namespace RedKite.Server.Metrics;

/// <summary>What the server counts besides its commands, and the rates of the last moments. Counted with interlocked adds: all rare.</summary>
internal sealed class ServerMetrics
{
    private readonly RateWindow _commands = new();
    private readonly RateWindow _received = new();
    private readonly RateWindow _sent = new();
    private readonly RateWindow _cycles = new();
    private readonly RateWindow _cycleTimes = new();
    private long _peakBytes;

    internal long ConnectionsReceived;
    internal long ConnectionsRejected;
    internal long QueryBufferDisconnections;
    internal long OutputBufferDisconnections;

    /// <summary>Means over the last samples: operations, bytes in and bytes out in a second.</summary>
    internal (double Commands, double Received, double Sent) Rates => (_commands.Mean, _received.Mean, _sent.Mean);

    /// <summary>Mean over the last samples: rounds of all loops in a second.</summary>
    internal double LoopCyclesPerSecond => _cycles.Mean;

    /// <summary>Mean over the last samples: how long a round took.</summary>
    internal double LoopCycleMicroseconds => _cycleTimes.Mean;

    /// <summary>Memory in use when the server had started.</summary>
    internal long StartupBytes { get; set; }

    /// <summary>The most memory that was ever in use when somebody looked.</summary>
    internal long PeakBytes => Volatile.Read(ref _peakBytes);

    /// <summary>What was counted at the last reset, of the totals that are never set back themselves.</summary>
    internal long ExpiredKeysAtReset { get; private set; }

    internal long ExpiredFieldsAtReset { get; private set; }

    internal long LoopCyclesAtReset { get; private set; }

    internal long LoopMicrosecondsAtReset { get; private set; }

    /// <summary>Takes a sample of the totals; called ten times a second or so by one loop.</summary>
    internal void Sample(long nowMs, in ServerTotals totals, long usedBytes)
    {
        double seconds = nowMs / 1000.0;
        _commands.Add(totals.Commands, seconds);
        _received.Add(totals.BytesReceived, seconds);
        _sent.Add(totals.BytesSent, seconds);
        _cycles.Add(totals.LoopCycles, seconds);
        _cycleTimes.Add(totals.LoopMicroseconds, totals.LoopCycles);
        NoteUsedBytes(usedBytes);
    }

    /// <summary>Looks whether memory in use has never been higher. From any thread.</summary>
    internal void NoteUsedBytes(long bytes)
    {
        long peak = PeakBytes;
        while (bytes > peak)
        {
            long seen = Interlocked.CompareExchange(ref _peakBytes, bytes, peak);
            if (seen == peak) return;
            peak = seen;
        }
    }

    /// <summary>CONFIG RESETSTAT. The memory's peak stays, as in Redis.</summary>
    internal void Reset(in ServerTotals totals, long expiredKeys, long expiredFields)
    {
        ConnectionsReceived = ConnectionsRejected = QueryBufferDisconnections = OutputBufferDisconnections = 0;
        ExpiredKeysAtReset = expiredKeys;
        ExpiredFieldsAtReset = expiredFields;
        LoopCyclesAtReset = totals.LoopCycles;
        LoopMicrosecondsAtReset = totals.LoopMicroseconds;
        _commands.Clear();
        _received.Clear();
        _sent.Clear();
        _cycles.Clear();
        _cycleTimes.Clear();
    }
}
