using System.Net;
using Microsoft.AspNetCore.Http;
using RedKite.Server;
using RedKite.Server.Diagnostics.Reports;

namespace RedKite.Dashboard;

/// <summary>Answers requests: checks their origin and user, then passes them to a row of <see cref="AdminEndpoints"/>.</summary>
/// <param name="source">What the page shows.</param>
/// <param name="server">For what only a running server has; null: the source is a debug package.</param>
internal sealed class AdminSite(IReportSource source, RedKiteServer? server, CancellationToken stopping)
{
    private const string ContentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

    internal IReportSource Source => source;

    internal RedKiteServer? Server => server;

    /// <summary>Cancelled when the dashboard ends.</summary>
    internal CancellationToken Stopping => stopping;

    internal Logins Logins { get; } = new(server);

    internal async Task AnswerAsync(HttpContext http)
    {
        IHeaderDictionary headers = http.Response.Headers;
        headers.ContentSecurityPolicy = ContentPolicy;
        headers.XContentTypeOptions = "nosniff";
        headers["Referrer-Policy"] = "no-referrer";
        headers.CacheControl = "no-store";

        AdminEndpoint? endpoint = AdminEndpoints.Find(http.Request.Path.Value ?? "/");
        if (!IsForThisSite(http.Request) || !MayComeFrom(http.Connection.RemoteIpAddress)) http.Response.StatusCode = StatusCodes.Status403Forbidden;
        else if (endpoint is null) http.Response.StatusCode = StatusCodes.Status404NotFound;
        else if (http.Request.Method != endpoint.Method) http.Response.StatusCode = StatusCodes.Status405MethodNotAllowed;
        else if (endpoint.Method == "POST" && http.Request.Headers["X-RedKite"] != "1") http.Response.StatusCode = StatusCodes.Status403Forbidden;
        else if (!endpoint.IsOpen && !Logins.Allows(http)) http.Response.StatusCode = StatusCodes.Status401Unauthorized;
        else if (endpoint.NeedsServer && server is null) http.Response.StatusCode = StatusCodes.Status404NotFound;
        else await endpoint.AnswerAsync(this, http).ConfigureAwait(false);
    }

    // A name that an attacker's page resolves to this address is not this site's name; nor may another page send requests.
    private static bool IsForThisSite(HttpRequest request)
    {
        string host = request.Host.Host.Trim('[', ']');
        bool isKnown = IPAddress.TryParse(host, out _) || host.Equals("localhost", StringComparison.OrdinalIgnoreCase)
            || host.Equals(Dns.GetHostName(), StringComparison.OrdinalIgnoreCase);
        string? origin = request.Headers.Origin;
        return isKnown && (string.IsNullOrEmpty(origin) || origin.Equals($"{request.Scheme}://{request.Host}", StringComparison.OrdinalIgnoreCase));
    }

    // The password may have been removed since the start.
    private bool MayComeFrom(IPAddress? address) => Logins.IsNeeded || (address is not null && IPAddress.IsLoopback(address.IsIPv4MappedToIPv6 ? address.MapToIPv4() : address));
}
