using System.Globalization;
using System.Net;
using Microsoft.Playwright;
using RedKite.TestSupport;

namespace RedKite.Dashboard.Tests;

/// <summary>The view of durability while something is in progress or fails.</summary>
public sealed class DurabilityViewTests(Browser browser) : IDisposable
{
    private readonly TemporaryFolder _folder = new();
    private readonly FaultyFiles _disk = new();

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task Save_is_shown_while_it_runs_and_when_it_has_failed()
    {
        _disk.CreateFolder(_folder.Path);
        await using PageServer server = await PageServer.StartAsync(_disk, ["dir", _folder.Path, "save", "3600 1"]);
        for (int i = 0; i < 3; i++) server.Server.Execute("SET", $"key:{i}", "value");
        await using PageUnderTest tab = await browser.OpenAsync(server.Address, "/#durability");
        await tab.ReadyAsync("durability");
        await tab.Page.GetByText("A crash or a power loss loses what has changed since the last save.").WaitForAsync();
        using (var stalled = new ManualResetEventSlim())
        {
            _disk.Plan = call =>
            {
                if (call.Operation != "write") return null;
                stalled.Wait();
                return new FileFault(FileFault.NoSpace);
            };
            try
            {
                server.Server.Execute("BGSAVE");
                await tab.Page.GetByText("The data is being saved").WaitForAsync();
                Assert.True(await tab.Page.Locator("progress").IsVisibleAsync());
                await tab.AssertAccessibleAsync("durability");
            }
            finally
            {
                stalled.Set(); // the server's end waits for the save
            }

            await tab.Page.Locator("article", new PageLocatorOptions { HasText = "The data cannot be saved" }).WaitForAsync();
            await tab.Page.Locator("tr", new PageLocatorOptions { HasText = "No space left on device" }).First.WaitForAsync();
            Assert.False(await tab.Page.Locator("progress").IsVisibleAsync());
            Assert.Contains("refused with MISCONF: the last save failed", await tab.Page.InnerTextAsync("main"), StringComparison.Ordinal);
            await tab.ShootAsync("durability-failed");
            _disk.Plan = null;
        }

        server.Server.Execute("SAVE");
        await tab.Page.Locator("tr", new PageLocatorOptions { HasText = "succeeded" }).First.WaitForAsync();

        server.Server.Execute("BACKUP", "START");
        await tab.Page.GetByText("open: commands are written to it; it began").WaitForAsync();
        server.Server.Execute("BACKUP", "SEAL");
        await tab.Page.GetByText("sealed, ").WaitForAsync();
        await tab.Page.Locator("tr", new PageLocatorOptions { HasText = "backupdir/appendonly.aof.1.base.rdb" }).WaitForAsync();
        Assert.Empty(tab.Complaints);
    }

    [Fact]
    public async Task Loading_is_shown_on_every_view_while_it_lasts()
    {
        _disk.CreateFolder(_folder.Path);
        await using (PageServer first = await PageServer.StartAsync(_disk, ["dir", _folder.Path]))
        {
            first.Server.Execute("SET", "key", "value");
            first.Server.Execute("SAVE");
        }

        using var stalled = new ManualResetEventSlim();
        _disk.Plan = call =>
        {
            if (call.Operation == "read") stalled.Wait();
            return null;
        };
        int port = LoopbackPort.Next();
        await using RedKiteServer server = RedKiteServer.Create(new RedKiteOptions { Port = 0, Files = _disk, DataDirectory = _folder.Path, Persistence = RedKitePersistence.None, Settings = { ["admin-port"] = port.ToString(CultureInfo.InvariantCulture) } });
        Task start = Task.Run(server.StartAsync, TestContext.Current.CancellationToken);
        try
        {
            await Task.WhenAny(server.Listening, start);
            await using RedKiteDashboard? dashboard = await RedKiteDashboard.StartAsync(server);
            await using PageUnderTest tab = await browser.OpenAsync(new Uri($"http://{IPAddress.Loopback}:{dashboard!.Port}"));
            await tab.ReadyAsync("overview");
            await tab.Page.GetByText("The server is loading its data: 0 %, 0 keys. Clients are answered LOADING.").WaitForAsync();
            stalled.Set();
            await tab.WaitForAsync("document.getElementById('state').textContent === ''");
            Assert.Empty(tab.Complaints);
        }
        finally
        {
            stalled.Set();
            await start;
        }
    }
}
