using System.Net.Sockets;

namespace RedKite.Testing.Tests;

/// <summary>Which replicas count for `replica-acks` in a cluster with a store: those that the topology names.</summary>
public class ClusterAcksTests
{
    private static readonly TimeSpan Look = TimeSpan.FromMilliseconds(5);

    private static RedKiteTestClusterOptions Options(int replicas) => new()
    {
        Shards = 1,
        ReplicasPerShard = replicas,
        Configure = static options =>
        {
            options.Settings["replica-acks"] = "1";
            options.Settings["replica-acks-timeout"] = "200";
        },
    };

    [Fact]
    public async Task A_client_that_says_PSYNC_does_not_count()
    {
        await using RedKiteTestCluster cluster = await RedKiteTestCluster.StartAsync(Options(replicas: 1));
        RedKiteTestNode primary = cluster.PrimaryOf("a");
        Assert.Equal("OK", await WrittenAsync(primary));
        await cluster.ReplicasOf(primary)[0].KillAsync();
        while (ReplicasIn(primary) > 0) await Task.Delay(Look, TestContext.Current.CancellationToken);
        using var client = new TcpClient();
        await client.ConnectAsync("127.0.0.1", primary.Server.Port, TestContext.Current.CancellationToken);
        NetworkStream stream = client.GetStream();
        await stream.WriteAsync("PSYNC ? -1\r\n"u8.ToArray(), TestContext.Current.CancellationToken);
        _ = DiscardAsync(stream);
        while (!primary.Server.Execute("INFO", "replication").Text!.Contains("state=online", StringComparison.Ordinal)) await AcknowledgeAsync();
        Task<string> written = WrittenAsync(primary);
        while (!written.IsCompleted) await AcknowledgeAsync();
        Assert.StartsWith("NOREPLICAS", await written);

        async Task AcknowledgeAsync()
        {
            await stream.WriteAsync("REPLCONF ACK 1000000000\r\n"u8.ToArray(), TestContext.Current.CancellationToken);
            await Task.Delay(Look, TestContext.Current.CancellationToken);
        }
    }

    [Fact]
    public async Task A_node_that_was_taken_out_does_not_count_and_its_link_ends()
    {
        await using RedKiteTestCluster cluster = await RedKiteTestCluster.StartAsync(Options(replicas: 2));
        RedKiteTestNode primary = cluster.PrimaryOf("a"), forgotten = cluster.ReplicasOf(primary)[0], stays = cluster.ReplicasOf(primary)[1];
        Assert.Equal("OK", await WrittenAsync(primary));
        Assert.Equal("OK", primary.Server.Execute("CLUSTER", "FORGET", forgotten.Id).Text);
        while (ReplicasIn(primary) > 1) await Task.Delay(Look, TestContext.Current.CancellationToken);
        Assert.Equal("OK", await WrittenAsync(primary));
        await stays.KillAsync();
        while (ReplicasIn(primary) > 0) await Task.Delay(Look, TestContext.Current.CancellationToken); // it is refused when it asks again
        Assert.StartsWith("NOREPLICAS", await WrittenAsync(primary));
    }

    private static int ReplicasIn(RedKiteTestNode primary) => primary.Server.Execute("ROLE").Items![2].Items!.Count;

    private static async Task<string> WrittenAsync(RedKiteTestNode node) => (await Task.Run(() => node.Server.Execute("SET", "a", "1"))).Text!;

    private static async Task DiscardAsync(NetworkStream stream)
    {
        byte[] buffer = new byte[4096];
        try
        {
            while (await stream.ReadAsync(buffer) > 0)
            {
            }
        }
        catch (IOException)
        {
            // The test has ended.
        }
        catch (ObjectDisposedException)
        {
            // The same.
        }
    }
}
