using System.Diagnostics;
using System.Globalization;
using RedKite.Differential.Tests.Generators;
using RedKite.Testing;

namespace RedKite.Differential.Tests.Streams;

/// <summary>
/// The oracle and the system under test, started with the same options. Each has a control connection for questions that
/// belong to no stream.
/// </summary>
internal sealed class ServerPair : IDisposable
{
    public const int Databases = 16;

    private const int PatienceMs = 60_000;

    private ServerPair(ServerProgram subject, string[] options)
    {
        Oracle = new Side(ServerProgram.Oracle, options);
        try
        {
            Subject = new Side(subject, options);
        }
        catch
        {
            Oracle.Dispose();
            throw;
        }
    }

    public Side Oracle { get; }

    public Side Subject { get; }

    public static ServerPair Start(params string[] options) => new(ServerProgram.UnderTest, options);

    /// <summary>The oracle beside a second subject, for tests of the comparison itself.</summary>
    public static ServerPair StartTwins(ServerProgram subject, params string[] options) => new(subject, options);

    /// <summary>Makes both servers as good as new: no keys, the configuration of the start, empty logs.</summary>
    public void Reset()
    {
        Oracle.Reset();
        Subject.Reset();
        ClockDistance.Reset();
    }

    /// <summary>Waits until something is true of both servers, each asked over its control connection.</summary>
    public void WaitUntil(Func<RespConnection, bool> condition, string what)
    {
        foreach (Side side in (Side[])[Oracle, Subject]) side.WaitUntil(condition, what);
    }

    /// <summary>Waits until both servers have so many connections, that of control included.</summary>
    public void WaitForConnections(int count) => WaitUntil(control => Info(control, "clients", "connected_clients") == count, $"{count} connections");

    /// <summary>Waits until so many clients wait for a key on both servers.</summary>
    public void WaitForBlocked(int count) => WaitUntil(control => Info(control, "clients", "blocked_clients") == count, $"{count} clients that wait");

    /// <summary>A number that INFO tells.</summary>
    public static long Info(RespConnection control, string section, string field)
    {
        string line = control.Run($"INFO {section}").Text.Split("\r\n").First(line => line.StartsWith(field + ":", StringComparison.Ordinal));
        return long.Parse(line.AsSpan(field.Length + 1), CultureInfo.InvariantCulture);
    }

    public void Dispose()
    {
        Oracle.Dispose();
        Subject.Dispose();
    }

    /// <summary>One of the two servers.</summary>
    internal sealed class Side(ServerProgram program, string[] options) : IDisposable
    {
        private int? _proxyPort;
        private RespConnection? _control;

        public ServerProcess Server { get; private set; } = ServerProcess.Start(program, options);

        /// <summary>Where streams connect to: the server, or a proxy before it that spoils what passes.</summary>
        public int Port => _proxyPort ?? Server.Port;

        public RespConnection Control => _control ??= RespConnection.Connect(Server.Port);

        public void UseProxy(int? port) => _proxyPort = port;

        public void Reset()
        {
            // A stream that crashes a server must not spoil those after it, and can be shrunk too.
            if (Server.HasExited)
            {
                Server.Dispose();
                Server = ServerProcess.Start(program, options);
            }

            _control?.Dispose();
            _control = null;
            foreach (string command in (string[])["CLIENT UNPAUSE", .. ServerGenerator.Restore, HyperLogLogGenerator.Restore, SetGenerator.Restore, .. SortedSetGenerator.Restore, "FLUSHALL", "SLOWLOG RESET", "LATENCY RESET"]) Control.Run(command);

            // Connections of the stream before may not have been noticed as closed, and CLIENT LIST would show them.
            WaitUntil(control => Info(control, "clients", "connected_clients") == 1, "no connection but that of control");
        }

        public void WaitUntil(Func<RespConnection, bool> condition, string what)
        {
            Stopwatch clock = Stopwatch.StartNew();
            while (!condition(Control))
            {
                if (clock.ElapsedMilliseconds > PatienceMs) throw new TimeoutException($"{Server.Program.Name}, in vain: {what}");
                Thread.Sleep(1);
            }
        }

        public void Dispose()
        {
            _control?.Dispose();
            Server.Dispose();
        }
    }
}
