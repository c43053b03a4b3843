using System.Globalization;
using System.Text.Json;
using Microsoft.AspNetCore.Http;
using RedKite.Server.Model;
using RedKite.Server.Sessions;

namespace RedKite.Dashboard;

/// <summary>One address of the dashboard.</summary>
/// <param name="Method">GET changes nothing, and allows HEAD; POST needs the header that pages of other sites cannot send.</param>
/// <param name="Path">The address; with a trailing slash, everything below it.</param>
internal sealed record AdminEndpoint(string Method, string Path, Func<AdminSite, HttpContext, Task> AnswerAsync)
{
    /// <summary>Whether it can be used without a login.</summary>
    internal bool IsOpen { get; init; }

    /// <summary>Whether it needs a running server.</summary>
    internal bool NeedsServer { get; init; }

    /// <summary>Whether it is the page, to which other sites may link.</summary>
    internal bool IsPage { get; init; }

    /// <summary>Whether programs use it, which send a password with each request.</summary>
    internal bool IsForPrograms { get; init; }
}

/// <summary>Every address of the dashboard, one row each.</summary>
internal static class AdminEndpoints
{
    internal static IReadOnlyList<AdminEndpoint> Rows { get; } =
    [
        new("GET", "/", (_, http) => WebFiles.SendAsync(http, "index.html")) { IsOpen = true, IsPage = true },
        new("GET", "/app/", (_, http) => WebFiles.SendAsync(http, Rest(http, "/app/"))) { IsOpen = true },
        new("POST", "/login", (site, http) => site.Logins.LogInAsync(http)) { IsOpen = true },
        new("POST", "/logout", LogOutAsync),
        new("GET", "/healthz", (_, http) => http.Response.WriteAsync("ok\n")) { IsOpen = true },
        new("GET", "/metrics", MetricsAsync) { NeedsServer = true, IsForPrograms = true },
        new("GET", "/api/source", SourceAsync) { IsOpen = true },
        new("GET", "/api/reports/", ReportAsync),
        new("GET", "/api/history", HistoryAnswer.SendAsync),
        new("GET", "/api/commands", CommandsAnswer.SendAsync),
        new("GET", "/api/log", LogAsync) { NeedsServer = true },
        new("GET", "/api/keys", KeyBrowser.ListAsync) { NeedsServer = true },
        new("GET", "/api/keys/value", KeyBrowser.ValueAsync) { NeedsServer = true },
        new("GET", "/api/traffic", TrafficStream.SendAsync) { NeedsServer = true },
        new("POST", "/api/clients/", KillAsync) { NeedsServer = true },
        new("POST", "/api/debug-package", PackageDownload.SendAsync) { NeedsServer = true },
    ];

    internal static AdminEndpoint? Find(string path) => Rows.FirstOrDefault(row =>
        row.Path == path || (row.Path.Length > 1 && row.Path.EndsWith('/') && path.StartsWith(row.Path, StringComparison.Ordinal)));

    /// <summary>A request's address as the table has it, so that what clients send is not a name: others are "other".</summary>
    internal static string NameOf(HttpContext http) => Find(http.Request.Path.Value ?? "/") is { } row ? $"{row.Method} {row.Path}" : "other";

    /// <summary>Sends one JSON value.</summary>
    internal static async Task SendJsonAsync(HttpContext http, Action<Utf8JsonWriter> write)
    {
        var bytes = new System.Buffers.ArrayBufferWriter<byte>();
        using (var json = new Utf8JsonWriter(bytes)) write(json);
        http.Response.ContentType = "application/json";
        await http.Response.Body.WriteAsync(bytes.WrittenMemory, http.RequestAborted).ConfigureAwait(false);
    }

    internal static long Number(HttpContext http, string name, long otherwise) =>
        long.TryParse(http.Request.Query[name], NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out long value) ? value : otherwise;

    private static string Rest(HttpContext http, string prefix) => http.Request.Path.Value![prefix.Length..];

    private static Task LogOutAsync(AdminSite site, HttpContext http)
    {
        site.Logins.LogOut(http);
        return Task.CompletedTask;
    }

    private static async Task MetricsAsync(AdminSite site, HttpContext http)
    {
        http.Response.ContentType = "text/plain; version=0.0.4; charset=utf-8";
        await http.Response.WriteAsync(site.Server!.GetMetricsText(), http.RequestAborted).ConfigureAwait(false);
    }

    private static async Task SourceAsync(AdminSite site, HttpContext http)
    {
        bool needsLogin = !site.IsAllowedByHost(http) && !await site.Logins.AllowsAsync(http).ConfigureAwait(false);
        if (http.Response.StatusCode == StatusCodes.Status429TooManyRequests) return;
        await SendJsonAsync(http, json =>
        {
            json.WriteStartObject();
            json.WriteBoolean("live", site.Source.IsLive);
            json.WriteBoolean("loading", site.Server is { } server && (server.Engine.Attention.Flags & ServerAttention.Loading) != 0);
            json.WriteString("version", ServerVersion.Text);
            json.WriteNumber("now", site.Source.NowUnixSeconds);
            json.WriteBoolean("needs_login", needsLogin);
            json.WriteBoolean("has_login", site.Logins.IsNeeded && !site.IsAllowedByHost(http));
            json.WriteEndObject();
        }).ConfigureAwait(false);
    }

    private static async Task ReportAsync(AdminSite site, HttpContext http)
    {
        if (site.Source.Read(Rest(http, "/api/reports/"), http.RequestAborted) is not { } report)
        {
            http.Response.StatusCode = StatusCodes.Status404NotFound;
            return;
        }

        http.Response.ContentType = "application/json";
        await http.Response.Body.WriteAsync(report, http.RequestAborted).ConfigureAwait(false);
    }

    private static Task LogAsync(AdminSite site, HttpContext http)
    {
        (long count, string[] lines) = site.Server!.Engine.Log.Tail.After(Number(http, "after", 0));
        return SendJsonAsync(http, json =>
        {
            json.WriteStartObject();
            json.WriteNumber("next", count);
            json.WriteStartArray("lines");
            foreach (string line in lines) json.WriteStringValue(line);
            json.WriteEndArray();
            json.WriteEndObject();
        });
    }

    private static Task KillAsync(AdminSite site, HttpContext http)
    {
        ClientRegistry clients = site.Server!.Engine.Clients;
        string[] words = Rest(http, "/api/clients/").Split('/');
        bool isKill = words is [_, "kill"];
        Session? session = isKill && long.TryParse(words[0], NumberStyles.None, CultureInfo.InvariantCulture, out long id) ? clients.Find(id) : null;
        if (session?.Connection is null)
        {
            http.Response.StatusCode = StatusCodes.Status404NotFound;
        }
        else
        {
            clients.Kill(session);
            http.Response.StatusCode = StatusCodes.Status204NoContent;
        }

        return Task.CompletedTask;
    }
}
