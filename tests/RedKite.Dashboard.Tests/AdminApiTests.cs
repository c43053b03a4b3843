using System.Diagnostics;
using System.Net;
using System.Net.NetworkInformation;
using System.Net.Sockets;
using System.Text;
using System.Text.Json;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.DependencyInjection;
using RedKite.Server.Diagnostics.Package;
using RedKite.Server.Logging;
using RedKite.Server.Metrics;
using RedKite.TestSupport;

namespace RedKite.Dashboard.Tests;

/// <summary>The dashboard's interface over HTTP, of a real server.</summary>
public sealed class AdminApiTests : IAsyncDisposable
{
    private readonly HttpClient _http = new();
    private readonly List<string> _log = [];
    private RedKiteServer? _server;
    private RedKiteDashboard? _dashboard;

    [Fact]
    public async Task Reports_are_JSON_and_an_unknown_one_is_not_found()
    {
        await Start();
        Assert.Equal(JsonValueKind.Array, (await Get("/api/reports/findings")).GetProperty("open").ValueKind);
        Assert.True((await Get("/api/source")).GetProperty("live").GetBoolean());
        Assert.Equal(HttpStatusCode.NotFound, await Status("/api/reports/nothing"));
        Assert.Equal(HttpStatusCode.NotFound, await Status("/api/nothing"));
    }

    [Fact]
    public async Task Page_is_served_by_HTTPS_alone_with_the_certificate_as_it_is_now()
    {
        using var certificates = new TestCertificates();
        certificates.Issue("server").Dispose();
        var settings = new Dictionary<string, string>
        {
            ["admin-tls"] = "yes",
            ["tls-cert-file"] = certificates.PathOf("server.crt"),
            ["tls-key-file"] = certificates.PathOf("server.key"),
            ["requirepass"] = "secret",
        };
        do
        {
            if (_server is not null) await _server.DisposeAsync();
            settings["admin-port"] = LoopbackPort.Next().ToString(System.Globalization.CultureInfo.InvariantCulture);
            var options = new RedKiteOptions { Port = 0, Log = entry => { lock (_log) _log.Add(entry.Message); } };
            foreach ((string name, string value) in settings) options.Settings[name] = value;
            _server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
            _dashboard = await RedKiteDashboard.StartAsync(_server);
        }
        while (_dashboard is null);

        Assert.Contains(Logged(), line => line.Contains($"Dashboard on https://127.0.0.1:{_dashboard.Port}/", StringComparison.Ordinal));
        string first = await Serve();
        await Assert.ThrowsAsync<HttpRequestException>(() => _http.GetAsync(new Uri($"http://127.0.0.1:{_dashboard.Port}/"), TestContext.Current.CancellationToken));

        // Renewed at the same path: the next connection gets it.
        certificates.Issue("server").Dispose();
        Assert.Equal("OK", _server.Execute("CONFIG", "SET", "tls-cert-file", certificates.PathOf("server.crt")).Text);
        Assert.NotEqual(first, await Serve());

        // Returns the certificate's serial number; the login's cookie is for HTTPS only.
        async Task<string> Serve()
        {
            string serial = "";
            using var handler = new SocketsHttpHandler();
            handler.SslOptions.RemoteCertificateValidationCallback = (_, certificate, _, _) =>
            {
                serial = certificate?.GetSerialNumberString() ?? "";
                return serial.Length > 0;
            };
            using var https = new HttpClient(handler) { BaseAddress = new Uri($"https://localhost:{_dashboard.Port}") };
            https.DefaultRequestHeaders.Add("X-RedKite", "1");
            using var form = new StringContent("{\"user\":\"default\",\"password\":\"secret\"}", Encoding.UTF8, "application/json");
            using HttpResponseMessage page = await https.GetAsync(new Uri("/", UriKind.Relative), TestContext.Current.CancellationToken);
            Assert.Equal(HttpStatusCode.OK, page.StatusCode);
            using HttpResponseMessage logIn = await https.PostAsync(new Uri("/login", UriKind.Relative), form, TestContext.Current.CancellationToken);
            Assert.True(logIn.IsSuccessStatusCode, await logIn.Content.ReadAsStringAsync(TestContext.Current.CancellationToken));
            Assert.Contains("secure", Assert.Single(logIn.Headers.GetValues("Set-Cookie")), StringComparison.OrdinalIgnoreCase);
            return serial;
        }
    }

    [Fact]
    public async Task History_has_the_requested_number_of_steps()
    {
        await Start();
        _server!.Reports!.History.Add(DateTimeOffset.UtcNow.ToUnixTimeSeconds() - 5, Enumerable.Repeat(7.0, _server.Reports.History.MetricCount).ToArray());
        JsonElement history = await Get("/api/history?metrics=total_commands_processed,keyspace_hits&points=60");
        JsonElement series = history.GetProperty("series").GetProperty("total_commands_processed");
        Assert.InRange(history.GetProperty("times").GetArrayLength(), 50, 62);
        Assert.Equal(history.GetProperty("times").GetArrayLength(), series.GetProperty("mean").GetArrayLength());
        Assert.Contains(series.GetProperty("max").EnumerateArray(), value => value.ValueKind == JsonValueKind.Number);
        Assert.Equal(HttpStatusCode.BadRequest, await Status("/api/history?metrics=nothing"));
    }

    [Fact]
    public async Task Database_or_file_that_does_not_exist_is_refused()
    {
        await Start();
        Assert.Equal(HttpStatusCode.OK, await Status("/api/keys?database=15"));
        foreach (string database in (string[])["16", "-1", "abc", "4294967299"])
        {
            Assert.Equal(HttpStatusCode.BadRequest, await Status("/api/keys?database=" + database));
            Assert.Equal(HttpStatusCode.BadRequest, await Status($"/api/keys/value?key=k&database={database}"));
        }

        Assert.Equal(HttpStatusCode.NotFound, await Status("/app/"));
    }

    [Fact]
    public async Task Programs_send_the_password_with_every_request()
    {
        await Start(password: "secret");
        _http.DefaultRequestHeaders.Authorization = Basic("secret");
        Assert.Equal(HttpStatusCode.OK, await Status("/metrics"));
        _http.DefaultRequestHeaders.Authorization = Basic("wrong");
        for (int i = 0; i < 7; i++) Assert.Equal(HttpStatusCode.Unauthorized, await Status("/metrics"));
        _http.DefaultRequestHeaders.Authorization = Basic("secret");
        Assert.Equal(HttpStatusCode.OK, await Status("/metrics"));

        static System.Net.Http.Headers.AuthenticationHeaderValue Basic(string password) => new("Basic", Convert.ToBase64String(Encoding.UTF8.GetBytes("default:" + password)));
    }

    [Fact]
    public async Task A_client_is_killed_only_with_the_header()
    {
        await Start();
        using var client = new TcpClient();
        await client.ConnectAsync(IPAddress.Loopback, _server!.Port, TestContext.Current.CancellationToken);
        NetworkStream stream = client.GetStream();
        await stream.WriteAsync("CLIENT ID\r\n"u8.ToArray(), TestContext.Current.CancellationToken);
        var reply = new byte[100];
        int length = await stream.ReadAsync(reply, TestContext.Current.CancellationToken);
        string id = Encoding.ASCII.GetString(reply, 1, length - 3);

        Assert.Equal(HttpStatusCode.Forbidden, await Post($"/api/clients/{id}/kill", "", header: false));
        Assert.Equal(HttpStatusCode.MethodNotAllowed, await Status($"/api/clients/{id}/kill"));
        Assert.Equal(HttpStatusCode.NoContent, await Post($"/api/clients/{id}/kill", ""));
        Assert.Equal(0, await stream.ReadAsync(reply, TestContext.Current.CancellationToken));
        Assert.Equal(HttpStatusCode.NotFound, await Post($"/api/clients/{id}/kill", ""));
    }

    [Fact]
    public async Task A_debug_package_requires_the_header_and_a_login()
    {
        await Start("secret");
        Assert.Equal(HttpStatusCode.MethodNotAllowed, await Status("/api/debug-package"));
        Assert.Equal(HttpStatusCode.Forbidden, await Post("/api/debug-package", "", header: false));
        Assert.Equal(HttpStatusCode.Unauthorized, await Post("/api/debug-package", ""));
        Assert.Equal(HttpStatusCode.NoContent, await Post("/login", """{"user":"","password":"secret"}"""));
        using var request = new HttpRequestMessage(HttpMethod.Post, Address("/api/debug-package?log=0")) { Headers = { { "X-RedKite", "1" } } };
        using HttpResponseMessage response = await _http.SendAsync(request, TestContext.Current.CancellationToken);
        Assert.Equal(HttpStatusCode.OK, response.StatusCode);
        Assert.Equal(HttpStatusCode.BadRequest, await Post("/api/debug-package?log=16", ""));
        Assert.Equal(HttpStatusCode.BadRequest, await Post("/api/debug-package?log=-1", ""));
        Assert.Matches("^redkite-package-[0-9]{8}-[0-9]{6}\\.zip$", response.Content.Headers.ContentDisposition!.FileName!.Trim('"'));
        PackageReader package = PackageReader.Open(new MemoryStream(await response.Content.ReadAsByteArrayAsync(TestContext.Current.CancellationToken)));
        Assert.NotNull(package.Read("findings", TestContext.Current.CancellationToken));

        Assert.True(_server!.Packages!.TryReserve());
        Assert.Equal(HttpStatusCode.Conflict, await Post("/api/debug-package", ""));
        _server.Packages.Release();
    }

    [Fact]
    public async Task Requests_are_counted_by_address_with_their_durations_and_failures()
    {
        await Start();
        for (int i = 0; i < 3; i++) await Get("/api/source");
        await Status("/api/nothing?secret");
        await Status("/api/history?metrics=nothing");
        JsonElement[] rows = [];
        for (int i = 0; i < 100 && rows.Length < 4; i++) // the framework reports a request after its answer
        {
            rows = [.. (await Get("/api/reports/http")).EnumerateArray()];
            await Task.Delay(20, TestContext.Current.CancellationToken);
        }

        Assert.Equal(["GET /api/history", "GET /api/reports/", "GET /api/source", "other"], rows.Select(row => row.GetProperty("endpoint").GetString()));
        Assert.Equal([1, 3, 1], Enumerable.Range(0, 4).Where(i => i != 1).Select(i => rows[i].GetProperty("requests").GetInt64()));
        Assert.Equal([1, 0, 0, 1], rows.Select(row => row.GetProperty("failures").GetInt64()));
        Assert.All(rows, row => Assert.True(row.GetProperty("max_us").GetDouble() > 0));
        for (int i = 0; i < 100 && _server!.Diagnostics!.Latest is null; i++) await Task.Delay(100, TestContext.Current.CancellationToken);
        Assert.Contains("redkite_http_requests_total ", await _http.GetStringAsync(Address("/metrics"), TestContext.Current.CancellationToken), StringComparison.Ordinal);
    }

    // Of a real web application, with the framework's own events. No address of the dashboard throws.
    [Fact]
    public async Task Unhandled_exceptions_are_counted_and_logged()
    {
        await Start();
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().ConfigureKestrel(kestrel => kestrel.Listen(IPAddress.Loopback, 0));
        await using WebApplication web = builder.Build();
        web.Run(_ => throw new InvalidOperationException("a bug"));
        var requests = new HttpRequests();
        using IDisposable watching = HttpWatch.Subscribe(web.Services.GetRequiredService<DiagnosticListener>(), requests, _server!.Engine.Log);
        await web.StartAsync(TestContext.Current.CancellationToken);
        for (int i = 0; i < 2; i++)
        {
            using HttpResponseMessage response = await _http.GetAsync(new Uri(web.Urls.First() + "/metrics"), TestContext.Current.CancellationToken);
            Assert.Equal(HttpStatusCode.InternalServerError, response.StatusCode);
        }

        for (int i = 0; i < 100 && requests.Failures < 2; i++) await Task.Delay(20, TestContext.Current.CancellationToken);
        Assert.Equal((2, 2, 2), (requests.Requests, requests.Failures, requests.Exceptions));
        Assert.Equal(("GET /metrics", 2), (requests.Figures.Single().Endpoint, requests.Figures.Single().Exceptions));
        Assert.Single(Logged(), line => line.StartsWith("The dashboard could not answer GET /metrics: System.InvalidOperationException: a bug", StringComparison.Ordinal));
    }

    [Fact]
    public async Task The_log_continues_where_the_reader_stopped()
    {
        await Start();
        JsonElement log = await Get("/api/log?after=0");
        Assert.Contains(log.GetProperty("lines").EnumerateArray(), line => line.GetString()!.Contains("Dashboard on", StringComparison.Ordinal));
        _server!.Engine.Log.Warning(LogEvents.ClientMessage, "one more");
        JsonElement next = await Get($"/api/log?after={log.GetProperty("next").GetInt64()}");
        Assert.Single(next.GetProperty("lines").EnumerateArray(), line => line.GetString()!.EndsWith("# one more", StringComparison.Ordinal)); // a finding may stand beside it
        Assert.DoesNotContain(next.GetProperty("lines").EnumerateArray(), line => line.GetString()!.Contains("Dashboard on", StringComparison.Ordinal));
    }

    [Theory]
    [InlineData("", false)]
    [InlineData("?values=1", true)]
    public async Task Traffic_hides_values_unless_they_are_requested(string query, bool shows)
    {
        await Start();
        using HttpResponseMessage response = await _http.GetAsync(Address("/api/traffic" + query), HttpCompletionOption.ResponseHeadersRead, TestContext.Current.CancellationToken);
        using var lines = new StreamReader(await response.Content.ReadAsStreamAsync(TestContext.Current.CancellationToken));
        string? line = "";
        while (line is not null && !line.Contains("\"set\"", StringComparison.OrdinalIgnoreCase))
        {
            _server!.Execute("SET", "key", "secret");
            line = await lines.ReadLineAsync(TestContext.Current.CancellationToken);
        }

        Assert.Equal(shows, line!.Contains("secret", StringComparison.Ordinal));

        // Without a viewer nothing is watched.
        Assert.True(_server!.Engine.Monitors.IsOn);
        response.Dispose();
        for (int i = 0; i < 150 && _server.Engine.Monitors.IsOn; i++) await Task.Delay(100, TestContext.Current.CancellationToken);
        Assert.False(_server.Engine.Monitors.IsOn);
    }

    [Fact]
    public async Task Every_address_has_one_method()
    {
        await Start();
        foreach (AdminEndpoint row in AdminEndpoints.Rows)
        {
            HttpStatusCode status = row.Method == "GET" ? await Post(row.Path, "") : await Status(row.Path);
            Assert.True(status == HttpStatusCode.MethodNotAllowed, $"{row.Path}: {status}");
        }
    }

    [Fact]
    public async Task A_password_needs_a_log_in_and_wrong_ones_lock_nobody_out()
    {
        await Start("secret");
        Assert.Equal(HttpStatusCode.Unauthorized, await Status("/api/reports/server"));
        Assert.Equal(HttpStatusCode.Unauthorized, await Status("/metrics"));
        Assert.Equal(HttpStatusCode.OK, await Status("/healthz"));
        Assert.Equal(HttpStatusCode.Unauthorized, await Post("/login", """{"user":"","password":"wrong"}"""));
        Assert.Equal(HttpStatusCode.NoContent, await Post("/login", """{"user":"","password":"secret"}"""));
        Assert.Equal(HttpStatusCode.OK, await Status("/api/reports/server"));
        Assert.Equal(HttpStatusCode.OK, await Status("/metrics"));
        Assert.Equal(HttpStatusCode.OK, await Status("/api/keys"));
        Assert.Equal(HttpStatusCode.NoContent, await Post("/logout", ""));
        Assert.Equal(HttpStatusCode.Unauthorized, await Status("/api/reports/server"));
        for (int i = 0; i < 7; i++) Assert.Equal(HttpStatusCode.Unauthorized, await Post("/login", "{}"));
        Assert.Equal(HttpStatusCode.NoContent, await Post("/login", """{"user":"","password":"secret"}"""));
    }

    [Fact]
    public async Task Users_that_may_do_everything_log_in_until_they_change()
    {
        await Start("secret");
        _server!.Execute("ACL", "SETUSER", "boss", "on", ">pw", "~*", "&*", "+@all");
        _server.Execute("ACL", "SETUSER", "half", "on", ">pw", "~*", "+@all");
        Assert.Equal(HttpStatusCode.Unauthorized, await Post("/login", """{"user":"half","password":"pw"}"""));
        Assert.Equal(HttpStatusCode.NoContent, await Post("/login", """{"user":"boss","password":"pw"}"""));
        Assert.Equal(HttpStatusCode.OK, await Status("/api/reports/users"));
        _server.Execute("ACL", "SETUSER", "boss", "-debug");
        Assert.Equal(HttpStatusCode.Unauthorized, await Status("/api/reports/users"));
        Assert.Equal(HttpStatusCode.Unauthorized, await Post("/login", """{"user":"boss","password":"pw"}"""));
    }

    [Theory]
    [InlineData("Host", "attacker.example")]
    [InlineData("Origin", "http://attacker.example")]
    public async Task Requests_for_or_from_another_site_are_refused(string header, string value)
    {
        await Start();
        using var request = new HttpRequestMessage(HttpMethod.Get, Address("/api/source"));
        request.Headers.TryAddWithoutValidation(header, value);
        using HttpResponseMessage response = await _http.SendAsync(request, TestContext.Current.CancellationToken);
        Assert.Equal(HttpStatusCode.Forbidden, response.StatusCode);
        Assert.Contains("default-src 'none'", response.Headers.GetValues("Content-Security-Policy").Single());
    }

    [Fact]
    public async Task Scripts_and_other_sites_cannot_use_the_cookie_of_a_session()
    {
        await Start("secret");
        using var request = new HttpRequestMessage(HttpMethod.Post, Address("/login")) { Headers = { { "X-RedKite", "1" } }, Content = new StringContent("""{"user":"","password":"secret"}""") };
        using HttpResponseMessage response = await _http.SendAsync(request, TestContext.Current.CancellationToken);
        string[] cookie = Assert.Single(response.Headers.GetValues("Set-Cookie")).Split("; ");
        Assert.Contains("httponly", cookie, StringComparer.OrdinalIgnoreCase);
        Assert.Contains("samesite=strict", cookie, StringComparer.OrdinalIgnoreCase);
    }

    // A program that has the server as a library is not made to listen on a port that it does not know of.
    [Fact]
    public async Task Host_has_a_dashboard_only_if_it_starts_one()
    {
        int port = LoopbackPort.NextWithFreeAt(distance: 2000);
        _server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = port, Log = entry => { lock (_log) _log.Add(entry.Message); } }, TestContext.Current.CancellationToken);
        Assert.False(Listens(port + 2000), "nothing listens");
        _dashboard = await RedKiteDashboard.StartAsync(_server);
        Assert.NotNull(_dashboard);
        Assert.Equal(port + 2000, _dashboard.Port);
        Assert.True(Listens(port + 2000), "the dashboard listens");

        static bool Listens(int port) => IPGlobalProperties.GetIPGlobalProperties().GetActiveTcpListeners().Any(listener => listener.Port == port);
    }

    [Fact]
    public async Task A_server_without_a_port_logs_that_it_has_no_dashboard()
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("redkite-socket-");
        _server = await RedKiteServer.StartAsync(new RedKiteOptions
        {
            Port = 0,
            Log = entry => { lock (_log) _log.Add(entry.Message); },
            Settings = { ["port"] = "0", ["unixsocket"] = Path.Combine(folder.FullName, "s") },
        }, TestContext.Current.CancellationToken);
        _dashboard = await RedKiteDashboard.StartAsync(_server);
        Assert.Null(_dashboard);
        Assert.Single(Logged(), line => line.StartsWith("There is no dashboard because admin-port is 'auto'", StringComparison.Ordinal));
        await _server.StopAsync();
        folder.Delete(recursive: true);
    }

    [Fact]
    public async Task A_taken_port_is_one_warning()
    {
        using var taken = new TcpListener(IPAddress.Loopback, 0);
        taken.Start();
        await Start(port: ((IPEndPoint)taken.LocalEndpoint).Port);
        Assert.Null(_dashboard);
        Assert.Single(Logged(), line => line.StartsWith("There is no dashboard on 127.0.0.1", StringComparison.Ordinal));
        Assert.Equal("PONG", _server!.Execute("PING").Text);
    }

    public async ValueTask DisposeAsync()
    {
        _http.Dispose();
        if (_dashboard is not null) await _dashboard.DisposeAsync();
        if (_server is not null) await _server.DisposeAsync();
    }

    // Without a port, until one is found that no other program takes in the meantime.
    private async Task Start(string password = "", int port = 0, string bind = "127.0.0.1 -::1")
    {
        bool isChosen = port > 0;
        while (true)
        {
            await StartOnce(password, isChosen ? port : LoopbackPort.Next(), bind);
            if (isChosen || _dashboard is not null || !Logged().Any(line => line.StartsWith("There is no dashboard on 127.0.0.1", StringComparison.Ordinal))) return;
            await _server!.DisposeAsync();
            lock (_log) _log.Clear();
        }
    }

    private async Task StartOnce(string password, int port, string bind)
    {
        _server = await RedKiteServer.StartAsync(new RedKiteOptions
        {
            Port = 0,
            Log = entry => { lock (_log) _log.Add(entry.Message); },
            Settings = { ["requirepass"] = password, ["admin-port"] = $"{port}", ["admin-bind"] = bind, ["loops"] = "1" },
        });
        _dashboard = await RedKiteDashboard.StartAsync(_server);
    }

    private string[] Logged()
    {
        lock (_log) return [.. _log];
    }

    private Uri Address(string path) => new($"http://127.0.0.1:{_dashboard!.Port}{path}");

    private async Task<JsonElement> Get(string path) => JsonDocument.Parse(await _http.GetStringAsync(Address(path), TestContext.Current.CancellationToken)).RootElement;

    private async Task<HttpStatusCode> Status(string path)
    {
        using HttpResponseMessage response = await _http.GetAsync(Address(path), TestContext.Current.CancellationToken);
        return response.StatusCode;
    }

    private async Task<HttpStatusCode> Post(string path, string body, bool header = true)
    {
        using var request = new HttpRequestMessage(HttpMethod.Post, Address(path)) { Content = new StringContent(body, Encoding.UTF8, "application/json") };
        if (header) request.Headers.Add("X-RedKite", "1");
        using HttpResponseMessage response = await _http.SendAsync(request, TestContext.Current.CancellationToken);
        return response.StatusCode;
    }
}
