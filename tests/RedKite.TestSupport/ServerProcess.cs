using System.Collections.Concurrent;
using System.Diagnostics;
using System.Globalization;
using System.Net.Sockets;
using Xunit;

namespace RedKite.TestSupport;

/// <summary>
/// A server in its own process, on a free loopback port and in a temporary folder. Disposal ends the process and removes the
/// folder; servers that still run when the test program exits are killed then.
/// </summary>
public sealed class ServerProcess : IDisposable
{
    private const int StartTimeoutMs = 60_000;
    private const int StartAttempts = 3;
    private const int OutputLinesMax = 2_000;
    private const int OutputLinesShown = 30;

    private static readonly ConcurrentDictionary<int, Process> Running = new();

    private readonly Process _process;
    private readonly ConcurrentQueue<string> _output = new();

    static ServerProcess() => AppDomain.CurrentDomain.ProcessExit += (_, _) =>
    {
        foreach (Process process in Running.Values) End(process);
    };

    private ServerProcess(ServerProgram program, int port, string[] options)
    {
        Program = program;
        Port = port;
        Folder = Directory.CreateTempSubdirectory("redkite-test-").FullName;
        List<string> words = CommandLine.SplitText(program.CommandLine.Replace("{port}", port.ToString(CultureInfo.InvariantCulture), StringComparison.Ordinal));
        words.AddRange(options.Select(option => option.Replace("{folder}", Folder, StringComparison.Ordinal)));
        ProcessStartInfo start = new(words[0], words.Skip(1))
        {
            WorkingDirectory = Folder,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            RedirectStandardInput = true,
        };
        _process = new Process { StartInfo = start };
        _process.OutputDataReceived += (_, line) => Keep(line.Data);
        _process.ErrorDataReceived += (_, line) => Keep(line.Data);
        _process.Start();
        Running[_process.Id] = _process;
        _process.BeginOutputReadLine();
        _process.BeginErrorReadLine();
        _process.StandardInput.Close();
    }

    public ServerProgram Program { get; }

    public int Port { get; }

    /// <summary>The working folder of the process, deleted on disposal. Options may refer to it as <c>{folder}</c>.</summary>
    public string Folder { get; }

    public int Id => _process.Id;

    public bool HasExited => _process.HasExited;

    /// <summary>Lines of standard output and standard error, in order.</summary>
    public IReadOnlyList<string> Output => [.. _output];

    /// <summary>Resident memory of the process in bytes.</summary>
    public long ResidentBytes
    {
        get
        {
            string line = File.ReadLines($"/proc/{_process.Id}/status").First(l => l.StartsWith("VmRSS:", StringComparison.Ordinal));
            return long.Parse(line.AsSpan(6).TrimEnd("kB").Trim(), CultureInfo.InvariantCulture) * 1024;
        }
    }

    /// <summary>Starts a server and returns once it replies to commands.</summary>
    /// <exception cref="InvalidOperationException">It exited or did not reply; the message has its output.</exception>
    public static ServerProcess Start(ServerProgram program, params string[] options)
    {
        for (int attempt = 1; ; attempt++)
        {
            ServerProcess server = new(program, LoopbackPort.Next(), options);
            if (server.WaitUntilAnswers()) return server;

            string output = string.Join('\n', server.Output);
            string state = server.HasExited ? $"exited with code {server._process.ExitCode}" : "does not answer";
            server.Dispose();
            // Another process can bind a free port before the server does.
            if (attempt < StartAttempts && output.Contains("already in use", StringComparison.OrdinalIgnoreCase)) continue;
            throw new InvalidOperationException($"{program.Name} {state}.\nCommand line: {program.CommandLine} {string.Join(' ', options)}\n{output}");
        }
    }

    /// <summary>Starts the server under test from a shell script, in which <c>{server}</c> is its command line and <c>$1</c> the port.</summary>
    public static ServerProcess StartIn(string script)
    {
        string file = Path.GetTempFileName();
        try
        {
            File.WriteAllText(file, script.Replace("{server}", ServerProgram.UnderTest.CommandLine.Replace("{port}", "$1", StringComparison.Ordinal), StringComparison.Ordinal));
            return Start(ServerProgram.UnderTest with { CommandLine = $"sh {file} {{port}}" });
        }
        finally
        {
            File.Delete(file);
        }
    }

    /// <summary>Starts a program that exits by itself, or that is inspected before it replies.</summary>
    public static ServerProcess StartUnchecked(ServerProgram program, int port, params string[] options) => new(program, port, options);

    public RespConnection Connect() => RespConnection.Connect(Port);

    /// <summary>Sends a signal by name, such as TERM.</summary>
    public void Signal(string name)
    {
        using Process kill = Process.Start("kill", ["-" + name, _process.Id.ToString(CultureInfo.InvariantCulture)]);
        kill.WaitForExit();
    }

    /// <summary>Waits for the process to exit and returns its exit code; null if it still runs after the timeout.</summary>
    public int? WaitForExit(int timeoutMs)
    {
        if (!_process.WaitForExit(timeoutMs)) return null;
        _process.WaitForExit();   // without a timeout it also waits for the last lines of output
        return _process.ExitCode;
    }

    /// <summary>Waits for a line of output that contains the text.</summary>
    public bool WaitForOutput(string text, int timeoutMs)
    {
        Stopwatch clock = Stopwatch.StartNew();
        while (clock.ElapsedMilliseconds < timeoutMs)
        {
            if (_output.Any(line => line.Contains(text, StringComparison.Ordinal))) return true;
            Thread.Sleep(10);
        }

        return false;
    }

    public void Dispose()
    {
        if (!Running.TryRemove(_process.Id, out _)) return;
        TellTest();
        End(_process);
        _process.Dispose();
        try
        {
            Directory.Delete(Folder, recursive: true);
        }
        catch (DirectoryNotFoundException)
        {
            // The server under test already removed it.
        }
    }

    // A failed test shows whether its server still ran, and what the server said last.
    private void TellTest()
    {
        string state = _process.HasExited ? $"had exited with code {_process.ExitCode}" : "still ran";
        TestContext.Current.TestOutputHelper?.WriteLine($"{Program.Name} {_process.Id} {state}. Its last lines:\n{string.Join('\n', _output.TakeLast(OutputLinesShown))}");
    }

    private bool WaitUntilAnswers()
    {
        Stopwatch clock = Stopwatch.StartNew();
        while (clock.ElapsedMilliseconds < StartTimeoutMs && !_process.HasExited)
        {
            try
            {
                using RespConnection connection = RespConnection.Connect(Port, timeoutMs: 10_000);
                RespValue reply = connection.Run("PING");
                if (!reply.IsClosed && !reply.IsTimeout) return true;
            }
            catch (SocketException)
            {
                // Not listening yet.
            }

            Thread.Sleep(20);
        }

        if (_process.HasExited) _process.WaitForExit();
        return false;
    }

    private void Keep(string? line)
    {
        if (line is null) return;
        _output.Enqueue(line);
        if (_output.Count > OutputLinesMax) _output.TryDequeue(out _);
    }

    private static void End(Process process)
    {
        try
        {
            process.Kill(entireProcessTree: true);
            process.WaitForExit(30_000);
        }
        catch (InvalidOperationException)
        {
            // It has already exited.
        }
    }
}
