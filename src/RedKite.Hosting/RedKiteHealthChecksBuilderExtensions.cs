using Microsoft.Extensions.Diagnostics.HealthChecks;
using RedKite;
using RedKite.Hosting;

namespace Microsoft.Extensions.DependencyInjection;

/// <summary>Adds the health checks of the host's RedKite server.</summary>
public static class RedKiteHealthChecksBuilderExtensions
{
    /// <summary>
    /// Adds two checks. "redkite-live", with the tag "live", is unhealthy if the server has stopped. "redkite-ready", with the tag "ready", is
    /// unhealthy while the server loads its data or a critical finding is open, and degraded while a warning is. Each takes microseconds and
    /// executes no command.
    /// </summary>
    /// <param name="builder">The host's health checks.</param>
    /// <param name="name">The beginning of the checks' names.</param>
    public static IHealthChecksBuilder AddRedKite(this IHealthChecksBuilder builder, string name = "redkite")
    {
        ArgumentNullException.ThrowIfNull(builder);
        ArgumentException.ThrowIfNullOrEmpty(name);
        return builder.Add(Registration("live", isReadiness: false)).Add(Registration("ready", isReadiness: true));

        HealthCheckRegistration Registration(string tag, bool isReadiness) =>
            new($"{name}-{tag}", services => new RedKiteHealthCheck(services.GetRequiredService<RedKiteServer>(), isReadiness), failureStatus: null, [tag]);
    }
}
