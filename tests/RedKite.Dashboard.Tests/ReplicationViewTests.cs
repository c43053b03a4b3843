using System.Globalization;
using Microsoft.Playwright;

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

    private static string Text(int port) => port.ToString(CultureInfo.InvariantCulture);

    private static async Task<RedKiteServer> StartAsync()
    {
        var options = new RedKiteOptions { Port = 0, Loops = 1 };
        options.Settings["diagnostics"] = "no";
        options.Settings["repl-diskless-sync-delay"] = "0";
        return await RedKiteServer.StartAsync(options);
    }
}
