using System.Runtime.InteropServices;

namespace RedKite.Figures;

/// <summary>
/// The kernel's CPU clocks, user and system, in nanoseconds. The calling thread's clock stops while another thread has the
/// core, so it measures the operation alone.
/// </summary>
internal static class KernelCpuClock
{
    private const int ThreadCpuTimeId = 3; // CLOCK_THREAD_CPUTIME_ID, the same on every Linux.
    private const int ScheduledTime = 2; // The lowest bits of a process's clock: user and system, exact.

    internal static long ReadThreadNs()
    {
        _ = ReadClock(ThreadCpuTimeId, out TimeSpec time);
        return (time.Seconds * 1_000_000_000L) + time.Nanoseconds;
    }

    /// <summary>The CPU time of all threads of a process since its start, including ended ones.</summary>
    internal static long ReadProcessNs(int processId)
    {
        int status = ReadClock((~processId << 3) | ScheduledTime, out TimeSpec time);
        return status == 0 ? (time.Seconds * 1_000_000_000L) + time.Nanoseconds : throw new CannotMeasureException($"process {processId} has ended");
    }

    [DllImport("libc", EntryPoint = "clock_gettime")]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    private static extern int ReadClock(int clock, out TimeSpec time);

    [StructLayout(LayoutKind.Sequential)]
    private struct TimeSpec
    {
        public nint Seconds;
        public nint Nanoseconds;
    }
}
