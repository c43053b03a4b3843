using RedKite.Store.Keyspace;

namespace RedKite.Server.Metrics;

/// <summary>All counters of a server, and the sums over them. From any thread.</summary>
internal sealed class MetricsRegistry(Keyspace keyspace, int commandCount, LimitCounts limits, KeptMemory kept, Func<long> scriptBytes)
{
    private readonly Lock _lock = new();
    private readonly List<LoopMetrics> _loops = [];
    private readonly ExecutorMetrics _past = new(commandCount); // of executors that have ended
    private volatile ExecutorMetrics[] _executors = [];

    /// <summary>The counters of the whole server.</summary>
    internal ServerMetrics Server { get; } = new() { Limits = limits };

    internal Keyspace Keyspace => keyspace;

    /// <summary>What clients make the server keep.</summary>
    internal KeptMemory Kept => kept;

    /// <summary>Bytes of the interpreters, and of the texts of scripts and libraries.</summary>
    internal long ScriptBytes => scriptBytes();

    /// <summary>Watches for slow commands among short ones.</summary>
    internal RunWatch Runs { get; } = new();

    /// <summary>The counters of all executors, with those that have ended combined into one. The array does not change.</summary>
    internal ExecutorMetrics[] Executors => _executors;

    /// <summary>Every event loop; a copy of the list.</summary>
    internal LoopMetrics[] Loops
    {
        get
        {
            lock (_lock) return [.. _loops];
        }
    }

    /// <summary>The error replies of a class so far: MISCONF, OOM, ...</summary>
    internal long ErrorsOf(string errorClass)
    {
        long errors = 0;
        foreach (ExecutorMetrics executor in Executors)
        {
            lock (executor.ErrorsByClass) errors += executor.ErrorsByClass.GetValueOrDefault(errorClass);
        }

        return errors;
    }

    internal ExecutorMetrics NewExecutor()
    {
        var metrics = new ExecutorMetrics(commandCount, limits);
        lock (_lock) _executors = _executors is [] ? [metrics, _past] : [metrics, .. _executors];
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
            if (!_executors.Contains(executor)) return;
            _executors = [.. _executors.Where(other => other != executor)];
            _past.Add(executor);
        }
    }

    /// <summary>Forgets an executor and its counts.</summary>
    internal void Forget(ExecutorMetrics executor)
    {
        lock (_lock) _executors = [.. _executors.Where(other => other != executor)];
    }

    /// <summary>Notes the fixed share of memory, when the server has started and stores nothing yet.</summary>
    /// <param name="programBytes">What the server takes apart from the keyspace.</param>
    internal void NoteStartup(long programBytes) => Server.NoteStartup(keyspace.UsedBytes + programBytes);

    /// <summary>Samples the rates and the memory in use.</summary>
    /// <returns>The sums of this moment.</returns>
    internal ServerTotals Sample(long nowMs)
    {
        ServerTotals totals = ServerTotals.Of(this);
        Server.Sample(nowMs, totals, MemoryFigures.UsedBytes(this, totals));
        return totals;
    }

    /// <summary>What commands on the keys of a slot have taken.</summary>
    internal SlotCounts SlotCountsOf(int slot)
    {
        SlotCounts sum = default;
        foreach (ExecutorMetrics executor in Executors) executor.Slots?.AddTo(ref sum, slot);
        return sum;
    }

    /// <summary>Forgets the counts of slots that are not this node's any more.</summary>
    internal void ForgetSlots(Predicate<int> isForgotten)
    {
        foreach (ExecutorMetrics executor in Executors)
        {
            if (executor.Slots is not { } slots) continue;
            for (int slot = 0; slot < KeySlot.Count; slot++)
            {
                if (isForgotten(slot)) slots.Reset(slot);
            }
        }
    }

    /// <summary>CONFIG RESETSTAT.</summary>
    internal void Reset()
    {
        foreach (ExecutorMetrics metrics in Executors) metrics.Reset();
        Server.Reset(ServerTotals.Of(this), keyspace);
    }
}
