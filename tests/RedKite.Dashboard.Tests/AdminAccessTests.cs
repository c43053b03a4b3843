using System.Net;
using System.Net.Http.Headers;
using System.Net.Sockets;
using System.Text;

namespace RedKite.Dashboard.Tests;

/// <summary>Who is answered over HTTP, and what others learn.</summary>
public sealed class AdminAccessTests
{
    private const string Login = """{"user":"","password":"secret"}""";
    private const string WrongLogin = """{"user":"mallory","password":"guess"}""";

    private static CancellationToken Ends => TestContext.Current.CancellationToken;

    [Fact]
    public async Task Failed_logins_are_counted_and_in_the_log_of_denials()
    {
        await using PageServer page = await PageServer.StartAsync("requirepass", "secret");
        for (int i = 0; i < 2; i++) Assert.Equal(HttpStatusCode.Unauthorized, await PostAsync(page, "/login", WrongLogin));
        Assert.Equal(HttpStatusCode.Unauthorized, (await SendAsync(page, "/metrics", ("Authorization", Basic("default", "guess")))).StatusCode);
        Assert.Contains("acl_access_denied_auth:3\r\n", page.Server.Execute("INFO", "stats").Text, StringComparison.Ordinal);
        Server.Acl.AclLogEntry[] entries = page.Server.Engine.Users.Log.Newest(10);
        Assert.Equal([("default", 1L), ("mallory", 2L)], entries.Select(entry => (entry.UserName, entry.Count)));
        Assert.All(entries, entry => Assert.Contains("addr=127.0.0.1:", entry.Client, StringComparison.Ordinal));
        Assert.Equal(("127.0.0.1", 3), Assert.Single(page.Server.Engine.Users.FailedLogins.Recent(page.Server.Engine.Clock.SteadyMs, 10)));
        Assert.Equal(HttpStatusCode.NoContent, await PostAsync(page, "/login", Login));
        Assert.Contains("acl_access_denied_auth:3\r\n", page.Server.Execute("INFO", "stats").Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Users_behind_a_trusted_proxy_have_their_own_addresses()
    {
        await using PageServer page = await PageServer.StartAsync("requirepass", "secret", "admin-trusted-proxies", "127.0.0.0/8");
        await PostAsync(page, "/login", WrongLogin, ("X-Forwarded-For", "127.0.0.1, 192.0.2.7"));
        await PostAsync(page, "/login", WrongLogin, ("X-Forwarded-For", "192.0.2.8, 127.0.0.1"));
        Assert.Equal(["192.0.2.7", "192.0.2.8"], page.Server.Engine.Users.FailedLogins.Recent(page.Server.Engine.Clock.SteadyMs, 10).Select(entry => entry.Address).Order());

        // The proxy speaks HTTPS with the browser.
        Assert.Equal(HttpStatusCode.NoContent, await PostAsync(page, "/login", Login, ("X-Forwarded-For", "192.0.2.7"), ("X-Forwarded-Proto", "https"), ("Origin", $"https://127.0.0.1:{page.Dashboard.Port}")));
    }

    [Fact]
    public async Task Header_of_another_proxy_is_not_trusted()
    {
        await using PageServer page = await PageServer.StartAsync("requirepass", "secret", "admin-trusted-proxies", "192.0.2.0/24 2001:db8::1");
        await PostAsync(page, "/login", WrongLogin, ("X-Forwarded-For", "192.0.2.7"));
        Assert.Equal("127.0.0.1", Assert.Single(page.Server.Engine.Users.FailedLogins.Recent(page.Server.Engine.Clock.SteadyMs, 10)).Address);
    }

    [Fact]
    public async Task Without_a_login_a_proxy_passes_on_loopback_users_only()
    {
        await using PageServer page = await PageServer.StartAsync("admin-trusted-proxies", "127.0.0.1");
        Assert.Equal(HttpStatusCode.Forbidden, (await SendAsync(page, "/api/source", ("X-Forwarded-For", "192.0.2.7"))).StatusCode);
        Assert.Equal(HttpStatusCode.OK, (await SendAsync(page, "/api/source")).StatusCode);
    }

    [Theory]
    [InlineData("cross-site")]
    [InlineData("same-site")] // another port of this machine
    public async Task Requests_that_another_page_makes_are_refused(string site)
    {
        await using PageServer page = await PageServer.StartAsync();
        foreach (AdminEndpoint row in AdminEndpoints.Rows)
        {
            using var request = new HttpRequestMessage(new HttpMethod(row.Method), row.Path);
            Add(request, ("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Dest", "image"), ("X-RedKite", "1"));
            using HttpResponseMessage answer = await page.Http.SendAsync(request, HttpCompletionOption.ResponseHeadersRead, Ends);
            Assert.True(answer.StatusCode == HttpStatusCode.Forbidden, $"{row.Path}: {answer.StatusCode}");
        }

        Assert.False(page.Server.Engine.Monitors.IsOn);
    }

    [Fact]
    public async Task Link_on_another_page_leads_to_the_page_alone()
    {
        await using PageServer page = await PageServer.StartAsync();
        (string, string)[] link = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")];
        Assert.Equal(HttpStatusCode.OK, (await SendAsync(page, "/", link)).StatusCode);
        Assert.Equal(HttpStatusCode.Forbidden, (await SendAsync(page, "/api/traffic", link)).StatusCode);
        Assert.Equal(HttpStatusCode.OK, (await SendAsync(page, "/api/source", ("Sec-Fetch-Site", "same-origin"))).StatusCode);
        Assert.Equal(HttpStatusCode.OK, (await SendAsync(page, "/api/source", ("Sec-Fetch-Site", "none"))).StatusCode);
    }

    [Fact]
    public async Task Head_is_answered_like_get_without_a_body()
    {
        await using PageServer page = await PageServer.StartAsync();
        foreach (AdminEndpoint row in AdminEndpoints.Rows.Where(row => row.Method == "GET"))
        {
            string path = row.Path switch { "/app/" => "/app/page.js", "/api/reports/" => "/api/reports/server", "/api/history" => "/api/history?metrics=keyspace_hits", "/api/keys/value" => "/api/keys/value?key=k", _ => row.Path };
            page.Server.Execute("SET", "k", "v");
            using var head = new HttpRequestMessage(HttpMethod.Head, path);
            using HttpResponseMessage answer = await page.Http.SendAsync(head, Ends);
            using HttpResponseMessage get = await page.Http.GetAsync(path, HttpCompletionOption.ResponseHeadersRead, Ends);
            Assert.True(get.StatusCode == HttpStatusCode.OK && answer.StatusCode == HttpStatusCode.OK, $"{path}: {answer.StatusCode}, {get.StatusCode}");
            Assert.Equal(get.Content.Headers.ContentType, answer.Content.Headers.ContentType);
            Assert.Empty(await answer.Content.ReadAsByteArrayAsync(Ends));
        }
    }

    [Fact]
    public async Task Wrong_method_is_told_the_right_one()
    {
        await using PageServer page = await PageServer.StartAsync();
        foreach (AdminEndpoint row in AdminEndpoints.Rows)
        {
            using var request = new HttpRequestMessage(HttpMethod.Delete, row.Path);
            using HttpResponseMessage answer = await page.Http.SendAsync(request, Ends);
            Assert.Equal(HttpStatusCode.MethodNotAllowed, answer.StatusCode);
            Assert.Equal(row.Method == "GET" ? ["GET", "HEAD"] : [row.Method], answer.Content.Headers.Allow);
        }
    }

    [Fact]
    public async Task Programs_are_asked_for_a_password_and_a_stale_cookie_does_not_hide_it()
    {
        await using PageServer page = await PageServer.StartAsync("requirepass", "secret");
        using HttpResponseMessage refused = await SendAsync(page, "/metrics");
        Assert.Equal(HttpStatusCode.Unauthorized, refused.StatusCode);
        Assert.Equal("Basic", Assert.Single(refused.Headers.WwwAuthenticate).Scheme);
        Assert.Empty((await SendAsync(page, "/api/keys")).Headers.WwwAuthenticate); // a browser would open a window over the page's form

        string stale = $"redkite-session-{page.Dashboard.Port}=0123456789abcdef";
        Assert.Equal(HttpStatusCode.OK, (await SendAsync(page, "/metrics", ("Cookie", stale), ("Authorization", Basic("default", "secret")))).StatusCode);
        Assert.Equal(HttpStatusCode.Unauthorized, (await SendAsync(page, "/metrics", ("Cookie", stale), ("Authorization", Basic("default", "guess")))).StatusCode);
    }

    [Fact]
    public async Task Unfinished_requests_do_not_keep_others_out()
    {
        await using PageServer page = await PageServer.StartAsync("requirepass", "secret");
        var slow = new List<TcpClient>();
        try
        {
            for (int i = 0; i < 130; i++)
            {
                var client = new TcpClient();
                slow.Add(client);
                await client.ConnectAsync(IPAddress.Loopback, page.Dashboard.Port, Ends);

                // Some are in their headers, others in the body of a login.
                string begun = i % 2 == 0 ? "GET /metrics HT" : "POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nX-RedKite: 1\r\nContent-Length: 1000\r\n\r\n{";
                await client.GetStream().WriteAsync(Encoding.ASCII.GetBytes(begun), Ends);
            }

            Assert.Equal(HttpStatusCode.NoContent, await PostAsync(page, "/login", Login));
            Assert.Equal(HttpStatusCode.OK, (await SendAsync(page, "/api/reports/server")).StatusCode);
        }
        finally
        {
            foreach (TcpClient client in slow) client.Dispose();
        }
    }

    private static string Basic(string user, string password) => new AuthenticationHeaderValue("Basic", Convert.ToBase64String(Encoding.UTF8.GetBytes($"{user}:{password}"))).ToString();

    private static void Add(HttpRequestMessage request, params (string Name, string Value)[] headers)
    {
        foreach ((string name, string value) in headers) request.Headers.TryAddWithoutValidation(name, value);
    }

    private static async Task<HttpResponseMessage> SendAsync(PageServer page, string path, params (string Name, string Value)[] headers)
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, path);
        Add(request, headers);
        return await page.Http.SendAsync(request, Ends);
    }

    private static async Task<HttpStatusCode> PostAsync(PageServer page, string path, string body, params (string Name, string Value)[] headers)
    {
        using var request = new HttpRequestMessage(HttpMethod.Post, path) { Content = new StringContent(body, Encoding.UTF8, "application/json") };
        Add(request, [("X-RedKite", "1"), .. headers]);
        using HttpResponseMessage answer = await page.Http.SendAsync(request, Ends);
        return answer.StatusCode;
    }
}
