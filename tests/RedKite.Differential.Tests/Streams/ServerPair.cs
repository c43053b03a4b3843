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
    internal sealed class Side : IDisposable
    {
        public Side(ServerProgram program, string[] options)
        {
            Server = ServerProcess.Start(program, options);
            Port = Server.Port;
            Control = RespConnection.Connect(Port);
        }

        public ServerProcess Server { get; }

        /// <summary>Where streams connect to: the server, or a proxy before it that spoils what passes.</summary>
        public int Port { get; set; }

        public RespConnection Control { get; private set; }

        public void Reset()
        {
            Control.Dispose();
            Control = RespConnection.Connect(Server.Port);
            Control.Run("CLIENT UNPAUSE");
            foreach (string command in ServerGenerator.Restore) Control.Run(command);
            foreach (string command in (string[])["FLUSHALL", "SLOWLOG RESET", "LATENCY RESET"]) Control.Run(command);
        }

        public void Dispose()
        {
            Control.Dispose();
            Server.Dispose();
        }
    }
}
