using RedKite.TestSupport;

[assembly: AssemblyFixture(typeof(RedKite.Dashboard.Tests.LoadedServer))]

namespace RedKite.Dashboard.Tests;

/// <summary>A server with some of everything, a history of at least three seconds and a client that works all the time. Tests that only look at it share it.</summary>
public sealed class LoadedServer : IAsyncLifetime
{
    internal const string HotKey = "key:1";

    private readonly CancellationTokenSource _ended = new();
    private Task _work = Task.CompletedTask;

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

    public async ValueTask InitializeAsync()
    {
        Server = await StartAsync();
        _work = Task.Run(WorkAsync);
    }

    public async ValueTask DisposeAsync()
    {
        await _ended.CancelAsync();
        await _work;
        await Server.DisposeAsync();
        _ended.Dispose();
    }

    // Times of commands are known for seconds with commands.
    private async Task WorkAsync()
    {
        using RespConnection client = RespConnection.Connect(Server.Server.Port);
        client.Run("CLIENT SETNAME worker").IsOk();
        while (!_ended.IsCancellationRequested)
        {
            client.Run($"GET {HotKey}");
            await Task.Delay(50, _ended.Token).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
    }
}
