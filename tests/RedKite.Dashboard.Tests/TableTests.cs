using Microsoft.Playwright;
using RedKite.TestSupport;

namespace RedKite.Dashboard.Tests;

/// <summary>Tables of the page: sorting, filtering, copying, and where their rows lead.</summary>
public sealed class TableTests(Browser browser, LoadedServer loaded)
{
    [Fact]
    public async Task Table_filters_and_sorts_by_keyboard()
    {
        await using PageUnderTest tab = await browser.OpenAsync(loaded.Server.Address, "/#configuration");
        await tab.ReadyAsync("configuration");
        await tab.Page.Locator("tbody tr").Nth(100).WaitForAsync();
        await tab.Page.FillAsync("input[aria-label='Filter All settings']", "maxmemory-policy");
        Assert.Equal(1, await tab.Page.Locator("[aria-label='All settings'] tbody tr").CountAsync());
        await tab.Page.FillAsync("input[aria-label='Filter All settings']", "");
        await tab.Page.FocusAsync("[aria-label='All settings'] th button");
        await tab.Page.Keyboard.PressAsync("Enter");
        Assert.Equal("descending", await tab.Page.GetAttributeAsync("[aria-label='All settings'] th", "aria-sort"));
        Assert.StartsWith("zset", await tab.Page.InnerTextAsync("[aria-label='All settings'] tbody td"), StringComparison.Ordinal);
    }

    // Without a clipboard, as pages over plain HTTP from another machine are.
    [Fact]
    public async Task Table_is_copied_as_text_without_the_clipboard_API()
    {
        await using PageUnderTest tab = await browser.OpenAsync(loaded.Server.Address, "/#commands");
        await tab.ReadyAsync("commands");
        await tab.Page.EvaluateAsync("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
        await tab.Page.EvaluateAsync("document.addEventListener('copy', () => window.copied = document.activeElement.value)");
        await tab.Page.ClickAsync("button[aria-label='Copy as text: Commands']");
        await tab.Page.Locator("button", new PageLocatorOptions { HasText = "Copied" }).WaitForAsync();
        string text = await tab.Page.EvaluateAsync<string>("window.copied");
        Assert.StartsWith("Command\tFamily\tTime, of a core\tPer second", text, StringComparison.Ordinal);
        Assert.Matches("\nhset\thash\t.*\t500\t", text);
    }

    [Fact]
    public async Task Large_table_is_rendered_partly_until_all_rows_are_requested()
    {
        await using PageServer server = await PageServer.StartAsync();
        await using PageUnderTest tab = await browser.OpenAsync(server.Address, "/#configuration");
        await tab.ReadyAsync("configuration");
        ILocator rows = tab.Page.Locator("[aria-label='All settings'] tbody tr");
        await rows.First.WaitForAsync();
        Assert.Equal(100, await rows.CountAsync());
        await tab.Page.Locator("button:visible", new PageLocatorOptions { HasText = "Show all" }).ClickAsync();
        Assert.True(await rows.CountAsync() > 200);
    }

    // A table of few rows has no filter, and every table that has rows can be copied.
    [Theory]
    [InlineData("overview")]
    [InlineData("commands")]
    [InlineData("memory")]
    [InlineData("loops")]
    [InlineData("configuration")]
    public async Task Every_table_can_be_copied_and_long_ones_filtered(string view)
    {
        await using PageUnderTest tab = await browser.OpenAsync(loaded.Server.Address, $"/#{view}");
        await tab.ReadyAsync(view);
        const string Tables = "[...document.querySelectorAll('main .table')].filter(each => each.querySelector('tbody tr') && each.checkVisibility())";
        Assert.True(await tab.Page.EvaluateAsync<int>($"{Tables}.length") > 0);
        Assert.Empty(await tab.Page.EvaluateAsync<string[]>($"{Tables}.filter(each => ![...each.querySelectorAll('button')].some(button => button.textContent === 'Copy as text' && button.checkVisibility())).map(each => each.textContent)"));
        Assert.Empty(await tab.Page.EvaluateAsync<string[]>($"{Tables}.filter(each => each.querySelectorAll('tbody tr').length > 15 && !each.querySelector('input[type=search]').checkVisibility()).map(each => each.textContent)"));
    }

    [Fact]
    public async Task Time_of_a_slow_request_links_to_events_at_that_time()
    {
        await using PageServer server = await PageServer.StartAsync("slowlog-log-slower-than", "10000");
        using RespConnection slow = RespConnection.Connect(server.Server.Port);
        slow.Run("CLIENT SETNAME slow");
        slow.Run("EVAL \"local x = 0 for i = 1, 3000000 do x = x + i end return 1\" 0");
        server.Server.Execute("CONFIG", "SET", "hz", "12");
        await using PageUnderTest tab = await browser.OpenAsync(server.Address, "/#slow");
        await tab.ReadyAsync("slow");
        ILocator row = tab.Page.Locator("[aria-label='Slow commands'] tbody tr", new PageLocatorOptions { HasText = "EVAL" });
        await row.Locator("td").First.Locator("a").ClickAsync();
        await tab.ReadyAsync("clients");
        Assert.Matches("#clients\\?from=[0-9]+&to=[0-9]+&at=timeline$", tab.Page.Url);
        ILocator events = tab.Page.Locator("[aria-label='What delayed clients'] tbody tr");
        await events.Filter(new LocatorFilterOptions { HasText = "its command took long to execute" }).First.WaitForAsync();
        await tab.WaitForAsync("document.activeElement.getAttribute('aria-label') === 'Filter What delayed clients'");

        // From there, a changed setting leads to its row, and the client to its own.
        await events.Filter(new LocatorFilterOptions { HasText = "slow 127" }).First.Locator("td").Nth(3).Locator("a").ClickAsync();
        await tab.WaitForAsync("document.querySelector(\"[aria-label='Filter Clients']\").value === 'slow'");
        Assert.Equal(1, await tab.Page.Locator("[aria-label='Clients'] tbody tr").CountAsync());
        await events.Filter(new LocatorFilterOptions { HasText = "a setting was changed" }).First.Locator("a", new LocatorLocatorOptions { HasText = "a setting was changed" }).ClickAsync();
        await tab.ReadyAsync("configuration");
        await tab.WaitForAsync("document.querySelector(\"[aria-label='Filter All settings']\").value === 'hz'");
        Assert.Empty(tab.Complaints);
    }

    [Fact]
    public async Task Setting_has_the_time_of_its_change()
    {
        await using PageServer server = await PageServer.StartAsync("maxmemory-samples", "7");
        server.Server.Execute("CONFIG", "SET", "hz", "12");
        await using PageUnderTest tab = await browser.OpenAsync(server.Address, "/#configuration");
        await tab.ReadyAsync("configuration");
        await Assertions.Expect(Since("maxmemory-samples")).ToHaveTextAsync("the start");
        await Assertions.Expect(Since("hz")).ToHaveTextAsync(new System.Text.RegularExpressions.Regex("^[0-9]{2}:[0-9]{2}:[0-9]{2}$"));
        await Since("hz").Locator("a").ClickAsync();
        await tab.ReadyAsync("overview");
        Assert.Matches("#overview\\?from=[0-9]+&to=[0-9]+$", tab.Page.Url);
        Assert.Empty(tab.Complaints);

        ILocator Since(string setting) => tab.Page.Locator("[aria-label='Settings that differ'] tbody tr", new PageLocatorOptions { Has = tab.Page.GetByText(setting, new PageGetByTextOptions { Exact = true }) }).Locator("td").Nth(3);
    }
}
