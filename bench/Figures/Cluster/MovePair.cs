using System.Globalization;
using System.Text;
using RedKite.TestSupport;

namespace RedKite.Figures.Cluster;

/// <summary>Two primaries between which slots move as a whole, on the cores of servers and load.</summary>
internal sealed class MovePair : IDisposable
{
    private readonly EtcdServer? _etcd;
    private readonly List<ServerUnderTest> _servers = [];

    private MovePair(string name, ServerKind kind, bool withStore)
    {
        Name = name;
        try
        {
            if (withStore) _etcd = EtcdServer.Start();
            string arguments = (kind.Name, _etcd) switch
            {
                ("redkite", null) => "",
                ("redkite", { } etcd) => $"--cluster-etcd {etcd.Address}",
                _ => "--client-output-buffer-limit 'replica 0 0 0'",
            };
            for (int i = 0; i < 2; i++) _servers.Add(ServerUnderTest.Start(ClusterNodes.InCluster(kind, arguments), name, cpus: $"{Machine.ServerCpus},{Machine.LoadCpus}"));
            if (kind.Name != "redkite") ClusterNodes.Meet(_servers, []);
            else if (_etcd is null) GiveTopology();
            else for (int i = 0; i < 2; i++) ClusterNodes.AddSlots(_servers[i], ClusterNodes.Slots * i / 2, (ClusterNodes.Slots * (i + 1) / 2) - 1);
            ClusterNodes.WaitUntilServed(_servers, 2);
        }
        catch
        {
            Dispose();
            throw;
        }
    }

    internal string Name { get; }

    /// <summary>The first one has the first slots at first.</summary>
    internal IReadOnlyList<ServerUnderTest> Servers => _servers;

    /// <summary>User and system time of both, with that of processes that they have forked and that have ended.</summary>
    internal double CpuSeconds => _servers.Sum(static server => server.Cpu.TotalSeconds + CpuClock.ReadEndedChildrenSeconds(server.ProcessId));

    /// <summary>RedKite with a given topology and with etcd, and Valkey 9, those that there are.</summary>
    internal static IEnumerable<MovePair> StartAll(Options options, Report report)
    {
        if (options.Servers.Contains("redkite"))
        {
            yield return new MovePair("redkite", ServerKind.RedKite(options), withStore: false);
            if (EtcdServer.IsInstalled(report)) yield return new MovePair("redkite with etcd", ServerKind.RedKite(options), withStore: true);
        }

        if (!options.Servers.Contains("valkey")) yield break;
        if (ServerKind.Valkey9 is { } valkey) yield return new MovePair($"valkey {PeerProgram.VersionOf(PeerProgram.Valkey9Server!)}", valkey, withStore: false);
        else report.AddNote("there is no valkey-server 9 in artifacts/oracle: its moves are left out");
    }

    /// <summary>Begins to move the first slots from one to the other.</summary>
    internal static void Move(ServerUnderTest from, ServerUnderTest to, int slots)
    {
        using SetupConnection connection = from.Connect();
        connection.Run("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", "0", ClusterNodes.Text(slots - 1), "NODE", ClusterNodes.IdOf(to));
    }

    /// <summary>What a node says of its last move, if that has failed.</summary>
    internal static string? Failure(ServerUnderTest from)
    {
        using RespConnection connection = RespConnection.Connect(from.Port);
        RespValue moves = connection.Run("CLUSTER GETSLOTMIGRATIONS");
        string last = moves.IsAggregate && moves.Items.Count > 0 ? string.Join(' ', moves.Items[0].Items.Select(static item => item.Payload is { } text ? Encoding.UTF8.GetString(text) : item.ToString())) : "";
        return last.Contains("state failed", StringComparison.Ordinal) || last.Contains("state cancel", StringComparison.Ordinal) ? last : null;
    }

    public void Dispose()
    {
        foreach (ServerUnderTest server in _servers) server.Dispose();
        _etcd?.Dispose();
    }

    private void GiveTopology()
    {
        string topology = string.Join('\n', _servers.Select(static (server, i) => string.Create(
            CultureInfo.InvariantCulture, $"{ClusterNodes.IdOf(server)} 127.0.0.1 {server.Port} master - {ClusterNodes.Slots * i / 2}-{(ClusterNodes.Slots * (i + 1) / 2) - 1}")));
        foreach (ServerUnderTest server in _servers)
        {
            using SetupConnection connection = server.Connect();
            connection.Run("CLUSTERX", "SETNODES", topology, "1");
        }
    }
}
