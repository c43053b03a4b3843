using RedKite.Store.Keyspace;

namespace RedKite.Server.Metrics;

/// <summary>All counters of a server, and the sums over them. From any thread.</summary>
internal sealed class MetricsRegistry(Keyspace keyspace, int commandCount)
{
    private readonly Lock _lock = new();
    private readonly List<ExecutorMetrics> _executors = [];
    private readonly List<LoopMetrics> _loops = [];
    private readonly ExecutorMetrics _past = new(commandCount); // of executors that have ended

    /// <summary>The counters of the whole server.</summary>
    internal ServerMetrics Server { get; } = new();

    internal Keyspace Keyspace => keyspace;

    /// <summary>The counters of all executors, those that have ended in one; a copy of the list.</summary>
    internal ExecutorMetrics[] Executors
    {
        get
        {
            lock (_lock) return [.. _executors, _past];
        }
    }

    /// <summary>Every event loop; a copy of the list.</summary>
    internal LoopMetrics[] Loops
    {
        get
        {
            lock (_lock) return [.. _loops];
        }
    }

    internal ExecutorMetrics NewExecutor()
    {
        var metrics = new ExecutorMetrics(commandCount);
        lock (_lock) _executors.Add(metrics);
        return metrics;
    }

    internal void Add(LoopMetrics loop)
    {
        lock (_lock) _loops.Add(loop);
    }

    /// <summary>Keeps the counts of an executor that ends.</summary>
    internal void Remove(ExecutorMetrics executor)
    {
        lock (_lock)
        {
            if (_executors.Remove(executor)) _past.Add(executor);
        }
    }

    /// <summary>Measures the process's fixed share of memory, when the server has started and stores nothing yet.</summary>
    internal void NoteStartup() =>
        Server.StartupBytes = Math.Max(0, ProcessMemory.ResidentBytes - keyspace.ResidentBytes) + keyspace.UsedBytes;

    /// <summary>Samples the rates and the memory in use.</summary>
    /// <returns>The sums of this moment.</returns>
    internal ServerTotals Sample(long nowMs)
    {
        ServerTotals totals = ServerTotals.Of(this);
        Server.Sample(nowMs, totals, MemoryFigures.UsedBytes(this, totals));
        return totals;
    }

    /// <summary>CONFIG RESETSTAT.</summary>
    internal void Reset()
    {
        foreach (ExecutorMetrics metrics in Executors) metrics.Reset();
        Server.Reset(ServerTotals.Of(this), keyspace);
    }
}
