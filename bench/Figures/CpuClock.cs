using System.Globalization;

namespace RedKite.Figures;

/// <summary>
/// The CPU time of a process, as the kernel counts it. The load generator and the other core do not change it, so the figures
/// use it instead of operations per second.
/// </summary>
/// <param name="UserSeconds">
/// User mode, in steps of 10 ms: the kernel samples a thread's mode at each timer tick. See <see cref="ReadableUserSeconds"/>.
/// </param>
/// <param name="TotalSeconds">User and system, of all threads, exact to the nanosecond.</param>
internal readonly record struct CpuClock(double UserSeconds, double TotalSeconds)
{
    // USER_HZ: the unit of /proc on every architecture that .NET supports, whatever the kernel's tick rate.
    private const double TicksPerSecond = 100;

    // With fewer samples, the figure's own error would exceed 10 %.
    private const int UserTicksMin = 100;

    /// <summary>User mode, or null if it lasted too few clock ticks to be known.</summary>
    internal double? ReadableUserSeconds => UserSeconds * TicksPerSecond >= UserTicksMin ? UserSeconds : null;

    internal static CpuClock Read(int processId) => new(ReadTicks(processId, 11) / TicksPerSecond, KernelCpuClock.ReadProcessNs(processId) / 1e9);

    /// <summary>User and system, in steps of 10 ms, of processes that this one has started, and that have ended.</summary>
    internal static double ReadEndedChildrenSeconds(int processId) => (ReadTicks(processId, 13) + ReadTicks(processId, 14)) / TicksPerSecond;

    public static CpuClock operator -(CpuClock after, CpuClock before) =>
        new(after.UserSeconds - before.UserSeconds, after.TotalSeconds - before.TotalSeconds);

    private static double ReadTicks(int processId, int field)
    {
        string stat = File.ReadAllText($"/proc/{processId}/stat");
        // The second field is the program's name in parentheses and may contain spaces, so count fields after the last one.
        return double.Parse(stat[(stat.LastIndexOf(')') + 2)..].Split(' ')[field], CultureInfo.InvariantCulture);
    }

    /// <summary>Nanoseconds on a core of the thread with this folder under /proc.</summary>
    internal static long ReadOnCpuNs(string task)
    {
        try
        {
            return long.Parse(File.ReadAllText(Path.Combine(task, "schedstat")).Split(' ')[0], CultureInfo.InvariantCulture);
        }
        catch (IOException)
        {
            return 0; // The thread ended after it was listed.
        }
    }
}
