using static RedKite.Server.Diagnostics.FindingSeverity;
using static RedKite.Server.Logging.QuantityText;
using static RedKite.Server.Diagnostics.MetricTable;

namespace RedKite.Server.Diagnostics.Rules;

/// <summary>Rules on what the process gets from its machine: CPU, disks, files, time.</summary>
internal static class MachineRules
{
    private const double Gibibyte = 1 << 30;
    private const double DiskSlowMicroseconds = 100_000;
    private const int DiskSlowSeconds = 15;
    private const int StallMs = 250;
    private const int StallBesideOthersMs = 1000;

    internal static FindingRule[] All =>
    [
        new("cpu-saturated", "All CPUs of the machine were busy for more than 95 % of each of the last 30 seconds. A notice if other programs use most of them. It ends when they were busy for less than 80 % of a whole minute.",
            "Move other programs away, or add CPUs. The machine view shows how much of the time is the server's.", "machine", CpuSaturated)
        { Lasts = view => !(view.Mean(MachineCpu, 60) < 80) },
        new("cpu-stolen", "The hypervisor gave more than 10 % of the CPU time of the last 30 seconds to other machines.",
            "Move the virtual machine to a host with free CPUs, or rent one with dedicated CPUs.", "machine",
            view => view.Mean(MachineSteal, 30) > 10 ? new("The hypervisor takes CPU time away", Text($"{view.Mean(MachineSteal, 30):0.#} % stolen for 30 seconds"), Warning) : null),
        new("cpu-throttled", "The container was stopped for more than 5 % of the last 30 seconds because it had used its share of CPU. Every stop delays all clients.",
            "Raise the container's CPU limit, or remove it and use shares.", "machine",
            view => view.Mean(Throttled, 30) > 0.05 ? new("The container's CPU limit stops the server", Text($"stopped {view.Mean(Throttled, 30) * 100:0.#} % of the time, limit {Times(view[CgroupCpuLimit], "CPU", "0.##")}"), Warning) : null),
        new("cpu-pressure", "Tasks waited for a CPU during more than 50 % of each of the last 30 seconds (pressure stall information). It ends when they waited for less than 25 % of a whole minute.",
            "Move other programs away, or add CPUs.", "machine",
            view => view.Min(CpuPressure, 30) > 50 ? new("Tasks wait for CPUs", Text($"tasks waited {view.Mean(CpuPressure, 30):0} % of the last 30 seconds"), Notice) : null)
        { Lasts = view => !(view.Mean(CpuPressure, 60) < 25) },
        new("io-pressure", "Tasks waited for disks during more than 30 % of the last 30 seconds (pressure stall information).",
            "Find what uses the disk; with a disk of its own, the server does not suffer from other programs.", "machine",
            view => view.Min(IoPressure, 30) > 30 ? new("Disks are overloaded", Text($"tasks waited {view.Mean(IoPressure, 30):0} % of the last 30 seconds"), Warning) : null),
        new("disk-slow", "A read or write of the data folder's disk took more than 100 ms on average, in at least 15 seconds of the last minute.",
            "Find what else uses the disk, or move `dir` to a faster one.", "machine",
            view => Slow(view, DiskReadLatency) ?? Slow(view, DiskWriteLatency)),
        new("disk-nearly-full", "The data folder's disk has less than 256 MiB free.",
            "Free space on the disk, or set `dir` and `logfile` to another one.", "machine",
            view => view[DiskFree] < Gibibyte / 4 ? new(view[DiskFree] < 1 << 20 ? "The data folder's disk is full" : "The data folder's disk is nearly full", Text($"{Bytes(view[DiskFree])} are free"), Critical) : null),
        new("open-files", "The process uses more than 90 % of the files that it may open. At the limit no client can connect.",
            "Raise the limit of open files (ulimit -n, LimitNOFILE), or lower maxclients.", "clients",
            view => view[OpenFiles] > view[OpenFilesMax] * 0.9 ? new("The process can open hardly any more files", Text($"{view[OpenFiles]:0} of {view[OpenFilesMax]:0} are open"), Critical) : null),
        new("page-faults", "Over the last 30 seconds the process read more than 100 pages a second from disk because they were not in memory.",
            "Free memory on the machine, and turn swap off for this service.", "machine",
            view => view.Mean(MajorFaults, 30) > 100 ? new("The server waits for pages from disk", Text($"{view.Mean(MajorFaults, 30):0} page faults a second"), Warning) : null),
        new("clock-jump", "The wall clock moved by more than half a second against the monotonic clock within the last minute. Keys expire early or late.",
            "Let a time service slew the clock instead of setting it.", "machine",
            view => Math.Max(view.Max(ClockJump, 60), -view.Min(ClockJump, 60)) > 500 ? new("The clock jumped", Text($"by {(view.Max(ClockJump, 60) > 500 ? view.Max(ClockJump, 60) : view.Min(ClockJump, 60)):0} ms"), Warning) : null),
        new("process-stalled", "A thread that was ready to run was delayed within the last minute, by more than 250 ms, or by a second where other programs keep the CPUs busy: the process got no CPU, or was stopped.",
            "Look for throttling, a saturated machine, a suspended virtual machine, or garbage collections at the same time.", "loops",
            view => view.Max(Stall, 60) > (OthersKeepCpusBusy(view, 60) ? StallBesideOthersMs : StallMs) ? new("The whole process stood still", Text($"for {view.Max(Stall, 60):0} ms"), Warning) : null),
        new("huge-pages-always", "Transparent huge pages are set to `always` for every program of the machine. RedKite requests them where they help; everywhere else they cost memory.",
            "Let programs ask for them: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled", "memory",
            view => view.Facts.GetValueOrDefault("transparent_huge_pages") == "always" && view[Resident] > view[UsedMemory] * 1.5 && view[Resident] > 4 * Gibibyte
                ? new("Transparent huge pages waste memory", Text($"{Bytes(view[Resident])} resident for {Bytes(view[UsedMemory])} in use"), Notice) : null),
    ];

    private static double Cpus(DiagnosticsView view) => double.TryParse(view.Facts.GetValueOrDefault("cpus"), System.Globalization.CultureInfo.InvariantCulture, out double cpus) ? cpus : 1;

    private static Diagnosis? CpuSaturated(DiagnosticsView view)
    {
        if (!(view.Min(MachineCpu, 30) > 95)) return null;
        (double all, double own) = CpuUse(view, 30);
        string stall = view.Max(Stall, 30) > StallMs ? Text($"; once the server got none for {view.Max(Stall, 30):0} ms") : "";
        return own < all / 2
            ? new("Other programs keep the machine's CPUs busy", Text($"other programs use {all - own:0} % of the machine's CPUs, the server {own:0} %, for 30 seconds{stall}"), Notice)
            : new("The machine's CPUs are saturated", Text($"the server uses {own:0} % of the machine's CPUs, other programs {all - own:0} %, for 30 seconds"), Warning);
    }

    // The finding cpu-saturated then mentions stalls itself.
    private static bool OthersKeepCpusBusy(DiagnosticsView view, int seconds)
    {
        (double all, double own) = CpuUse(view, seconds);
        return all > 90 && own < all / 2;
    }

    // In percent of all CPUs: what all programs use, and what the server uses.
    private static (double All, double Own) CpuUse(DiagnosticsView view, int seconds)
    {
        double all = view.Mean(MachineCpu, seconds);
        return (all, Math.Min(all, (view.Mean(CpuUser, seconds) + view.Mean(CpuSystem, seconds)) * 100 / Cpus(view))); // seconds a second, of all CPUs
    }

    // A disk that is rarely used has few seconds with a latency; a single slow request is no finding.
    private static Diagnosis? Slow(DiagnosticsView view, Metric latency) =>
        view.SecondsOver(latency, 60, DiskSlowMicroseconds) >= DiskSlowSeconds ? new("The data folder's disk is slow", Text($"a {(latency == DiskReadLatency ? "read" : "write")} took {view.Mean(latency, 60) / 1000:0} ms on average in the last minute"), Warning) : null;
}
