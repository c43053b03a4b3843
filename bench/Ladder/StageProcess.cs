using System.Collections.Concurrent;
using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using RedKite.Figures;

namespace RedKite.Ladder;

/// <summary>
/// A rung's running server: on a free loopback port, in a folder of its own, and pinned to its cores if the machine has
/// taskset. Disposal, or the program's exit at the latest, kills it, because a spinning stage ignores other signals.
/// </summary>
internal sealed class StageProcess : IDisposable
{
    private const int OutputLinesMax = 50;
    private static readonly TimeSpan StartTimeout = TimeSpan.FromSeconds(30);

    private readonly Process _process;
    private readonly string _folder = Directory.CreateTempSubdirectory("redkite-ladder-").FullName;
    private readonly ConcurrentQueue<string> _output = new();
    private int _disposals;

    private StageProcess(string[] commandLine, string? cpus, int port)
    {
        Port = port;
        _process = new Process { StartInfo = Pinned(commandLine, cpus) };
        _process.StartInfo.WorkingDirectory = _folder;
        _process.OutputDataReceived += (_, line) => Keep(line.Data);
        _process.ErrorDataReceived += (_, line) => Keep(line.Data);
        _process.Start();
        AppDomain.CurrentDomain.ProcessExit += OnProgramExit;
        _process.BeginOutputReadLine();
        _process.BeginErrorReadLine();
    }

    internal static string LadderProgram { get; } = typeof(StageProcess).Assembly.Location;

    internal int Port { get; }

    internal int ProcessId => _process.Id;

    /// <summary>User and system time of all its threads, including ended ones.</summary>
    internal TimeSpan Cpu
    {
        get
        {
            _process.Refresh();
            return _process.TotalProcessorTime;
        }
    }

    /// <exception cref="CannotMeasureException">It does not reply; the message has the end of its output.</exception>
    internal static StageProcess Start(Rung rung, string? cpus)
    {
        int port = FindFreePort();
        string[] commandLine = rung.CommandLine(port);
        var process = new StageProcess(commandLine, cpus, port);
        if (process.WaitUntilItAnswers()) return process;

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

    public void Dispose()
    {
        // An interrupted run arrives here twice at once, from the signal's thread and from its own.
        if (Interlocked.Exchange(ref _disposals, 1) != 0) return;
        AppDomain.CurrentDomain.ProcessExit -= OnProgramExit;
        _process.Kill();
        _process.WaitForExit();
        _process.Dispose();
        Directory.Delete(_folder, recursive: true);
    }

    private void OnProgramExit(object? sender, EventArgs arguments) => Dispose();

    private bool WaitUntilItAnswers()
    {
        var waiting = Stopwatch.StartNew();
        while (waiting.Elapsed < StartTimeout && !_process.HasExited)
        {
            try
            {
                using var connection = new RespConnection(Port);
                connection.Run("PING");
                return true;
            }
            catch (Exception notYet) when (notYet is SocketException or IOException)
            {
                Thread.Sleep(20);
            }
        }

        return false;
    }

    private void Keep(string? line)
    {
        if (line is null) return;
        _output.Enqueue(line);
        if (_output.Count > OutputLinesMax) _output.TryDequeue(out _);
    }

    private static int FindFreePort()
    {
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        return ((IPEndPoint)listener.LocalEndpoint).Port;
    }
}
