using System.Globalization;
using Microsoft.Playwright;
using RedKite.Testing;
using RedKite.TestSupport;

namespace RedKite.Dashboard.Tests;

/// <summary>The view of a cluster: from one node's page all of it, in both themes and on a phone; and what is shown where there is none.</summary>
public sealed class ClusterViewTests(Browser browser, LoadedServer loaded)
{
    [Fact]
    public async Task One_node_shows_the_whole_cluster()
    {
        await using RedKiteTestCluster cluster = await RedKiteTestCluster.StartAsync(new RedKiteTestClusterOptions { Shards = 2, ReplicasPerShard = 1, Configure = Observe });
        RedKiteTestNode primary = cluster.PrimaryOf("chair"), replica = cluster.ReplicasOf(primary)[0], shown = cluster.Nodes.First(node => node.Serves && node != primary);
        primary.Server.Execute("SET", "chair", "1");
        await using RedKiteDashboard dashboard = (await RedKiteDashboard.StartAsync(shown.Server))!;
        foreach (RedKiteTestNode node in cluster.Nodes) await LookAsync(node);
        await LookAsync(shown);
        await using PageUnderTest tab = await browser.OpenAsync(new Uri($"http://127.0.0.1:{dashboard.Port}"), "/#cluster");
        await tab.ReadyAsync("cluster");
        await tab.Page.GetByText("2 shards, 4 nodes: every slot has a node, and every node answers.").WaitForAsync();
        Assert.Equal(4, await Table("Nodes").Locator("tbody tr").CountAsync());
        Assert.Equal(2, await Table("Shards").Locator("tbody tr", new LocatorLocatorOptions { HasText = "1 of 1 answer" }).CountAsync());
        await Table("Nodes").Locator("tr", new LocatorLocatorOptions { HasText = replica.EndPoint }).Filter(new LocatorFilterOptions { HasText = "replica" }).WaitForAsync();
        string strip = (await tab.Page.Locator("svg.slots").GetAttributeAsync("aria-label"))!;
        Assert.Contains($"{primary.EndPoint} has 8,192", strip, StringComparison.Ordinal);
        Assert.Contains("0 without a node", strip, StringComparison.Ordinal);
        await tab.WaitForAsync("[...document.querySelectorAll('.chart[data-metrics]')].every(chart => chart.dataset.points >= 2)");
        string text = await tab.Page.InnerTextAsync("main");
        Assert.DoesNotContain("undefined", text, StringComparison.Ordinal);
        Assert.DoesNotContain("NaN", text, StringComparison.Ordinal);
        await tab.AssertAccessibleAsync("cluster");
        await tab.ShootAsync("cluster-whole");
        await tab.SetDarkAsync(true);
        await tab.AssertAccessibleAsync("cluster");
        await tab.ShootAsync("cluster-whole-dark");
        await tab.Page.SetViewportSizeAsync(390, 900);
        await tab.ShootAsync("cluster-whole-390");
        Assert.True(await tab.Page.EvaluateAsync<int>("document.documentElement.scrollWidth") <= 390, "nothing sticks out");
        await tab.AssertAccessibleAsync("cluster");

        await replica.KillAsync();
        await LookAsync(shown);
        await tab.Page.GetByText("2 shards, 4 nodes: in 1 shard no replica could take over.").WaitForAsync();
        Assert.Equal("OK", shown.Server.Execute("CLUSTER", "DELSLOTS", "16383").Text);
        await tab.Page.GetByText("1 slot of 16,384 has no node.").WaitForAsync();
        await tab.Page.Locator(".key.gap").WaitForAsync();
        await Table("What happened").Locator("tr", new LocatorLocatorOptions { HasText = "1 slot from" }).First.WaitForAsync();
        cluster.LoseStore();
        await tab.Page.GetByText("This node serves nothing: it has no lease.").WaitForAsync();
        await tab.ShootAsync("cluster-lost");
        Assert.Empty(tab.Complaints);

        ILocator Table(string caption) => tab.Page.Locator($"[role=region][aria-label='{caption}']");
    }

    [Fact]
    public async Task Without_a_cluster_the_view_says_so()
    {
        await using PageUnderTest tab = await browser.OpenAsync(loaded.Server.Address, "/#cluster");
        await tab.ReadyAsync("cluster");
        await tab.Page.GetByText("This server is no node of a cluster: cluster-enabled is no.").WaitForAsync();
        Assert.False(await tab.Page.Locator("svg.slots").IsVisibleAsync());
    }

    // A node knows itself without a store, too.
    [Fact]
    public async Task Without_a_store_a_node_shows_what_it_knows()
    {
        using var folder = new TemporaryFolder();
        await using PageServer server = await PageServer.StartAsync("cluster-enabled", "yes", "dir", folder.Path, "save", "");
        await using PageUnderTest tab = await browser.OpenAsync(server.Address, "/#cluster");
        await tab.ReadyAsync("cluster");
        await tab.Page.GetByText("No slot has a node yet").WaitForAsync();
        server.Server.Execute("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
        await tab.Page.GetByText("1 shard, 1 node: every slot has a node. Without a store, this node does not see").WaitForAsync();
        await tab.AssertAccessibleAsync("cluster");
        await tab.ShootAsync("cluster-without-store");
        Assert.DoesNotContain("NaN", await tab.Page.InnerTextAsync("main"), StringComparison.Ordinal);
        Assert.Empty(tab.Complaints);
    }

    private static Task LookAsync(RedKiteTestNode node) => node.Server.Cluster!.Watch.Look(TestContext.Current.CancellationToken);

    private static void Observe(RedKiteOptions options)
    {
        options.Settings["diagnostics"] = "yes";
        options.Settings["admin-bind"] = "127.0.0.1";
        options.Settings["admin-port"] = LoopbackPort.Next().ToString(CultureInfo.InvariantCulture);
    }
}
