namespace RedKite.Server.Diagnostics;

/// <summary>The .NET runtime's figures of the process.</summary>
internal readonly record struct RuntimeFigures
{
    internal double HeapBytes { get; private init; }

    internal double CommittedBytes { get; private init; }

    internal double AllocatedBytes { get; private init; }

    internal double Gen0 { get; private init; }

    internal double Gen1 { get; private init; }

    internal double Gen2 { get; private init; }

    internal double PauseMs { get; private init; }

    internal double PoolThreads { get; private init; }

    internal double PoolQueue { get; private init; }

    internal double CpuUserSeconds { get; private init; }

    internal double CpuSystemSeconds { get; private init; }

    internal static RuntimeFigures Read()
    {
        GCMemoryInfo memory = GC.GetGCMemoryInfo();
        Environment.ProcessCpuUsage cpu = OperatingSystem.IsIOS() || OperatingSystem.IsTvOS() ? default : Environment.CpuUsage;
        return new RuntimeFigures
        {
            HeapBytes = memory.HeapSizeBytes,

            // The runtime's figure is as of the last collection: memory allocated since is committed too.
            CommittedBytes = Math.Max(memory.TotalCommittedBytes, GC.GetTotalMemory(forceFullCollection: false)),
            AllocatedBytes = GC.GetTotalAllocatedBytes(precise: false),
            Gen0 = GC.CollectionCount(0) - GC.CollectionCount(1),
            Gen1 = GC.CollectionCount(1) - GC.CollectionCount(2),
            Gen2 = GC.CollectionCount(2),
            PauseMs = GC.GetTotalPauseDuration().TotalMilliseconds,
            PoolThreads = ThreadPool.ThreadCount,
            PoolQueue = ThreadPool.PendingWorkItemCount,
            CpuUserSeconds = cpu.UserTime.TotalSeconds,
            CpuSystemSeconds = cpu.PrivilegedTime.TotalSeconds,
        };
    }
}
