using RedKite.Store.Keyspace;

namespace RedKite.Server.Metrics;

/// <summary>
/// The memory of one moment, in the terms of INFO memory and MEMORY STATS. The allocator is the store's: allocated are the
/// bytes of entries, values and tables; active is what the arenas hold, free space included; resident is active and the
/// regions that are prepared for them.
/// </summary>
internal readonly record struct MemoryFigures
{
    /// <summary>Bytes in use: the process's fixed share, the store, the connections with their buffers and what clients make the server keep, and the scripts.</summary>
    internal long Used { get; private init; }

    internal long Peak { get; private init; }

    /// <summary>Bytes that were in use when the server had started and nothing was stored yet.</summary>
    internal long Startup { get; private init; }

    /// <summary>Bytes of the connections with their buffers, and of what single clients make the server keep.</summary>
    internal long Clients { get; private init; }

    /// <summary>Bytes of what clients together make the server keep: channels, tracked keys, logs, users, samples.</summary>
    internal long Shared { get; private init; }

    /// <summary>Bytes of the interpreters, and of the texts of scripts and libraries.</summary>
    internal long Scripts { get; private init; }

    internal long Tables { get; private init; }

    internal long Allocated { get; private init; }

    internal long Active { get; private init; }

    internal long AllocatorResident { get; private init; }

    /// <summary>Bytes of the whole process that are in physical memory.</summary>
    internal long Resident { get; private init; }

    internal long Keys { get; private init; }

    /// <summary>Bytes by which the process itself has grown since.</summary>
    internal long Growth { get; private init; }

    internal long Overhead => Startup + Growth + Clients + Shared + Scripts + Tables;

    internal long Dataset => Math.Max(0, Used - Overhead);

    internal double DatasetPercent => 100 * Ratio(Dataset, Used - Startup, ifBothZero: 0);

    internal double PeakPercent => 100 * Ratio(Used, Peak);

    internal double FragmentationRatio => Ratio(Resident, Used);

    internal double AllocatorFragmentationRatio => Ratio(Active, Allocated);

    internal double AllocatorResidentRatio => Ratio(AllocatorResident, Active);

    internal double ResidentOverheadRatio => Ratio(Resident, AllocatorResident);

    internal static MemoryFigures Of(MetricsRegistry registry)
    {
        ServerTotals totals = ServerTotals.Of(registry);
        long scripts = registry.ScriptBytes;
        long used = UsedBytes(registry, totals, scripts);
        registry.Server.NoteUsedBytes(used);
        long keys = 0;
        foreach (Database database in registry.Keyspace.Databases) keys += database.Count;
        return new MemoryFigures
        {
            Used = used,
            Peak = registry.Server.PeakBytes,
            Startup = registry.Server.StartupBytes,
            Growth = registry.Server.GrowthBytes,
            Clients = totals.ClientBytes + registry.Kept[Kept.Clients],
            Shared = registry.Kept.OthersBytes,
            Scripts = scripts,
            Tables = registry.Keyspace.TableBytes,
            Allocated = registry.Keyspace.UsedBytes,
            Active = registry.Keyspace.HeldBytes,
            AllocatorResident = registry.Keyspace.ResidentBytes,
            Resident = ProcessMemory.ResidentBytes,
            Keys = keys,
        };
    }

    /// <summary>Bytes in use at this moment.</summary>
    internal static long UsedBytes(MetricsRegistry registry, in ServerTotals totals) => UsedBytes(registry, totals, registry.ScriptBytes);

    private static long UsedBytes(MetricsRegistry registry, in ServerTotals totals, long scriptBytes) =>
        UnreportedBytes(registry, totals, scriptBytes) + registry.Keyspace.UsedBytes + registry.Kept.Bytes;

    /// <summary>What counts as used, and is neither the store's nor <see cref="KeptMemory"/>, which report to the limit themselves.</summary>
    internal static long UnreportedBytes(MetricsRegistry registry, in ServerTotals totals) => UnreportedBytes(registry, totals, registry.ScriptBytes);

    private static long UnreportedBytes(MetricsRegistry registry, in ServerTotals totals, long scriptBytes) =>
        registry.Server.StartupBytes + registry.Server.GrowthBytes + totals.ClientBytes + scriptBytes;

    private static double Ratio(long part, long whole, double ifBothZero = 1) =>
        whole > 0 ? (double)part / whole : part == 0 ? ifBothZero : 0;
}
