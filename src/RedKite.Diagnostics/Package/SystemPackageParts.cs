using System.Globalization;
using System.Text;
using RedKite.Persistence.Files;

namespace RedKite.Server.Diagnostics.Package;

/// <summary>Facts about the machine and the process, as Linux shows them in files. Elsewhere these parts are errors.</summary>
internal static class SystemPackageParts
{
    private const int FileBytesMax = 64 * 1024;

    // Each as an entry, where it exists. None of them has arguments, environment variables or addresses.
    private static readonly string[] Shown =
    [
        "/proc/meminfo", "/proc/loadavg", "/proc/vmstat", "/proc/uptime", "/proc/version", "/proc/net/sockstat",
        "/proc/pressure/cpu", "/proc/pressure/memory", "/proc/pressure/io",
        "/proc/self/smaps_rollup", "/proc/self/limits", "/proc/self/status", "/proc/self/io", "/proc/self/schedstat", "/proc/self/oom_score", "/proc/self/oom_score_adj",
        "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.high", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat", "/sys/fs/cgroup/memory.events",
        "/sys/fs/cgroup/cpu.max", "/sys/fs/cgroup/cpu.stat", "/sys/fs/cgroup/cpu.weight", "/sys/fs/cgroup/io.stat", "/sys/fs/cgroup/pids.current", "/sys/fs/cgroup/pids.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes", "/sys/fs/cgroup/memory/memory.stat",
        "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us", "/sys/fs/cgroup/cpu/cpu.stat",
        "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/kernel/mm/transparent_hugepage/defrag",
    ];

    internal static void Files(PackageContext context)
    {
        CheckLinux();
        foreach (string path in Shown)
        {
            context.Cancellation.ThrowIfCancellationRequested();
            if (File.Exists(path)) context.Add("system" + path + ".txt", ReadOrSay(path));
        }

        context.Add("system/data-folder.txt", DataFolder(context.Sources.Parts.Core.Configuration.Settings.DirectoryPath));
    }

    internal static void Threads(PackageContext context)
    {
        CheckLinux();
        var text = new StringBuilder("thread,name,state,user_ticks,system_ticks,waits_in,voluntary_switches,involuntary_switches\n");
        foreach (string folder in Directory.EnumerateDirectories("/proc/self/task"))
        {
            context.Cancellation.ThrowIfCancellationRequested();
            try
            {
                text.Append(Thread(folder)).Append('\n');
            }
            catch (IOException)
            {
                // The thread has ended.
            }
        }

        context.Add("threads.csv", text.ToString());
    }

    private static void CheckLinux()
    {
        if (!OperatingSystem.IsLinux()) throw new PlatformNotSupportedException("Only Linux has these files.");
    }

    private static string Thread(string folder)
    {
        // The name is in parentheses and may have spaces; the fields after it are separated by them.
        string stat = File.ReadAllText(Path.Combine(folder, "stat"));
        string[] fields = stat[(stat.LastIndexOf(')') + 2)..].Split(' ');
        string name = File.ReadAllText(Path.Combine(folder, "comm")).Trim().Replace(',', ' ');
        string[] status = File.ReadAllLines(Path.Combine(folder, "status"));
        string waits = ReadOrSay(Path.Combine(folder, "wchan")).Trim();
        return string.Create(CultureInfo.InvariantCulture, $"{Path.GetFileName(folder)},{name},{fields[0]},{fields[11]},{fields[12]},{waits},{Of("voluntary_ctxt_switches:")},{Of("nonvoluntary_ctxt_switches:")}");

        string Of(string field) => status.FirstOrDefault(line => line.StartsWith(field, StringComparison.Ordinal))?[field.Length..].Trim() ?? "";
    }

    // The file system of the data folder: its kind and its space, without the options, which may hold passwords.
    private static string DataFolder(string path)
    {
        string full = Path.GetFullPath(path);
        string[]? best = null;
        foreach (string line in File.ReadLines("/proc/self/mountinfo"))
        {
            string[] fields = line.Split(' ');
            bool holds = full == fields[4] || full.StartsWith(fields[4].TrimEnd('/') + "/", StringComparison.Ordinal);
            if (holds && (best is null || fields[4].Length >= best[4].Length)) best = fields;
        }

        int separator = best is null ? -1 : Array.IndexOf(best, "-");
        string kind = separator > 0 ? best![separator + 1] : "unknown";
        var drive = new DriveInfo(full);
        return string.Create(CultureInfo.InvariantCulture, $"kind {kind}\ntotal_bytes {drive.TotalSize}\nfree_bytes {drive.AvailableFreeSpace}\n");
    }

    private static string ReadOrSay(string path)
    {
        try
        {
            using FileStream file = File.OpenRead(path);
            var bytes = new byte[FileBytesMax];
            int length = 0;
            for (int read; length < bytes.Length && (read = file.Read(bytes, length, bytes.Length - length)) > 0;) length += read;
            return Encoding.UTF8.GetString(bytes, 0, length);
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            return "not readable: " + FileFailure.ReasonOf(failure) + "\n";
        }
    }
}
