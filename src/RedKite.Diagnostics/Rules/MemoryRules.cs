using RedKite.Server.Metrics;
using static RedKite.Server.Diagnostics.FindingSeverity;
using static RedKite.Server.Logging.QuantityText;
using static RedKite.Server.Diagnostics.MetricTable;

namespace RedKite.Server.Diagnostics.Rules;

/// <summary>Rules on the memory of the process, the container and the machine.</summary>
internal static class MemoryRules
{
    private const int TrendSeconds = 600;
    private const double SoonSeconds = 3600;
    private const int RecentSeconds = 60;
    private const double Tangible = 64 << 20; // below, ratios say nothing
    private const double DocumentBytes = 1 << 20;

    internal static FindingRule[] All =>
    [
        new("memory-near-limit", "Memory is above 95 % of maxmemory, or will reach it within an hour at the growth of the last ten minutes that the last minute continues.",
            "Raise maxmemory, remove data, or give keys expiries. The memory view shows what holds the memory.", "memory",
            view => IsCache(view) ? null : NearLimit(view, "Memory", MaxMemory, UsedMemory))
        { Culprit = culprits => culprits.MemoryUsers() },
        new("eviction-young", "Most of the keys that are evicted were used within the last minute, at more than ten a second: the data that clients use does not fit into maxmemory.",
            "Raise maxmemory. Under an LRU, LRM or LFU policy, low hit rates are the consequence; check that the policy suits the use.", "memory",
            view => view.Mean(EvictedYoungKeys, RecentSeconds) is > 10 and var young && young > view.Mean(EvictedKeys, RecentSeconds) / 2
                ? new("Keys are evicted while they are in use", Text($"{young:0} of {view.Mean(EvictedKeys, RecentSeconds):0} evicted keys a second had been used within a minute"), Warning) : null),
        new("commands-refused-by-memory", "Commands were refused with OOM within the last minute, and memory is still above 95 % of maxmemory: no key may be evicted, or evictions do not keep up.",
            "Raise maxmemory, remove data, or choose a maxmemory-policy that evicts. If evictions do not keep up, raise maxmemory-eviction-tenacity.", "memory",
            view => view[MaxMemory] > 0 && view[UsedMemory] > view[MaxMemory] * 0.95 && view.Growth(MemoryRefusals, RecentSeconds) is > 0 and var refused
                ? new("Commands are refused because memory is full", Text($"{Times(refused, "command")} in the last minute, {view[MemoryRefusals]:0} since the start; {Bytes(view[UsedMemory])} are in use, maxmemory is {Bytes(view[MaxMemory])}"), Critical) : null)
        { Culprit = culprits => culprits.RefusedByMemory() },
        new("memory-over-limit", "Memory exceeded maxmemory for most of the last 10 seconds, because no key may be evicted or evictions do not keep up. Commands that may use more memory are refused with OOM errors.",
            "Raise maxmemory, remove data, or choose a maxmemory-policy that evicts. If evictions do not keep up, raise maxmemory-eviction-tenacity.", "memory",
            view => view[MaxMemory] > 0 && view.Mean(MemoryExceeded, 10) > 800
                ? new("Memory is over its limit", Text($"{Bytes(view[UsedMemory])} are in use, maxmemory is {Bytes(view[MaxMemory])}"), Critical) : null)
        { Culprit = culprits => culprits.MemoryUsers() },
        new("clients-evicted", "Clients were closed within the last minute because all clients together exceeded maxmemory-clients.",
            "The log names the clients. Find out why they do not read their replies or send very large requests, or raise maxmemory-clients.", "clients",
            view => view.Growth(EvictedClients, RecentSeconds) is > 0 and var closed
                ? new("Clients are closed because of their memory", Text($"{Times(closed, "client")} in the last minute"), Warning) : null)
        { Culprit = culprits => culprits.Closed(TimelineKind.Evicted) },
        new("container-memory", "The container uses more than 95 % of its memory limit, or will reach it within an hour at the growth of the last ten minutes that the last minute continues. At the limit the kernel ends the process.",
            "Raise the container's limit, or remove data.", "memory",
            view => NearLimit(view, "The container's memory", CgroupMemoryLimit, CgroupMemory)),
        new("machine-memory", "Less than 5 % of the machine's memory is available. Further growth makes the machine swap or end processes.",
            "Move other programs away, add memory, or remove data.", "memory", MachineMemoryLow),
        new("swapped", "More than 16 MiB of the process's memory is swapped out. Commands that touch swapped memory wait for the disk.",
            "Free memory on the machine, and turn swap off for this service.", "memory",
            view => view[SwapBytes] > 16 << 20 ? new("Part of the server's memory is swapped out", Text($"{Bytes(view[SwapBytes])} are on disk"), Warning) : null),
        new("memory-pressure", "Tasks on the machine waited for memory during more than 10 % of the last 10 seconds (pressure stall information).",
            "Free memory on the machine; everything on it is slow meanwhile.", "memory",
            view => view[MemoryPressure] > 10 ? new("The machine is short of memory and stalls", Text($"tasks waited for memory {view[MemoryPressure]:0.#} % of the time"), Warning) : null),
        new("fragmented", "The store holds more than 1.5 times the memory that its blocks take, and more than 64 MiB of it is free space between them.",
            "New values of similar sizes reuse the space. CONFIG SET activedefrag yes moves blocks together and releases the free space; with maxmemory that happens by default. MEMORY PURGE releases whole free regions.", "memory", Fragmented),
        new("buffers-large", "The clients' buffers take more than a quarter of the memory in use, and more than 64 MiB.",
            "Find the clients with the largest buffers in the clients view, and set client-output-buffer-limit.", "clients",
            view => view[BufferBytes] > Tangible && view[BufferBytes] > view[UsedMemory] / 4
                ? new("Clients' buffers take much of the memory", Text($"{Bytes(view[BufferBytes])} of {Bytes(view[UsedMemory])} in use"), Warning) : null)
        { Culprit = culprits => culprits.LargestBuffers() },
        new("big-key", "A single key takes more than 64 MiB, according to the background survey. Commands on it take long and replies are large.",
            "BIGKEYS names the key. Split it, or read and delete it in parts.", "keys",
            view => view[LargestKey] > Tangible ? new("A key is very large", Text($"the largest takes {Bytes(view[LargestKey])}"), view[LargestKey] > 8 * Tangible ? Warning : Notice) : null)
        { Culprit = culprits => culprits.LargestKey() },
        new("document-grows", "A JSON document of more than 1 MiB has grown for five minutes, and all through the last one, according to the background survey: a list in it is added to, and nothing is removed.",
            "BIGKEYS TYPE ReJSON-RL names the key. Keep what is added without end in a stream or list with a bound, or cut the list with JSON.ARRTRIM.", "keys",
            view => view[LargestDocument] > DocumentBytes && view.LastingGrowth(LargestDocument, TrendSeconds / 2) is > 0 and var slope
                ? new("A document grows without end", Text($"the largest takes {Bytes(view[LargestDocument])}, growing by {Bytes(slope * 60)} a minute"), Notice) : null),
        new("managed-heap-large", "The managed heap has committed more than 512 MiB and more than half of the process's memory. Data is not kept there.",
            "A host application in the process may hold it. Otherwise take a debug package and report a bug.", "memory",
            view => view[ManagedCommitted] > 512 << 20 && view[ManagedCommitted] > view[Resident] / 2
                ? new("The managed heap is unusually large", Text($"{Bytes(view[ManagedCommitted])} of {Bytes(view[Resident])} resident"), Warning) : null),
    ];

    // A server that may evict any key is meant to be full.
    private static bool IsCache(DiagnosticsView view) => view.Setting("maxmemory-policy").StartsWith("allkeys-", StringComparison.Ordinal);

    private static Diagnosis? NearLimit(DiagnosticsView view, string what, Metric limitMetric, Metric usedMetric)
    {
        double limit = view[limitMetric];
        double used = view[usedMetric];
        if (!(limit > 0)) return null;
        if (used > limit * 0.95) return new($"{what} is nearly exhausted", Text($"{Bytes(used)} of {Bytes(limit)} are in use"), Critical);
        double slope = view.LastingGrowth(usedMetric, TrendSeconds);
        double secondsLeft = slope > 0 ? (limit - used) / slope : double.PositiveInfinity;
        return used > limit * 0.5 && secondsLeft < SoonSeconds
            ? new($"{what} will reach its limit in {About(secondsLeft)}", Text($"{Bytes(used)} of {Bytes(limit)} are in use, growing by {Bytes(slope * 60)} a minute"), Warning)
            : null;
    }

    private static Diagnosis? MachineMemoryLow(DiagnosticsView view) =>
        view[MachineAvailable] < view[MachineMemory] * 0.05
            ? new("The machine has hardly any memory left", Text($"{Bytes(view[MachineAvailable])} of {Bytes(view[MachineMemory])} are available"), Critical)
            : null;

    private static Diagnosis? Fragmented(DiagnosticsView view)
    {
        double free = view[AllocatorActive] - view[AllocatorAllocated];
        return free > Tangible && view[AllocatorActive] > view[AllocatorAllocated] * 1.5
            ? new("Memory is fragmented", Text($"{Bytes(free)} are free between blocks that take {Bytes(view[AllocatorAllocated])}"), Warning)
            : null;
    }
}
