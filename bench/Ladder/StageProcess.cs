using System.Collections.Concurrent;
using System.Diagnostics;
using RedKite.Figures;

namespace RedKite.Ladder;

/// <summary>
/// A rung's running server: on a free loopback port, in a folder of its own, and pinned to its cores if the machine has
/// taskset. It is killed, because a spinning stage ignores other signals.
/// </summary>
internal sealed class StageProcess : IDisposable
{
    private const int OutputLinesMax = 50;
    private const int PollMs = 20;

    private readonly MeasuredProcess _process;
    private readonly ConcurrentQueue<string> _output = new();

    private StageProcess(string[] commandLine, string? cpus, int port)
    {
        Port = port;
        string folder = Directory.CreateTempSubdirectory("redkite-ladder-").FullName;
        var process = new Process { StartInfo = Pinned(commandLine, cpus) };
        process.StartInfo.WorkingDirectory = folder;
        process.OutputDataReceived += (_, line) => Keep(line.Data);
        process.ErrorDataReceived += (_, line) => Keep(line.Data);
        process.Start();
        _process = new MeasuredProcess(process, folder);
        process.BeginOutputReadLine();
        process.BeginErrorReadLine();
    }

    internal static string LadderProgram { get; } = typeof(StageProcess).Assembly.Location;

    internal int Port { get; }

    internal int ProcessId => _process.Id;

    /// <summary>User and system time of all its threads, including ended ones.</summary>
    internal TimeSpan Cpu => _process.Cpu;

    /// <exception cref="CannotMeasureException">It does not reply; the message has the end of its output.</exception>
    internal static StageProcess Start(Rung rung, string? cpus)
    {
        int port = MeasuredProcess.FindFreePort();
        string[] commandLine = rung.CommandLine(port);
        var process = new StageProcess(commandLine, cpus, port);
        if (process.WaitForReply()) return process;

        string output = string.Join('\n', process._output);
        process.Dispose();
        throw new CannotMeasureException($"{rung.Name} did not start ({string.Join(' ', commandLine)}): {output}");
    }

    /// <summary>A command line that runs on these cores, or on any if the machine has no taskset.</summary>
    internal static ProcessStartInfo Pinned(string[] commandLine, string? cpus)
    {
        string? taskset = cpus is not null && OperatingSystem.IsLinux() ? ExternalProgram.Find("taskset") : null;
        // taskset replaces itself with the program, so the measured process is the program's.
        string[] words = taskset is null ? commandLine : [taskset, "-c", cpus!, .. commandLine];
        return new ProcessStartInfo(words[0], words[1..]) { RedirectStandardOutput = true, RedirectStandardError = true };
    }

    public void Dispose() => _process.Dispose();

    private bool WaitForReply() => _process.WaitForReply(Port, PollMs);

    private void Keep(string? line)
    {
        if (line is null) return;
        _output.Enqueue(line);
        if (_output.Count > OutputLinesMax) _output.TryDequeue(out _);
    }
}
