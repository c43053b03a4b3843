using System.Globalization;
using System.Net.Sockets;
using RedKite.Figures.Replication;

namespace RedKite.Figures.Cluster;

/// <summary>A shard of a primary and a replica, and what else must be there so that the replica can take over: etcd for RedKite, two more primaries for Redis.</summary>
internal sealed class ReplicatedShard : IDisposable
{
    private const int PatienceMs = 60_000;

    private readonly EtcdServer? _etcd;
    private readonly List<ServerUnderTest> _servers = [];

    /// <param name="loseMs">After how long without a sign of life a primary counts as gone.</param>
    internal ReplicatedShard(ServerKind kind, int loseMs)
    {
        try
        {
            if (kind.Name == "redkite")
            {
                _etcd = EtcdServer.Start();
                string arguments = string.Create(CultureInfo.InvariantCulture, $"--repl-diskless-sync-delay 0 --cluster-etcd {_etcd.Address} --cluster-lease-ms {loseMs}");
                Start(kind, arguments);
                ClusterNodes.AddSlots(_servers[0], 0, ClusterNodes.Slots - 1);
                Start(kind, arguments); // it joins by itself
            }
            else
            {
                string arguments = string.Create(CultureInfo.InvariantCulture, $"--repl-diskless-sync-delay 0 --cluster-node-timeout {loseMs}");
                for (int i = 0; i < 4; i++) Start(kind, arguments);
                ClusterNodes.Meet([_servers[0], _servers[2], _servers[3]], [_servers[1]]);
                using SetupConnection connection = _servers[1].Connect();
                connection.Run("CLUSTER", "REPLICATE", ClusterNodes.IdOf(_servers[0]));
            }

            ClusterNodes.WaitUntilServed(_servers, _servers.Count);
            WaitUntilInStep(_servers[0], _servers[1]);
        }
        catch
        {
            Dispose();
            throw;
        }
    }

    /// <summary>At first the primary and its replica.</summary>
    internal IReadOnlyList<ServerUnderTest> Pair => _servers[..2];

    /// <summary>Waits until one of them follows the other and has what that one has.</summary>
    internal static void WaitUntilInStep(ServerUnderTest primary, ServerUnderTest replica)
    {
        WaitFor.Until(() => Follows(primary, replica), $"a replica of {primary.Name}", PatienceMs);
        ApplyCost.WaitFor(primary, replica, PatienceMs);
    }

    public void Dispose()
    {
        foreach (ServerUnderTest server in _servers) server.Dispose();
        _etcd?.Dispose();
    }

    private static bool Follows(ServerUnderTest primary, ServerUnderTest replica)
    {
        try
        {
            using SetupConnection connection = replica.Connect();
            return connection.ReadInfo("replication", "master_port") == primary.Port;
        }
        catch (Exception notYet) when (notYet is CannotMeasureException or SocketException or IOException)
        {
            return false;
        }
    }

    private void Start(ServerKind kind, string arguments) =>
        _servers.Add(ServerUnderTest.Start(ClusterNodes.InCluster(kind, arguments), cpus: $"{Machine.ServerCpus},{Machine.LoadCpus}"));
}
