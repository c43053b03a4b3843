using System.Globalization;

namespace RedKite.Server.Diagnostics;

/// <summary>
/// The limits of the container that the process is in: its control group of version 2 or, where the kernel has controllers of version 1, those.
/// A figure that the kernel does not have is NaN.
/// </summary>
internal sealed class ControlGroup
{
    private const string Root = "/sys/fs/cgroup";
    private const double MemoryLimitNone = 1L << 60; // version 1 writes a huge number for no limit

    private readonly Func<string, string> _read;
    private readonly string _memory;
    private readonly string _cpu;
    private readonly bool _isVersion1;

    /// <param name="read">Reads a file of the kernel; without text where it cannot.</param>
    internal ControlGroup(Func<string, string> read)
    {
        _read = read;
        string[] memberships = read("/proc/self/cgroup").Split('\n');
        string? memory = FolderOf(memberships, "memory", "memory.usage_in_bytes");
        string? cpu = FolderOf(memberships, "cpu", "cpu.cfs_quota_us");
        string? unified = FolderOf(memberships, "", "memory.current");
        _isVersion1 = unified is null && (memory is not null || cpu is not null);
        _memory = (_isVersion1 ? memory : unified) ?? Root;
        _cpu = (_isVersion1 ? cpu : unified) ?? Root;
    }

    internal double MemoryLimitBytes => Number(_read(_memory + (_isVersion1 ? "/memory.limit_in_bytes" : "/memory.max"))) is var bytes && bytes < MemoryLimitNone ? bytes : double.NaN;

    /// <summary>Memory in use, without the pages of files that the kernel can drop.</summary>
    internal double MemoryBytes
    {
        get
        {
            double bytes = Number(_read(_memory + (_isVersion1 ? "/memory.usage_in_bytes" : "/memory.current")));
            double droppable = Field(_read(_memory + "/memory.stat"), _isVersion1 ? "total_inactive_file" : "inactive_file");
            return droppable <= bytes ? bytes - droppable : bytes;
        }
    }

    /// <summary>How many CPUs' time the group may use.</summary>
    internal double Cpus
    {
        get
        {
            (double quota, double period) = _isVersion1
                ? (Number(_read(_cpu + "/cpu.cfs_quota_us")), Number(_read(_cpu + "/cpu.cfs_period_us")))
                : _read(_cpu + "/cpu.max").Split(' ') is [var first, var second] ? (Number(first), Number(second)) : (double.NaN, double.NaN);
            return quota > 0 ? quota / period : double.NaN;
        }
    }

    /// <summary>Time that the group was stopped because it had used its share of CPU.</summary>
    internal double ThrottledSeconds =>
        _isVersion1 ? Field(_read(_cpu + "/cpu.stat"), "throttled_time") / 1e9 : Field(_read(_cpu + "/cpu.stat"), "throttled_usec") / 1e6;

    // A line is "4:cpu,cpuacct:/path", of version 2 "0::/path". In a container the path may be that of the host: then the group is at the root.
    private static string? FolderOf(string[] memberships, string controller, string file)
    {
        foreach (string line in memberships)
        {
            string[] parts = line.Split(':', 3);
            if (parts.Length < 3 || !parts[1].Split(',').Contains(controller)) continue;
            string root = parts[1].Length == 0 ? Root : $"{Root}/{parts[1]}";
            string folder = root + parts[2].TrimEnd('/');
            if (File.Exists($"{folder}/{file}")) return folder;
            if (File.Exists($"{root}/{file}")) return root;
        }

        return null;
    }

    private static double Field(string text, string name)
    {
        foreach (string line in text.Split('\n'))
        {
            if (line.StartsWith(name + " ", StringComparison.Ordinal)) return Number(line[(name.Length + 1)..]);
        }

        return double.NaN;
    }

    private static double Number(string text) =>
        double.TryParse(text.AsSpan().Trim(), NumberStyles.Float, CultureInfo.InvariantCulture, out double value) ? value : double.NaN;
}
