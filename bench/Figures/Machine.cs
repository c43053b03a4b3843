using System.Globalization;

namespace RedKite.Figures;

/// <summary>
/// The machine that the figures are made on, and which of its cores do what. The server and the load never share a core
/// where there are two, so that the load does not evict the server's caches while it is being measured.
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
