using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;

namespace RedKite.Figures;

/// <summary>
/// A running server, started on a free port in a folder of its own and pinned to its cores. Disposal, or the program's exit
/// at the latest, kills it by process id and deletes its folder. Killing loses nothing, because it only holds data of the
/// scenario.
/// </summary>
internal sealed class ServerUnderTest : IDisposable
{
    private static readonly TimeSpan StartTimeout = TimeSpan.FromSeconds(30);

    private readonly Process _process;
    private readonly string _folder;
    private int _disposals;

    private ServerUnderTest(string name, int port, string folder, Process process)
    {
        Name = name;
        Port = port;
        _folder = folder;
        _process = process;
        AppDomain.CurrentDomain.ProcessExit += OnProgramExit;
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
        int port = FindFreePort();
        string folder = Directory.CreateTempSubdirectory("redkite-figures-").FullName;
        string limit = descriptorsMax is { } files ? string.Create(CultureInfo.InvariantCulture, $"prlimit --nofile={files}:{files} ") : "";
        string pinning = ExternalProgram.Find("taskset") is null ? "" : $"taskset -c {cpus} ";
        // Each program replaces the previous one (exec), so the measured process id is the server's.
        string command = $"exec {limit}{pinning}{kind.Fill(port, folder, loops)} >'{folder}/output' 2>&1 </dev/null";
        Process process = Process.Start("/bin/sh", ["-c", command]);

        var server = new ServerUnderTest(name ?? kind.Name, port, folder, process);
        if (server.WaitUntilItAnswers()) return server;

        string output = server.ReadOutputTail();
        server.Dispose();
        throw new CannotMeasureException($"{kind.Name} did not start ({command}): {output}");
    }

    internal RespConnection Connect() => new(Port);

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
                using RespConnection connection = Connect();
                connection.Run("PING");
                return true;
            }
            catch (Exception notYet) when (notYet is SocketException or IOException)
            {
                Thread.Sleep(1); // short, because the start-up time is measured too
            }
        }

        return false;
    }

    private string ReadOutputTail()
    {
        string output = File.ReadAllText(Path.Combine(_folder, "output")).TrimEnd();
        return output.Length > 2000 ? output[^2000..] : output;
    }

    private static int FindFreePort()
    {
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        return ((IPEndPoint)listener.LocalEndpoint).Port;
    }
}
