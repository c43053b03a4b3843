using RedKite.Figures;
using RedKite.Traces;

namespace RedKite.Profile;

/// <summary>
/// Linux's perf as a complement to the runtime's profile: it samples only running threads and sees native and kernel frames.
/// It reads the names of managed methods from a file that the runtime writes if <see cref="ServerEnvironment"/> requests it.
/// </summary>
internal sealed class PerfRecorder(string perf, int processId)
{
    private static readonly TimeSpan ReadLimit = TimeSpan.FromSeconds(120);

    /// <summary>
    /// Environment variables for the server. Without write-exclusive memory each method's code has one address, which perf can
    /// map to a name.
    /// </summary>
    internal const string ServerEnvironment = "DOTNET_PerfMapEnabled=1 DOTNET_EnableWriteXorExecute=0";

    /// <summary>Returns null if the machine has no perf.</summary>
    internal static string? Find() => OperatingSystem.IsLinux() ? ExternalProgram.Find("perf") : null;

    /// <summary>
    /// The command that records the server while the given program runs. It samples by the CPU clock instead of a cycle counter,
    /// which virtual machines often lack, and uses frame pointers, which the JIT keeps.
    /// </summary>
    internal string[] Around(string dataFile) =>
        [perf, "record", "-q", "-e", "cpu-clock", "-F", "999", "-g", "-p", $"{processId}", "-o", dataFile, "--"];

    /// <summary>The recorded stacks. The server must still run, because its memory map and method names end with it.</summary>
    internal List<StackSample> Read(string dataFile)
    {
        string text = BoundedProgram.Run(perf, ["script", "-i", dataFile, "--no-inline", "-F", "comm,pid,tid,ip,sym,dso"], ReadLimit);
        using var reader = new StringReader(text);
        return [.. PerfScriptReader.Read(reader)];
    }

    /// <summary>Deletes the file that the runtime wrote for perf.</summary>
    internal static void DeleteMaps(int processId)
    {
        File.Delete(Path.Combine(Path.GetTempPath(), $"perf-{processId}.map"));
        File.Delete(Path.Combine(Path.GetTempPath(), $"perfinfo-{processId}.map"));
    }
}
