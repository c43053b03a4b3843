using RedKite.TestSupport;
using StackExchange.Redis;

namespace RedKite.EndToEnd.Tests;

/// <summary>StackExchange.Redis in this process: the most common .NET client.</summary>
[Collection(RunningServersCollection.Name)]
public sealed class StackExchangeRedisTests(RunningServers servers)
{
    public static TheoryData<string> Transports => RunningServers.Transports;

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Strings_and_keys(string transport)
    {
        using Client client = await Client.Connect(servers.On(transport));
        ConnectionMultiplexer multiplexer = client.Multiplexer;
        IDatabase database = multiplexer.GetDatabase();
        Assert.True(await database.StringSetAsync("k", "v"));
        Assert.Equal("v", (string?)await database.StringGetAsync("k"));
        Assert.True((await database.StringGetAsync("none")).IsNull);
        Assert.False(await database.StringSetAsync("k", "w", when: When.NotExists));
        Assert.True(await database.StringSetAsync("k", "w", TimeSpan.FromSeconds(10_000), When.Exists));
        Assert.InRange((await database.KeyTimeToLiveAsync("k"))!.Value.TotalSeconds, 9_900, 10_000);
        Assert.True(await database.KeyPersistAsync("k"));
        Assert.Equal("w", (string?)await database.StringGetSetAsync("k", "x"));
        Assert.Equal(6, await database.StringIncrementAsync("n", 6));
        Assert.Equal(4, await database.StringDecrementAsync("n", 2));
        Assert.Equal(4.5, await database.StringIncrementAsync("n", 0.5));
        Assert.Equal(5, await database.StringAppendAsync("s", "Hello"));
        Assert.Equal("ell", (string?)await database.StringGetRangeAsync("s", 1, 3));
        byte[] bytes = [.. Enumerable.Range(0, 256).Select(b => (byte)b)];
        Assert.True(await database.StringSetAsync("bytes", bytes));
        Assert.Equal(bytes, (byte[]?)await database.StringGetAsync("bytes"));
        Assert.True(await database.StringSetAsync([new("a", "1"), new("b", "2")]));
        Assert.Equal(["1", "2", null], (await database.StringGetAsync(["a", "b", "none"])).Select(value => (string?)value));
        Assert.Equal(RedisType.String, await database.KeyTypeAsync("k"));
        Assert.True(await database.KeyRenameAsync("k", "renamed"));
        Assert.Equal(2, await database.KeyDeleteAsync(["a", "b", "none"]));
        RedisServerException error = await Assert.ThrowsAsync<RedisServerException>(() => database.StringIncrementAsync("s"));
        Assert.Contains("value is not an integer or out of range", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Many_requests_share_one_connection(string transport)
    {
        using Client client = await Client.Connect(servers.On(transport));
        ConnectionMultiplexer multiplexer = client.Multiplexer;
        IDatabase database = multiplexer.GetDatabase(4);
        Task<bool>[] writes = [.. Enumerable.Range(0, 5_000).Select(i => database.StringSetAsync($"key:{i}", i))];
        await Task.WhenAll(writes);
        RedisValue[] values = await Task.WhenAll(Enumerable.Range(0, 5_000).Select(i => database.StringGetAsync($"key:{i}")));
        Assert.Equal(Enumerable.Range(0, 5_000), values.Select(value => (int)value));
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Server_commands(string transport)
    {
        using Client client = await Client.Connect(servers.On(transport));
        ConnectionMultiplexer multiplexer = client.Multiplexer;
        IServer server = multiplexer.GetServer(multiplexer.GetEndPoints()[0]);
        IDatabase database = multiplexer.GetDatabase();
        for (int i = 0; i < 300; i++) await database.StringSetAsync($"key:{i}", i);
        Assert.Equal(300, await server.DatabaseSizeAsync());

        // Listing keys is synchronous, and this version of the library may continue after an await on its reply-reading thread,
        // where waiting for a reply deadlocks.
        Assert.Equal(300, await Task.Run(() => server.Keys(pageSize: 20).Distinct().Count(), TestContext.Current.CancellationToken));
        Assert.Contains(await server.ClientListAsync(), listed => listed.Name == "redkite-tests");
        Assert.Contains(await server.InfoAsync("server"), section => section.Key == "Server");
        Assert.InRange(await server.PingAsync(), TimeSpan.Zero, TimeSpan.FromSeconds(60));
        DateTime before = DateTime.UtcNow;
        Assert.InRange(await server.TimeAsync(), before.AddSeconds(-1), DateTime.UtcNow.AddSeconds(1));
        await server.FlushDatabaseAsync();
        Assert.Equal(0, await server.DatabaseSizeAsync());
    }

    private sealed record Client(ConnectionMultiplexer Multiplexer) : IDisposable
    {
        public static async Task<Client> Connect(ServerProcess server) =>
            new(await ConnectionMultiplexer.ConnectAsync($"127.0.0.1:{server.Port},allowAdmin=true,name=redkite-tests,connectTimeout=60000,syncTimeout=60000"));

        // By default this version waits for its whole syncTimeout.
        public void Dispose()
        {
            Multiplexer.Close(allowCommandsToComplete: false);
            Multiplexer.Dispose();
        }
    }
}
