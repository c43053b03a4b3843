using Microsoft.Playwright;
using RedKite.TestSupport;

namespace RedKite.Dashboard.Tests;

/// <summary>Every view of the page, at the width of a desktop and of a phone, in both themes; and the contents of single views.</summary>
public sealed class ViewTests(Browser browser, LoadedServer loaded)
{
    // A view that is not in this list is not tested: every row of views.js is here.
    internal static readonly string[] Views = ["overview", "commands", "loops", "memory", "clients", "slow", "keys", "durability", "replication", "cluster", "machine", "security", "configuration", "log", "traffic"];

    // What a machine may lack: pressure, control groups, a disk that is known. Of an idle command the times are unknown, and of no cluster everything (ClusterViewTests has one).
    private const string UnknownHere = "/^(pressure_|cgroup_|disk_|system_cpu_steal|aof_sync|primary_link_down|replication_backlog_window|command_p99:|cluster_)/";

    private const int PhoneWidth = 390;

    // Nothing, or the innermost elements that reach beyond the page's right edge.
    private const string SticksOut = """
        (() => {
          const width = document.documentElement.clientWidth;
          if (document.documentElement.scrollWidth <= width) return '';
          const wide = [...document.querySelectorAll('body *')].filter(element => element.getBoundingClientRect().right > width + 0.5);
          return wide.filter(element => !wide.some(other => element !== other && element.contains(other))).map(element => element.outerHTML.slice(0, 200)).join(' ');
        })()
        """;

    public static TheoryData<string> ViewNames => [.. Views];

    [Fact]
    public async Task Every_view_is_tested()
    {
        await using PageUnderTest tab = await browser.OpenAsync(loaded.Server.Address);
        Assert.Equal(Views, await tab.Page.EvaluateAsync<string[]>("import('/app/views.js').then(module => module.views.map(view => view.name))"));
    }

    [Theory]
    [MemberData(nameof(ViewNames))]
    public async Task View_opens_without_complaint_with_data_in_its_charts_fits_a_phone_and_is_accessible_in_both_themes(string view)
    {
        await using PageUnderTest tab = await browser.OpenAsync(loaded.Server.Address, $"/#{view}");
        await tab.ReadyAsync(view);
        await tab.NextUpdateAsync();
        await tab.WaitForAsync($"[...document.querySelectorAll('.chart[data-metrics]')].every(chart => chart.dataset.points >= 2 || {UnknownHere}.test(chart.dataset.metrics))");
        Assert.Empty(tab.Complaints);
        Assert.DoesNotContain("undefined", await tab.Page.InnerTextAsync("main"), StringComparison.Ordinal);
        Assert.DoesNotContain("NaN", await tab.Page.InnerTextAsync("main"), StringComparison.Ordinal);
        await tab.AssertAccessibleAsync(view);
        await tab.ShootAsync(view);
        await tab.SetDarkAsync(true);
        if (TestScale.IsLong) await tab.AssertAccessibleAsync(view);
        await tab.ShootAsync($"{view}-1440-dark");

        await tab.Page.SetViewportSizeAsync(PhoneWidth, 900);
        await AssertFitsPhoneAsync(tab, view);
    }

    // Opened at that width, not made narrower.
    [Theory]
    [InlineData("overview")]
    [InlineData("commands")]
    public async Task View_opens_on_a_phone(string view)
    {
        await using PageUnderTest tab = await browser.OpenAsync(loaded.Server.Address, $"/#{view}", PhoneWidth, 900, dark: true);
        await tab.ReadyAsync(view);
        await AssertFitsPhoneAsync(tab, view);
    }

    private static async Task AssertFitsPhoneAsync(PageUnderTest dark, string view)
    {
        await dark.AssertAccessibleAsync(view);
        await dark.ShootAsync($"{view}-{PhoneWidth}-dark");
        await dark.SetDarkAsync(false);
        if (TestScale.IsLong) await dark.AssertAccessibleAsync(view);
        await dark.ShootAsync($"{view}-{PhoneWidth}-light");
        Assert.Equal("", await dark.Page.EvaluateAsync<string>(SticksOut));
        Assert.Empty(dark.Complaints);
    }

    [Fact]
    public async Task Scripts_are_shown_with_their_calls()
    {
        await using PageServer server = await PageServer.StartAsync();
        for (int i = 0; i < 3; i++) server.Server.Execute("EVAL", "return 'a script of three calls'", "0");
        await using PageUnderTest tab = await browser.OpenAsync(server.Address, "/#commands");
        await tab.ReadyAsync("commands");
        string row = await tab.Page.Locator("tr", new PageLocatorOptions { HasText = "a script of three calls" }).InnerTextAsync();
        Assert.Contains("\t3\t", row, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Security_shows_users_denials_and_encryption()
    {
        await using PageServer server = await PageServer.StartAsync();
        server.Server.Execute("ACL", "SETUSER", "ann", "on", ">word", "~orders:*", "+get");
        using (RespConnection client = RespConnection.Connect(server.Server.Port))
        {
            Assert.StartsWith("WRONGPASS", client.Run("AUTH ann wrong").Text, StringComparison.Ordinal);
            client.Run("AUTH ann word").IsOk();
            Assert.StartsWith("NOPERM", client.Run("SET orders:1 x").Text, StringComparison.Ordinal);
            await using PageUnderTest tab = await browser.OpenAsync(server.Address, "/#security");
            await tab.ReadyAsync("security");
            string row = await tab.Page.Locator("tr", new PageLocatorOptions { HasText = "~orders:*" }).InnerTextAsync();
            Assert.Contains("1 password", row, StringComparison.Ordinal);
            Assert.Contains("+get", row, StringComparison.Ordinal);
            await tab.Page.Locator("tr", new PageLocatorOptions { HasText = "set" }).Filter(new LocatorFilterOptions { HasText = "command" }).WaitForAsync();
            await tab.Page.Locator("tr", new PageLocatorOptions { HasText = "127.0.0.1" }).WaitForAsync();
            Assert.Contains("used neither for the data nor for the dashboard", await tab.Page.Locator("dl.facts").InnerTextAsync(), StringComparison.Ordinal);
        }
    }
}
