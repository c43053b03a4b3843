namespace RedKite.Dashboard.Tests;

/// <summary>What stands where at the widths of a small desktop and of a phone, and how the page words what it shows.</summary>
public sealed class LayoutTests(Browser browser, LoadedServer loaded)
{
    private const string Tops = "elements => JSON.stringify([...new Set(elements.map(element => element.offsetTop))].map(top => elements.filter(element => element.offsetTop === top).length))";

    [Theory]
    [InlineData(1280, "[4,4]")]
    [InlineData(1300, "[4,4]")]
    [InlineData(1440, "[8]")]
    public async Task Views_are_in_one_line_and_no_tile_is_alone(int width, string tiles)
    {
        await using PageUnderTest tab = await browser.OpenAsync(loaded.Server.Address, "/#overview", width);
        await tab.ReadyAsync("overview");
        Assert.Equal($"[{ViewTests.Views.Length}]", await tab.Page.EvalOnSelectorAllAsync<string>("#views a", Tops));
        Assert.Equal(tiles, await tab.Page.EvalOnSelectorAllAsync<string>(".tiles > *", Tops));
        Assert.True(await tab.Page.EvaluateAsync<bool>("document.getElementById('views').scrollWidth <= document.getElementById('views').clientWidth"), "all views are visible");
        Assert.True(await tab.Page.EvaluateAsync<int>("document.documentElement.scrollWidth") <= width, "nothing sticks out");
        await tab.ShootAsync($"overview-{width}");
    }

    [Theory]
    [InlineData("durability")]
    [InlineData("replication")]
    public async Task Values_have_the_width_of_a_phone(string view)
    {
        const int Width = 400;
        await using PageUnderTest tab = await browser.OpenAsync(loaded.Server.Address, $"/#{view}", Width, 900);
        await tab.ReadyAsync(view);
        Assert.True(await tab.Page.EvaluateAsync<int>("Math.min(...[...document.querySelectorAll('dl.facts dd')].map(value => value.clientWidth))") > Width * 3 / 4, "a value has the page's width");
        await tab.ShootAsync($"{view}-{Width}");
    }

    [Fact]
    public async Task An_unknown_view_is_told()
    {
        await using PageUnderTest tab = await browser.OpenAsync(loaded.Server.Address, "/#findings");
        await tab.ReadyAsync("overview");
        await tab.Page.GetByText("There is no view “findings”: this is the overview.").WaitForAsync();
        await tab.Page.EvaluateAsync("location.hash = 'memory'");
        await tab.ReadyAsync("memory");
        Assert.DoesNotContain("There is no view", await tab.Page.InnerTextAsync("main"), StringComparison.Ordinal);
        await tab.Page.EvaluateAsync("location.hash = 'nosuch'");
        await tab.Page.GetByText("There is no view “nosuch”").WaitForAsync();
        await tab.Page.EvaluateAsync("location.hash = 'overview'");
        await tab.WaitForAsync("!document.getElementById('view').innerText.includes('There is no view')");
        Assert.Empty(tab.Complaints);
    }

    [Theory]
    [InlineData("enable-debug-command or enable-module-command is yes", "enable-debug-command or enable-module-command is yes.")]
    [InlineData("loading took long", "Loading took long.")]
    [InlineData("key:1 is read most", "key:1 is read most.")]
    [InlineData("set `save`", "Set save.")]
    public async Task A_finding_is_in_sentences_with_names_as_they_are(string evidence, string shown)
    {
        await using PageUnderTest tab = await browser.OpenAsync(loaded.Server.Address);
        await tab.ReadyAsync("overview");
        string text = await tab.Page.EvaluateAsync<string>("""
            evidence => import('/app/overview.js').then(module => {
              const card = module.findingCard({ name: 'x', severity: 'notice', title: 'T', evidence, culprit: '', remedy: 'Set it to `no` or `local`.', since_unix_ms: 1, ended_unix_ms: 0, view: 'overview' }, () => {});
              return `${card.querySelector('.evidence').textContent}|${card.textContent.includes('`')}|${[...card.querySelectorAll('code')].map(code => code.textContent)}`;
            })
            """, evidence);
        Assert.StartsWith($"{shown}|false|", text, StringComparison.Ordinal);
        Assert.EndsWith("no,local", text, StringComparison.Ordinal);
    }
}
