using System.Globalization;
using System.Net;
using Microsoft.Playwright;
using RedKite.Server.Diagnostics.Package;
using RedKite.TestSupport;

namespace RedKite.Dashboard.Tests;

/// <summary>The page in a real browser: its frame, charts, range of time, findings and login.</summary>
public sealed class PageTests(Browser browser, LoadedServer loaded)
{
    private const string ChartsHaveData = "[...document.querySelectorAll('.chart')].length >= 6 && [...document.querySelectorAll('.chart')].every(chart => chart.dataset.points >= 2)";

    [Fact]
    public async Task Charts_have_data_and_dragging_on_one_zooms_all_and_the_address()
    {
        await using PageUnderTest tab = await browser.OpenAsync(loaded.Server.Address);
        await tab.ReadyAsync("overview");
        using RespConnection client = RespConnection.Connect(loaded.Server.Server.Port);
        for (int i = 0; i < 150 && !await tab.Page.EvaluateAsync<bool>(ChartsHaveData); i++)
        {
            client.Run("GET key:1"); // times of commands are known for seconds with commands
            await Task.Delay(100, TestContext.Current.CancellationToken);
        }

        Assert.True(await tab.Page.EvaluateAsync<bool>(ChartsHaveData), "six charts with data");
        ILocator over = tab.Page.Locator(".chart .u-over").First;
        LocatorBoundingBoxResult box = (await over.BoundingBoxAsync())!;
        await tab.Page.Mouse.MoveAsync(box.X + (box.Width * 0.5f), box.Y + 20);
        await tab.Page.Mouse.DownAsync();
        await tab.Page.Mouse.MoveAsync(box.X + (box.Width * 0.9f), box.Y + 30, new MouseMoveOptions { Steps = 5 });
        await tab.Page.Mouse.UpAsync();
        for (int i = 0; i < 50 && !tab.Page.Url.Contains("from=", StringComparison.Ordinal); i++) await Task.Delay(100, TestContext.Current.CancellationToken);
        Assert.Matches("from=[0-9]+&to=[0-9]+", tab.Page.Url);
        string zoomed = new Uri(tab.Page.Url).Fragment;
        long[] range = [.. zoomed[(zoomed.IndexOf('?', StringComparison.Ordinal) + 1)..].Split('&').Select(part => long.Parse(part.Split('=')[1], CultureInfo.InvariantCulture))];
        await tab.WaitForAsync($"[...document.querySelectorAll('.chart')].every(chart => chart.dataset.to - chart.dataset.from <= {range[1] - range[0] + 5})");
        Assert.Single(await tab.Page.EvaluateAsync<string[]>("[...new Set([...document.querySelectorAll('.chart')].map(chart => `${chart.dataset.from} to ${chart.dataset.to}`))]"));

        // Another view keeps the range, and a colleague who opens the address sees the same.
        await tab.Page.ClickAsync("nav a:has-text('Memory')");
        await tab.ReadyAsync("memory");
        Assert.Equal(zoomed[zoomed.IndexOf('?', StringComparison.Ordinal)..], new Uri(tab.Page.Url).Fragment["#memory".Length..]);
        await tab.Page.ClickAsync("#range button[aria-pressed='true']");
        for (int i = 0; i < 50 && !tab.Page.Url.Contains("last=300", StringComparison.Ordinal); i++) await Task.Delay(100, TestContext.Current.CancellationToken);
        Assert.Contains("last=300", tab.Page.Url, StringComparison.Ordinal);
        Assert.Empty(tab.Complaints);
    }

    // As after a build without Node, whose page has no library of charts.
    [Fact]
    public async Task Charts_are_tables_without_their_library()
    {
        await using PageUnderTest tab = await browser.OpenAsync(loaded.Server.Address, "/#overview");
        await tab.Page.RouteAsync("**/vendor/uPlot*", route => route.AbortAsync());
        await tab.Page.GotoAsync(new Uri(loaded.Server.Address, "/#memory").ToString());
        await tab.Page.ReloadAsync();
        await tab.ReadyAsync("memory");
        await tab.WaitForAsync("[...document.querySelectorAll('.chart')].length >= 2 && [...document.querySelectorAll('.chart')].every(chart => chart.querySelectorAll('table tbody tr').length >= 2)");
        Assert.Equal(0, await tab.Page.Locator(".chart canvas").CountAsync());
    }

    // The same page on a debug package: what redkite analyze --serve shows.
    [Fact]
    public async Task Debug_package_is_shown_with_its_history_and_without_live_parts()
    {
        PackageReader package;
        await using (PageServer server = await LoadedServer.StartAsync())
        {
            RedKiteReply zip = server.Server.Execute("DEBUG", "PACKAGE", "LOG", "0");
            Assert.False(zip.IsError, zip.Text);
            package = PackageReader.Open(new MemoryStream(zip.Bytes.ToArray()));
        }

        await using RedKiteDashboard dashboard = await RedKiteDashboard.StartAsync(package, server: null, [IPAddress.Loopback], port: 0);
        await using PageUnderTest tab = await browser.OpenAsync(new Uri($"http://127.0.0.1:{dashboard.Port}"));
        await tab.ReadyAsync("overview");
        Assert.Contains("This is a debug package", await tab.Page.InnerTextAsync("#state"), StringComparison.Ordinal);
        Assert.True(await tab.Page.EvaluateAsync<int>("Number(document.querySelector('[data-metrics*=used_memory]').dataset.points)") >= 2);
        Assert.Equal(0, await tab.Page.Locator("nav a", new PageLocatorOptions { HasText = "Live traffic" }).CountAsync());
        foreach (string view in ViewTests.Views.Where(view => view != "traffic"))
        {
            await tab.Page.GotoAsync($"http://127.0.0.1:{dashboard.Port}/#{view}");
            await tab.ReadyAsync(view);
        }

        Assert.DoesNotContain(tab.Complaints, complaint => !complaint.Contains("404", StringComparison.Ordinal)); // the log is no report of a package
    }

    // The first line says how bad it is and how many checks found nothing; findings follow before all numbers.
    [Theory]
    [InlineData("", "The server is healthy. All 64 checks pass.")]
    [InlineData("notice", "The server is healthy. 1 note. All other checks (of 64) pass.")]
    [InlineData("warning notice notice", "The server works, but something needs attention. 1 warning, 2 notes. All other checks (of 64) pass.")]
    [InlineData("critical warning warning", "Clients are affected, or data is at risk. 1 critical finding, 2 warnings. All other checks (of 64) pass.")]
    public async Task Verdict_is_the_first_line_and_findings_follow(string severities, string verdict)
    {
        string[] open = [.. severities.Split(' ', StringSplitOptions.RemoveEmptyEntries).Select((severity, i) =>
            $$"""{"name":"finding-{{i}}","severity":"{{severity}}","title":"Title {{i}}","evidence":"evidence {{i}}","remedy":"Remedy {{i}}.","view":"memory","since_unix_ms":1,"ended_unix_ms":0}""")];
        await using PageUnderTest tab = await browser.OpenAsync(loaded.Server.Address, "/#log");
        await tab.Page.RouteAsync("**/api/reports/findings", route => route.FulfillAsync(new RouteFulfillOptions { ContentType = "application/json", Body = $$"""{"open":[{{string.Join(',', open)}}],"ended":[],"rules":64}""" }));
        await tab.Page.GotoAsync(new Uri(loaded.Server.Address, "/#overview").ToString());
        await tab.ReadyAsync("overview");
        ILocator line = tab.Page.Locator(".verdict p");
        await Assertions.Expect(line).ToHaveTextAsync(verdict);
        Assert.Equal(open.Length, await tab.Page.Locator(".findings").First.Locator(".finding").CountAsync());
        string[] order = await tab.Page.EvaluateAsync<string[]>("[...document.getElementById('view').children].map(each => each.className)");
        Assert.StartsWith("verdict", order[2], StringComparison.Ordinal); // after the title and the question
        Assert.Equal("findings", order[3]);
        Assert.True(Array.IndexOf(order, "cards tiles") > 3 && Array.IndexOf(order, "charts") > Array.IndexOf(order, "cards tiles"), string.Join(", ", order));
        Assert.Empty(tab.Complaints);
    }

    [Fact]
    public async Task Finding_is_shown_with_evidence_and_remedy_and_leads_to_its_view()
    {
        await using PageServer server = await PageServer.StartAsync("slowlog-log-slower-than", "-1");
        await using PageUnderTest tab = await browser.OpenAsync(server.Address);
        ILocator card = tab.Page.Locator(".finding", new PageLocatorOptions { HasText = "The slow log is off" });
        await card.WaitForAsync();
        await Assertions.Expect(tab.Page.Locator(".verdict p")).ToContainTextAsync(new System.Text.RegularExpressions.Regex("[0-9]+ (note|warning|critical finding)s?"));
        Assert.Contains("Set slowlog-log-slower-than to 10000", await card.InnerTextAsync(), StringComparison.Ordinal);
        await card.Locator("a").ClickAsync();
        await tab.ReadyAsync("configuration");
        await tab.Page.Locator("td", new PageLocatorOptions { HasText = "slowlog-log-slower-than" }).First.WaitForAsync();
    }

    // A finding that has ended: its view opens at its time, with the row that it names marked and not behind the bar at the top.
    [Fact]
    public async Task Show_me_chooses_the_time_of_the_finding_and_marks_the_row_that_it_names()
    {
        Assert.True(SpinWait.SpinUntil(() => loaded.Server.Server.Engine.Clients.All.Any(session => session.Name == "worker"), 60_000));
        string address = loaded.Server.Server.Engine.Clients.All.First(session => session.Name == "worker").Address;
        long now = DateTimeOffset.UtcNow.ToUnixTimeMilliseconds();
        string finding = $$"""{"name":"keys-command","severity":"critical","title":"KEYS is used","evidence":"3 calls","culprit":"called by client 1 (worker, {{address}}, user default)","remedy":"Use SCAN.","view":"clients","since_unix_ms":{{now - 120_000}},"ended_unix_ms":{{now - 60_000}}}""";
        await using PageUnderTest tab = await browser.OpenAsync(loaded.Server.Address, "/#log", height: 500);
        await tab.Page.RouteAsync("**/api/reports/findings", route => route.FulfillAsync(new RouteFulfillOptions { ContentType = "application/json", Body = $$"""{"open":[],"ended":[{{finding}}],"rules":64}""" }));
        await tab.Page.GotoAsync(new Uri(loaded.Server.Address, "/#overview").ToString());
        await tab.ReadyAsync("overview");
        ILocator card = tab.Page.Locator(".finding", new PageLocatorOptions { HasText = "KEYS is used" });
        Assert.Contains($"Called by client 1 (worker, {address}, user default).", await card.InnerTextAsync(), StringComparison.Ordinal);
        await card.Locator("a").ClickAsync();
        await tab.ReadyAsync("clients");
        ILocator marked = tab.Page.Locator("[aria-label='Clients'] tr.marked");
        await marked.WaitForAsync();
        Assert.Contains("worker", await marked.InnerTextAsync(), StringComparison.Ordinal);
        Assert.Contains($"from={(now / 1000) - 180}&to=", tab.Page.Url, StringComparison.Ordinal);
        await tab.WaitForAsync("(row => row.top >= document.querySelector('header').offsetHeight && row.bottom <= innerHeight)(document.querySelector('tr.marked').getBoundingClientRect())");
        Assert.Empty(tab.Complaints);
    }

    // One line of head, whatever is chosen; on a phone the views are behind a button.
    [Fact]
    public async Task Head_is_one_line_on_a_desktop_and_on_a_phone()
    {
        const string HeadHeight = "document.querySelector('header').offsetHeight";
        long now = DateTimeOffset.UtcNow.ToUnixTimeSeconds();
        await using PageUnderTest tab = await browser.OpenAsync(loaded.Server.Address, $"/#memory?from={now - 90_000}&to={now - 5}");
        await tab.ReadyAsync("memory");
        Assert.InRange(await tab.Page.EvaluateAsync<int>(HeadHeight), 20, 60);
        await tab.Page.SetViewportSizeAsync(390, 900);
        await tab.Page.EvaluateAsync("location.hash = 'memory'");
        await tab.WaitForAsync($"{HeadHeight} < 60");
        await Assertions.Expect(tab.Page.Locator("nav")).ToBeHiddenAsync();
        await tab.Page.ClickAsync("#menu");
        await tab.Page.ClickAsync("nav a:has-text('Clients')");
        await tab.ReadyAsync("clients");
        await Assertions.Expect(tab.Page.Locator("nav")).ToBeHiddenAsync();
        await Assertions.Expect(tab.Page.Locator("#menu")).ToHaveTextAsync("Clients");
        Assert.Empty(tab.Complaints);
    }

    [Fact]
    public async Task Debug_package_is_downloaded_from_the_page()
    {
        await using PageUnderTest tab = await browser.OpenAsync(loaded.Server.Address);
        await tab.ReadyAsync("overview");
        Assert.Equal("15", await tab.Page.GetByLabel("Log in the package").InputValueAsync());
        await tab.Page.GetByLabel("Log in the package").SelectOptionAsync("0");
        IDownload download = await tab.Page.RunAndWaitForDownloadAsync(() => tab.Page.ClickAsync("button:has-text('Download a debug package')"), new PageRunAndWaitForDownloadOptions { Timeout = 60_000 });
        Assert.StartsWith("redkite-package-", download.SuggestedFilename, StringComparison.Ordinal);
        await using FileStream file = File.OpenRead(await download.PathAsync());
        Assert.NotNull(PackageReader.Open(file).Read("findings", TestContext.Current.CancellationToken));
        Assert.Empty(tab.Complaints);
    }

    [Fact]
    public async Task Changed_setting_and_action_are_marks_on_the_charts_in_letters_and_words()
    {
        await using PageServer server = await LoadedServer.StartAsync();
        server.Server.Execute("CONFIG", "SET", "refuse-dangerous-commands", "1");
        Assert.StartsWith("ERR KEYS is refused", server.Server.Execute("KEYS", "*").Text, StringComparison.Ordinal);
        await using PageUnderTest tab = await browser.OpenAsync(server.Address);
        await tab.ReadyAsync("overview");
        await tab.Page.ClickAsync(".marks summary");
        string text = await tab.Page.InnerTextAsync(".marks");
        Assert.Contains("S a setting was changed", text, StringComparison.Ordinal);
        Assert.Contains("A the server acted by itself", text, StringComparison.Ordinal);
        Assert.Contains("refuse-commands", text, StringComparison.Ordinal);
        await tab.ShootAsync("marks");
        await tab.Page.GotoAsync(new Uri(server.Address, "/#configuration").ToString());
        await tab.ReadyAsync("configuration");
        Assert.Equal("1", await tab.Page.Locator("[aria-label='Actions that the server may take by itself'] tr", new PageLocatorOptions { HasText = "refuse-commands" }).Locator("td").Nth(1).InnerTextAsync());
        Assert.Empty(tab.Complaints);
    }

    [Fact]
    public async Task Range_of_the_past_is_read_once_and_charts_share_the_cursor()
    {
        PageServer server = loaded.Server;
        await using PageUnderTest tab = await browser.OpenAsync(server.Address, "/#log");
        await tab.ReadyAsync("log");
        var histories = new System.Collections.Concurrent.ConcurrentQueue<string>();
        tab.Page.Request += (_, request) =>
        {
            if (request.Url.Contains("/api/history", StringComparison.Ordinal)) histories.Enqueue(request.Url);
        };
        long now = DateTimeOffset.UtcNow.ToUnixTimeSeconds();
        await tab.Page.GotoAsync(new Uri(server.Address, $"/#memory?from={now - 300}&to={now - 5}").ToString());
        await tab.ReadyAsync("memory");
        await Task.Delay(3500, TestContext.Current.CancellationToken); // three updates
        Assert.Single(histories);

        await tab.Page.GotoAsync(new Uri(server.Address, "/#memory").ToString());
        await tab.Page.Locator(".chart .u-over").First.HoverAsync();
        await Assertions.Expect(tab.Page.Locator(".chart .now").Nth(1)).ToHaveTextAsync(new System.Text.RegularExpressions.Regex("^[0-9-]*[ ]?[0-9]{2}:[0-9]{2}:[0-9]{2}$"));
        Assert.True(histories.Count > 1);
        Assert.Empty(tab.Complaints);
    }

    [Fact]
    public async Task Range_is_moved_by_keys_and_limits_the_lists_of_single_events()
    {
        await using PageUnderTest tab = await browser.OpenAsync(loaded.Server.Address, "/#slow");
        await tab.ReadyAsync("slow");
        ILocator rows = tab.Page.Locator("[aria-label='Slow commands'] tbody tr");
        Assert.True(await rows.CountAsync() > 1);
        await tab.Page.Locator(".chart .plot").First.FocusAsync();
        await tab.Page.Keyboard.PressAsync("ArrowLeft");
        await Assertions.Expect(tab.Page).ToHaveURLAsync(new System.Text.RegularExpressions.Regex("from=[0-9]+&to=[0-9]+"));
        (long from, long to) = RangeOf(tab.Page.Url);
        Assert.InRange(to - from, 299, 302);
        Assert.InRange(DateTimeOffset.UtcNow.ToUnixTimeSeconds() - to, 70, 100);

        // The focus stays on the chart, so that the next key works too.
        await tab.Page.Keyboard.PressAsync("ArrowLeft");
        await Assertions.Expect(tab.Page).Not.ToHaveURLAsync(new System.Text.RegularExpressions.Regex($"from={from}&"));
        Assert.InRange(from - RangeOf(tab.Page.Url).From, 70, 80);
        (long moved, _) = RangeOf(tab.Page.Url);
        await tab.Page.Keyboard.PressAsync("-");
        await Assertions.Expect(tab.Page).Not.ToHaveURLAsync(new System.Text.RegularExpressions.Regex($"from={moved}&")); // before another address is opened
        await Assertions.Expect(tab.Page.Locator("#range button[aria-pressed='true']")).ToContainTextAsync("to");
        Assert.True(await tab.Page.EvaluateAsync<bool>("document.activeElement.classList.contains('plot')"), "the focus is on the chart");

        // Before the server's start there was nothing slow.
        await tab.Page.GotoAsync(new Uri(loaded.Server.Address, $"/#slow?from={from - 90_000}&to={to - 90_000}").ToString());
        await tab.Page.GetByText("No command was slower than slowlog-log-slower-than in this time.").WaitForAsync();
        await tab.Page.Locator(".chart .plot").First.FocusAsync();
        await tab.Page.Keyboard.PressAsync("+");
        await Assertions.Expect(tab.Page).Not.ToHaveURLAsync(new System.Text.RegularExpressions.Regex($"from={from - 90_000}&"));
        (long nearer, long end) = RangeOf(tab.Page.Url);
        Assert.InRange(end - nearer, 149, 153);
        await tab.Page.Keyboard.PressAsync("Escape");
        await Assertions.Expect(tab.Page).ToHaveURLAsync(new System.Text.RegularExpressions.Regex("#slow$"));
        await rows.Nth(1).WaitForAsync();
        Assert.Empty(tab.Complaints);

        static (long From, long To) RangeOf(string url)
        {
            System.Text.RegularExpressions.Match match = System.Text.RegularExpressions.Regex.Match(url, "from=([0-9]+)&to=([0-9]+)");
            return (long.Parse(match.Groups[1].Value, CultureInfo.InvariantCulture), long.Parse(match.Groups[2].Value, CultureInfo.InvariantCulture));
        }
    }

    // Whatever is drawn at that moment.
    [Fact]
    public async Task Keys_change_the_range_of_the_address_before_its_data_is_here()
    {
        await using PageUnderTest tab = await browser.OpenAsync(loaded.Server.Address, "/#slow");
        await tab.ReadyAsync("slow");
        await tab.Page.RouteAsync("**/api/history**", static _ => Task.CompletedTask); // not answered any more
        long to = DateTimeOffset.UtcNow.ToUnixTimeSeconds() - 90_000, from = to - 300;
        await tab.Page.GotoAsync(new Uri(loaded.Server.Address, $"/#slow?from={from}&to={to}").ToString());
        await tab.Page.Locator(".chart .plot").First.FocusAsync();
        await tab.Page.Keyboard.PressAsync("+");
        await Assertions.Expect(tab.Page).ToHaveURLAsync(new System.Text.RegularExpressions.Regex($"from={from + 75}&to={to - 75}"));
        await tab.Page.Keyboard.PressAsync("ArrowLeft"); // and so does the next key
        await Assertions.Expect(tab.Page).ToHaveURLAsync(new System.Text.RegularExpressions.Regex($"from={from + 37}&"));
    }

    [Fact]
    public async Task Password_is_requested_and_opens_the_page()
    {
        await using PageServer server = await PageServer.StartAsync("requirepass", "secret");
        await using PageUnderTest tab = await browser.OpenAsync(server.Address);
        await tab.ReadyAsync("login");
        await tab.AssertAccessibleAsync("login");
        await tab.Page.FillAsync("input[type=password]", "wrong");
        await tab.Page.Keyboard.PressAsync("Enter");
        await tab.Page.GetByText("Wrong user or password.").WaitForAsync();
        await tab.Page.FillAsync("input[type=password]", "secret");
        await tab.Page.Keyboard.PressAsync("Enter");
        await tab.ReadyAsync("overview");
        await tab.Page.ReloadAsync();
        await tab.ReadyAsync("overview"); // the cookie stays
    }

    [Fact]
    public async Task Hidden_page_makes_no_requests()
    {
        await using PageUnderTest tab = await browser.OpenAsync(loaded.Server.Address);
        await tab.ReadyAsync("overview");
        var requests = new System.Collections.Concurrent.ConcurrentQueue<string>();
        tab.Page.Request += (_, request) => requests.Enqueue(request.Url);
        await tab.SetVisibleAsync(false);
        await Task.Delay(500, TestContext.Current.CancellationToken); // the update that is under way
        requests.Clear();
        await Task.Delay(2500, TestContext.Current.CancellationToken); // two updates of a page that is seen
        Assert.Empty(requests);
        await tab.SetVisibleAsync(true);
        await tab.NextUpdateAsync();
        Assert.NotEmpty(requests);
        Assert.Empty(tab.Complaints);
    }

    [Fact]
    public async Task Skip_link_leads_to_the_view_and_not_out_of_it()
    {
        await using PageUnderTest tab = await browser.OpenAsync(loaded.Server.Address, "/#memory");
        await tab.ReadyAsync("memory");
        await tab.Page.FocusAsync(".skip");
        await tab.Page.Keyboard.PressAsync("Enter");
        Assert.Equal("view", await tab.Page.EvaluateAsync<string>("document.activeElement.id"));
        Assert.EndsWith("#memory", tab.Page.Url, StringComparison.Ordinal);
    }
}
