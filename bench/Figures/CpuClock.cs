using System.Globalization;

namespace RedKite.Figures;

/// <summary>
/// The CPU that a process has used, as the kernel counts it: the load generator and the other core do not change it, which
/// is why the figures are built on it and not on operations per second.
/// </summary>
/// <param name="UserSeconds">
/// User mode, in steps of 10 ms. The kernel samples which mode a thread is in at each timer tick, so short runs are noisy.
/// </param>
/// <param name="TotalSeconds">User and system, of all threads, exact to the nanosecond.</param>
internal readonly record struct CpuClock(double UserSeconds, double TotalSeconds)
{
    // USER_HZ: what /proc shows is scaled to this on every architecture that .NET runs on, whatever the kernel ticks at.
    private const double TicksPerSecond = 100;

    internal static CpuClock Read(int processId)
    {
        string stat = File.ReadAllText($"/proc/{processId}/stat");
        // The second field is the program's name in brackets and may hold spaces: fields are counted after the last bracket.
        string[] fields = stat[(stat.LastIndexOf(')') + 2)..].Split(' ');
        double userTicks = double.Parse(fields[11], CultureInfo.InvariantCulture);

        return new CpuClock(userTicks / TicksPerSecond, KernelCpuClock.ReadProcessNs(processId) / 1e9);
    }

    public static CpuClock operator -(CpuClock after, CpuClock before) =>
        new(after.UserSeconds - before.UserSeconds, after.TotalSeconds - before.TotalSeconds);

    /// <summary>Nanoseconds that a thread, named by its folder under /proc, was on a core.</summary>
    internal static long ReadOnCpuNs(string task)
    {
        try
        {
            return long.Parse(File.ReadAllText(Path.Combine(task, "schedstat")).Split(' ')[0], CultureInfo.InvariantCulture);
        }
        catch (IOException)
        {
            return 0; // The thread ended between the listing and the reading.
        }
    }
}
