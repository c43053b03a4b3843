using System.Globalization;

namespace RedKite.Figures.Durability;

/// <summary>What a server says of its snapshots, and the memory of its process and of the children that write for it.</summary>
internal static class SavedData
{
    private const int PollMs = 50;

    /// <summary>Runs BGSAVE to its end.</summary>
    /// <param name="sample">Called some twenty times a second meanwhile.</param>
    /// <returns>Its seconds.</returns>
    internal static double Save(SetupConnection connection, Action sample)
    {
        connection.Run("BGSAVE");
        while (connection.ReadInfo("persistence", "rdb_bgsave_in_progress") == 1)
        {
            sample();
            Thread.Sleep(PollMs);
        }

        if (!connection.Run("INFO", "persistence").Contains("rdb_last_bgsave_status:ok", StringComparison.Ordinal)) throw new CannotMeasureException("BGSAVE failed");
        return connection.ReadInfo("persistence", "rdb_last_bgsave_time_sec") ?? 0;
    }

    /// <summary>CPU seconds of the process and of its children that have ended.</summary>
    internal static double CpuSeconds(ServerUnderTest server)
    {
        string stat = File.ReadAllText(Invariant($"/proc/{server.ProcessId}/stat"));
        string[] fields = stat[(stat.LastIndexOf(')') + 2)..].Split(' ');
        double childTicks = double.Parse(fields[13], CultureInfo.InvariantCulture) + double.Parse(fields[14], CultureInfo.InvariantCulture);
        return server.Cpu.TotalSeconds + (childTicks / 100);
    }

    /// <summary>The resident memory by the kernel's cheap counter: reading the exact one stops the process for milliseconds.</summary>
    internal static long ResidentBytes(ServerUnderTest server) => StatusBytes(server, "VmRSS:");

    /// <summary>The largest resident memory since the process's start.</summary>
    internal static long LargestResidentBytes(ServerUnderTest server) => StatusBytes(server, "VmHWM:");

    private static long StatusBytes(ServerUnderTest server, string field)
    {
        string line = File.ReadLines(Invariant($"/proc/{server.ProcessId}/status")).First(line => line.StartsWith(field, StringComparison.Ordinal));
        return 1024 * long.Parse(line.Split(' ', StringSplitOptions.RemoveEmptyEntries)[^2].Split('\t')[^1], CultureInfo.InvariantCulture);
    }

    private static string Invariant(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);
}
