using StackExchange.Redis;

namespace RedKite.Testing.Tests;

public class RedKiteTestClusterTests
{
    [Fact]
    public async Task A_client_library_uses_all_shards()
    {
        await using RedKiteTestCluster cluster = await RedKiteTestCluster.StartAsync();
        await using ConnectionMultiplexer redis = await ConnectionMultiplexer.ConnectAsync(cluster.ConnectionString);
        IDatabase database = redis.GetDatabase();
        for (int i = 0; i < 100; i++) await database.StringSetAsync($"key:{i}", i);
        for (int i = 0; i < 100; i++) Assert.Equal(i, (int)await database.StringGetAsync($"key:{i}"));
        Assert.All(cluster.Nodes, static node => Assert.NotEqual(0, node.Server.Execute("DBSIZE").Integer));
    }

    [Fact]
    public async Task A_replica_takes_over_from_a_dead_primary_and_has_every_acknowledged_write()
    {
        await using RedKiteTestCluster cluster = await RedKiteTestCluster.StartAsync(new RedKiteTestClusterOptions { Shards = 1, ReplicasPerShard = 1, Configure = static options => options.Settings["replica-acks"] = "1" });
        RedKiteTestNode primary = cluster.PrimaryOf("a"), replica = cluster.ReplicasOf(primary)[0];
        for (int i = 0; i < 50; i++) Assert.Equal("OK", primary.Server.Execute("SET", $"key:{i}", "value").Text);
        await primary.KillAsync();
        await cluster.UntilServedAsync();
        Assert.Same(replica, cluster.PrimaryOf("a"));
        for (int i = 0; i < 50; i++) Assert.Equal("value", replica.Server.Execute("GET", $"key:{i}").Text);
        await primary.StartAgainAsync();
        Assert.Equal("OK", replica.Server.Execute("SET", "behind", "1").Text); // when the other one follows
        Assert.Equal([primary], cluster.ReplicasOf(replica));
        Assert.StartsWith("MOVED", primary.Server.Execute("SET", "behind", "2").Text);
    }

    [Fact]
    public async Task A_primary_that_is_cut_off_stops_serving_before_another_one_serves()
    {
        await using RedKiteTestCluster cluster = await RedKiteTestCluster.StartAsync(new RedKiteTestClusterOptions { Shards = 1, ReplicasPerShard = 1 });
        RedKiteTestNode primary = cluster.PrimaryOf("a"), replica = cluster.ReplicasOf(primary)[0];
        Assert.Equal("OK", primary.Server.Execute("SET", "a", "1").Text);
        primary.CutOff();
        while (!replica.Serves) Assert.False(primary.Serves && replica.Serves);
        Assert.StartsWith("CLUSTERDOWN", primary.Server.Execute("SET", "a", "2").Text);
        Assert.StartsWith("CLUSTERDOWN", primary.Server.Execute("GET", "a").Text);
        primary.Reconnect();
        while (primary.Server.Execute("SET", "a", "2").Text is var reply && !reply!.StartsWith("MOVED", StringComparison.Ordinal)) await Task.Delay(5, TestContext.Current.CancellationToken);
        Assert.Equal("1", replica.Server.Execute("GET", "a").Text);
    }

    [Fact]
    public async Task Roles_are_handed_over_while_clients_write()
    {
        await using RedKiteTestCluster cluster = await RedKiteTestCluster.StartAsync(new RedKiteTestClusterOptions { Shards = 1, ReplicasPerShard = 1 });
        RedKiteTestNode primary = cluster.PrimaryOf("a"), replica = cluster.ReplicasOf(primary)[0];
        using var stop = new CancellationTokenSource();
        long written = 0;
        Task writing = Task.Run(
            () =>
            {
                while (!stop.IsCancellationRequested && primary.Server.Execute("INCR", "a") is { IsError: false } reply) Volatile.Write(ref written, reply.Integer);
            },
            TestContext.Current.CancellationToken);
        while (Volatile.Read(ref written) < 100) await Task.Yield();
        await cluster.FailOverAsync(replica);
        await writing;
        await stop.CancelAsync();
        Assert.Equal(written, long.Parse(replica.Server.Execute("GET", "a").Text!, System.Globalization.CultureInfo.InvariantCulture));
        Assert.Same(replica, cluster.PrimaryOf("a"));
        Assert.Equal([primary], cluster.ReplicasOf(replica));
    }

    [Fact]
    public async Task A_role_is_handed_over_to_a_replica_that_connects_again()
    {
        await using RedKiteTestCluster cluster = await RedKiteTestCluster.StartAsync(new RedKiteTestClusterOptions { Shards = 1, ReplicasPerShard = 1 });
        RedKiteTestNode primary = cluster.PrimaryOf("a"), replica = cluster.ReplicasOf(primary)[0];
        Assert.Equal(1, primary.Server.Execute("CLIENT", "KILL", "TYPE", "replica").Integer);
        Assert.Equal("OK", primary.Server.Execute("SET", "a", "1").Text);
        await cluster.FailOverAsync(replica);
        Assert.Equal("1", replica.Server.Execute("GET", "a").Text);
    }

    [Fact]
    public async Task Without_the_store_nothing_is_served_and_with_it_again_everything_is()
    {
        await using RedKiteTestCluster cluster = await RedKiteTestCluster.StartAsync(new RedKiteTestClusterOptions { Shards = 2 });
        RedKiteTestNode node = cluster.PrimaryOf("a");
        Assert.Equal("OK", node.Server.Execute("SET", "a", "1").Text);
        cluster.LoseStore();
        while (node.Serves) await Task.Delay(5, TestContext.Current.CancellationToken);
        Assert.StartsWith("CLUSTERDOWN", node.Server.Execute("GET", "a").Text);
        cluster.RestoreStore();
        await cluster.UntilServedAsync();
        Assert.Equal("1", node.Server.Execute("GET", "a").Text);
    }

    [Fact]
    public async Task A_new_node_becomes_a_replica()
    {
        await using RedKiteTestCluster cluster = await RedKiteTestCluster.StartAsync(new RedKiteTestClusterOptions { Shards = 2 });
        Assert.Equal("OK", cluster.PrimaryOf("a").Server.Execute("SET", "a", "1").Text);
        RedKiteTestNode node = await cluster.AddNodeAsync();
        while (cluster.Nodes.Where(static each => each.Serves).All(each => cluster.ReplicasOf(each).Count == 0)) await Task.Delay(5, TestContext.Current.CancellationToken);
        while (!node.Server.Execute("ROLE").ToString()!.StartsWith("slave", StringComparison.Ordinal)) await Task.Delay(5, TestContext.Current.CancellationToken);
    }
}
