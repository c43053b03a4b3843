using System.Net;
using System.Security.Claims;
using System.Text;
using System.Text.Encodings.Web;
using Microsoft.AspNetCore.Authentication;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using RedKite.Server.Diagnostics.Package;

namespace RedKite.Hosting.Tests;

/// <summary>The dashboard below a path of a host.</summary>
public class DashboardTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task Page_and_reports_are_below_the_path()
    {
        await using WebApplication app = await StartAsync(_ => { }, options => options.Port = null);
        using HttpClient client = ClientOf(app);
        using (HttpResponseMessage moved = await client.GetAsync("ops/cache", Token))
        {
            Assert.Equal((HttpStatusCode.Redirect, "/ops/cache/"), (moved.StatusCode, moved.Headers.Location!.ToString()));
        }

        string page = await client.GetStringAsync("ops/cache/", Token);
        Assert.Contains("<title>RedKite</title>", page, StringComparison.Ordinal);
        Assert.DoesNotContain("=\"/", page, StringComparison.Ordinal); // every address is relative
        Assert.Contains("LoginNeeded", await client.GetStringAsync("ops/cache/app/api.js", Token), StringComparison.Ordinal);
        Assert.StartsWith("{", await client.GetStringAsync("ops/cache/api/reports/server", Token), StringComparison.Ordinal);
        Assert.Equal(HttpStatusCode.NotFound, await StatusAsync(client, "api/reports/server"));
        Assert.Equal(HttpStatusCode.NotFound, await StatusAsync(client, "ops/cache/nosuch"));
        Assert.Equal("not found", await client.GetStringAsync("ops/cachet", Token));
    }

    [Fact]
    public async Task Host_s_authorization_decides_and_no_login_follows()
    {
        await using WebApplication app = await StartAsync(dashboard => dashboard.RequireAuthorization("operators"), options =>
        {
            options.Port = null;
            options.Password = "secret";
        });
        using HttpClient client = ClientOf(app);
        Assert.Equal(HttpStatusCode.Unauthorized, await StatusAsync(client, "ops/cache/"));
        Assert.Equal(HttpStatusCode.Unauthorized, await StatusAsync(client, "ops/cache/app/page.js"));
        Assert.Equal(HttpStatusCode.Unauthorized, await StatusAsync(client, "ops/cache/api/reports/server"));
        client.DefaultRequestHeaders.Add("X-User", "visitor");
        Assert.Equal(HttpStatusCode.Forbidden, await StatusAsync(client, "ops/cache/api/reports/server"));
        client.DefaultRequestHeaders.Remove("X-User");
        client.DefaultRequestHeaders.Add("X-User", "operator");
        Assert.Equal(HttpStatusCode.OK, await StatusAsync(client, "ops/cache/api/reports/server"));
        Assert.Contains("\"needs_login\":false,\"has_login\":false", await client.GetStringAsync("ops/cache/api/source", Token), StringComparison.Ordinal);
        client.DefaultRequestHeaders.Host = "cache.example.org"; // the host knows its own names
        Assert.Equal(HttpStatusCode.OK, await StatusAsync(client, "ops/cache/api/reports/server"));
        client.DefaultRequestHeaders.Add("Origin", "http://evil.example.org");
        Assert.Equal(HttpStatusCode.Forbidden, await StatusAsync(client, "ops/cache/api/reports/server"));
    }

    [Fact]
    public async Task Without_authorization_the_server_s_own_users_log_in()
    {
        await using WebApplication app = await StartAsync(_ => { }, options =>
        {
            options.Port = null;
            options.Password = "secret";
        });
        using HttpClient client = ClientOf(app);
        Assert.Equal(HttpStatusCode.OK, await StatusAsync(client, "ops/cache/"));
        Assert.Equal(HttpStatusCode.Unauthorized, await StatusAsync(client, "ops/cache/api/reports/server"));
        client.DefaultRequestHeaders.Authorization = new("Basic", Convert.ToBase64String("default:secret"u8));
        Assert.Equal(HttpStatusCode.OK, await StatusAsync(client, "ops/cache/api/reports/server"));
        client.DefaultRequestHeaders.Host = "cache.example.org"; // an attacker's name for this address
        Assert.Equal(HttpStatusCode.Forbidden, await StatusAsync(client, "ops/cache/api/reports/server"));
    }

    [Fact]
    public async Task Custom_commands_are_in_the_command_table_and_in_the_debug_package()
    {
        await using WebApplication app = await StartAsync(_ => { }, options =>
        {
            options.Port = null;
            options.Commands.Add("SHOP.COUNT", static (RedKiteCommandKeys keys, [RedKiteKey] string key) => keys.Increment(key));
        });
        Assert.Equal(1, app.Services.GetRequiredService<RedKiteServer>().Execute("SHOP.COUNT", "visits").Integer);
        using HttpClient client = ClientOf(app);
        Assert.Contains("\"shop.count\"", await client.GetStringAsync("ops/cache/api/reports/commands", Token), StringComparison.Ordinal);
        Assert.Contains("\"shop.count\"", await client.GetStringAsync("ops/cache/api/reports/latency-histograms", Token), StringComparison.Ordinal);
        Assert.Contains("command=\"shop.count\"", await client.GetStringAsync("ops/cache/metrics", Token), StringComparison.Ordinal);
        using var request = new HttpRequestMessage(HttpMethod.Post, "ops/cache/api/debug-package?log=0") { Headers = { { "X-RedKite", "1" } } };
        using HttpResponseMessage response = await client.SendAsync(request, Token);
        PackageReader package = PackageReader.Open(new MemoryStream(await response.Content.ReadAsByteArrayAsync(Token)));
        string commands = Encoding.UTF8.GetString(package.Read("commands", Token)!);
        Assert.Contains("\"shop.count\"", commands, StringComparison.Ordinal);
        Assert.DoesNotContain("visits", commands, StringComparison.Ordinal); // a key
    }

    [Fact]
    public async Task There_is_none_without_diagnostics() =>
        await Assert.ThrowsAsync<InvalidOperationException>(() => StartAsync(_ => { }, options => options.Settings["diagnostics"] = "no"));

    private static async Task<WebApplication> StartAsync(Action<IEndpointConventionBuilder> protect, Action<RedKiteOptions> configure)
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseUrls("http://127.0.0.1:0");
        builder.Services.AddRedKite(configure);
        builder.Services.AddAuthentication("header").AddScheme<AuthenticationSchemeOptions, HeaderUser>("header", null);
        builder.Services.AddAuthorization(options => options.AddPolicy("operators", policy => policy.RequireUserName("operator")));
        WebApplication app = builder.Build();
        app.UseAuthentication();
        app.UseAuthorization();
        protect(app.MapGroup("/ops").MapRedKiteDashboard("cache"));
        app.MapFallback(() => "not found");
        await app.StartAsync(Token);
        return app;
    }

    private static HttpClient ClientOf(WebApplication app) => new(new HttpClientHandler { AllowAutoRedirect = false }) { BaseAddress = new Uri(app.Urls.First() + "/") };

    private static async Task<HttpStatusCode> StatusAsync(HttpClient client, string path)
    {
        using HttpResponseMessage response = await client.GetAsync(path, Token);
        string body = await response.Content.ReadAsStringAsync(Token);
        return body == "not found" ? HttpStatusCode.NotFound : response.StatusCode;
    }

    private sealed class HeaderUser(IOptionsMonitor<AuthenticationSchemeOptions> options, ILoggerFactory logger, UrlEncoder encoder) : AuthenticationHandler<AuthenticationSchemeOptions>(options, logger, encoder)
    {
        protected override Task<AuthenticateResult> HandleAuthenticateAsync()
        {
            string name = Request.Headers["X-User"].ToString();
            if (name.Length == 0) return Task.FromResult(AuthenticateResult.NoResult());
            var identity = new ClaimsIdentity([new Claim(ClaimTypes.Name, name)], Scheme.Name);
            return Task.FromResult(AuthenticateResult.Success(new AuthenticationTicket(new ClaimsPrincipal(identity), Scheme.Name)));
        }
    }
}
