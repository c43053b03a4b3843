namespace RedKite.Server.Metrics;

/// <summary>
/// The memory of one moment, under the terms of INFO memory and MEMORY STATS. The allocator is the store's own: allocated is
/// what entries, values and tables take, active is what it holds from the system, free room included.
/// </summary>
internal readonly record struct MemoryFigures
{
    /// <summary>Bytes in use: the store and the connections' buffers.</summary>
    internal long Used { get; private init; }

    internal long Peak { get; private init; }

    /// <summary>Bytes that were in use when the server had started and nothing was stored yet.</summary>
    internal long Startup { get; private init; }

    internal long Buffers { get; private init; }

    internal long Tables { get; private init; }

    internal long Allocated { get; private init; }

    internal long Active { get; private init; }

    internal long Resident { get; private init; }

    internal long Keys { get; private init; }

    internal long Overhead => Startup + Buffers + Tables;

    internal long Dataset => Math.Max(0, Used - Overhead);

    internal double DatasetPercent => Percent(Dataset, Used - Startup);

    internal double PeakPercent => Percent(Used, Peak);

    internal double FragmentationRatio => Ratio(Resident, Used);

    internal double AllocatorFragmentationRatio => Ratio(Active, Allocated);

    internal double ResidentOverheadRatio => Ratio(Resident, Active);

    internal static MemoryFigures Of(MetricsRegistry registry)
    {
        long buffers = ServerTotals.Of(registry).BufferBytes;
        long allocated = registry.Keyspace.UsedBytes;
        registry.Server.NoteUsedBytes(allocated + buffers);
        long keys = 0;
        foreach (Store.Keyspace.Database database in registry.Keyspace.Databases) keys += database.Count;
        return new MemoryFigures
        {
            Used = allocated + buffers,
            Peak = registry.Server.PeakBytes,
            Startup = registry.Server.StartupBytes,
            Buffers = buffers,
            Tables = registry.Keyspace.TableBytes,
            Allocated = allocated,
            Active = registry.Keyspace.HeldBytes,
            Resident = ProcessMemory.ResidentBytes,
            Keys = keys,
        };
    }

    private static double Ratio(long part, long whole) => whole == 0 ? 0 : (double)part / whole;

    private static double Percent(long part, long whole) => Ratio(part, whole) * 100;
}
