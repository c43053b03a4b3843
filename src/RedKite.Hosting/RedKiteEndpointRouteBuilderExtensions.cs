using Microsoft.AspNetCore.Authorization;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Routing;
using Microsoft.AspNetCore.Routing.Patterns;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using RedKite;
using RedKite.Dashboard;

namespace Microsoft.AspNetCore.Builder;

/// <summary>Maps the dashboard of the host's RedKite server.</summary>
public static class RedKiteEndpointRouteBuilderExtensions
{
    /// <summary>
    /// Serves the dashboard below a path of the host, e.g. <c>app.MapRedKiteDashboard("/redkite").RequireAuthorization("operators")</c>.
    /// </summary>
    /// <param name="endpoints">The host's routes, with <c>AddRedKite</c> among its services.</param>
    /// <param name="path">The path of the page.</param>
    /// <returns>For conventions such as <c>RequireAuthorization</c>. Users whom the host's authorization lets in need no login of the server's, and see
    /// keys and values. Without any, the rules of the server's own dashboard hold: a user that may do everything logs in, or where the default user
    /// needs no password, requests come from this machine.</returns>
    /// <exception cref="InvalidOperationException">The setting <c>diagnostics</c> is off, or there is no server.</exception>
    public static IEndpointConventionBuilder MapRedKiteDashboard(this IEndpointRouteBuilder endpoints, string path = "/redkite")
    {
        ArgumentNullException.ThrowIfNull(endpoints);
        ArgumentNullException.ThrowIfNull(path);
        RedKiteServer server = endpoints.ServiceProvider.GetRequiredService<RedKiteServer>();
        var source = server.Reports ?? throw new InvalidOperationException("There is no dashboard because the setting 'diagnostics' is off.");
        CancellationToken stopping = endpoints.ServiceProvider.GetService<IHostApplicationLifetime>()?.ApplicationStopping ?? default;
        var site = new AdminSite(source, server, stopping, IsAuthorized);
        return endpoints.Map(RoutePatternFactory.Parse($"/{path.Trim('/')}/{{**rest}}"), http => AnswerAsync(site, http)).WithDisplayName("RedKite dashboard");
    }

    // The authorization middleware has let the request pass. Where a host has no such middleware, routing refuses such endpoints.
    private static bool IsAuthorized(HttpContext http) =>
        http.GetEndpoint()?.Metadata is { } metadata
        && (metadata.GetMetadata<IAuthorizeData>() is not null || metadata.GetMetadata<AuthorizationPolicy>() is not null)
        && metadata.GetMetadata<IAllowAnonymous>() is null;

    private static Task AnswerAsync(AdminSite site, HttpContext http)
    {
        string path = http.Request.Path.Value ?? "/";
        string rest = http.Request.RouteValues["rest"] as string ?? "";
        if (rest.Length == 0 && !path.EndsWith('/'))
        {
            // The page's addresses are relative to its own.
            http.Response.Redirect($"{http.Request.PathBase}{http.Request.Path}/");
            return Task.CompletedTask;
        }

        // The site knows addresses below its own only.
        int length = path.Length - rest.Length - 1;
        http.Request.PathBase = http.Request.PathBase.Add(new PathString(path[..length]));
        http.Request.Path = new PathString(path[length..]);
        return site.AnswerAsync(http);
    }
}
