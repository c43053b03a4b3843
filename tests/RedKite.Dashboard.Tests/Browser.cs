using System.Collections.Concurrent;
using System.Text.Json;
using Microsoft.Playwright;

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

/// <summary>A tab, with whatever its console complained about.</summary>
internal sealed class PageUnderTest : IAsyncDisposable
{
    private const int TimeoutMs = 60_000; // for hangs alone: tests of durations measure them

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

    /// <summary>Counts what the page receives from now on. Nothing comes from the cache.</summary>
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
