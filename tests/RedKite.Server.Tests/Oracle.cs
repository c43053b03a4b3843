using System.Diagnostics;
using System.Globalization;
using System.Net.Sockets;
using System.Text;
using RedKite.TestSupport;

namespace RedKite.Server.Tests;

/// <summary>
/// A real redis-server 8 on a free loopback port with a folder of its own, for comparing replies. Tests that use it are
/// skipped with a message if it is not set up. Strings are Latin-1, one character per byte.
/// </summary>
public sealed class Oracle : IDisposable
{
    private static readonly TimeSpan StartLimit = TimeSpan.FromSeconds(60);

    private readonly Process _process;
    private readonly TcpClient _client;
    private readonly BufferedStream _stream;

    public Oracle(params string[] arguments) : this(OracleProgram.Redis8Path, arguments)
    {
    }

    private Oracle(string? program, string[] arguments, string missing = "")
    {
        Assert.SkipWhen(program is null, missing.Length > 0 ? missing : OracleProgram.Redis8Missing);
        Folder = Directory.CreateTempSubdirectory("redkite-oracle-").FullName;
        Port = LoopbackPort.Next();
        _process = Start(program!, [.. arguments, "--port", Port.ToString(CultureInfo.InvariantCulture), "--bind", "127.0.0.1", "--dir", Folder, "--logfile", "log"]);
        _client = Connect();
        _stream = new BufferedStream(_client.GetStream());
    }

    /// <summary>Another server than redis-server 8: of this system, or Valkey. The test is skipped if there is none.</summary>
    internal static Oracle Of(ServerProgram? program, params string[] arguments) =>
        new(program?.CommandLine.Split('"')[1], arguments, program == OracleProgram.Valkey9 ? OracleProgram.Valkey9Missing : "");

    public string Folder { get; }

    /// <summary>What it has logged so far.</summary>
    internal string Log => File.Exists(Path.Combine(Folder, "log")) ? File.ReadAllText(Path.Combine(Folder, "log")) : "none";

    public int Port { get; }

    /// <summary>The server's exit code and last output line for arguments that prevent its start.</summary>
    public static string Refusal(params string[] arguments)
    {
        Assert.SkipWhen(OracleProgram.Redis8Path is null, OracleProgram.Redis8Missing);
        using Process process = Start(OracleProgram.Redis8Path!, [.. arguments, "--port", "0"]);
        if (!process.WaitForExit(StartLimit))
        {
            process.Kill();
            process.WaitForExit();
            return "";
        }

        return process.StandardOutput.ReadToEnd() + process.StandardError.ReadToEnd();
    }

    /// <summary>A string, a long as digits, null, or a list of these; an error with its leading '-'.</summary>
    public object? Run(params string[] words)
    {
        StringBuilder command = new();
        command.Append(CultureInfo.InvariantCulture, $"*{words.Length}\r\n");
        foreach (string word in words)
        {
            command.Append(CultureInfo.InvariantCulture, $"${word.Length}\r\n{word}\r\n");
        }

        _stream.Write(Encoding.Latin1.GetBytes(command.ToString()));
        _stream.Flush();
        return ReadReply();
    }

    public string RunText(params string[] words) => (string)Run(words)!;

    /// <summary>Stops its process until <see cref="GoOn"/>: it keeps its connections, and answers nothing.</summary>
    internal void Pause()
    {
        Signal("STOP");
        SpinWait.SpinUntil(() => File.ReadAllText($"/proc/{_process.Id}/stat").Contains(") T ", StringComparison.Ordinal), StartLimit);
    }

    internal void GoOn() => Signal("CONT");

    public List<string> RunList(params string[] words) => ((List<object?>)Run(words)!).ConvertAll(item => (string)item!);

    public void Dispose()
    {
        _stream?.Dispose();
        _client?.Dispose();
        if (!_process.HasExited) _process.Kill();
        _process.WaitForExit();
        _process.Dispose();
        Directory.Delete(Folder, recursive: true);
    }

    private void Signal(string name)
    {
        using Process kill = Process.Start("kill", ["-" + name, _process.Id.ToString(CultureInfo.InvariantCulture)]);
        kill.WaitForExit();
    }

    private static Process Start(string program, string[] arguments) => Process.Start(new ProcessStartInfo(program, arguments)
    {
        RedirectStandardOutput = true,
        RedirectStandardError = true,
        WorkingDirectory = Path.GetTempPath(),
    })!;

    private TcpClient Connect()
    {
        long started = Stopwatch.GetTimestamp();
        while (true)
        {
            try
            {
                return new TcpClient("127.0.0.1", Port);
            }
            catch (SocketException) when (!_process.HasExited && Stopwatch.GetElapsedTime(started) < StartLimit)
            {
                Thread.Sleep(10);
            }
            catch (SocketException)
            {
                string output = _process.HasExited ? _process.StandardOutput.ReadToEnd() + _process.StandardError.ReadToEnd() : "";
                Dispose();
                throw new InvalidOperationException("redis-server did not start: " + output);
            }
        }
    }

    private object? ReadReply()
    {
        string line = ReadLine();
        switch (line[0])
        {
            case '+' or ':':
                return line[1..];
            case '-':
                return line;
            case '$':
                int length = int.Parse(line.AsSpan(1), CultureInfo.InvariantCulture);
                if (length < 0) return null;
                byte[] bytes = new byte[length + 2];
                _stream.ReadExactly(bytes);
                return Encoding.Latin1.GetString(bytes, 0, length);
            case '*':
                int count = int.Parse(line.AsSpan(1), CultureInfo.InvariantCulture);
                List<object?> items = [];
                for (int i = 0; i < count; i++)
                {
                    items.Add(ReadReply());
                }

                return items;
            default:
                throw new InvalidOperationException("not a reply: " + line);
        }
    }

    private string ReadLine()
    {
        StringBuilder line = new();
        for (int next = _stream.ReadByte(); next != '\n'; next = _stream.ReadByte())
        {
            if (next < 0) throw new EndOfStreamException(Describe());
            line.Append((char)next);
        }

        return line.ToString().TrimEnd('\r');
    }

    private string Describe()
    {
        string state = _process.HasExited ? $"exited with code {_process.ExitCode}" : "runs";
        return $"redis-server closed the connection and {state}. Its log: {Log}";
    }
}
