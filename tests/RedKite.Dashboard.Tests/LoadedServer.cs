namespace RedKite.Dashboard.Tests;

/// <summary>A server with some of everything and a history of at least three seconds, shared by tests that only look at it.</summary>
public sealed class LoadedServer : IAsyncLifetime
{
    internal PageServer Server { get; private set; } = null!;

    /// <summary>Starts another one, for a test that changes it.</summary>
    internal static async Task<PageServer> StartAsync()
    {
        PageServer server = await PageServer.StartAsync("slowlog-log-slower-than", "0", "commandlog-reply-larger-than", "1000", "key-survey-cpu-percent", "100", "latency-monitor-threshold", "1");
        for (int i = 0; i < 500; i++)
        {
            server.Server.Execute("SET", $"key:{i}", new string('x', i), "EX", "1000");
            server.Server.Execute("HSET", "hash", $"field:{i}", "value");
        }

        server.Server.Execute("GET", "key:499");
        server.Server.Execute("LPUSH", "hash", "x"); // an error
        server.Server.Execute("HGETALL", "hash");
        for (int i = 0; i < 100 && server.Server.Diagnostics!.History.Seconds(0, 0, long.MaxValue).Count < 3; i++) await Task.Delay(100, TestContext.Current.CancellationToken);
        return server;
    }

    public async ValueTask InitializeAsync() => Server = await StartAsync();

    public async ValueTask DisposeAsync() => await Server.DisposeAsync();
}
