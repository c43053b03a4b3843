using System.Globalization;
using System.Net.Sockets;
using Aspire.Hosting.ApplicationModel;
using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace RedKite.Aspire.Hosting;

/// <summary>Gives the first nodes of a new cluster their slots. The others become replicas by themselves when all slots have nodes; a cluster that was there before stays as it is.</summary>
internal static class ClusterForming
{
    private const int Slots = 16_384;

    private static readonly TimeSpan Retry = TimeSpan.FromMilliseconds(200);

    /// <summary>Lets a node have its slots, unless they have nodes already. It goes on until the node has answered.</summary>
    internal static async Task AssignAsync(RedKiteClusterResource cluster, RedKiteResource node, CancellationToken cancellationToken)
    {
        int index = cluster.Nodes.ToList().IndexOf(node);
        if (index >= cluster.Shards) return;
        string? password = await PasswordOf(node, cancellationToken).ConfigureAwait(false);
        while (!await TryAssignAsync(node.PrimaryEndpoint.Host, node.PrimaryEndpoint.Port, password, index, cluster.Shards, cancellationToken).ConfigureAwait(false)) await Task.Delay(Retry, cancellationToken).ConfigureAwait(false);
    }

    /// <summary>Whether the node has its part of the slots, or they have other nodes. False: it cannot say so yet.</summary>
    internal static async Task<bool> TryAssignAsync(string host, int port, string? password, int index, int shards, CancellationToken cancellationToken)
    {
        try
        {
            string info = await ServerCall.AskAsync(host, port, password, ["CLUSTER", "INFO"], cancellationToken).ConfigureAwait(false);
            if (info.Contains($"cluster_slots_assigned:{Slots}\r", StringComparison.Ordinal)) return true;
            string reply = await ServerCall.AskAsync(host, port, password, ["CLUSTER", "ADDSLOTSRANGE", Text(Slots * index / shards), Text((Slots * (index + 1) / shards) - 1)], cancellationToken).ConfigureAwait(false);
            return reply == "+OK" || reply.Contains("is already busy", StringComparison.Ordinal);
        }
        catch (Exception failure) when ((failure is SocketException or IOException or OperationCanceledException) && !cancellationToken.IsCancellationRequested)
        {
            return false;
        }
    }

    /// <summary>Whether the nodes serve all slots, as one of them sees it.</summary>
    internal static Task<HealthCheckResult> CheckAsync(string host, int port, string? password, int nodes, CancellationToken cancellationToken) => ServerCall.CheckAsync(
        host, port, password, ["CLUSTER", "INFO"],
        info =>
        {
            if (info.StartsWith('-')) return info;
            if (!info.Contains("cluster_state:ok\r", StringComparison.Ordinal) || !info.Contains($"cluster_slots_ok:{Slots}\r", StringComparison.Ordinal)) return "The cluster does not serve all slots.";
            return info.Split("\r\n").FirstOrDefault(static line => line.StartsWith("cluster_known_nodes:", StringComparison.Ordinal)) is { } known && int.Parse(known.AsSpan(known.IndexOf(':') + 1), CultureInfo.InvariantCulture) >= nodes
                ? null : "Not all nodes have joined the cluster.";
        },
        cancellationToken);

    internal static async Task<string?> PasswordOf(RedKiteResource node, CancellationToken cancellationToken) =>
        node.PasswordParameter is { } parameter ? await parameter.GetValueAsync(cancellationToken).ConfigureAwait(false) : null;

    private static string Text(int number) => number.ToString(CultureInfo.InvariantCulture);
}

/// <summary>Whether a cluster serves all slots: any node of it says so.</summary>
internal sealed class RedKiteClusterHealthCheck(RedKiteClusterResource cluster) : IHealthCheck
{
    public async Task<HealthCheckResult> CheckHealthAsync(HealthCheckContext context, CancellationToken cancellationToken = default)
    {
        HealthCheckResult result = HealthCheckResult.Unhealthy("The nodes have no endpoints yet.");
        foreach (RedKiteResource node in cluster.Nodes.Where(static node => node.HasEndpoint))
        {
            string? password = await ClusterForming.PasswordOf(node, cancellationToken).ConfigureAwait(false);
            result = await ClusterForming.CheckAsync(node.PrimaryEndpoint.Host, node.PrimaryEndpoint.Port, password, cluster.Nodes.Count, cancellationToken).ConfigureAwait(false);
            if (result.Status == HealthStatus.Healthy) break;
        }

        return result;
    }
}
