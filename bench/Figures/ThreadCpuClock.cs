using System.Runtime.InteropServices;

namespace RedKite.Figures;

/// <summary>
/// The CPU that the calling thread has used, user and system: it stands still while another thread has the core, so what
/// it shows of an operation is the operation's own.
/// </summary>
internal static class ThreadCpuClock
{
    private const int ThreadCpuTimeId = 3; // CLOCK_THREAD_CPUTIME_ID, the same on every Linux.

    internal static long ReadNs() => ReadNs(ThreadCpuTimeId);

    /// <summary>Any clock of the kernel's, by its number.</summary>
    internal static long ReadNs(int clock)
    {
        _ = ReadClock(clock, out TimeSpec time);
        return (time.Seconds * 1_000_000_000L) + time.Nanoseconds;
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
