using System.Runtime.InteropServices;

namespace RedKite.Server.Diagnostics;

/// <summary>Facts about the machine and the runtime that are text and do not change while the process runs.</summary>
internal static class SystemFacts
{
    internal static IReadOnlyDictionary<string, string> Current { get; } = Read();

    private static Dictionary<string, string> Read() => new()
    {
        ["os"] = RuntimeInformation.OSDescription,
        ["architecture"] = RuntimeInformation.ProcessArchitecture.ToString(),
        ["runtime"] = RuntimeInformation.FrameworkDescription,
        ["cpus"] = Environment.ProcessorCount.ToString(System.Globalization.CultureInfo.InvariantCulture),
        ["gc"] = System.Runtime.GCSettings.IsServerGC ? "server" : "workstation",
        ["gc_latency_mode"] = System.Runtime.GCSettings.LatencyMode.ToString(),
        ["transparent_huge_pages"] = Chosen("/sys/kernel/mm/transparent_hugepage/enabled"),
        ["overcommit_memory"] = Line("/proc/sys/vm/overcommit_memory"),
        ["swappiness"] = Line("/proc/sys/vm/swappiness"),
        ["somaxconn"] = Line("/proc/sys/net/core/somaxconn"),
        ["clocksource"] = Line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    };

    // "always [madvise] never"
    private static string Chosen(string path)
    {
        string line = Line(path);
        int start = line.IndexOf('[', StringComparison.Ordinal);
        int end = line.IndexOf(']', StringComparison.Ordinal);
        return start >= 0 && end > start ? line[(start + 1)..end] : line;
    }

    private static string Line(string path)
    {
        try
        {
            return File.Exists(path) ? File.ReadAllText(path).Trim() : "";
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            return "";
        }
    }
}
