using System.Globalization;

namespace RedKite.Figures;

/// <summary>A process's resident set, counted by page: the cheaper counters of /proc may lag by hundreds of KiB.</summary>
internal static class ResidentMemory
{
    internal static long ReadBytes(int processId)
    {
        string line = File.ReadLines($"/proc/{processId}/smaps_rollup").First(line => line.StartsWith("Rss:", StringComparison.Ordinal));
        string kibibytes = line.Split(' ', StringSplitOptions.RemoveEmptyEntries)[1];
        return long.Parse(kibibytes, CultureInfo.InvariantCulture) * 1024;
    }
}
