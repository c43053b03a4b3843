using System.Diagnostics;
using System.Globalization;
using System.Text.RegularExpressions;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Cluster;

/// <summary>A node of another server and one of RedKite that have all slots, with the same settings. Replies are compared at once.</summary>
internal sealed partial class SingleNodes : IAsyncDisposable
{
    private const int PatienceMs = 120_000;

    private readonly TemporaryFolder _folder = new();
    private readonly ServerProcess _oracle;
    private RedKiteServer? _server;

    private SingleNodes(ServerProgram program, string[] settings)
    {
        int busPort = LoopbackPort.Next();
        _oracle = ServerProcess.Start(program, ["--cluster-enabled", "yes", "--cluster-port", busPort.ToString(CultureInfo.InvariantCulture), .. settings]);
    }

    internal static async Task<SingleNodes> StartAsync(ServerProgram? program, string missing, params (string Name, string Value)[] settings)
    {
        Assert.SkipWhen(program is null, missing);
        var nodes = new SingleNodes(program!, [.. settings.SelectMany(static setting => (string[])["--" + setting.Name, setting.Value])]);
        try
        {
            var options = new RedKiteOptions { Port = 0 };
            foreach ((string name, string value) in (IEnumerable<(string, string)>)[("cluster-enabled", "yes"), ("dir", nodes._folder.Path), ("loops", "2"), ("save", ""), ("diagnostics", "no"), .. settings]) options.Settings[name] = value;
            nodes._server = await RedKiteServer.StartAsync(options);
            foreach (int port in (int[])[nodes._oracle.Port, nodes._server.Port])
            {
                using RespConnection connection = RespConnection.Connect(port);
                connection.Run("CLUSTER ADDSLOTSRANGE 0 16383").IsOk();
                Stopwatch clock = Stopwatch.StartNew();
                while (!connection.Run("CLUSTER INFO").Text.Contains("cluster_state:ok", StringComparison.Ordinal))
                {
                    if (clock.ElapsedMilliseconds > PatienceMs) throw new TimeoutException("a cluster of one node is down");
                    Thread.Sleep(20);
                }
            }

            return nodes;
        }
        catch
        {
            await nodes.DisposeAsync();
            throw;
        }
    }

    internal Pair Open(int protocol = 2)
    {
        var pair = new Pair(_oracle.Connect(), RespConnection.Connect(_server!.Port));
        if (protocol == 3) pair.RunUncompared("HELLO 3");
        return pair;
    }

    /// <summary>The server of RedKite.</summary>
    internal RedKiteServer Server => _server!;

    public async ValueTask DisposeAsync()
    {
        if (_server is not null) await _server.DisposeAsync();
        _oracle.Dispose();
        _folder.Dispose();
    }

    /// <summary>A connection to each.</summary>
    internal sealed partial class Pair(RespConnection oracle, RespConnection subject) : IDisposable
    {
        internal void RunAll(IEnumerable<string> lines)
        {
            foreach (string line in lines) Run(line);
        }

        /// <summary>Runs a command on both and compares the replies but for times and memory.</summary>
        internal string Run(string line)
        {
            string theirs = Shown(oracle.Run(line)), ours = Shown(subject.Run(line));
            if (theirs != ours) Assert.Fail($"{line}\nRedis:   {theirs}\nRedKite: {ours}");
            return ours;
        }

        /// <summary>Sends a command to both, whose reply comes later.</summary>
        internal void Send(string line)
        {
            oracle.Send(CommandLine.Encode(CommandLine.Split(line)));
            subject.Send(CommandLine.Encode(CommandLine.Split(line)));
        }

        /// <summary>Reads a reply or a message from both, and compares it.</summary>
        internal string Read()
        {
            string theirs = Shown(oracle.ReadAny()), ours = Shown(subject.ReadAny());
            Assert.Equal(theirs, ours);
            return ours;
        }

        /// <summary>Reads from both, and returns what RedKite has sent: the order is each server's own.</summary>
        internal string ReadUncompared()
        {
            oracle.ReadAny();
            return subject.ReadAny().ToString();
        }

        /// <summary>Waits until a command's reply has some text on both sides.</summary>
        internal void WaitFor(string line, string text)
        {
            foreach (RespConnection side in (RespConnection[])[oracle, subject])
            {
                Stopwatch clock = Stopwatch.StartNew();
                while (!side.Run(line).Text.Contains(text, StringComparison.Ordinal))
                {
                    if (clock.ElapsedMilliseconds > PatienceMs) throw new TimeoutException($"{line} does not say {text}");
                    Thread.Sleep(5);
                }
            }
        }

        internal (string Oracle, string Subject) RunUncompared(string line) => (oracle.Run(line).ToString(), subject.Run(line).ToString());

        public void Dispose()
        {
            oracle.Dispose();
            subject.Dispose();
        }

        private static string Shown(RespValue reply) => Measured().Replace(reply.ToString(), "$1 some");

        [GeneratedRegex(@"((?:cpu-usec|memory-bytes|[a-z-]*-us|[a-z-]*-ms) :)\d+")]
        private static partial Regex Measured();
    }
}
