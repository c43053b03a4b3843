using System.Globalization;

namespace RedKite.Figures;

/// <summary>
/// The machine, and the roles of its cores. With two cores the server and the load never share one, so that the load does
/// not evict the server's caches during the measurement.
/// </summary>
internal static class Machine
{
    internal static readonly int Cores = Environment.ProcessorCount;

    internal const string ServerCpus = "0";

    internal static readonly string LoadCpus = Cores > 1 ? "1" : "0";

    internal static string Processor { get; } = File.ReadLines("/proc/cpuinfo")
        .FirstOrDefault(line => line.StartsWith("model name", StringComparison.Ordinal))?.Split(':', 2)[1].Trim() ?? "unknown processor";

    internal static string Kernel { get; } = File.ReadAllText("/proc/sys/kernel/osrelease").Trim();

    internal static string Description => string.Create(
        CultureInfo.InvariantCulture, $"{Processor}, {Cores} {(Cores == 1 ? "core" : "cores")}, Linux {Kernel}, .NET {Environment.Version}");
}
