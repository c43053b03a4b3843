using RedKite.Server.Cluster;
using RedKite.Server.Cluster.Store;
using RedKite.Server.Cluster.Watching;
using RedKite.Server.Cluster.Agreement;
using RedKite.Server.Diagnostics;
using RedKite.Server.Tests.Diagnostics;
using RedKite.Testing;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Cluster;

/// <summary>What nodes of a cluster know of themselves and of the others: numbers, the picture, and what happened.</summary>
public sealed class ClusterWatchTests
{
    [Fact]
    public async Task Every_node_knows_the_whole_cluster()
    {
        await using RedKiteTestCluster cluster = await RedKiteTestCluster.StartAsync(new RedKiteTestClusterOptions { Shards = 2, ReplicasPerShard = 1, Configure = Observe });
        RedKiteTestNode primary = cluster.PrimaryOf("chair");
        primary.Server.Execute("SET", "chair", "1");
        await SayAllAsync(cluster);
        foreach (RedKiteTestNode node in cluster.Nodes)
        {
            ClusterPicture picture = Watch(node).Picture();
            Assert.Equal((node.Id, true, true, ""), (picture.SelfId, picture.HasStore, picture.IsUp, picture.Fault));
            Assert.Equal(cluster.Nodes.Select(static each => each.Id).Order(), picture.Nodes.Select(static each => each.Id).Order());
            Assert.All(picture.Nodes, static each => Assert.True(each is { IsAlive: true, Figures: not null, Version: > 0 }));
            Assert.Equal(1, picture.Nodes.Single(each => each.Id == primary.Id).Figures!.Keys);
            Assert.Equal(1, picture.Nodes.Single(each => each.Id == primary.Id).Figures!.KeysByPart.Sum());
            Assert.Equal(16384, picture.Shards.Sum(static shard => shard.Slots.Sum(static range => range.Last - range.First + 1)));
            Assert.Contains(picture.Nodes, each => each.Id == picture.Controller);
            ClusterFigures figures = Watch(node).Figures();
            Assert.Equal((4, 4, 1, 0, 0), (figures.Nodes, figures.NodesAlive, figures.Controllers, figures.ShardsDown, figures.ShardsAtRisk));
            Assert.InRange(figures.LeaseSeconds, 1, 600);
            Assert.Equal(0, figures.StoreAwaySeconds);
            Assert.InRange(figures.StoreRequests, 5, 10_000);
            Assert.Equal(0, figures.UncoveredSlots);
        }
    }

    [Fact]
    public async Task A_takeover_a_lost_store_and_redirects_are_counted()
    {
        await using RedKiteTestCluster cluster = await RedKiteTestCluster.StartAsync(new RedKiteTestClusterOptions { Shards = 2, ReplicasPerShard = 1, Configure = Observe });
        RedKiteTestNode primary = cluster.PrimaryOf("chair"), replica = cluster.ReplicasOf(primary)[0], other = cluster.Nodes.First(node => node != primary && node != replica);
        await primary.KillAsync();
        await cluster.UntilServedAsync();
        await ObserveUntil(other, () => Value(other, MetricTable.ClusterElections) == 1);
        Assert.Equal((1, 1), (Watch(replica).Figures().Elections, Watch(replica).Figures().Takeovers));
        Assert.Equal(0, Watch(other).Figures().Takeovers);
        Assert.Contains(Watch(other).Events, each => each.Text.Contains($"{replica.Id[..8]} is the primary of", StringComparison.Ordinal));

        using RespConnection asks = RespConnection.Connect(other.Server.Port);
        asks.Run("GET chair");
        asks.Run("MGET a b");
        await ObserveUntil(other, () => Value(other, MetricTable.RedirectsMoved) >= 1 && Value(other, MetricTable.RefusedCrossSlot) == 1);
        Assert.Contains("cluster_redirects_moved:1", other.Server.Execute("INFO", "cluster").Text, StringComparison.Ordinal);

        cluster.LoseStore();
        await ObserveUntil(replica, () => Value(replica, MetricTable.ClusterStoreErrors) > 0 && Value(replica, MetricTable.ClusterStoreAway) > 0 && Value(replica, MetricTable.ClusterLease) == 0);
        Assert.Contains("cut this node off", Watch(replica).Picture().StoreError, StringComparison.Ordinal);
        Assert.Contains(Watch(replica).Events, static each => each.Kind == ClusterEvents.Store);
        cluster.RestoreStore();
        await cluster.UntilServedAsync();
        await ObserveUntil(replica, () => Value(replica, MetricTable.ClusterStoreAway) == 0 && Value(replica, MetricTable.ClusterLease) > 0);
    }

    [Fact]
    public async Task A_clock_that_is_ahead_is_seen_and_forgotten()
    {
        var data = new MemoryClusterData(TimeProvider.System);
        using var folder = new TemporaryFolder();
        var options = new RedKiteOptions { Port = 0, ClusterStore = () => new MemoryClusterStore(data) };
        foreach ((string name, string value) in (ReadOnlySpan<(string, string)>)[("cluster-enabled", "yes"), ("dir", folder.Path), ("save", ""), ("cluster-announce-ip", "127.0.0.1")]) options.Settings[name] = value;
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        Assert.Equal("OK", server.Execute("CLUSTER", "ADDSLOTSRANGE", "0", "16383").Text);
        ClusterWatch watch = server.Cluster!.Watch;
        await LookAsync(watch);
        Assert.Equal(0, watch.Figures().ClockSkewSeconds);
        string key = StoreKeys.Figures + new string('e', 40);
        data.TryCommit([], [new StorePut(key, NodeFiguresDocument.Write(new NodeFigures { UnixMs = DateTimeOffset.UtcNow.ToUnixTimeMilliseconds() + 100_000 }))]);
        await LookAsync(watch);
        Assert.InRange(watch.Figures().ClockSkewSeconds, 30, 100);
        Assert.Equal(new string('e', 40), (await OwnWords(data, server)).ClockAheadId);
        data.TryCommit([], [new StorePut(key, NodeFiguresDocument.Write(new NodeFigures { ClockAheadSeconds = 200 }))]); // it sees another one ahead
        await LookAsync(watch);
        Assert.Equal(200, watch.Figures().ClockSkewSeconds);
        data.TryCommit([], [new StorePut(key, Value: null)]);
        await LookAsync(watch);
        Assert.Equal(0, watch.Figures().ClockSkewSeconds);

        async Task<NodeFigures> OwnWords(MemoryClusterData store, RedKiteServer node)
        {
            await LookAsync(watch);
            return NodeFiguresDocument.Read(store.Read(StoreKeys.Figures + node.Cluster!.State.SelfId, 0).Entries.Single().Value)!;
        }
    }

    [Fact]
    public async Task Without_a_store_a_node_knows_itself()
    {
        using var folder = new TemporaryFolder();
        var options = new RedKiteOptions { Port = 0 };
        foreach ((string name, string value) in (ReadOnlySpan<(string, string)>)[("cluster-enabled", "yes"), ("dir", folder.Path), ("save", "")]) options.Settings[name] = value;
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        server.Execute("CLUSTER", "ADDSLOTSRANGE", "0", "99");
        ClusterFigures figures = server.Cluster!.Watch.Figures();
        Assert.Equal((100, 16284), (figures.OwnedSlots, figures.UncoveredSlots));
        Assert.True(double.IsNaN(figures.LeaseSeconds) && double.IsNaN(figures.StoreAwaySeconds) && double.IsNaN(figures.ShardsDown));
        ClusterPicture picture = server.Cluster.Watch.Picture();
        Assert.False(picture.HasStore);
        Assert.Null(Assert.Single(picture.Nodes).IsAlive);
    }

    private static void Observe(RedKiteOptions options) => options.Settings["diagnostics"] = "yes";

    private static ClusterWatch Watch(RedKiteTestNode node) => node.Server.Cluster!.Watch;

    private static Task LookAsync(RedKiteTestNode node) => LookAsync(Watch(node));

    private static Task LookAsync(ClusterWatch watch) => watch.Look(TestContext.Current.CancellationToken);

    // Until each has told the others which topology it goes by: it says so a moment after it does.
    private static async Task SayAllAsync(RedKiteTestCluster cluster)
    {
        long start = Environment.TickCount64;
        do
        {
            Assert.True(Environment.TickCount64 - start < 60_000, "every node says which topology it goes by");
            foreach (RedKiteTestNode node in cluster.Nodes) await LookAsync(node); // all say it
            foreach (RedKiteTestNode node in cluster.Nodes) await LookAsync(node); // and all read it
        }
        while (!cluster.Nodes.All(static node => Watch(node).Picture().Nodes.All(static each => each.Version > 0 && each.Figures is not null)) || cluster.Nodes.Any(static node => Watch(node).Figures().ShardsAtRisk != 0));
    }

    private static double Value(RedKiteTestNode node, Metric metric) => node.Server.Diagnostics!.Latest is { } latest ? metric.Read(latest) : double.NaN;

    private static async Task ObserveUntil(RedKiteTestNode node, Func<bool> condition)
    {
        await Task.Yield();
        ObservedSeconds.Until(node.Server, condition, "the metrics");
    }
}
