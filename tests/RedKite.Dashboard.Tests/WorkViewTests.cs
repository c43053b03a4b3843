using System.Net;
using System.Text.Json;
using System.Text.RegularExpressions;
using Microsoft.Playwright;
using RedKite.Server.Diagnostics;
using RedKite.Server.Diagnostics.Package;

namespace RedKite.Dashboard.Tests;

/// <summary>The views of commands and loops: the history of one command, and of each loop.</summary>
public sealed class WorkViewTests(Browser browser, LoadedServer loaded)
{
    private static readonly string[] OfGet = ["command_calls:get command_failures:get", "command_p99:get command_max:get", "command_microseconds:get"];

    // At first the command that took the most time; a row leads to its own history, by keyboard too, and the address has it.
    [Fact]
    public async Task One_command_is_chosen_by_its_row_or_in_a_list_and_its_charts_are_updated()
    {
        await using PageUnderTest tab = await browser.OpenAsync(loaded.Server.Address, "/#commands");

        // By the page's own first request: a later one may have another order.
        await tab.Page.GotoAsync("about:blank");
        IResponse report = await tab.Page.RunAndWaitForResponseAsync(() => tab.Page.GotoAsync(new Uri(loaded.Server.Address, "/#commands").ToString()), answer => answer.Url.EndsWith("/api/reports/commands", StringComparison.Ordinal));
        await tab.ReadyAsync("commands");
        ILocator list = tab.Page.GetByLabel("Command", new PageGetByLabelOptions { Exact = true });
        JsonElement rows = (await report.JsonAsync())!.Value;
        string most = rows.EnumerateArray().MaxBy(row => row.GetProperty("total_microseconds").GetDouble()).GetProperty("name").GetString()!;
        Assert.Equal(most, await list.InputValueAsync());
        await tab.WaitForAsync($"document.querySelector('[data-metrics^=\"command_calls:{most}\"]').dataset.points >= 2");

        ILocator row = tab.Page.Locator("[aria-label='Commands'] tbody a", new PageLocatorOptions { HasTextRegex = new Regex("^get$") });
        await row.FocusAsync();
        await tab.Page.Keyboard.PressAsync("Enter");
        await Assertions.Expect(tab.Page).ToHaveURLAsync(new Regex("#commands\\?command=get$"));
        await Assertions.Expect(list).ToBeFocusedAsync();
        await Assertions.Expect(list).ToHaveValueAsync("get");
        foreach (string metrics in OfGet) await tab.WaitForAsync($"document.querySelector('[data-metrics=\"{metrics}\"]')?.dataset.points >= 2");
        string calls = await tab.Page.Locator($"[data-metrics='{OfGet[0]}'] .legend b").First.InnerTextAsync();
        Assert.InRange(double.Parse(calls, System.Globalization.CultureInfo.InvariantCulture), 1, 100); // the client of the loaded server

        // Live: the range moves on, and so do the charts.
        string to = await tab.Page.EvaluateAsync<string>($"document.querySelector('[data-metrics=\"{OfGet[0]}\"]').dataset.to");
        await tab.WaitForAsync($"document.querySelector('[data-metrics=\"{OfGet[0]}\"]').dataset.to > {to}");

        // The list keeps the focus, so that the arrows go on.
        await list.SelectOptionAsync("hset");
        await Assertions.Expect(tab.Page).ToHaveURLAsync(new Regex("command=hset"));
        await tab.WaitForAsync("document.querySelector('[data-metrics^=\"command_calls:hset\"]')?.dataset.points >= 2");
        await Assertions.Expect(list).ToBeFocusedAsync();
        Assert.Equal(0, await tab.Page.Locator("[data-metrics*=':get']").CountAsync());
        await tab.AssertAccessibleAsync("commands");
        await tab.ShootAsync("commands-one");
        Assert.Empty(tab.Complaints);
    }

    [Fact]
    public async Task Longest_time_of_a_command_leads_to_its_slow_requests()
    {
        await using PageUnderTest tab = await browser.OpenAsync(loaded.Server.Address, "/#commands");
        await tab.ReadyAsync("commands");
        ILocator row = tab.Page.Locator("[aria-label='Commands'] tbody tr", new PageLocatorOptions { Has = tab.Page.GetByRole(AriaRole.Link, new PageGetByRoleOptions { Name = "hset", Exact = true }) });
        await row.Locator("td").Nth(14).Locator("a").ClickAsync();
        await tab.ReadyAsync("slow");
        Assert.Contains("find=hset", tab.Page.Url, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Tables_that_do_not_follow_the_range_say_what_they_count()
    {
        await using PageUnderTest tab = await browser.OpenAsync(loaded.Server.Address, "/#commands");
        await tab.ReadyAsync("commands");
        foreach (string table in (string[])["Families", "Errors by class", "Scripts and functions", "Requests to this page and the endpoints"])
        {
            await Assertions.Expect(tab.Page.GetByRole(AriaRole.Heading, new PageGetByRoleOptions { Name = $"{table}, since the start", Exact = true })).ToBeVisibleAsync();
        }
    }

    [Fact]
    public async Task Server_without_a_command_shows_one_as_soon_as_it_is_called()
    {
        await using PageServer server = await PageServer.StartAsync();
        await using PageUnderTest tab = await browser.OpenAsync(server.Address, "/#commands");
        await tab.ReadyAsync("commands");
        await Assertions.Expect(tab.Page.GetByRole(AriaRole.Heading, new PageGetByRoleOptions { Name = "One command" })).ToBeHiddenAsync();
        server.Server.Execute("GET", "key");
        await Assertions.Expect(tab.Page.GetByLabel("Command", new PageGetByLabelOptions { Exact = true })).ToHaveValueAsync("get");
        await tab.WaitForAsync($"document.querySelector('[data-metrics=\"{OfGet[0]}\"] canvas') !== null");
        Assert.Empty(tab.Complaints);
    }

    [Theory]
    [InlineData(3, 3)]
    [InlineData(9, 1)] // more than a chart can show
    public async Task Each_loop_has_its_line_or_is_chosen(int loops, int lines)
    {
        await using PageServer server = await PageServer.StartAsync("loops", $"{loops}");
        await using PageUnderTest tab = await browser.OpenAsync(server.Address, "/#loops");
        await tab.ReadyAsync("loops");
        string[] charts = ["loop_busy_percent", "loop_longest_turn", "loop_messages_waiting"];
        string Metrics(string metric, int first) => string.Join(' ', Enumerable.Range(first, lines).Select(loop => $"{metric}:{loop}"));
        foreach (string chart in charts) await tab.WaitForAsync($"document.querySelector('[data-metrics=\"{Metrics(chart, 0)}\"]')?.dataset.points >= 2");
        ILocator list = tab.Page.GetByLabel("Loop", new PageGetByLabelOptions { Exact = true });
        await Assertions.Expect(list).ToBeVisibleAsync(new LocatorAssertionsToBeVisibleOptions { Visible = lines < loops });
        await tab.AssertAccessibleAsync("loops");
        await tab.ShootAsync($"loops-{loops}");
        if (lines < loops)
        {
            await tab.Page.Locator("[aria-label='Loops'] tbody tr").Nth(7).Locator("a").ClickAsync();
            await Assertions.Expect(list).ToHaveValueAsync("7");
            foreach (string chart in charts) await tab.WaitForAsync($"document.querySelector('[data-metrics=\"{chart}:7\"]')?.dataset.points >= 2");
        }

        Assert.Empty(tab.Complaints);
    }

    [Fact]
    public async Task Values_between_gaps_are_points()
    {
        await using PageUnderTest tab = await browser.OpenAsync(loaded.Server.Address);
        int[] alone = await tab.Page.EvaluateAsync<int[]>("import('/app/charts.js').then(module => module.alone({ data: [[], [1, null, 0, null, null, 3, 4, null, null, 5]] }, 1, false))");
        Assert.Equal([0, 2, 9], alone);
        Assert.True(await tab.Page.EvaluateAsync<bool>("import('/app/charts.js').then(module => module.alone({ data: [[], [1]] }, 1, true) === null)"));
    }

    // As after a build without Node.
    [Fact]
    public async Task Without_the_library_of_charts_there_are_tables()
    {
        await using PageUnderTest tab = await browser.OpenAsync(loaded.Server.Address, "/#overview");
        await tab.Page.RouteAsync("**/vendor/uPlot*", route => route.AbortAsync());
        await tab.Page.GotoAsync(new Uri(loaded.Server.Address, "/#commands?command=get").ToString());
        await tab.Page.ReloadAsync();
        await tab.ReadyAsync("commands");
        await tab.WaitForAsync($"document.querySelectorAll('[data-metrics=\"{OfGet[0]}\"] table tbody tr').length >= 2");
        Assert.Equal(0, await tab.Page.Locator(".chart canvas").CountAsync());
    }

    // What redkite analyze --serve shows: the seconds, and another range of time with the minutes.
    [Fact]
    public async Task Debug_package_shows_the_history_of_a_command_and_of_loops_in_any_range()
    {
        PackageReader package;
        long minute = (DateTimeOffset.UtcNow.ToUnixTimeSeconds() / 60) - 1440;
        await using (PageServer server = await LoadedServer.StartAsync())
        {
            RankedHistory commands = server.Server.Diagnostics!.CommandHistory;
            for (int i = 0; i < 60; i++) commands.RestoreMinute(minute + i, [(ushort)commands.Find("hset")], [100, 12, 0, 30, 40]);
            RedKiteReply zip = server.Server.Execute("DEBUG", "PACKAGE", "LOG", "0");
            Assert.False(zip.IsError, zip.Text);
            package = PackageReader.Open(new MemoryStream(zip.Bytes.ToArray()));
        }

        await using RedKiteDashboard dashboard = await RedKiteDashboard.StartAsync(package, server: null, [IPAddress.Loopback], port: 0);
        await using PageUnderTest tab = await browser.OpenAsync(new Uri($"http://127.0.0.1:{dashboard.Port}"), "/#commands");
        await tab.ReadyAsync("commands");
        string most = await tab.Page.GetByLabel("Command", new PageGetByLabelOptions { Exact = true }).InputValueAsync();
        Assert.True(await tab.Page.EvaluateAsync<int>($"Number(document.querySelector('[data-metrics^=\"command_calls:{most}\"]').dataset.points)") >= 2);

        await tab.Page.GotoAsync($"http://127.0.0.1:{dashboard.Port}/#commands?from={minute * 60}&to={(minute + 59) * 60}&command=hset");
        await tab.WaitForAsync("document.querySelector('[data-metrics^=\"command_calls:hset\"]')?.dataset.points >= 50");
        Assert.Equal("12", await tab.Page.Locator("[data-metrics^='command_calls:hset'] .legend b").First.InnerTextAsync());

        await tab.Page.GotoAsync($"http://127.0.0.1:{dashboard.Port}/#loops");
        await tab.ReadyAsync("loops");
        Assert.True(await tab.Page.EvaluateAsync<int>("Number(document.querySelector('[data-metrics^=\"loop_busy_percent:0\"]').dataset.points)") >= 2);
        Assert.Empty(tab.Complaints);
    }
}
