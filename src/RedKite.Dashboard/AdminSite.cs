using System.Net;
using Microsoft.AspNetCore.Http;
using RedKite.Server.Diagnostics.Reports;

namespace RedKite.Dashboard;

/// <summary>Answers requests: checks their origin and user, then passes them to a row of <see cref="AdminEndpoints"/>.</summary>
/// <param name="source">What the page shows.</param>
/// <param name="server">For what only a running server has; null: the source is a debug package.</param>
/// <param name="stopping">Cancelled when the dashboard ends.</param>
/// <param name="isAllowedByHost">Whether the host has checked a request's user: then nothing else is asked for. Null: there is no host that could.</param>
internal sealed class AdminSite(IReportSource source, RedKiteServer? server, CancellationToken stopping, Func<HttpContext, bool>? isAllowedByHost = null)
{
    private const string ContentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

    internal IReportSource Source => source;

    internal RedKiteServer? Server => server;

    /// <summary>Cancelled when the dashboard ends.</summary>
    internal CancellationToken Stopping => stopping;

    internal Logins Logins { get; } = new(server);

    /// <summary>Whether the host has let the request's user in.</summary>
    internal bool IsAllowedByHost(HttpContext http) => isAllowedByHost?.Invoke(http) == true;

    internal async Task AnswerAsync(HttpContext http)
    {
        IHeaderDictionary headers = http.Response.Headers;
        headers.ContentSecurityPolicy = ContentPolicy;
        headers.XContentTypeOptions = "nosniff";
        headers["Referrer-Policy"] = "no-referrer";
        headers.CacheControl = "no-store";

        AdminEndpoint? endpoint = AdminEndpoints.Find(http.Request.Path.Value ?? "/");
        bool isRead = HttpMethods.IsGet(http.Request.Method) || HttpMethods.IsHead(http.Request.Method); // the body of HEAD's answer is not sent
        bool isAllowed = IsAllowedByHost(http);
        if (!IsForThisSite(http.Request, endpoint, isAllowed) || !(isAllowed || MayComeFrom(http.Connection.RemoteIpAddress))) http.Response.StatusCode = StatusCodes.Status403Forbidden;
        else if (endpoint is null) http.Response.StatusCode = StatusCodes.Status404NotFound;
        else if (endpoint.Method == "GET" ? !isRead : http.Request.Method != endpoint.Method) RefuseMethod(http, endpoint);
        else if (endpoint.Method == "POST" && http.Request.Headers["X-RedKite"] != "1") http.Response.StatusCode = StatusCodes.Status403Forbidden;
        else if (!endpoint.IsOpen && !isAllowed && !await Logins.AllowsAsync(http).ConfigureAwait(false)) RefuseUser(http, endpoint);
        else if (endpoint.NeedsServer && server is null) http.Response.StatusCode = StatusCodes.Status404NotFound;
        else await AnswerAsync(endpoint, http).ConfigureAwait(false);
    }

    private async Task AnswerAsync(AdminEndpoint endpoint, HttpContext http)
    {
        ConnectionSlots.Slot? slot = endpoint.IsOpen ? null : http.Features.Get<ConnectionSlots.Slot>();
        slot?.BeginAnswer();
        try
        {
            await endpoint.AnswerAsync(this, http).ConfigureAwait(false);
        }
        finally
        {
            slot?.EndAnswer();
        }
    }

    private static void RefuseMethod(HttpContext http, AdminEndpoint endpoint)
    {
        http.Response.Headers.Allow = endpoint.Method == "GET" ? "GET, HEAD" : endpoint.Method;
        http.Response.StatusCode = StatusCodes.Status405MethodNotAllowed;
    }

    // The page has a form of its own, so only programs are asked for a password: a browser would open a window.
    private static void RefuseUser(HttpContext http, AdminEndpoint endpoint)
    {
        if (http.Response.StatusCode == StatusCodes.Status429TooManyRequests) return;
        if (endpoint.IsForPrograms) http.Response.Headers.WWWAuthenticate = "Basic realm=\"redkite\", charset=\"UTF-8\"";
        http.Response.StatusCode = StatusCodes.Status401Unauthorized;
    }

    // A name that an attacker's page resolves to this address is not this site's name; nor may another page send requests, whether it
    // can read the answers or not. A link on another page may lead to this one. Browsers send Sec-Fetch-Site with every request to
    // HTTPS and loopback addresses, but Origin not with all; other programs send neither. A host's users are known by the host's name alone.
    private static bool IsForThisSite(HttpRequest request, AdminEndpoint? endpoint, bool isAllowedByHost)
    {
        string host = request.Host.Host.Trim('[', ']');
        bool isKnown = isAllowedByHost || IPAddress.TryParse(host, out _) || host.Equals("localhost", StringComparison.OrdinalIgnoreCase)
            || host.Equals(Dns.GetHostName(), StringComparison.OrdinalIgnoreCase);
        string? origin = request.Headers.Origin;
        bool isOwn = string.IsNullOrEmpty(origin) || origin.Equals($"{request.Scheme}://{request.Host}", StringComparison.OrdinalIgnoreCase);
        bool isLink = endpoint is { IsPage: true } && request.Headers["Sec-Fetch-Mode"] == "navigate" && request.Headers["Sec-Fetch-Dest"] == "document";
        return isKnown && isOwn && (request.Headers["Sec-Fetch-Site"].ToString() is "" or "same-origin" or "none" || isLink);
    }

    // The password may have been removed since the start.
    private bool MayComeFrom(IPAddress? address) => Logins.IsNeeded || (address is not null && IPAddress.IsLoopback(address.IsIPv4MappedToIPv6 ? address.MapToIPv4() : address));
}
