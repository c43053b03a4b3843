using System.Buffers;
using System.IO.Pipelines;
using System.Text;
using Microsoft.AspNetCore.OutputCaching;
using Microsoft.Extensions.Caching.Distributed;
using Microsoft.Extensions.DependencyInjection;
using RedKite.Testing;

namespace RedKite.Hosting.Tests;

/// <summary>The caches in the process, and that they and Microsoft's packages for Redis read each other's entries.</summary>
public sealed class CacheTests : IAsyncLifetime
{
    private RedKiteTestServer _redis = null!;
    private ServiceProvider _ours = null!;
    private ServiceProvider _theirs = null!;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    private IDistributedCache Ours => _ours.GetRequiredService<IDistributedCache>();

    private IDistributedCache Theirs => _theirs.GetRequiredService<IDistributedCache>();

    private IOutputCacheStore OurStore => _ours.GetRequiredService<IOutputCacheStore>();

    private IOutputCacheStore TheirStore => _theirs.GetRequiredService<IOutputCacheStore>();

    public async ValueTask InitializeAsync()
    {
        _redis = await RedKiteTestServer.StartAsync();
        _ours = new ServiceCollection().AddSingleton(_redis.Server)
            .AddRedKiteCache(options => options.InstanceName = "app:").AddRedKiteOutputCache(options => options.InstanceName = "app:").BuildServiceProvider();
        _theirs = new ServiceCollection().AddLogging()
            .AddStackExchangeRedisCache(options => (options.Configuration, options.InstanceName) = (_redis.ConnectionString, "app:"))
            .AddStackExchangeRedisOutputCache(options => (options.Configuration, options.InstanceName) = (_redis.ConnectionString, "app:")).BuildServiceProvider();
    }

    public async ValueTask DisposeAsync()
    {
        await _theirs.DisposeAsync();
        await _redis.DisposeAsync();
    }

    [Fact]
    public async Task Entries_are_kept_until_they_expire()
    {
        await Ours.SetStringAsync("k", "v", new DistributedCacheEntryOptions { AbsoluteExpirationRelativeToNow = TimeSpan.FromMinutes(1) }, Token);
        Assert.Equal("v", await Ours.GetStringAsync("k", Token));
        _redis.Clock.Advance(TimeSpan.FromSeconds(59));
        Assert.Equal("v", Ours.GetString("k"));
        _redis.Clock.Advance(TimeSpan.FromSeconds(1));
        Assert.Null(Ours.Get("k"));
        Ours.SetString("k", "for ever", new DistributedCacheEntryOptions());
        _redis.Clock.Advance(TimeSpan.FromDays(1000));
        Assert.Equal("for ever", Ours.GetString("k"));
        Ours.Remove("k");
        Assert.Null(Ours.Get("k"));
        Assert.ThrowsAny<ArgumentException>(() => Ours.Set("k", [], new DistributedCacheEntryOptions { AbsoluteExpiration = _redis.Clock.Now }));
    }

    [Fact]
    public void Reads_extend_a_sliding_expiry_up_to_the_absolute_one()
    {
        Ours.SetString("k", "v", new DistributedCacheEntryOptions { SlidingExpiration = TimeSpan.FromSeconds(10), AbsoluteExpirationRelativeToNow = TimeSpan.FromSeconds(25) });
        for (int i = 0; i < 2; i++)
        {
            _redis.Clock.Advance(TimeSpan.FromSeconds(9));
            Assert.Equal("v", Ours.GetString("k"));
        }

        Assert.Equal(TimeSpan.FromSeconds(7), _redis.Client.TimeToLive("app:k"));
        Ours.SetString("r", "v", new DistributedCacheEntryOptions { SlidingExpiration = TimeSpan.FromSeconds(10) });
        _redis.Clock.Advance(TimeSpan.FromSeconds(9));
        Ours.Refresh("r");
        Assert.Equal(TimeSpan.FromSeconds(10), _redis.Client.TimeToLive("app:r"));
        Assert.Null(Ours.Get("k"));
    }

    [Fact]
    public async Task Buffers_are_filled_and_read()
    {
        var cache = (IBufferDistributedCache)Ours;
        var writer = new ArrayBufferWriter<byte>();
        Assert.False(cache.TryGet("k", writer));
        await cache.SetAsync("k", new ReadOnlySequence<byte>("value"u8.ToArray()), new DistributedCacheEntryOptions(), Token);
        Assert.True(await cache.TryGetAsync("k", writer, Token));
        Assert.Equal("value", Encoding.UTF8.GetString(writer.WrittenSpan));
        cache.Set("empty", default(ReadOnlySequence<byte>), new DistributedCacheEntryOptions());
        Assert.Empty(Ours.Get("empty")!);
    }

    [Fact]
    public async Task Both_caches_read_each_others_entries()
    {
        var entry = new DistributedCacheEntryOptions { SlidingExpiration = TimeSpan.FromMinutes(10) };
        await Ours.SetStringAsync("ours", "1", entry, Token);
        await Theirs.SetStringAsync("theirs", "2", entry, Token);
        Assert.Equal("1", await Theirs.GetStringAsync("ours", Token));
        Assert.Equal("2", await Ours.GetStringAsync("theirs", Token));
        Assert.Equal(_redis.Client.HashGetAll("app:ours").ToDictionary().Keys.Order(), _redis.Client.HashGetAll("app:theirs").ToDictionary().Keys.Order());
        Assert.Equal(_redis.Client.HashGetString("app:ours", "sldexp"), _redis.Client.HashGetString("app:theirs", "sldexp"));
        await Theirs.RemoveAsync("ours", Token);
        Ours.Remove("theirs");
        Assert.False(_redis.Client.Exists("app:ours") || _redis.Client.Exists("app:theirs"));
    }

    [Fact]
    public async Task Output_is_kept_and_evicted_by_tag()
    {
        await OurStore.SetAsync("a", "1"u8.ToArray(), ["x", "y"], TimeSpan.FromMinutes(1), Token);
        await ((IOutputCacheBufferStore)OurStore).SetAsync("b", new ReadOnlySequence<byte>("2"u8.ToArray()), (string[])["y"], TimeSpan.FromMinutes(1), Token);
        await OurStore.EvictByTagAsync("x", Token);
        Assert.Null(await OurStore.GetAsync("a", Token));
        Assert.Equal("2"u8.ToArray(), await OurStore.GetAsync("b", Token));
        var pipe = new Pipe();
        Assert.True(await ((IOutputCacheBufferStore)OurStore).TryGetAsync("b", pipe.Writer, Token));
        Assert.Equal("2", Encoding.UTF8.GetString((await pipe.Reader.ReadAsync(Token)).Buffer));
        _redis.Clock.Advance(TimeSpan.FromMinutes(2));
        Assert.Null(await OurStore.GetAsync("b", Token));
        await OurStore.SetAsync("c", "3"u8.ToArray(), ["z"], TimeSpan.FromMinutes(1), Token); // which cleans up
        Assert.Equal(["z"], _redis.Client.SortedSetRangeByRank("app:__MSOCT").ToArray().Select(static pair => pair.Key));
        Assert.False(_redis.Client.Exists("app:__MSOCT_y"));
    }

    [Fact]
    public async Task Both_output_caches_read_and_evict_each_others_entries()
    {
        await OurStore.SetAsync("ours", "1"u8.ToArray(), ["t"], TimeSpan.FromMinutes(1), Token);
        await TheirStore.SetAsync("theirs", "2"u8.ToArray(), ["t", "u"], TimeSpan.FromMinutes(1), Token);
        Assert.Equal("1"u8.ToArray(), await TheirStore.GetAsync("ours", Token));
        Assert.Equal("2"u8.ToArray(), await OurStore.GetAsync("theirs", Token));
        SpinWait.SpinUntil(() => _redis.Client.SortedSetScore("app:__MSOCT_u", "theirs") is not null, TimeSpan.FromSeconds(60)); // theirs does not wait for its tags
        await OurStore.EvictByTagAsync("u", Token);
        Assert.Null(await TheirStore.GetAsync("theirs", Token));
        await TheirStore.EvictByTagAsync("t", Token);
        SpinWait.SpinUntil(() => !_redis.Client.Exists("app:__MSOCV_ours"), TimeSpan.FromSeconds(60));
        Assert.Null(await OurStore.GetAsync("ours", Token));
    }
}
