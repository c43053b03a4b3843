// Tests of code that uses Redis, without Docker: each has a server of its own, in its process, whose clock and faults it controls.
using RedKite.Testing;
using StackExchange.Redis;

namespace TestDouble;

public sealed class PriceCacheTests : IAsyncLifetime
{
    private RedKiteTestServer _redis = null!;
    private ConnectionMultiplexer _connection = null!;
    private PriceCache _cache = null!;

    public async ValueTask InitializeAsync()
    {
        _redis = await RedKiteTestServer.StartAsync();
        _connection = await ConnectionMultiplexer.ConnectAsync(_redis.ConnectionString);
        _cache = new PriceCache(_connection.GetDatabase());
    }

    public async ValueTask DisposeAsync()
    {
        await _connection.DisposeAsync();
        await _redis.DisposeAsync();
    }

    [Fact]
    public async Task Price_is_looked_up_once_an_hour()
    {
        Assert.Equal(12, await _cache.GetAsync("chair"));
        Assert.Equal(12, await _cache.GetAsync("chair"));
        Assert.Equal(1, _cache.Lookups);
        _redis.Received.Expect("SETEX", "price:chair", "3600", "12"); // as the client library writes it
        _redis.Clock.Advance(TimeSpan.FromHours(1));
        await _cache.GetAsync("chair");
        Assert.Equal(2, _cache.Lookups);
    }

    [Fact]
    public async Task Price_is_known_while_the_server_is_out_of_memory()
    {
        using RedKiteFault full = _redis.Faults.OutOfMemory();
        Assert.Equal(12, await _cache.GetAsync("chair"));
        Assert.Equal(1, full.Hits);
        Assert.Null(_redis.Client.GetString("price:chair"));
    }

    [Fact]
    public async Task Data_is_arranged_and_checked_without_the_code_under_test()
    {
        _redis.Client.Set("price:table", "99");
        Assert.Equal(99, await _cache.GetAsync("table"));
        Assert.Equal(0, _cache.Lookups);
    }
}

/// <summary>The code under test: prices, cached for an hour. A server that refuses to store one does not keep it from its caller.</summary>
internal sealed class PriceCache(IDatabase redis)
{
    internal int Lookups { get; private set; }

    internal async Task<int> GetAsync(string product)
    {
        RedisValue cached = await redis.StringGetAsync($"price:{product}");
        if (cached.HasValue) return (int)cached;
        Lookups++;
        const int Price = 12;
        try
        {
            await redis.StringSetAsync($"price:{product}", Price, TimeSpan.FromHours(1));
        }
        catch (RedisServerException)
        {
            // It is looked up again next time.
        }

        return Price;
    }
}
