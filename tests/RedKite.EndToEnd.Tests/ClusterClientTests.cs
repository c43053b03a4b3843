using System.Globalization;
using RedKite.TestSupport;
using StackExchange.Redis;

namespace RedKite.EndToEnd.Tests;

/// <summary>StackExchange.Redis with three nodes of a cluster in one process: it finds them from one, and follows redirects when a slot moves.</summary>
public sealed class ClusterClientTests
{
    private static readonly string[] Ranges = ["0-5460", "5461-10922", "10923-16383"];

    [Fact]
    public async Task A_client_of_a_cluster_finds_its_keys()
    {
        using var folder = new TemporaryFolder();
        List<RedKiteServer> nodes = [];
        try
        {
            for (int i = 0; i < Ranges.Length; i++) nodes.Add(await StartAsync(folder, i));
            string[] ids = [.. nodes.Select(static node => node.Execute("CLUSTER", "MYID").Text!)];
            string ListOf(string[] ranges) => string.Join('\n', nodes.Select((node, i) => $"{ids[i]} 127.0.0.1 {node.Port.ToString(CultureInfo.InvariantCulture)} master - {ranges[i]}"));
            foreach (RedKiteServer node in nodes) Assert.Equal("OK", node.Execute("CLUSTERX", "SETNODES", ListOf(Ranges), "1").Text);

            await using ConnectionMultiplexer multiplexer = await ConnectionMultiplexer.ConnectAsync($"127.0.0.1:{nodes[0].Port},abortConnect=false");
            IDatabase database = multiplexer.GetDatabase();
            await Task.WhenAll(Enumerable.Range(0, 300).Select(i => database.StringSetAsync($"key:{i}", i)));
            for (int i = 0; i < 300; i += 7) Assert.Equal(i, (int)await database.StringGetAsync($"key:{i}"));
            Assert.All(nodes, static node => Assert.InRange(node.Execute("DBSIZE").Integer, 50, 200));
            Assert.Equal(300, nodes.Sum(static node => node.Execute("DBSIZE").Integer));
            Assert.Equal(ServerType.Cluster, multiplexer.GetServer(multiplexer.GetEndPoints()[0]).ServerType);

            ITransaction transaction = database.CreateTransaction();
            Task<bool> first = transaction.StringSetAsync("{tag}a", 1);
            Task<long> second = transaction.StringIncrementAsync("{tag}b", 2);
            Assert.True(await transaction.ExecuteAsync());
            Assert.True(await first);
            Assert.Equal(2, await second);
            Assert.Equal(3, (int)await database.ScriptEvaluateAsync("return redis.call('get', KEYS[1]) + redis.call('get', KEYS[2])", ["{tag}a", "{tag}b"]));

            // All slots of the first node go to the second, without their keys: the client is sent there.
            foreach (RedKiteServer node in nodes) Assert.Equal("OK", node.Execute("CLUSTERX", "SETNODES", ListOf(["", "0-10922", "10923-16383"]), "2").Text);
            await Task.WhenAll(Enumerable.Range(0, 100).Select(i => database.StringSetAsync($"other:{i}", i)));
            for (int i = 0; i < 100; i += 7) Assert.Equal(i, (int)await database.StringGetAsync($"other:{i}"));
        }
        finally
        {
            foreach (RedKiteServer node in nodes) await node.DisposeAsync();
        }
    }

    private static async Task<RedKiteServer> StartAsync(TemporaryFolder folder, int index)
    {
        string own = folder.File(index.ToString(CultureInfo.InvariantCulture));
        Directory.CreateDirectory(own);
        var options = new RedKiteOptions { Port = 0 };
        foreach ((string name, string value) in (ReadOnlySpan<(string, string)>)[("cluster-enabled", "yes"), ("dir", own), ("loops", "1"), ("save", ""), ("diagnostics", "no")]) options.Settings[name] = value;
        return await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
    }
}
