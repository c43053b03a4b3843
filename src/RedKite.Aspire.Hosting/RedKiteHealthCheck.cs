using Aspire.Hosting.ApplicationModel;
using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace RedKite.Aspire.Hosting;

/// <summary>Whether the server answers a command on data at its endpoint, which it refuses while it loads. No Redis client is needed for that.</summary>
internal sealed class RedKiteHealthCheck(RedKiteResource resource) : IHealthCheck
{
    public async Task<HealthCheckResult> CheckHealthAsync(HealthCheckContext context, CancellationToken cancellationToken = default)
    {
        if (!resource.HasEndpoint) return HealthCheckResult.Unhealthy("The server has no endpoint yet.");
        string? password = resource.PasswordParameter is { } parameter ? await parameter.GetValueAsync(cancellationToken).ConfigureAwait(false) : null;
        return await CheckAsync(resource.PrimaryEndpoint.Host, resource.PrimaryEndpoint.Port, password, cancellationToken, resource.IsNode).ConfigureAwait(false);
    }

    // A command on data, because PING is answered while the data is loaded. A node of a cluster redirects it, and refuses it before there is a cluster.
    internal static Task<HealthCheckResult> CheckAsync(string host, int port, string? password, CancellationToken cancellationToken, bool isNode = false) =>
        ServerCall.CheckAsync(host, port, password, isNode ? ["CLUSTER", "MYID"] : ["EXISTS", ""], static reply => reply.StartsWith('-') ? reply : null, cancellationToken);
}
