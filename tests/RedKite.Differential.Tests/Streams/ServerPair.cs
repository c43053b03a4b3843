using System.Diagnostics;
using System.Globalization;
using RedKite.Differential.Tests.Generators;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Streams;

/// <summary>
/// The oracle and the system under test, started with the same options. Each has a control connection for queries outside
/// of streams.
/// </summary>
internal sealed class ServerPair : IDisposable
{
    public const int Databases = 16;

    private const int PatienceMs = 60_000;

    // RedKite has the replies of Redis 8: an older oracle has others.
    private ServerPair(ServerProgram oracle, ServerProgram subject, string[] options)
    {
        Oracle = new Side(oracle, options);
        try
        {
            Subject = new Side(subject, subject.IsRedKite ? [.. options, "--reported-redis-version", "8.0.2"] : options);
        }
        catch
        {
            Oracle.Dispose();
            throw;
        }
    }

    public Side Oracle { get; }

    public Side Subject { get; }

    public static ServerPair Start(params string[] options) => StartTwins(ServerProgram.UnderTest, options);

    /// <summary>Redis 8.6 as the oracle, for what Redis 8.0 lacks.</summary>
    public static ServerPair StartNewer(params string[] options)
    {
        Assert.SkipWhen(OracleProgram.Redis86 is null, OracleProgram.Redis86Missing);
        return new ServerPair(OracleProgram.Redis86, ServerProgram.UnderTest, options);
    }

    /// <summary>The oracle and another server as the subject, for tests of the comparison itself.</summary>
    public static ServerPair StartTwins(ServerProgram subject, params string[] options)
    {
        Assert.SkipWhen(OracleProgram.Redis8 is null, "streams and transcripts: " + OracleProgram.Redis8Missing);
        return new ServerPair(ServerProgram.Oracle, subject, options);
    }

    /// <summary>Resets both servers: no keys, the initial configuration, empty logs.</summary>
    public void Reset()
    {
        Oracle.Reset();
        Subject.Reset();
        ClockDistance.Reset();
    }

    /// <summary>Waits until a condition holds on both servers, checked over their control connections.</summary>
    public void WaitUntil(Func<RespConnection, bool> condition, string what)
    {
        foreach (Side side in (Side[])[Oracle, Subject]) side.WaitUntil(condition, what);
    }

    /// <summary>Waits until both servers have this many connections, including the control connection.</summary>
    public void WaitForConnections(int count) => WaitUntil(control => Info(control, "clients", "connected_clients") == count, $"{count} connections");

    /// <summary>Waits until this many clients are blocked on both servers.</summary>
    public void WaitForBlocked(int count) => WaitUntil(control => Info(control, "clients", "blocked_clients") == count, $"{count} clients that wait");

    /// <summary>A numeric field of INFO.</summary>
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

        /// <summary>The address that streams connect to: the server, or a proxy in front of it that alters the traffic.</summary>
        public int Port => _proxyPort ?? Server.Port;

        public RespConnection Control => _control ??= RespConnection.Connect(Server.Port);

        public void UseProxy(int? port) => _proxyPort = port;

        public void Reset()
        {
            // A crash must not affect later streams, and its stream can be shrunk too.
            if (Server.HasExited)
            {
                Server.Dispose();
                Server = ServerProcess.Start(program, options);
            }

            _control?.Dispose();
            _control = null;
            foreach (string command in (string[])["CLIENT UNPAUSE", .. ServerGenerator.Restore, HyperLogLogGenerator.Restore, .. SetGenerator.Restore, .. SortedSetGenerator.Restore, "FLUSHALL", "SLOWLOG RESET", "LATENCY RESET"]) Control.Run(command);

            // Closed connections of the previous stream may still be open on the server and appear in CLIENT LIST.
            WaitUntil(control => Info(control, "clients", "connected_clients") == 1, "no connection but that of control");
        }

        public void WaitUntil(Func<RespConnection, bool> condition, string what)
        {
            Stopwatch clock = Stopwatch.StartNew();
            while (!condition(Control))
            {
                if (clock.ElapsedMilliseconds > PatienceMs) throw new TimeoutException($"{Server.Program.Name}: timed out waiting for: {what}");
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
