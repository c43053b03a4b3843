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

    // The newest samples as a line, with a gap where a value is no number.
    [Fact]
    public async Task Series_are_charts()
    {
        PageServer server = loaded.Server;
        for (int i = 0; i < 250; i++) server.Server.Execute("TS.ADD", "a series", $"{1_000_000 + (i * 1000)}", i == 240 ? "nan" : $"{i % 10}");
        await using PageUnderTest tab = await browser.OpenAsync(server.Address, "/#keys?key=a%20series&database=0");
        await tab.ReadyAsync("keys");
        ILocator chart = tab.Page.Locator(".browser figure.series");
        await chart.WaitForAsync();
        Assert.Equal("200", await chart.GetAttributeAsync("data-samples"));
        Assert.Equal("a series: 200 samples from 0 to 9", await chart.Locator("svg").GetAttributeAsync("aria-label"));
        string[] lines = await tab.Page.EvaluateAsync<string[]>("[...document.querySelectorAll('.browser .series polyline')].map(line => line.getAttribute('points'))");
        Assert.Equal(2, lines.Length);
        Assert.Equal([190, 9], lines.Select(line => line.Split(' ').Length));
        Assert.StartsWith("0.0,140.0 3.6,124.4 ", lines[0], StringComparison.Ordinal);
        Assert.EndsWith(" 720.0,0.0", lines[1], StringComparison.Ordinal);
        Assert.Contains("1249000 9\n1248000 8", await tab.Page.InnerTextAsync(".browser pre"), StringComparison.Ordinal);
        Assert.Empty(tab.Complaints);
    }

    // Two levels are open; text of a document is no markup, and a document too long for a page is text.
    [Fact]
    public async Task Documents_are_trees()
    {
        await using PageServer server = await PageServer.StartAsync();
        server.Server.Execute("JSON.SET", "doc", "$", """{"name":"<b>Ada</b>","tags":["a",{"deep":[1.5,null,true]}],"none":{}}""");
        server.Server.Execute("JSON.SET", "long", "$", $"[\"{new string('x', 2 << 20)}\"]");
        await using PageUnderTest tab = await browser.OpenAsync(server.Address, "/#keys?key=doc&database=0");
        await tab.ReadyAsync("keys");
        ILocator tree = tab.Page.Locator(".browser .document");
        await tree.WaitForAsync();
        Assert.Equal(["{3}", "tags: [2]", "1: {1}", "deep: [3]", "none: {0}"], await tree.Locator("summary").AllTextContentsAsync());
        Assert.Equal(["name: \"<b>Ada</b>\"", "0: \"a\"", "0: 1.5", "1: null", "2: true"], await tree.Locator("details > div").AllTextContentsAsync());
        ILocator inner = tree.GetByText("2: true");
        await Assertions.Expect(inner).ToBeHiddenAsync();
        await tree.GetByText("1: {1}").ClickAsync();
        await tree.GetByText("deep: [3]").ClickAsync();
        await Assertions.Expect(inner).ToBeVisibleAsync();

        await tab.Page.EvaluateAsync("location.hash = '#keys?key=long&database=0'");
        await tab.Page.Locator(".browser pre", new PageLocatorOptions { HasText = "[\"xxxx" }).WaitForAsync();
        Assert.Equal(0, await tree.CountAsync());
        Assert.Empty(tab.Complaints);
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
