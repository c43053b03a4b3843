using System.Collections.Concurrent;
using System.Globalization;
using System.Text.Json;
using Microsoft.Playwright;
using RedKite.TestSupport;

[assembly: AssemblyFixture(typeof(RedKite.Dashboard.Tests.Browser))]
// They wait for the page's updates more than they compute.
[assembly: CollectionBehavior(MaxParallelThreads = 4)]

namespace RedKite.Dashboard.Tests;

/// <summary>
/// Debian's Chromium, driven by Playwright. Tests are skipped where it is not installed. Tabs are used again by later tests, without what the
/// earlier one has left: to open one costs half of a test's CPU.
/// </summary>
public sealed class Browser : IAsyncLifetime
{
    private const string Program = "/usr/bin/chromium";

    private readonly ConcurrentBag<IPage> _idle = [];
    private IPlaywright? _playwright;
    private IBrowser? _browser;

    public async ValueTask InitializeAsync()
    {
        if (!File.Exists(Program)) return;
        Assertions.SetDefaultExpectTimeout(PageUnderTest.TimeoutMs);
        _playwright = await Playwright.CreateAsync();
        _browser = await _playwright.Chromium.LaunchAsync(new BrowserTypeLaunchOptions { ExecutablePath = Program, Args = ["--no-sandbox", "--disable-gpu"] });
    }

    internal async Task<PageUnderTest> OpenAsync(Uri address, string path = "", int width = 1440, int height = 1000, bool dark = false)
    {
        Assert.SkipWhen(_browser is null, $"{Program} is not installed");
        if (!_idle.TryTake(out IPage? page))
        {
            IBrowserContext context = await _browser.NewContextAsync(new BrowserNewContextOptions { ReducedMotion = ReducedMotion.Reduce }); // no colours on their way from one theme to the other
            page = await context.NewPageAsync();
            page.SetDefaultTimeout(PageUnderTest.TimeoutMs);
        }

        await page.SetViewportSizeAsync(width, height);
        var tab = new PageUnderTest(this, page);
        await tab.SetDarkAsync(dark);
        await page.GotoAsync(new Uri(address, path).ToString());
        return tab;
    }

    /// <summary>Takes a tab back whose test has ended.</summary>
    internal async Task ReturnAsync(IPage page)
    {
        try
        {
            await page.UnrouteAllAsync();
            if (page.Url.StartsWith("http", StringComparison.Ordinal)) await page.EvaluateAsync("localStorage.clear(); sessionStorage.clear()");
            await page.Context.ClearCookiesAsync();
            await page.GotoAsync("about:blank"); // no more requests to the test's server
            _idle.Add(page);
        }
        catch (PlaywrightException)
        {
            await page.Context.DisposeAsync(); // the test has left it in a state of its own: an open dialog, a lost page
        }
    }

    public async ValueTask DisposeAsync()
    {
        if (_browser is not null) await _browser.DisposeAsync();
        _playwright?.Dispose();
    }
}

/// <summary>A tab, with the errors and warnings of its console.</summary>
internal sealed class PageUnderTest : IAsyncDisposable
{
    internal const int TimeoutMs = 60_000; // for hangs alone: tests of durations measure them

    private static readonly string Screenshots = Path.Combine(RepositoryRoot.Path, "artifacts", "screenshots");

    private readonly Browser _browser;
    private bool _isKept = true;

    internal PageUnderTest(Browser browser, IPage page)
    {
        _browser = browser;
        Page = page;
        page.Console += OnConsole;
        page.PageError += OnError;
        page.Request += OnRequest;
    }

    internal IPage Page { get; }

    /// <summary>The browser's events add to it while a test reads it.</summary>
    internal ConcurrentQueue<string> Complaints { get; } = [];

    /// <summary>Counts the bytes that the page receives from now on, without the cache.</summary>
    internal async Task<ByteCounter> CountBytesAsync()
    {
        _isKept = false; // the session and its settings stay
        ICDPSession session = await Page.Context.NewCDPSessionAsync(Page);
        var counter = new ByteCounter();
        session.Event("Network.loadingFinished").OnEvent += (_, finished) => counter.Add(finished);
        await session.SendAsync("Network.enable");
        await session.SendAsync("Network.setCacheDisabled", new Dictionary<string, object> { ["cacheDisabled"] = true });
        return counter;
    }

    /// <summary>Waits until a view has shown its first data.</summary>
    internal async Task ReadyAsync(string view)
    {
        try
        {
            await Page.WaitForSelectorAsync($"main[data-ready='{view}']");
        }
        catch (TimeoutException)
        {
            Assert.Fail($"the view {view} did not appear: {string.Join('\n', Complaints)}");
        }
    }

    /// <summary>Waits until the view has been updated once more, from the beginning to the end.</summary>
    internal async Task NextUpdateAsync()
    {
        const string Updates = "Number(document.getElementById('view').dataset.updates)";
        int before = await Page.EvaluateAsync<int>(Updates);
        await WaitForAsync(string.Create(CultureInfo.InvariantCulture, $"{Updates} > {before}"));
    }

    /// <summary>Waits for a condition. The page's policy forbids the driver's own way, which evaluates text in the page.</summary>
    internal async Task WaitForAsync(string condition)
    {
        for (int i = 0; i < 300 && !await Page.EvaluateAsync<bool>(condition); i++) await Task.Delay(50, TestContext.Current.CancellationToken);
        Assert.True(await Page.EvaluateAsync<bool>(condition), condition);
    }

    internal Task SetDarkAsync(bool dark) => Page.EmulateMediaAsync(new PageEmulateMediaOptions { ColorScheme = dark ? ColorScheme.Dark : ColorScheme.Light });

    /// <summary>Simulates that the user switches to another tab, or returns. A headless browser never hides a tab.</summary>
    internal Task SetVisibleAsync(bool visible) => Page.EvaluateAsync($$"""
        Object.defineProperty(document, 'hidden', { configurable: true, get: () => {{(visible ? "false" : "true")}} });
        document.dispatchEvent(new Event('visibilitychange'));
        """);

    internal async Task AssertAccessibleAsync(string view)
    {
        string axe = Path.Combine(RepositoryRoot.Path, "src", "RedKite.Dashboard", "node_modules", "axe-core", "axe.min.js");
        Assert.SkipUnless(File.Exists(axe), "axe-core is not installed: npm ci in src/RedKite.Dashboard");
        if (!await Page.EvaluateAsync<bool>("'axe' in window")) await Page.EvaluateAsync(await File.ReadAllTextAsync(axe, TestContext.Current.CancellationToken)); // not as a script element: the page's policy would refuse it
        JsonElement result = await Page.EvaluateAsync<JsonElement>("""axe.run().then(result => ({ passed: result.passes.length, violations: result.violations.map(v => ({ id: v.id, impact: v.impact, nodes: v.nodes.slice(0, 3).map(n => n.html) })) }))""");
        Assert.True(result.GetProperty("passed").GetInt32() > 0, "a rule was checked");
        string[] serious = [.. result.GetProperty("violations").EnumerateArray().Where(violation => violation.GetProperty("impact").GetString() is "serious" or "critical").Select(violation => violation.ToString())];
        Assert.True(serious.Length == 0, string.Create(CultureInfo.InvariantCulture, $"{view}: {string.Join('\n', serious)}"));
    }

    /// <summary>Saves a screenshot for reviewers of the page, in a long run.</summary>
    internal Task ShootAsync(string name) =>
        TestScale.IsLong ? Page.ScreenshotAsync(new PageScreenshotOptions { Path = Path.Combine(Screenshots, $"{name}.png"), FullPage = true }) : Task.CompletedTask;

    public async ValueTask DisposeAsync()
    {
        Page.Console -= OnConsole;
        Page.PageError -= OnError;
        Page.Request -= OnRequest;
        if (_isKept) await _browser.ReturnAsync(Page);
        else await Page.Context.DisposeAsync();
    }

    private void OnConsole(object? sender, IConsoleMessage message)
    {
        if (message.Type is "error" or "warning") Complaints.Enqueue(message.Text);
    }

    private void OnError(object? sender, string error) => Complaints.Enqueue(error);

    private void OnRequest(object? sender, IRequest request)
    {
        if (request.Url.StartsWith("data:", StringComparison.Ordinal)) return; // may be too long for an Uri
        if (!Uri.TryCreate(request.Url, UriKind.Absolute, out Uri? url) || !url.IsLoopback) Complaints.Enqueue($"asked another host: {request.Url}");
    }
}

/// <summary>Sums the bytes of the network's answers, headers included, as the browser reports them.</summary>
internal sealed class ByteCounter
{
    private long _bytes;

    internal long Bytes => Interlocked.Read(ref _bytes);

    // Called on the browser driver's thread: an exception here would end the process.
    internal void Add(JsonElement? finished)
    {
        if (finished is { ValueKind: JsonValueKind.Object } answer && answer.TryGetProperty("encodedDataLength", out JsonElement length)) Interlocked.Add(ref _bytes, (long)length.GetDouble());
    }
}
