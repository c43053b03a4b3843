using static RedKite.Server.Diagnostics.FindingTable;
using static RedKite.Server.Diagnostics.MetricTable;

namespace RedKite.Server.Diagnostics;

/// <summary>Rules on the memory of the process, the container and the machine.</summary>
internal static class MemoryRules
{
    private const int TrendSeconds = 600;
    private const double SoonSeconds = 3600;

    internal static FindingRule[] All =>
    [
        new(
            "container-memory",
            "The container uses more than 90 % of its memory limit, or will reach the limit within an hour at the growth of the last ten minutes. At the limit the kernel ends the process.",
            "Raise the container's limit, set maxmemory, or remove data. MEMORY DOCTOR and the memory view show what holds the memory.",
            "memory",
            ContainerMemory),
        new(
            "machine-memory",
            "Less than 5 % of the machine's memory is available. Further growth makes the machine swap or end processes.",
            "Move other programs away, add memory, or remove data.",
            "memory",
            MachineMemory),
        new(
            "swapped",
            "More than 16 MiB of the process's memory are swapped out. Commands that touch them wait for the disk.",
            "Free memory on the machine, and turn swap off for this service.",
            "memory",
            Swapped),
    ];

    private static Diagnosis? ContainerMemory(DiagnosticsView view)
    {
        double limit = view[CgroupMemoryLimit];
        double used = view[CgroupMemory];
        if (!(limit > 0)) return null;
        double slope = view.Slope(CgroupMemory, TrendSeconds);
        double secondsLeft = slope > 0 ? (limit - used) / slope : double.PositiveInfinity;
        if (used > limit * 0.9)
        {
            return new Diagnosis("The container's memory is nearly exhausted", Text($"{Bytes(used)} of {Bytes(limit)} are in use"), FindingSeverity.Critical);
        }

        return used > limit * 0.5 && secondsLeft < SoonSeconds
            ? new Diagnosis($"The container's memory will reach its limit in {About(secondsLeft)}", Text($"{Bytes(used)} of {Bytes(limit)} are in use, growing by {Bytes(slope * 60)} a minute"), FindingSeverity.Warning)
            : null;
    }

    private static Diagnosis? MachineMemory(DiagnosticsView view)
    {
        double available = view[MachineAvailable];
        double total = view[MetricTable.MachineMemory];
        return available < total * 0.05
            ? new Diagnosis("The machine has hardly any memory left", Text($"{Bytes(available)} of {Bytes(total)} are available"), FindingSeverity.Critical)
            : null;
    }

    private static Diagnosis? Swapped(DiagnosticsView view) =>
        view[SwapBytes] > 16 << 20
            ? new Diagnosis("Part of the server's memory is swapped out", Text($"{Bytes(view[SwapBytes])} are on disk"), FindingSeverity.Warning)
            : null;
}
