using System.Text;
using System.Text.Json;
using RedKite.Server.Cluster;
using RedKite.Server.Cluster.Watching;
using RedKite.Server.Diagnostics;
using RedKite.Server.Diagnostics.Reports;
using RedKite.Server.Tests.Diagnostics;
using RedKite.Testing;

namespace RedKite.Server.Tests.Cluster;

/// <summary>Problems of a cluster that are provoked: each is found, names who it is about, and is over when its cause is. And the report, which has no address in a package.</summary>
public sealed partial class ClusterFindingTests
{
    [Fact]
    public async Task A_lost_store_is_found_and_over_when_it_is_back()
    {
        await using RedKiteTestCluster cluster = await StartAsync(shards: 2, replicas: 0);
        RedKiteServer server = cluster.Nodes[0].Server;
        ObservedSeconds.Pass(server, 3);
        cluster.LoseStore();
        await FoundAsync(cluster, server, "cluster-store-away", "cluster-lease-short");
        Assert.Contains("cut this node off", Details(server, "cluster-store-away"), StringComparison.Ordinal);
        Assert.Contains("serves nothing", Details(server, "cluster-lease-short"), StringComparison.Ordinal);
        cluster.RestoreStore();
        await cluster.UntilServedAsync();
        await OverAsync(cluster, server);
    }

    [Fact]
    public async Task Missing_replicas_a_dead_shard_and_slots_without_a_node_are_found()
    {
        await using RedKiteTestCluster cluster = await StartAsync(shards: 2, replicas: 1, ("replica-acks", "1"));
        RedKiteTestNode primary = cluster.PrimaryOf("chair"), replica = cluster.ReplicasOf(primary)[0], other = cluster.Nodes.First(node => node.Serves && node != primary);
        await LookAsync(cluster);
        ObservedSeconds.Pass(other.Server, 30);
        Assert.Empty(Findings(other.Server));

        await replica.KillAsync();
        await FoundAsync(cluster, other.Server, "cluster-takeover-impossible");
        Assert.Contains(primary.EndPoint, Details(other.Server, "cluster-takeover-impossible"), StringComparison.Ordinal);

        await replica.StartAgainAsync();
        await OverAsync(cluster, other.Server);
        Assert.Equal("OK", other.Server.Execute("CLUSTER", "DELSLOTS", "0", "16383").Text);
        await FoundAsync(cluster, other.Server, "cluster-slots-uncovered");
        Assert.Contains("2 slots of 16,384", Details(other.Server, "cluster-slots-uncovered"), StringComparison.Ordinal);
        Assert.Equal("OK", other.Server.Execute("CLUSTER", "ADDSLOTS", "0", "16383").Text);
        await OverAsync(cluster, other.Server);
        await replica.KillAsync();
        await primary.KillAsync();
        await FoundAsync(cluster, other.Server, "cluster-shard-down", "cluster-takeover-impossible");
        Assert.Contains(primary.EndPoint, Details(other.Server, "cluster-shard-down"), StringComparison.Ordinal);
    }

    // The first node goes by the test's clock, and the other one may hear of no changes.
    [Fact]
    public async Task A_lease_nearly_lost_a_move_that_does_not_end_and_an_old_topology_are_found()
    {
        var clock = new RedKiteTestClock();
        List<ImpairedStore> stores = [];
        await using RedKiteTestCluster cluster = await StartAsync(shards: 2, replicas: 0, options =>
        {
            if (stores.Count == 0) options.TimeProvider = clock;
            ImpairedStore.Use(options, stores);
        });
        RedKiteTestNode node = cluster.Nodes[0], other = cluster.Nodes[1];
        RedKiteServer server = node.Server;
        LeaseDeadline deadline = server.Cluster!.Agreement!.Deadline;
        await LookAsync(cluster);
        ObservedSeconds.Pass(server, 30);
        await OverAsync(cluster, server, "cluster-clocks-apart"); // its clock is another one; and a node that still goes over to the topology of all may have been found

        node.Store.CutOff();
        clock.Advance(TimeSpan.FromSeconds(400));
        Assert.False(deadline.HasEnded);
        await FoundAsync(cluster, server, "cluster-lease-short");
        Assert.Contains("170 seconds of 600 were left", Details(server, "cluster-lease-short"), StringComparison.Ordinal);
        node.Reconnect();
        Assert.True(SpinWait.SpinUntil(() => deadline.Left.TotalSeconds > 500, 60_000));
        await OverAsync(cluster, server, "cluster-clocks-apart");

        Assert.Equal("OK", server.Execute("CLUSTER", "SETSLOT", "0", "MIGRATING", other.Id).Text);
        Assert.Equal(0, server.Cluster.Watch.Figures().OldestMoveSeconds);
        for (int i = 0; i < 5; i++)
        {
            clock.Advance(TimeSpan.FromSeconds(150));
            node.Reconnect(); // renews at once
            Assert.True(SpinWait.SpinUntil(() => deadline.Left.TotalSeconds > 500, 60_000));
        }

        await FoundAsync(cluster, server, "cluster-move-long");
        Assert.Contains("A move of slots does not end", Details(server, "cluster-move-long"), StringComparison.Ordinal);
        Assert.Equal("OK", server.Execute("CLUSTER", "SETSLOT", "0", "STABLE").Text);
        await OverAsync(cluster, server, "cluster-clocks-apart");

        // The other one, which hears of nothing, still serves what this one has got.
        stores[1].IsDeaf = true;
        Task<RedKiteReply> assigned = Task.Run(() => server.Execute("CLUSTER", "SETSLOT", "16383", "NODE", node.Id), TestContext.Current.CancellationToken);
        Assert.True(SpinWait.SpinUntil(() => !server.Cluster.State.Topology.Terms.Reassigned.IsEmpty, 60_000));
        Assert.Equal(0, server.Cluster.Watch.Figures().AwaitedSeconds);
        for (int i = 0; i < 5; i++)
        {
            clock.Advance(TimeSpan.FromSeconds(150));
            node.Reconnect();
            Assert.True(SpinWait.SpinUntil(() => deadline.Left.TotalSeconds > 500, 60_000));
        }

        await FoundAsync(cluster, server, "cluster-slots-awaited");
        Assert.Contains($"1 slot of the node {node.EndPoint}, for the node {other.EndPoint}", Details(server, "cluster-slots-awaited"), StringComparison.Ordinal);
        using (JsonDocument report = JsonDocument.Parse(server.Reports!.Read("cluster", TestContext.Current.CancellationToken)!))
        {
            JsonElement awaited = Assert.Single(report.RootElement.GetProperty("slots").GetProperty("awaited").EnumerateArray());
            Assert.Equal((node.Id, other.Id, 16383, other.Id), (awaited.GetProperty("owner").GetString(), awaited.GetProperty("from").GetString(), awaited.GetProperty("first_slot").GetInt32(), awaited.GetProperty("waits_for")[0].GetString()));
        }

        stores[1].IsDeaf = false;
        await assigned;
        await OverAsync(cluster, server, "cluster-clocks-apart");

        stores[1].IsDeaf = true;
        Assert.Equal("OK", server.Execute("CLUSTER", "DELSLOTS", "0").Text);
        await LookAsync(cluster);
        clock.Advance(TimeSpan.FromSeconds(6)); // who is behind has had five seconds
        await FoundAsync(cluster, server, "cluster-versions-apart");
        Assert.Contains(other.EndPoint, Details(server, "cluster-versions-apart"), StringComparison.Ordinal);
        stores[1].IsDeaf = false;
        Assert.Equal("OK", server.Execute("CLUSTER", "ADDSLOTS", "0").Text); // waits for the node that is behind
        await OverAsync(cluster, server, "cluster-clocks-apart");
    }

    [Fact]
    public async Task A_cluster_without_a_controller_and_a_slow_store_are_found()
    {
        List<ImpairedStore> stores = [];
        await using RedKiteTestCluster cluster = await StartAsync(shards: 1, replicas: 0, options =>
        {
            options.Settings["cluster-controller"] = "no";
            options.Settings["cluster-lease-ms"] = "2000";
            ImpairedStore.Use(options, stores);
        });
        RedKiteServer server = cluster.Nodes[0].Server;
        await FoundAsync(cluster, server, "cluster-no-controller");
        stores[0].Delay = TimeSpan.FromMilliseconds(210); // the mean is of requests before that, too
        await FoundAsync(cluster, server, "cluster-store-slow");
    }

    [Fact]
    public async Task Slots_in_doubt_are_found()
    {
        await using RedKiteTestCluster cluster = await StartAsync(shards: 2, replicas: 0, ("cluster-move-pause-ms", "100"));
        RedKiteTestNode a = cluster.Nodes[0], b = cluster.Nodes[1];
        string found = "";
        a.Server.Parts.SlotMoves()!.WatchSteps(name =>
        {
            if (name == "acknowledged") a.Store.CutOff();
            if (name != "in-doubt") return;
            ObservedSeconds.Pass(a.Server, 12);
            found = Details(a.Server, "cluster-slots-doubtful");
            a.Reconnect();
        });
        await cluster.MoveAsync(0..1000, a, b);
        Assert.Contains("1000 slots", found, StringComparison.Ordinal);
        Assert.Contains(b.EndPoint, found, StringComparison.Ordinal);
        ObservedSeconds.Until(a.Server, () => !Findings(a.Server).Contains("cluster-slots-doubtful"), "the doubt is over");
    }

    [Fact]
    public async Task The_report_has_everything_and_no_address_in_a_package()
    {
        await using RedKiteTestCluster cluster = await StartAsync(shards: 2, replicas: 1, ("cluster-announce-human-nodename", "planted-name"), ("cluster-announce-zone", "planted-zone"));
        RedKiteServer server = cluster.PrimaryOf("chair").Server;
        server.Cluster!.Events.Note(ClusterEvents.Store, "etcd is not reached: http://planted-host:2379: refused; [fe80::1]:2379 and 10.1.2.3:2379, planted.example:80; planted-name at 12:30:00");
        await server.Cluster.Watch.Look(TestContext.Current.CancellationToken);
        using (JsonDocument json = JsonDocument.Parse(server.Reports!.Read("cluster", TestContext.Current.CancellationToken)!))
        {
            JsonElement report = json.RootElement;
            Assert.True(report.GetProperty("enabled").GetBoolean());
            Assert.Equal(2, report.GetProperty("shards").GetArrayLength());
            Assert.Equal(4, report.GetProperty("nodes").GetArrayLength());
            Assert.All(report.GetProperty("nodes").EnumerateArray(), static node => Assert.Equal("planted-zone", node.GetProperty("zone").GetString()));
            Assert.Contains(report.GetProperty("events").EnumerateArray(), static each => each.GetProperty("text").GetString()!.Contains("planted-host", StringComparison.Ordinal));
        }

        string text = Encoding.UTF8.GetString(server.Reports!.Write(ReportTable.Find("cluster")!, redactionKey: new byte[32], TestContext.Current.CancellationToken));
        Assert.All((string[])["planted", "127.0.0.1", "10.1.2.3", "fe80"], secret => Assert.DoesNotContain(secret, text, StringComparison.Ordinal));
        Assert.Contains("12:30:00", text, StringComparison.Ordinal);
        Assert.Contains(cluster.Nodes[0].Id, text, StringComparison.Ordinal);
    }

    private static Task<RedKiteTestCluster> StartAsync(int shards, int replicas, params (string Name, string Value)[] settings) => StartAsync(shards, replicas, options =>
    {
        foreach ((string name, string value) in settings) options.Settings[name] = value;
    });

    private static async Task<RedKiteTestCluster> StartAsync(int shards, int replicas, Action<RedKiteOptions> configure) => await RedKiteTestCluster.StartAsync(new RedKiteTestClusterOptions
    {
        Shards = shards,
        ReplicasPerShard = replicas,
        Configure = options =>
        {
            options.Settings["diagnostics"] = "yes";
            configure(options);
        },
    });

    private static string[] Findings(RedKiteServer server) => [.. server.Diagnostics!.Findings.Current.Select(static finding => finding.Name).Where(static name => name.StartsWith("cluster-", StringComparison.Ordinal)).Order(StringComparer.Ordinal)];

    private static string Details(RedKiteServer server, string name)
    {
        Finding finding = server.Diagnostics!.Findings.Current.Single(finding => finding.Name == name);
        return $"{finding.Title}: {finding.Details}";
    }

    // Each look reads the store, as every five seconds.
    private static async Task FoundAsync(RedKiteTestCluster cluster, RedKiteServer server, params string[] names)
    {
        long start = Environment.TickCount64;
        while (!names.All(Findings(server).Contains))
        {
            Assert.True(Environment.TickCount64 - start < 60_000, $"{string.Join(", ", names)}: {string.Join(", ", Findings(server))}");
            await LookAsync(cluster);
            ObservedSeconds.Pass(server, 5);
        }
    }

    private static async Task OverAsync(RedKiteTestCluster cluster, RedKiteServer server, string but = "")
    {
        long start = Environment.TickCount64;
        while (Findings(server).Where(name => name != but).ToArray() is { Length: > 0 } found)
        {
            Assert.True(Environment.TickCount64 - start < 60_000, string.Join(", ", found));
            await LookAsync(cluster);
            ObservedSeconds.Pass(server, 5);
        }
    }

    // First every node says what the others are to know, then each reads it.
    private static async Task LookAsync(RedKiteTestCluster cluster)
    {
        for (int round = 0; round < 2; round++)
        {
            foreach (RedKiteTestNode node in cluster.Nodes.Where(static node => node.IsRunning))
            {
                try
                {
                    await node.Server.Cluster!.Watch.Look(TestContext.Current.CancellationToken);
                }
                catch (RedKite.Server.Cluster.Store.StoreException)
                {
                    // It is cut off.
                }
            }
        }
    }
}
