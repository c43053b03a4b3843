using System.Diagnostics;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Metrics;

/// <summary>The server's counters of rare events, which any thread adds to with interlocked operations, and recent rates.</summary>
internal sealed class ServerMetrics
{
    private readonly RateWindow _commands = new();
    private readonly RateWindow _received = new();
    private readonly RateWindow _sent = new();
    private readonly RateWindow _cycles = new();
    private readonly RateWindow _cycleTimes = new();
    private long _peakBytes;
    private long _peakSeconds;
    private long _exceededSince; // a timestamp
    private long _exceededTicks;

    /// <summary>Requests to the dashboard.</summary>
    internal HttpRequests Http { get; } = new();

    /// <summary>Counts of the limits that clients have reached.</summary>
    internal required LimitCounts Limits { get; init; }

    internal long ConnectionsReceived;
    internal long ConnectionsRejected;
    internal long QueryBufferDisconnections;
    internal long OutputBufferDisconnections;
    internal long SubscriberDisconnections; // of those
    internal long EvictedClients;
    internal long PrimaryBytes; // of the primary's stream, received and not executed
    internal long StreamErrors; // replied to commands of a primary's stream
    internal long DashboardLoginsDenied;

    /// <summary>Means over the last samples: commands, bytes received and bytes sent per second.</summary>
    internal (double Commands, double Received, double Sent) Rates => (_commands.Mean, _received.Mean, _sent.Mean);

    /// <summary>Mean over the last samples: cycles of all loops per second.</summary>
    internal double LoopCyclesPerSecond => _cycles.Mean;

    /// <summary>Mean over the last samples: the duration of a cycle.</summary>
    internal double LoopCycleMicroseconds => _cycleTimes.Mean;

    /// <summary>The memory when the server had started: the process, or within a host what the server allocated for itself.</summary>
    internal long StartupBytes { get; private set; }

    /// <summary>Whether the memory of the whole process counts as the server's.</summary>
    internal bool OwnsProcess { get; private set; }

    /// <summary>Bytes by which the process has grown since, apart from the store, the clients and the scripts; measured under a limit of memory only.</summary>
    internal long GrowthBytes { get; private set; }

    /// <summary>The server begins.</summary>
    internal void NoteBegin(bool ownsProcess) => OwnsProcess = ownsProcess;

    /// <summary>The server has started, and uses so much memory.</summary>
    internal void NoteStartup(long bytes) => StartupBytes = bytes;

    internal void NoteGrowth(long bytes) => GrowthBytes = bytes;

    /// <summary>The maximum of the memory in use, as sampled.</summary>
    internal long PeakBytes => Volatile.Read(ref _peakBytes);

    /// <summary>When it was sampled, in Unix seconds.</summary>
    internal long PeakSeconds => Volatile.Read(ref _peakSeconds);

    /// <summary>Totals that are never reset themselves, as they were at the last CONFIG RESETSTAT.</summary>
    internal long ExpiredKeysAtReset { get; private set; }

    internal long ExpiredFieldsAtReset { get; private set; }

    internal long SweptKeysAtReset { get; private set; }

    internal long SweptFieldsAtReset { get; private set; }

    internal long ObjectsFreedLaterAtReset { get; private set; }

    internal long LoopCyclesAtReset { get; private set; }

    internal long LoopMicrosecondsAtReset { get; private set; }

    /// <summary>How long memory has exceeded its limit in total, in milliseconds, the current period included.</summary>
    internal long ExceededMs => (Volatile.Read(ref _exceededTicks) * 1000 / Stopwatch.Frequency) + CurrentExceededMs;

    /// <summary>How long memory has exceeded its limit in the current period; 0: it does not.</summary>
    internal long CurrentExceededMs => Volatile.Read(ref _exceededSince) is > 0 and long since ? (Stopwatch.GetTimestamp() - since) * 1000 / Stopwatch.Frequency : 0;

    /// <summary>Notes whether memory exceeds its limit after eviction. From any thread.</summary>
    internal void NoteExceeded(bool isExceeded)
    {
        if (isExceeded)
        {
            if (Volatile.Read(ref _exceededSince) == 0) Interlocked.CompareExchange(ref _exceededSince, Stopwatch.GetTimestamp(), 0);
            return;
        }

        if (Volatile.Read(ref _exceededSince) == 0) return;
        long since = Interlocked.Exchange(ref _exceededSince, 0);
        if (since != 0) Interlocked.Add(ref _exceededTicks, Stopwatch.GetTimestamp() - since);
    }

    /// <summary>Samples the totals. One loop calls it about ten times per second.</summary>
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

    /// <summary>Raises the peak if memory in use exceeds it. From any thread.</summary>
    internal void NoteUsedBytes(long bytes)
    {
        long peak = PeakBytes;
        while (bytes > peak)
        {
            long seen = Interlocked.CompareExchange(ref _peakBytes, bytes, peak);
            if (seen == peak)
            {
                Volatile.Write(ref _peakSeconds, DateTimeOffset.UtcNow.ToUnixTimeSeconds());
                return;
            }

            peak = seen;
        }
    }

    /// <summary>CONFIG RESETSTAT. The memory's peak stays, as in Redis.</summary>
    internal void Reset(in ServerTotals totals, Keyspace keyspace)
    {
        EvictedClients = ConnectionsReceived = ConnectionsRejected = QueryBufferDisconnections = OutputBufferDisconnections = SubscriberDisconnections = 0;
        Limits.Reset();
        ExpiredKeysAtReset = keyspace.ExpiredKeys;
        ExpiredFieldsAtReset = keyspace.ExpiredFields;
        SweptKeysAtReset = keyspace.SweptKeys;
        SweptFieldsAtReset = keyspace.SweptFields;
        ObjectsFreedLaterAtReset = keyspace.ObjectsFreedLater;
        LoopCyclesAtReset = totals.LoopCycles;
        LoopMicrosecondsAtReset = totals.LoopMicroseconds;
        _exceededTicks = 0;
        Interlocked.Exchange(ref _exceededSince, 0);
        _commands.Clear();
        _received.Clear();
        _sent.Clear();
        _cycles.Clear();
        _cycleTimes.Clear();
    }
}
