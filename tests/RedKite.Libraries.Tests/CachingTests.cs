using Microsoft.Extensions.Caching.Distributed;
using Microsoft.Extensions.Caching.Hybrid;
using Microsoft.Extensions.DependencyInjection;
using RedKite.TestSupport;
using ZiggyCreatures.Caching.Fusion;
using ZiggyCreatures.Caching.Fusion.Backplane.StackExchangeRedis;
using ZiggyCreatures.Caching.Fusion.Serialization.SystemTextJson;

namespace RedKite.Libraries.Tests;

/// <summary>Caches of an application that has the server as its second level.</summary>
public sealed class CachingTests(Servers servers)
{
    public static TheoryData<string> Names => Servers.Names;

    private static CancellationToken Cancellation => TestContext.Current.CancellationToken;

    [Theory]
    [MemberData(nameof(Names))]
    public async Task Distributed_cache(string server)
    {
        string address = servers.On(server);
        await using ServiceProvider services = new ServiceCollection().AddStackExchangeRedisCache(options =>
        {
            options.Configuration = address;
            options.InstanceName = "app:";
        }).BuildServiceProvider();
        IDistributedCache cache = services.GetRequiredService<IDistributedCache>();
        Assert.Null(await cache.GetAsync("none", Cancellation));
        await cache.SetStringAsync("plain", "value", Cancellation);
        Assert.Equal("value", await cache.GetStringAsync("plain", Cancellation));
        await cache.SetAsync("sliding", [1, 2, 3], new DistributedCacheEntryOptions { SlidingExpiration = TimeSpan.FromMinutes(10), AbsoluteExpirationRelativeToNow = TimeSpan.FromHours(1) }, Cancellation);
        Assert.Equal([1, 2, 3], cache.Get("sliding"));
        await cache.RefreshAsync("sliding", Cancellation);
        using (RespConnection observer = servers.Observe(server))
        {
            Assert.InRange(observer.Run("TTL app:sliding").Number, 590, 600);
            Assert.Equal(-1, observer.Run("TTL app:plain").Number);
            Assert.Equal("$value", observer.Run("HGET app:plain data").ToString());
            observer.Run("EXPIRE app:sliding 100");
            await cache.GetAsync("sliding", Cancellation); // a read slides it on
            Assert.InRange(observer.Run("TTL app:sliding").Number, 590, 600);
        }

        await cache.RemoveAsync("plain", Cancellation);
        Assert.Null(await cache.GetStringAsync("plain", Cancellation));
    }

    [Theory]
    [MemberData(nameof(Names))]
    public async Task Hybrid_cache_shares_its_second_level(string server)
    {
        string address = servers.On(server);
        int made = 0;
        for (int process = 0; process < 2; process++)
        {
            var collection = new ServiceCollection();
            collection.AddStackExchangeRedisCache(options => options.Configuration = address);
            collection.AddHybridCache();
            await using ServiceProvider services = collection.BuildServiceProvider();
            HybridCache cache = services.GetRequiredService<HybridCache>();
            string[] values = await Task.WhenAll(Enumerable.Range(0, 8).Select(_ => cache.GetOrCreateAsync("report", _ => ValueTask.FromResult($"made {Interlocked.Increment(ref made)}"), tags: ["reports"], cancellationToken: Cancellation).AsTask()));
            Assert.All(values, value => Assert.Equal("made 1", value));
            if (process == 0)
            {
                // It is written in the background.
                using RespConnection observer = servers.Observe(server);
                while (observer.Run("EXISTS report").Number == 0) await Task.Delay(10, Cancellation);
                continue;
            }

            await cache.RemoveByTagAsync("reports", Cancellation);
            Assert.Equal("made 2", await cache.GetOrCreateAsync("report", _ => ValueTask.FromResult($"made {Interlocked.Increment(ref made)}"), tags: ["reports"], cancellationToken: Cancellation));
        }
    }

    [Theory]
    [MemberData(nameof(Names))]
    public async Task Fusion_cache_with_a_second_level_and_a_backplane(string server)
    {
        string address = servers.On(server);
        await using ServiceProvider services = new ServiceCollection().AddStackExchangeRedisCache(options => options.Configuration = address).BuildServiceProvider();
        using FusionCache one = NewCache(), other = NewCache();
        Assert.Equal("first", await one.GetOrSetAsync("product", _ => Task.FromResult("first"), token: Cancellation));
        Assert.Equal("first", await other.GetOrSetAsync("product", _ => Task.FromResult("made again"), token: Cancellation)); // from the second level

        var told = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        other.Events.Backplane.MessageReceived += (_, _) => told.TrySetResult();
        await one.SetAsync("product", "second", token: Cancellation);
        await told.Task.WaitAsync(Cancellation);
        for (int i = 0; i < 1000 && await other.TryGetAsync<string>("product", token: Cancellation) is not { HasValue: true, Value: "second" }; i++) await Task.Delay(10, Cancellation);
        Assert.Equal("second", (await other.TryGetAsync<string>("product", token: Cancellation)).Value);
        await one.RemoveAsync("product", token: Cancellation);
        Assert.Equal("third", await one.GetOrSetAsync("product", _ => Task.FromResult("third"), token: Cancellation));

        FusionCache NewCache()
        {
            var cache = new FusionCache(new FusionCacheOptions { WaitForInitialBackplaneSubscribe = true });
            cache.SetupDistributedCache(services.GetRequiredService<IDistributedCache>(), new FusionCacheSystemTextJsonSerializer());
            cache.SetupBackplane(new RedisBackplane(new RedisBackplaneOptions { Configuration = address }));
            return cache;
        }
    }
}
