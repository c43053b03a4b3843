using System.Diagnostics;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Cluster;

/// <summary>The nodes that the tests of a class share, compared with Redis 8.0.2. Each leaves them as it found them.</summary>
public class ClusterServers : IAsyncLifetime
{
    private const int PatienceMs = 60_000;

    internal ClusterPair Pair { get; private set; } = null!;

    private protected virtual ClusterOracle Oracle => ClusterOracle.Redis8;

    public async ValueTask InitializeAsync() => Pair = await ClusterPair.StartAsync(Oracle);

    public async ValueTask DisposeAsync()
    {
        if (Pair is not null) await Pair.DisposeAsync();
        GC.SuppressFinalize(this);
    }

    /// <summary>Waits until a client is blocked on both sides.</summary>
    internal void WaitForBlocked(int node) => WaitForText(node, "INFO clients", "blocked_clients:1\r");

    /// <summary>Redis decides it a moment after the change.</summary>
    internal void WaitUntilDown(int node) => WaitForText(node, "CLUSTER INFO", "cluster_state:fail");

    internal void WaitUntilUp(int node) => WaitForText(node, "CLUSTER INFO", "cluster_state:ok");

    internal void WaitUntilBusy(int node) => WaitForText(node, "PING", "BUSY");

    private void WaitForText(int node, string command, string text)
    {
        foreach (int port in (int[])[Pair.OraclePort(node), Pair.Port(node)])
        {
            using RespConnection connection = RespConnection.Connect(port);
            Stopwatch clock = Stopwatch.StartNew();
            while (connection.Run(command).Text is var said && !said.Contains(text, StringComparison.Ordinal))
            {
                if (clock.ElapsedMilliseconds > PatienceMs) throw new TimeoutException($"{command} of {(port == Pair.Port(node) ? "RedKite" : "Redis")} does not say {text}: {said}{connection.Run("CLUSTER NODES").Text}");
                Thread.Sleep(5);
            }
        }
    }
}

/// <summary>The same, compared with Redis 8.6.</summary>
public sealed class ClusterServersOfRedis86 : ClusterServers
{
    private protected override ClusterOracle Oracle => ClusterOracle.Redis86;
}

/// <summary>The same, compared with Valkey 9.1.</summary>
public sealed class ClusterServersOfValkey9 : ClusterServers
{
    private protected override ClusterOracle Oracle => ClusterOracle.Valkey9;
}
