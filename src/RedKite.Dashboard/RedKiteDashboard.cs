using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.HttpOverrides;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using RedKite.Net.Tls;
using RedKite.Server.Config;
using RedKite.Server.Diagnostics.Reports;
using RedKite.Server.Logging;
using IPNetwork = System.Net.IPNetwork;

namespace RedKite.Dashboard;

/// <summary>The dashboard of a server: a page and its HTTP interface, on threads of its own. It ends with the server.</summary>
public sealed class RedKiteDashboard : IAsyncDisposable
{
    private const int AutomaticDistance = 2000;

    private readonly WebApplication _web;
    private readonly IDisposable? _watching;

    private RedKiteDashboard(WebApplication web, IDisposable? watching, int port)
    {
        _web = web;
        _watching = watching;
        Port = port;
    }

    /// <summary>The port that the dashboard listens on.</summary>
    public int Port { get; }

    /// <summary>
    /// Starts the dashboard of a server, according to its settings `admin-port` and `admin-bind`. Null: it is switched off or cannot listen;
    /// then the server's log says why.
    /// </summary>
    public static async Task<RedKiteDashboard?> StartAsync(RedKiteServer server)
    {
        ArgumentNullException.ThrowIfNull(server);
        Settings settings = server.Engine.Settings;
        ServerLog log = server.Engine.Log;
        if (PortOf(settings, server) is not { } port)
        {
            log.Notice(LogEvents.NoDashboard, "There is no dashboard because admin-port is 'auto' and the server has no port to which 2000 could be added.");
            return null;
        }

        if (port == 0) return null;
        if (server.Reports is null)
        {
            log.Notice(LogEvents.NoDashboard, "There is no dashboard because the setting 'diagnostics' is off.");
            return null;
        }

        List<IPAddress>? addresses = UsableAddresses(settings, port, new Logins(server).IsNeeded, log);
        if (addresses is null or []) return null;

        try
        {
            RedKiteDashboard dashboard = await StartAsync(server.Reports, server, addresses, port).ConfigureAwait(false);
            log.Notice(LogEvents.DashboardStarted, string.Create(CultureInfo.InvariantCulture, $"Dashboard on {(settings.AdminTls ? "https" : "http")}://{new IPEndPoint(addresses[0], port)}/"));
            _ = server.Stopped.ContinueWith(_ => dashboard.DisposeAsync().AsTask(), TaskScheduler.Default);
            return dashboard;
        }
        catch (IOException failure)
        {
            log.Warning(LogEvents.NoDashboard, $"There is no dashboard: {failure.Message}");
            return null;
        }
    }

    /// <summary>Shows any source of reports.</summary>
    /// <param name="server">For what only a running server has; null: the source is a debug package.</param>
    /// <exception cref="IOException">The port is taken.</exception>
    internal static async Task<RedKiteDashboard> StartAsync(IReportSource source, RedKiteServer? server, List<IPAddress> addresses, int port)
    {
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.Services.AddSingleton<IHostLifetime, NoSignals>();
        builder.Services.Configure<HostOptions>(options => options.ShutdownTimeout = TimeSpan.FromSeconds(1));
        TlsServer? tls = server?.Engine.Settings.AdminTls == true ? server.Tls : null;
        IPNetwork[] proxies = server is null ? [] : [.. server.Engine.Settings.AdminTrustedProxies.Select(word => SettingParsers.Network(word)!.Value)];
        var slots = new ConnectionSlots(address => Array.Exists(proxies, proxy => proxy.Contains(address.IsIPv4MappedToIPv6 ? address.MapToIPv4() : address)));
        builder.WebHost.UseKestrelCore().UseKestrelHttpsConfiguration().ConfigureKestrel(kestrel => Configure(kestrel, addresses, port, tls, slots));
        WebApplication web = builder.Build();
        if (proxies.Length > 0) web.UseForwardedHeaders(ForwardedBy(proxies));
        var site = new AdminSite(source, server, web.Lifetime.ApplicationStopping);
        web.Run(site.AnswerAsync);
        IDisposable? watching = server is null ? null : HttpWatch.Subscribe(web.Services.GetRequiredService<DiagnosticListener>(), server.Engine.Metrics.Server.Http, server.Engine.Log);
        try
        {
            await web.StartAsync().ConfigureAwait(false);
        }
        catch (IOException)
        {
            await web.DisposeAsync().ConfigureAwait(false);
            throw;
        }

        return new RedKiteDashboard(web, watching, new Uri(web.Urls.First()).Port);
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        await _web.StopAsync().ConfigureAwait(false);
        _watching?.Dispose();
        await _web.DisposeAsync().ConfigureAwait(false);
    }

    // Null: there is no port to begin from, or none at the distance.
    private static int? PortOf(Settings settings, RedKiteServer server)
    {
        if (settings.AdminPort != "auto") return int.Parse(settings.AdminPort, CultureInfo.InvariantCulture);
        int dataPort = server.Port != 0 ? server.Port : server.TlsPort;
        return dataPort == 0 || dataPort + AutomaticDistance > IPEndPoint.MaxPort ? null : dataPort + AutomaticDistance;
    }

    // Kestrel's own limit refuses the newest connection instead of the oldest unfinished one; it counts those that are being closed, too.
    private static void Configure(KestrelServerOptions kestrel, List<IPAddress> addresses, int port, TlsServer? tls, ConnectionSlots slots)
    {
        kestrel.AddServerHeader = false;
        kestrel.Limits.MaxConcurrentConnections = 4 * ConnectionSlots.CountMax;
        kestrel.Limits.MaxRequestBodySize = 16 * 1024;
        kestrel.Limits.MinRequestBodyDataRate = new MinDataRate(bytesPerSecond: 1024, gracePeriod: TimeSpan.FromSeconds(5));
        kestrel.Limits.RequestHeadersTimeout = TimeSpan.FromSeconds(10);
        kestrel.Limits.KeepAliveTimeout = TimeSpan.FromSeconds(60);
        foreach (IPAddress address in addresses)
        {
            kestrel.Listen(address, port, listener =>
            {
                listener.Protocols = HttpProtocols.Http1;
                listener.Use(next => connection => ServeAsync(next, connection, slots));
                if (tls is not null) listener.UseHttps(new TlsHandshakeCallbackOptions { HandshakeTimeout = TimeSpan.FromSeconds(10), OnConnection = _ => ValueTask.FromResult(HandshakeOf(tls)) });
            });
        }
    }

    private static async Task ServeAsync(ConnectionDelegate next, ConnectionContext connection, ConnectionSlots slots)
    {
        if (slots.Take((connection.RemoteEndPoint as IPEndPoint)?.Address, connection.Abort) is not { } slot)
        {
            connection.Abort();
            return;
        }

        try
        {
            connection.Features.Set(slot);
            await next(connection).ConfigureAwait(false);
        }
        finally
        {
            slot.Release();
        }
    }

    // Of a chain of proxies, the first address that is not one of them is the user's. The scheme is what the browser sees, so that Origin
    // can be compared and the cookie is for HTTPS only.
    private static ForwardedHeadersOptions ForwardedBy(IPNetwork[] proxies)
    {
        var options = new ForwardedHeadersOptions { ForwardedHeaders = ForwardedHeaders.XForwardedFor | ForwardedHeaders.XForwardedProto, ForwardLimit = null };
        options.KnownProxies.Clear();
        options.KnownIPNetworks.Clear();
        foreach (IPNetwork proxy in proxies) options.KnownIPNetworks.Add(proxy);
        return options;
    }

    // Those of the TLS port as they are now: a renewed certificate is served from then on. A browser has no certificate; it logs in.
    private static SslServerAuthenticationOptions HandshakeOf(TlsServer tls)
    {
        SslServerAuthenticationOptions options = tls.Options!;
        return new SslServerAuthenticationOptions
        {
            ServerCertificateContext = options.ServerCertificateContext,
            EnabledSslProtocols = options.EnabledSslProtocols,
            CipherSuitesPolicy = options.CipherSuitesPolicy,
            AllowRenegotiation = false,
            AllowTlsResume = options.AllowTlsResume,
        };
    }

    // Null: an address that must work does not.
    private static List<IPAddress>? UsableAddresses(Settings settings, int port, bool needsLogin, ServerLog log)
    {
        var usable = new List<IPAddress>();
        foreach (string word in settings.AdminBind)
        {
            bool isOptional = word.StartsWith('-');
            string name = word.TrimStart('-');
            IPAddress? address = name switch
            {
                "*" => IPAddress.Any,
                "::*" => IPAddress.IPv6Any,
                "localhost" => IPAddress.Loopback,
                _ => IPAddress.TryParse(name, out IPAddress? parsed) ? parsed : null,
            };
            string? obstacle = address is null ? "it is not an address"
                : !IPAddress.IsLoopback(address) && !needsLogin ? "addresses other than loopback need a login: set 'requirepass', or create a user that may do everything and switch the user 'default' off"
                : WhyNot(address, port);
            if (obstacle is null)
            {
                usable.Add(address!);
            }
            else if (!isOptional)
            {
                log.Warning(LogEvents.NoDashboard, $"There is no dashboard on {name}, port {port}: {obstacle}");
                return null;
            }
        }

        return usable;
    }

    private static string? WhyNot(IPAddress address, int port)
    {
        try
        {
            using var probe = new Socket(address.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
            probe.Bind(new IPEndPoint(address, port));
            return null;
        }
        catch (SocketException failure)
        {
            return failure.Message;
        }
    }

    // Signals belong to the host of the server.
    private sealed class NoSignals : IHostLifetime
    {
        public Task WaitForStartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

        public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;
    }
}
