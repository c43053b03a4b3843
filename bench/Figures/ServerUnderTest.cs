using System.Diagnostics;
using System.Globalization;

namespace RedKite.Figures;

/// <summary>A running server, started on a free port in a folder of its own and pinned to its cores.</summary>
internal sealed class ServerUnderTest : IDisposable
{
    private const int PollMs = 1; // short, because the start-up time is measured too

    private readonly MeasuredProcess _process;

    private ServerUnderTest(string name, int port, MeasuredProcess process)
    {
        Name = name;
        Port = port;
        _process = process;
    }

    internal string Name { get; }

    internal int Port { get; }

    internal int ProcessId => _process.Id;

    internal CpuClock Cpu => CpuClock.Read(ProcessId);

    internal long ResidentBytes => ResidentMemory.ReadBytes(ProcessId);

    /// <param name="name">The name in tables, if it differs from the kind's.</param>
    /// <param name="descriptorsMax">The open file limit to start it with, if the machine's is too low.</param>
    /// <exception cref="CannotMeasureException">It does not reply; the message has the end of its output.</exception>
    internal static ServerUnderTest Start(
        ServerKind kind, string? name = null, int loops = 1, string cpus = Machine.ServerCpus, int? descriptorsMax = null)
    {
        int port = MeasuredProcess.FindFreePort();
        string folder = Directory.CreateTempSubdirectory("redkite-figures-").FullName;
        string limit = descriptorsMax is { } files ? string.Create(CultureInfo.InvariantCulture, $"prlimit --nofile={files}:{files} ") : "";
        string pinning = ExternalProgram.Find("taskset") is null ? "" : $"taskset -c {cpus} ";
        // Each program replaces the previous one (exec), so the measured process id is the server's.
        string command = $"exec {limit}{pinning}{kind.Fill(port, folder, loops)} >'{folder}/output' 2>&1 </dev/null";
        var process = new MeasuredProcess(Process.Start("/bin/sh", ["-c", command]), folder);
        if (process.WaitForReply(port, PollMs)) return new ServerUnderTest(name ?? kind.Name, port, process);

        string output = ReadOutputTail(folder);
        process.Dispose();
        throw new CannotMeasureException($"{kind.Name} did not start ({command}): {output}");
    }

    internal SetupConnection Connect() => new(Port);

    public void Dispose() => _process.Dispose();

    private static string ReadOutputTail(string folder)
    {
        string output = File.ReadAllText(Path.Combine(folder, "output")).TrimEnd();
        return output.Length > 2000 ? output[^2000..] : output;
    }
}
