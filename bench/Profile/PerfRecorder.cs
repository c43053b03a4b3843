using RedKite.Figures;

namespace RedKite.Profile;

/// <summary>
/// Linux's perf beside the runtime's own profile: it samples running threads alone and sees native and kernel frames. It
/// finds the names of managed methods in a file that the runtime writes when <see cref="ServerEnvironment"/> asks for it.
/// </summary>
internal sealed class PerfRecorder(string perf, int processId)
{
    private static readonly TimeSpan ReadLimit = TimeSpan.FromSeconds(120);

    /// <summary>
    /// Variables for the server. Without write-exclusive memory the code of methods has one address, which perf can map to a
    /// name.
    /// </summary>
    internal const string ServerEnvironment = "DOTNET_PerfMapEnabled=1 DOTNET_EnableWriteXorExecute=0";

    /// <summary>Null where the machine has no perf.</summary>
    internal static string? Find() => OperatingSystem.IsLinux() ? ExternalProgram.Find("perf") : null;

    /// <summary>
    /// The command that records the server while the program behind it runs. The clock of the CPU, not a counter of its
    /// cycles, which virtual machines often lack; frame pointers, which the JIT keeps.
    /// </summary>
    internal string[] Around(string dataFile) =>
        [perf, "record", "-q", "-e", "cpu-clock", "-F", "999", "-g", "-p", $"{processId}", "-o", dataFile, "--"];

    /// <summary>The recorded stacks. The server must still run: its memory map and its methods' names go with it.</summary>
    internal List<StackSample> Read(string dataFile)
    {
        string text = BoundedProgram.Run(perf, ["script", "-i", dataFile, "--no-inline", "-F", "comm,pid,tid,ip,sym,dso"], ReadLimit);
        using var reader = new StringReader(text);
        return [.. PerfScriptReader.Read(reader)];
    }

    /// <summary>Deletes what the runtime wrote for perf.</summary>
    internal static void DeleteMaps(int processId)
    {
        File.Delete(Path.Combine(Path.GetTempPath(), $"perf-{processId}.map"));
        File.Delete(Path.Combine(Path.GetTempPath(), $"perfinfo-{processId}.map"));
    }
}
