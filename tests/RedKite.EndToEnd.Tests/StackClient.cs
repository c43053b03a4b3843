using RedKite.TestSupport;
using StackExchange.Redis;

namespace RedKite.EndToEnd.Tests;

/// <summary>A server of its own, and Redis's own .NET client for it.</summary>
internal sealed class StackClient : IAsyncDisposable
{
    private readonly ServerProcess _server;
    private readonly ConnectionMultiplexer _multiplexer;

    private StackClient(ServerProcess server, ConnectionMultiplexer multiplexer) => (_server, _multiplexer) = (server, multiplexer);

    public static TheoryData<RedisProtocol> Protocols => [RedisProtocol.Resp2, RedisProtocol.Resp3];

    internal IDatabase Database => _multiplexer.GetDatabase();

    internal static async Task<StackClient> ConnectAsync(RedisProtocol protocol, ServerProgram? program = null)
    {
        ServerProcess server = ServerProcess.Start(program ?? ServerProgram.UnderTest);
        try
        {
            return new StackClient(server, await ConnectionMultiplexer.ConnectAsync(new ConfigurationOptions { EndPoints = { { "127.0.0.1", server.Port } }, Protocol = protocol }));
        }
        catch
        {
            server.Dispose();
            throw;
        }
    }

    public async ValueTask DisposeAsync()
    {
        await _multiplexer.DisposeAsync();
        _server.Dispose();
    }
}
