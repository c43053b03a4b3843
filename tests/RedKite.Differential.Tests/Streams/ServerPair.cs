using System.Diagnostics;
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

    private const int SettleMs = 1_000;

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
            WaitUntilAlone();
        }

        // Connections of the stream before may not have been noticed as closed, and CLIENT LIST would show them.
        private void WaitUntilAlone()
        {
            Stopwatch clock = Stopwatch.StartNew();
            while (clock.ElapsedMilliseconds < SettleMs && Control.Run("INFO clients") is { IsString: true } info
                   && !info.Text.Contains("connected_clients:1\r\n", StringComparison.Ordinal))
            {
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
