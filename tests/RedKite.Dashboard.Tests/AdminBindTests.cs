using System.Globalization;
using System.Net;
using System.Net.Http.Headers;
using System.Net.NetworkInformation;
using System.Net.Sockets;
using System.Text;
using RedKite.TestSupport;

namespace RedKite.Dashboard.Tests;

/// <summary>On other addresses than loopback the dashboard listens only where a login is needed.</summary>
public sealed class AdminBindTests : IAsyncDisposable
{
    private readonly List<string> _log = [];
    private RedKiteServer? _server;
    private RedKiteDashboard? _dashboard;

    // The machine's own address; null: it has only loopback.
    private static IPAddress? OwnAddress { get; } = NetworkInterface.GetAllNetworkInterfaces()
        .Where(device => device.OperationalStatus == OperationalStatus.Up)
        .SelectMany(device => device.GetIPProperties().UnicastAddresses)
        .Select(unicast => unicast.Address)
        .FirstOrDefault(address => address.AddressFamily == AddressFamily.InterNetwork && !IPAddress.IsLoopback(address));

    [Theory]
    [InlineData("*")]
    [InlineData("own")]
    public async Task Without_a_log_in_only_loopback_addresses_can_be_bound(string bind)
    {
        await StartAsync(bind == "*" ? bind : Own());
        Assert.Null(_dashboard);
        Assert.Single(_log, line => line.EndsWith("addresses other than loopback need a login: set 'requirepass', or create a user that may do everything and switch the user 'default' off", StringComparison.Ordinal));
    }

    [Fact]
    public async Task With_a_password_other_addresses_can_be_bound_and_require_a_log_in()
    {
        await StartAsync(Own(), ["CONFIG", "SET", "requirepass", "secret"]);
        await AssertNeedsLoginAsync("default", "secret");
    }

    [Fact]
    public async Task With_users_alone_other_addresses_can_be_bound_and_require_a_log_in()
    {
        await StartAsync(Own(), ["ACL", "SETUSER", "boss", "on", ">secret", "~*", "&*", "+@all"], ["ACL", "SETUSER", "default", "off"]);
        await AssertNeedsLoginAsync("boss", "secret");
    }

    public async ValueTask DisposeAsync()
    {
        if (_dashboard is not null) await _dashboard.DisposeAsync();
        if (_server is not null) await _server.DisposeAsync();
    }

    private static string Own()
    {
        Assert.SkipWhen(OwnAddress is null, "not tested on another address than loopback: this machine has none");
        return OwnAddress.ToString();
    }

    // The commands are executed before the dashboard starts.
    private async Task StartAsync(string bind, params string[][] commands)
    {
        _server = await RedKiteServer.StartAsync(new RedKiteOptions
        {
            Port = 0,
            Log = entry => { lock (_log) _log.Add(entry.Message); },
            Settings = { ["admin-bind"] = bind, ["admin-port"] = LoopbackPort.Next().ToString(CultureInfo.InvariantCulture), ["loops"] = "1" },
        });
        foreach (string[] command in commands) Assert.Equal("OK", _server.Execute(command).Text);
        _dashboard = await RedKiteDashboard.StartAsync(_server);
    }

    private async Task AssertNeedsLoginAsync(string user, string password)
    {
        Assert.NotNull(_dashboard);
        using var http = new HttpClient { BaseAddress = new Uri($"http://{OwnAddress}:{_dashboard.Port}") };
        Assert.Equal(HttpStatusCode.OK, await StatusAsync("/healthz"));
        foreach (string path in new[] { "/api/reports/server", "/api/keys", "/api/log", "/metrics" }) Assert.Equal(HttpStatusCode.Unauthorized, await StatusAsync(path));
        Assert.Equal(HttpStatusCode.Unauthorized, await LogInAsync("wrong"));
        Assert.Equal(HttpStatusCode.Unauthorized, await StatusAsync("/api/reports/server"));
        Assert.Equal(HttpStatusCode.NoContent, await LogInAsync(password));
        Assert.Equal(HttpStatusCode.OK, await StatusAsync("/api/reports/server"));

        using var program = new HttpClient { BaseAddress = http.BaseAddress };
        program.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Basic", Convert.ToBase64String(Encoding.UTF8.GetBytes($"{user}:{password}")));
        using HttpResponseMessage metrics = await program.GetAsync("/metrics", TestContext.Current.CancellationToken);
        Assert.Equal(HttpStatusCode.OK, metrics.StatusCode);

        async Task<HttpStatusCode> StatusAsync(string path)
        {
            using HttpResponseMessage response = await http.GetAsync(path, TestContext.Current.CancellationToken);
            return response.StatusCode;
        }

        async Task<HttpStatusCode> LogInAsync(string given)
        {
            using var request = new HttpRequestMessage(HttpMethod.Post, "/login") { Content = new StringContent($$"""{"user":"{{user}}","password":"{{given}}"}""", Encoding.UTF8, "application/json") };
            request.Headers.Add("X-RedKite", "1");
            using HttpResponseMessage response = await http.SendAsync(request, TestContext.Current.CancellationToken);
            return response.StatusCode;
        }
    }
}
