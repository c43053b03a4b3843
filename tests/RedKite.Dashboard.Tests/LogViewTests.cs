using Microsoft.Playwright;
using RedKite.Server.Logging;
using RedKite.TestSupport;

namespace RedKite.Dashboard.Tests;

/// <summary>The views of the log and of live traffic.</summary>
public sealed class LogViewTests(Browser browser)
{
    [Fact]
    public async Task Log_is_searched()
    {
        await using PageServer server = await PageServer.StartAsync();
        server.Server.Engine.Log.Warning(LogEvents.ClientMessage, "a needle in the log");
        await using PageUnderTest tab = await browser.OpenAsync(server.Address, "/#log");
        await tab.ReadyAsync("log");
        ILocator lines = tab.Page.Locator("[aria-label='Log']");
        await Assertions.Expect(lines).ToContainTextAsync("Dashboard on http");
        await tab.Page.FillAsync("[aria-label='Search the log']", "NEEDLE");
        string found = await lines.InnerTextAsync();
        Assert.EndsWith("a needle in the log", found, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', found);
        server.Server.Engine.Log.Warning(LogEvents.ClientMessage, "another needle");
        await Assertions.Expect(lines).ToContainTextAsync("another needle");
        await tab.Page.FillAsync("[aria-label='Search the log']", "nothing has this");
        Assert.Equal("No line matches.", await lines.InnerTextAsync());
        Assert.Empty(tab.Complaints);
    }

    [Fact]
    public async Task Live_traffic_hides_arguments_by_default_and_costs_nothing_without_viewers()
    {
        await using PageServer server = await PageServer.StartAsync();
        using RespConnection client = RespConnection.Connect(server.Server.Port);
        await using PageUnderTest tab = await browser.OpenAsync(server.Address, "/#traffic");
        await tab.ReadyAsync("traffic");
        ILocator rows = tab.Page.Locator("[aria-label='Live commands'] tbody tr");
        await SendUntilAsync(() => rows.Filter(new LocatorFilterOptions { HasText = "2 hidden" }));
        Assert.DoesNotContain("secret", await tab.Page.InnerTextAsync("main"), StringComparison.Ordinal);
        await tab.Page.GetByLabel("Show values").CheckAsync();
        await SendUntilAsync(() => rows.Filter(new LocatorFilterOptions { HasText = "secret-key secret-value" }));

        await tab.SetVisibleAsync(false);
        await UntilMonitoredAsync(false);
        await tab.SetVisibleAsync(true);
        await UntilMonitoredAsync(true);
        await tab.Page.ClickAsync("nav a:has-text('Memory')");
        await UntilMonitoredAsync(false);
        Assert.Empty(tab.Complaints);

        async Task SendUntilAsync(Func<ILocator> shown)
        {
            for (int i = 0; i < 150 && await shown().CountAsync() == 0; i++)
            {
                client.Run("SET secret-key secret-value").IsOk();
                await Task.Delay(100, TestContext.Current.CancellationToken);
            }

            Assert.True(await shown().CountAsync() > 0, "the command is shown");
        }

        async Task UntilMonitoredAsync(bool wanted)
        {
            for (int i = 0; i < 150 && server.Server.Engine.Monitors.IsOn != wanted; i++) await Task.Delay(100, TestContext.Current.CancellationToken);
            Assert.Equal(wanted, server.Server.Engine.Monitors.IsOn);
        }
    }
}
