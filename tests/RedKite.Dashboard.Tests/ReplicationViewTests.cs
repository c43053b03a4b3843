using System.Globalization;
using System.Text.RegularExpressions;
using Microsoft.Playwright;
using RedKite.TestSupport;

namespace RedKite.Dashboard.Tests;

/// <summary>The view of replication of a primary, of a replica in between, and of a replica that has lost its primary.</summary>
public sealed class ReplicationViewTests(Browser browser)
{
    [Fact]
    public async Task Who_follows_whom_is_drawn()
    {
        await using PageServer middle = await PageServer.StartAsync("repl-diskless-sync-delay", "0");
        RedKiteServer primary = await StartAsync();
        try
        {
            await using RedKiteServer first = await StartAsync(), second = await StartAsync();
            await using PageUnderTest tab = await browser.OpenAsync(middle.Address, "/#replication");
            await tab.ReadyAsync("replication");
            await tab.Page.GetByText("This server follows none, and no server follows it.").WaitForAsync();
            middle.Server.Execute("REPLICAOF", "127.0.0.1", Text(primary.Port));
            await tab.Page.GetByText("This server follows its primary; no server follows it.").WaitForAsync();
            first.Execute("REPLICAOF", "127.0.0.1", Text(middle.Server.Port));
            await tab.Page.GetByText("This server follows its primary; 1 replica gets the stream.").WaitForAsync();
            second.Execute("REPLICAOF", "127.0.0.1", Text(middle.Server.Port));
            await tab.Page.GetByText("This server follows its primary; 2 replicas get the stream.").WaitForAsync();
            await tab.Page.Locator(".chain .node", new PageLocatorOptions { HasText = Text(primary.Port) }).WaitForAsync();
            await tab.Page.Locator(".chain .replicas .node", new PageLocatorOptions { HasText = Text(second.Port) }).WaitForAsync();
            await tab.Page.Locator("tr", new PageLocatorOptions { HasText = "gets the stream" }).First.WaitForAsync();
            await tab.AssertAccessibleAsync("replication");
            await tab.ShootAsync("replication-chain");
            await primary.DisposeAsync();
            await tab.Page.GetByText("This server is a replica whose link to its primary is not connected").WaitForAsync();
            await tab.ShootAsync("replication-down");
            middle.Server.Execute("REPLICAOF", "NO", "ONE");
            await tab.Page.GetByText("This server is a primary: 2 replicas get the stream.").WaitForAsync();
            Assert.Empty(tab.Complaints);
        }
        finally
        {
            await primary.DisposeAsync();
        }
    }

    [Fact]
    public async Task Replies_that_wait_for_replicas_are_shown()
    {
        await using PageServer primary = await PageServer.StartAsync("repl-diskless-sync-delay", "0", "replica-acks", "1", "replica-acks-timeout", "0");
        await using RedKiteServer replica = await StartAsync();
        await using PageUnderTest tab = await browser.OpenAsync(primary.Address, "/#replication");
        await tab.ReadyAsync("replication");
        await tab.Page.GetByText("Writes cannot be acknowledged: 0 of 1 replica (replica-acks) get the stream.").WaitForAsync();
        using RespConnection client = RespConnection.Connect(primary.Server.Port);
        client.SendCommand("SET key value");
        await tab.Page.Locator("dd", new PageLocatorOptions { HasTextRegex = new Regex("^1, the oldest for .*no write was answered NOREPLICAS \\(replica-acks 1\\)$") }).WaitForAsync();
        await Chart("Replies that wait for replicas").Locator("b", new LocatorLocatorOptions { HasTextRegex = new Regex("^1$") }).WaitForAsync();
        await tab.Page.Locator("tr", new PageLocatorOptions { HasText = "replica-acks-timeout" }).WaitForAsync();
        await tab.AssertAccessibleAsync("replication");
        await tab.ShootAsync("replication-acks");
        replica.Execute("REPLICAOF", "127.0.0.1", Text(primary.Server.Port));
        await tab.Page.GetByText("This server is a primary: 1 replica gets the stream.").WaitForAsync();
        client.Read().IsOk();
        await tab.Page.Locator("dd", new PageLocatorOptions { HasTextRegex = new Regex("^none; a client has waited for .* ms on average, no write was answered NOREPLICAS") }).WaitForAsync();
        await Chart("Replies that wait for replicas").Locator("b", new LocatorLocatorOptions { HasTextRegex = new Regex("^0$") }).WaitForAsync();
        client.Run("CONFIG SET replica-acks 2 replica-acks-timeout 1").IsOk();
        await tab.Page.GetByText("Writes cannot be acknowledged: 1 of 2 replicas (replica-acks) gets the stream.").WaitForAsync();
        client.Run("SET key other").IsError("NOREPLICAS The write was executed, but too few replicas have acknowledged it within replica-acks-timeout: a failover may lose it");
        await tab.Page.Locator("dd", new PageLocatorOptions { HasText = "1 write was answered NOREPLICAS (replica-acks 2)" }).WaitForAsync();
        await Chart("Answered NOREPLICAS, per second").Locator("b").WaitForAsync();
        Assert.Empty(tab.Complaints);

        ILocator Chart(string title) => tab.Page.Locator("figure.chart", new PageLocatorOptions { Has = tab.Page.Locator("h3", new PageLocatorOptions { HasTextRegex = new Regex($"^{Regex.Escape(title)}$") }) });
    }

    private static string Text(int port) => port.ToString(CultureInfo.InvariantCulture);

    private static async Task<RedKiteServer> StartAsync()
    {
        var options = new RedKiteOptions { Port = 0, Loops = 1 };
        options.Settings["diagnostics"] = "no";
        options.Settings["repl-diskless-sync-delay"] = "0";
        return await RedKiteServer.StartAsync(options);
    }
}
