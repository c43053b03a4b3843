using RedKite.TestSupport;

namespace RedKite.Dashboard.Tests;

/// <summary>A server in this process with its page on a free port.</summary>
internal sealed class PageServer : IAsyncDisposable
{
    private PageServer(RedKiteServer server, RedKiteDashboard dashboard)
    {
        Server = server;
        Dashboard = dashboard;
        Address = new Uri($"http://127.0.0.1:{dashboard.Port}");
        Http = new HttpClient { BaseAddress = Address };
    }

    internal RedKiteServer Server { get; }

    internal RedKiteDashboard Dashboard { get; }

    internal HttpClient Http { get; }

    internal Uri Address { get; }

    /// <param name="settings">Alternating names and values.</param>
    internal static Task<PageServer> StartAsync(params string[] settings) => StartAsync(files: null, settings);

    /// <param name="files">The disk; null: the real one.</param>
    /// <param name="settings">Alternating names and values.</param>
    internal static async Task<PageServer> StartAsync(FaultyFiles? files, string[] settings)
    {
        while (true)
        {
            var options = new RedKiteOptions { Port = 0, Files = files };
            options.Settings["bind"] = "127.0.0.1";
            options.Settings["admin-bind"] = "127.0.0.1";
            options.Settings["admin-port"] = LoopbackPort.Next().ToString(System.Globalization.CultureInfo.InvariantCulture);
            for (int i = 0; i < settings.Length; i += 2) options.Settings[settings[i]] = settings[i + 1];
            RedKiteServer server = await RedKiteServer.StartAsync(options);
            if (await RedKiteDashboard.StartAsync(server) is { } dashboard) return new PageServer(server, dashboard);
            await server.DisposeAsync(); // the port was taken in the meantime
        }
    }

    public async ValueTask DisposeAsync()
    {
        Http.Dispose();
        await Dashboard.DisposeAsync();
        await Server.DisposeAsync();
    }
}
