using Microsoft.Playwright;

namespace RedKite.Dashboard.Tests;

/// <summary>The view of keys: hot keys, large keys, and the key browser.</summary>
public sealed class KeysViewTests(Browser browser, LoadedServer loaded)
{
    [Fact]
    public async Task Keys_are_browsed()
    {
        PageServer server = loaded.Server;
        server.Server.Execute("RPUSH", "a list", "first element");
        await using PageUnderTest tab = await browser.OpenAsync(server.Address, "/#keys");
        await tab.ReadyAsync("keys");
        await tab.Page.FillAsync("input[aria-label='Pattern']", "a *");
        await tab.Page.ClickAsync("button:has-text('Read keys')");
        ILocator key = tab.Page.Locator("td button", new PageLocatorOptions { HasText = "a list" });
        for (int i = 0; i < 150 && !await key.IsVisibleAsync(); i++)
        {
            await tab.Page.EvaluateAsync("[...document.querySelectorAll('button')].find(button => button.textContent === 'More' && !button.hidden)?.click()"); // not by the mouse: it waits for a button that is gone after the last keys
            await Task.Delay(100, TestContext.Current.CancellationToken);
        }

        await key.ClickAsync();
        await tab.Page.GetByText("first element").WaitForAsync();
    }

    [Fact]
    public async Task Hot_keys_large_keys_and_histograms_are_shown_and_lead_to_the_browser()
    {
        await using PageUnderTest tab = await browser.OpenAsync(loaded.Server.Address, "/#keys");
        await tab.ReadyAsync("keys");
        await tab.Page.Locator("[aria-label='Hot keys'] tbody tr", new PageLocatorOptions { Has = tab.Page.GetByText(LoadedServer.HotKey, new PageGetByTextOptions { Exact = true }) }).WaitForAsync();
        ILocator large = tab.Page.Locator("[aria-label='Large keys'] tbody tr");
        await Assertions.Expect(large.First).ToContainTextAsync("500 elements"); // of a survey that began after all keys were there
        Assert.StartsWith("hash\thash\t", await large.First.InnerTextAsync(), StringComparison.Ordinal);
        Assert.Equal(500, await Sum("string: bytes"));
        Assert.Equal(500, await Sum("string: lifetimes left"));
        Assert.Equal(1, await Sum("hash: elements"));

        await large.First.Locator("a").ClickAsync();
        await tab.Page.Locator(".browser dl", new PageLocatorOptions { HasText = "hash" }).WaitForAsync();
        Assert.Contains("field:", await tab.Page.InnerTextAsync(".browser pre"), StringComparison.Ordinal);
        Assert.Contains("#keys?key=hash&database=0", tab.Page.Url, StringComparison.Ordinal);
        Assert.Empty(tab.Complaints);

        // The numbers of keys that a histogram's bars say.
        Task<int> Sum(string title) => tab.Page.EvaluateAsync<int>($$"""[...document.querySelectorAll('svg[aria-label="{{title}}"] title')].reduce((sum, each) => sum + Number(/: ([0-9,]+) keys?$/.exec(each.textContent)[1].replaceAll(',', '')), 0)""");
    }
}
