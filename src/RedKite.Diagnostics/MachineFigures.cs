namespace RedKite.Server.Diagnostics;

/// <summary>The operating system's figures of the process, its container and the machine. NaN: unknown here.</summary>
internal sealed record MachineFigures
{
    internal double CpuPercent { get; init; } = double.NaN;

    internal double StealPercent { get; init; } = double.NaN;

    internal double MemoryTotalBytes { get; init; } = double.NaN;

    internal double MemoryAvailableBytes { get; init; } = double.NaN;

    internal double SwapUsedBytes { get; init; } = double.NaN;

    internal double CpuPressure { get; init; } = double.NaN;

    internal double MemoryPressure { get; init; } = double.NaN;

    internal double IoPressure { get; init; } = double.NaN;

    internal double CgroupMemoryLimitBytes { get; init; } = double.NaN;

    internal double CgroupMemoryBytes { get; init; } = double.NaN;

    internal double CgroupCpus { get; init; } = double.NaN;

    internal double ThrottledSeconds { get; init; } = double.NaN;

    internal double DiskReadBytes { get; init; } = double.NaN;

    internal double DiskWrittenBytes { get; init; } = double.NaN;

    internal double DiskBusyMs { get; init; } = double.NaN;

    internal double DiskReadMicroseconds { get; init; } = double.NaN;

    internal double DiskWriteMicroseconds { get; init; } = double.NaN;

    internal double DiskFreeBytes { get; init; } = double.NaN;

    internal double OpenFiles { get; init; } = double.NaN;

    internal double OpenFilesMax { get; init; } = double.NaN;

    internal double MajorFaults { get; init; } = double.NaN;

    internal double SwapBytes { get; init; } = double.NaN;

    internal double ClockJumpMs { get; init; } = double.NaN;

    internal double StallMs { get; init; } = double.NaN;
}
