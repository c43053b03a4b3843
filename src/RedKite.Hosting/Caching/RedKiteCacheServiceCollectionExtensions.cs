using Microsoft.AspNetCore.OutputCaching;
using Microsoft.Extensions.Caching.Distributed;
using Microsoft.Extensions.DependencyInjection.Extensions;
using RedKite;
using RedKite.Hosting;

namespace Microsoft.Extensions.DependencyInjection;

/// <summary>Adds caches in the host's RedKite server (<see cref="RedKiteServiceCollectionExtensions"/>).</summary>
public static class RedKiteCacheServiceCollectionExtensions
{
    /// <summary>
    /// Adds <see cref="IDistributedCache"/>, also as <see cref="IBufferDistributedCache"/>, which HybridCache and FusionCache use as their second level. Entries are laid out as those of
    /// Microsoft.Extensions.Caching.StackExchangeRedis.
    /// </summary>
    /// <param name="services">The host's services, with a RedKite server.</param>
    /// <param name="configure">Sets where the entries are; null: in database 0, under their own keys.</param>
    public static IServiceCollection AddRedKiteCache(this IServiceCollection services, Action<RedKiteCacheOptions>? configure = null)
    {
        ArgumentNullException.ThrowIfNull(services);
        services.Replace(ServiceDescriptor.Singleton<IDistributedCache>(provider => new RedKiteCache(provider.GetRequiredService<RedKiteServer>(), Options(configure))));
        return services;
    }

    /// <summary>
    /// Adds the store of ASP.NET Core's output cache, with tags. Entries are laid out as those of Microsoft.AspNetCore.OutputCaching.StackExchangeRedis. Call AddOutputCache, too.
    /// </summary>
    /// <param name="services">The host's services, with a RedKite server.</param>
    /// <param name="configure">Sets where the entries are; null: in database 0, under their own keys.</param>
    public static IServiceCollection AddRedKiteOutputCache(this IServiceCollection services, Action<RedKiteCacheOptions>? configure = null)
    {
        ArgumentNullException.ThrowIfNull(services);
        services.Replace(ServiceDescriptor.Singleton<IOutputCacheStore>(provider => new RedKiteOutputCacheStore(provider.GetRequiredService<RedKiteServer>(), Options(configure))));
        return services;
    }

    private static RedKiteCacheOptions Options(Action<RedKiteCacheOptions>? configure)
    {
        var options = new RedKiteCacheOptions();
        configure?.Invoke(options);
        return options;
    }
}
