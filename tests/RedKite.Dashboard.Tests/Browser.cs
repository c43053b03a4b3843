using System.Collections.Concurrent;
using System.Globalization;
using System.Text.Json;
using Microsoft.Playwright;
using RedKite.TestSupport;

[assembly: AssemblyFixture(typeof(RedKite.Dashboard.Tests.Browser))]

namespace RedKite.Dashboard.Tests;

/// <summary>Debian's Chromium, driven by Playwright. Tests are skipped where it is not installed.</summary>
public sealed class Browser : IAsyncLifetime
{
    private const string Program = "/usr/bin/chromium";

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
        IBrowserContext context = await _browser.NewContextAsync(new BrowserNewContextOptions
        {
            ViewportSize = new ViewportSize { Width = width, Height = height },
            ColorScheme = dark ? ColorScheme.Dark : ColorScheme.Light,
            ReducedMotion = ReducedMotion.Reduce, // no colours on their way from one theme to the other
        });
        var page = new PageUnderTest(context, await context.NewPageAsync());
        await page.Page.GotoAsync(new Uri(address, path).ToString());
        return page;
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

    private readonly IBrowserContext _context;

    internal PageUnderTest(IBrowserContext context, IPage page)
    {
        _context = context;
        Page = page;
        page.SetDefaultTimeout(TimeoutMs);
        page.Console += (_, message) =>
        {
            if (message.Type is "error" or "warning") Complaints.Enqueue(message.Text);
        };
        page.PageError += (_, error) => Complaints.Enqueue(error);
        page.Request += (_, request) =>
        {
            if (request.Url.StartsWith("data:", StringComparison.Ordinal)) return; // may be too long for an Uri
            if (!Uri.TryCreate(request.Url, UriKind.Absolute, out Uri? url) || !url.IsLoopback) Complaints.Enqueue($"asked another host: {request.Url}");
        };
    }

    internal IPage Page { get; }

    /// <summary>The browser's events add to it while a test reads it.</summary>
    internal ConcurrentQueue<string> Complaints { get; } = [];

    /// <summary>Counts the bytes that the page receives from now on, without the cache.</summary>
    internal async Task<ByteCounter> CountBytesAsync()
    {
        ICDPSession session = await _context.NewCDPSessionAsync(Page);
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
        JsonElement result = await Page.EvaluateAsync<JsonElement>("axe.run().then(result => result.violations.map(v => ({ id: v.id, impact: v.impact, nodes: v.nodes.slice(0, 3).map(n => n.html) })))");
        string[] serious = [.. result.EnumerateArray().Where(violation => violation.GetProperty("impact").GetString() is "serious" or "critical").Select(violation => violation.ToString())];
        Assert.True(serious.Length == 0, string.Create(CultureInfo.InvariantCulture, $"{view}: {string.Join('\n', serious)}"));
    }

    /// <summary>Saves a screenshot for reviewers of the page.</summary>
    internal Task ShootAsync(string name) => Page.ScreenshotAsync(new PageScreenshotOptions { Path = Path.Combine(Screenshots, $"{name}.png"), FullPage = true });

    public async ValueTask DisposeAsync() => await _context.DisposeAsync();
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
