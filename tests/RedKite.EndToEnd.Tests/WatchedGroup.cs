using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>A primary with replicas, each with a configuration file of its own, and the sentinels that watch them as "m".</summary>
internal sealed class WatchedGroup : IDisposable
{
    private const int PatienceMs = 120_000;

    private readonly TemporaryFolder _folder = new();
    private readonly ServerProcess?[] _servers;

    /// <summary>Starts them; the first server is the primary.</summary>
    internal WatchedGroup(int servers, int sentinels)
    {
        if (OracleProgram.Redis8Path is null)
        {
            _folder.Dispose();
            Assert.Skip(OracleProgram.Redis8Missing);
        }

        _servers = new ServerProcess?[servers];
        Ports = [.. Enumerable.Range(0, servers).Select(static _ => LoopbackPort.Next())];
        Sentinels = new ServerProcess[sentinels];
        try
        {
            for (int i = 0; i < servers; i++)
            {
                Directory.CreateDirectory(_folder.File($"{i}"));
                string file = string.Create(CultureInfo.InvariantCulture, $"port {Ports[i]}\ndir {_folder.File($"{i}")}\nsave \"\"\nenable-debug-command yes\nrepl-diskless-sync-delay 0\n");
                File.WriteAllText(PathOf(i), file + (i > 0 ? string.Create(CultureInfo.InvariantCulture, $"replicaof 127.0.0.1 {Ports[0]}\n") : ""));
                Start(i);
            }

            WaitForRoles(primary: 0);
            for (int i = 0; i < sentinels; i++)
            {
                string file = _folder.File($"sentinel{i}.conf");
                File.WriteAllText(file, string.Create(CultureInfo.InvariantCulture, $"""
                    dir {_folder.Path}
                    sentinel monitor m 127.0.0.1 {Ports[0]} {(sentinels / 2) + 1}
                    sentinel down-after-milliseconds m 1000
                    sentinel failover-timeout m 10000

                    """));
                Sentinels[i] = ServerProcess.Start(new ServerProgram("sentinel", $"\"{OracleProgram.Redis8Path}\" \"{file}\" --port {{port}} --sentinel", IsRedKite: false));
            }
        }
        catch
        {
            Dispose();
            throw;
        }
    }

    internal int[] Ports { get; }

    internal ServerProcess[] Sentinels { get; }

    /// <summary>Starts a server from its file, and returns once it replies.</summary>
    internal void Start(int index, bool isRedis = false)
    {
        string program = isRedis ? $"\"{OracleProgram.Redis8Path}\" \"{PathOf(index)}\"" : $"dotnet \"{Transfers.Program}\" \"{PathOf(index)}\"";
        _servers[index] = ServerProcess.StartUnchecked(new ServerProgram(isRedis ? "redis-server" : "redkite", program, IsRedKite: !isRedis), Ports[index]);
        WaitFor(() => Role(index) is not null || _servers[index]!.HasExited, "the server's start");
        Assert.False(_servers[index]!.HasExited, string.Join('\n', _servers[index]!.Output));
    }

    internal void Kill(int index)
    {
        _servers[index]?.Dispose();
        _servers[index] = null;
    }

    internal RespConnection Connect(int index) => RespConnection.Connect(Ports[index]);

    /// <summary>The text of a server's configuration file.</summary>
    internal string FileOf(int index) => File.ReadAllText(PathOf(index));

    /// <summary>The port of the primary that a sentinel reports.</summary>
    internal static int? PrimaryOf(RespConnection sentinel) =>
        sentinel.Run("SENTINEL GET-MASTER-ADDR-BY-NAME m").Items is [_, { } port] ? int.Parse(port.Text, CultureInfo.InvariantCulture) : null;

    /// <summary>Waits until one of the servers that run is the primary, and the others are connected to it.</summary>
    internal void WaitForRoles(int primary)
    {
        WaitFor(
            () => Enumerable.Range(0, _servers.Length).Where(i => _servers[i] is not null).All(i => Role(i) == (i == primary ? "master" : $"slave of {Ports[primary]}")),
            $"the roles with {Ports[primary]} as the primary");
    }

    /// <summary>Waits until all that run have the primary's data.</summary>
    internal void WaitForSame(int primary)
    {
        WaitFor(
            () =>
            {
                string digest = Digest(primary);
                return Enumerable.Range(0, _servers.Length).Where(i => _servers[i] is not null).All(i => Digest(i) == digest);
            },
            "the same data");
    }

    internal void WaitFor(Func<bool> condition, string what)
    {
        long endMs = Environment.TickCount64 + PatienceMs;
        while (!condition())
        {
            if (Environment.TickCount64 > endMs) Assert.Fail($"timed out waiting for {what}\n{Outputs()}");
            Thread.Sleep(20);
        }
    }

    public void Dispose()
    {
        foreach (ServerProcess? process in Sentinels) process?.Dispose();
        foreach (ServerProcess? process in _servers) process?.Dispose();
        _folder.Dispose();
    }

    private string PathOf(int index) => Path.Combine(_folder.File($"{index}"), "redkite.conf");

    private string Digest(int index)
    {
        using RespConnection client = Connect(index);
        return client.Run("DEBUG DIGEST").Text;
    }

    // Null: it does not reply yet.
    private string? Role(int index)
    {
        try
        {
            using RespConnection client = Connect(index);
            RespValue role = client.Run("ROLE");
            if (role.Items.Count == 0) return null;
            return role.Items[0].Text == "slave" ? (role.Items[3].Text == "connected" ? $"slave of {role.Items[2].Number}" : "slave") : role.Items[0].Text;
        }
        catch (System.Net.Sockets.SocketException)
        {
            return null;
        }
    }

    private string Outputs() => string.Join("\n\n", _servers.Concat(Sentinels).OfType<ServerProcess>().Select(static process => $"{process.Program.Name} {process.Port}:\n{string.Join('\n', process.Output.TakeLast(40))}"));
}
