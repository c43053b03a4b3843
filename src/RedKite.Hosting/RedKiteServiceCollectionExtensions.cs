using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection.Extensions;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using RedKite;
using RedKite.Hosting;

namespace Microsoft.Extensions.DependencyInjection;

/// <summary>Adds a RedKite server to a host.</summary>
public static class RedKiteServiceCollectionExtensions
{
    /// <summary>
    /// Adds a <see cref="RedKiteServer"/> that starts and stops with the host, and its <see cref="RedKiteClient"/>. Its options come from the section "RedKite" of the host's
    /// configuration, if there is one, and then from <paramref name="configure"/>. Further calls add to the options of the same server.
    /// </summary>
    /// <param name="services">The host's services.</param>
    /// <param name="configure">Sets options; it takes precedence over the configuration.</param>
    /// <remarks>
    /// The server is loaded when the host's start has reached it, in the order of registration: what is added later finds its data. Before,
    /// commands are answered LOADING. The host's start fails with a <see cref="RedKiteConfigException"/> that names everything that is wrong.
    /// </remarks>
    public static IServiceCollection AddRedKite(this IServiceCollection services, Action<RedKiteOptions>? configure = null)
    {
        ArgumentNullException.ThrowIfNull(services);
        services.TryAddEnumerable(ServiceDescriptor.Singleton<IConfigureOptions<RedKiteOptions>, HostSection>()); // once, before what code sets
        return Add(services, configure);
    }

    /// <summary>As the other method, with another section of the configuration.</summary>
    /// <param name="services">The host's services.</param>
    /// <param name="section">The section that has the members of <see cref="RedKiteOptions"/>.</param>
    /// <param name="configure">Sets options; it takes precedence over the configuration.</param>
    public static IServiceCollection AddRedKite(this IServiceCollection services, IConfiguration section, Action<RedKiteOptions>? configure = null)
    {
        ArgumentNullException.ThrowIfNull(services);
        ArgumentNullException.ThrowIfNull(section);
        services.Configure<RedKiteOptions>(options => RedKiteConfiguration.Apply(section, options));
        return Add(services, configure);
    }

    private static IServiceCollection Add(IServiceCollection services, Action<RedKiteOptions>? configure)
    {
        if (configure is not null) services.Configure(configure);
        services.AddOptions();
        services.TryAddSingleton(provider => RedKiteHostedService.CreateServer(provider.GetRequiredService<IOptions<RedKiteOptions>>().Value, provider.GetService<ILoggerFactory>()));
        services.TryAddSingleton(provider => provider.GetRequiredService<RedKiteServer>().CreateClient());
        services.TryAddEnumerable(ServiceDescriptor.Singleton<IHostedService, RedKiteHostedService>());
        return services;
    }

    private sealed class HostSection(IServiceProvider services) : IConfigureOptions<RedKiteOptions>
    {
        public void Configure(RedKiteOptions options)
        {
            if (services.GetService<IConfiguration>() is { } configuration) RedKiteConfiguration.Apply(configuration.GetSection(RedKiteConfiguration.SectionName), options);
        }
    }
}
