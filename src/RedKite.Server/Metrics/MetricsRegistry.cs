using RedKite.Store.Keyspace;

namespace RedKite.Server.Metrics;

/// <summary>Everything in a server that counts, and the sums over it. From any thread.</summary>
internal sealed class MetricsRegistry(Keyspace keyspace, int commandCount)
{
    private readonly Lock _lock = new();
    private readonly List<ExecutorMetrics> _executors = [];
    private readonly List<LoopMetrics> _loops = [];
    private readonly ExecutorMetrics _past = new(commandCount); // of executors that are gone

    /// <summary>What is counted once for the whole server.</summary>
    internal ServerMetrics Server { get; } = new();

    internal Keyspace Keyspace => keyspace;

    /// <summary>Every executor that works or has worked; a copy of the list.</summary>
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

    /// <summary>An executor is gone. What it has counted stays.</summary>
    internal void Remove(ExecutorMetrics executor)
    {
        lock (_lock)
        {
            if (_executors.Remove(executor)) _past.Add(executor);
        }
    }

    /// <summary>Takes a sample of the rates, and notes the memory in use.</summary>
    /// <returns>The sums that it took.</returns>
    internal ServerTotals Sample(long nowMs)
    {
        ServerTotals totals = ServerTotals.Of(this);
        Server.Sample(nowMs, totals, keyspace.UsedBytes + totals.BufferBytes);
        return totals;
    }

    /// <summary>CONFIG RESETSTAT.</summary>
    internal void Reset()
    {
        foreach (ExecutorMetrics metrics in Executors) metrics.Reset();
        Server.Reset(ServerTotals.Of(this), keyspace.ExpiredKeys, keyspace.ExpiredFields);
    }
}
