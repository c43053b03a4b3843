using System.Diagnostics;
using FreeRedis;
using OpenTelemetry;
using OpenTelemetry.Trace;
using StackExchange.Redis;

namespace RedKite.Libraries.Tests;

/// <summary>Other clients than StackExchange.Redis, and what is built on it.</summary>
public sealed class ClientTests(Servers servers)
{
    public static TheoryData<string> Names => Servers.Names;

    private static CancellationToken Cancellation => TestContext.Current.CancellationToken;

    [Theory]
    [MemberData(nameof(Names))]
    public async Task Csredis_pipelines_locks_and_messages(string server)
    {
        string address = servers.On(server);
        using var client = new CSRedis.CSRedisClient($"{address},defaultDatabase=1,poolsize=2,prefix=app:,testcluster=false");
        Assert.True(await client.SetAsync("k", "v", 100));
        Assert.Equal("v", await client.GetAsync("k"));
        object[] replies = client.StartPipe(pipe => pipe.IncrBy("n", 2).IncrBy("n", 3).HSet("h", "f", "x").ZAdd("z", (1.5m, "m")));
        Assert.Equal([2L, 5L, true, 1L], replies);
        Assert.Equal(5L, client.Eval("return redis.call('get', KEYS[1]) + 0", "n"));
        using (CSRedis.CSRedisClientLock held = client.Lock("order", 5)) Assert.NotNull(held);
        var heard = new TaskCompletionSource<string>(TaskCreationOptions.RunContinuationsAsynchronously);
        using CSRedis.CSRedisClient.SubscribeObject subscription = client.Subscribe(("news", message => heard.TrySetResult(message.Body)));
        while (client.Publish("news", "hello") == 0) await Task.Delay(10, Cancellation);
        Assert.EndsWith("hello", await heard.Task.WaitAsync(Cancellation), StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Names))]
    public async Task Freeredis_transactions_streams_and_messages(string server)
    {
        string address = servers.On(server);
        using var client = new RedisClient($"{address},database=2,max poolsize=4");
        client.MSet("a", 1, "b", 2);
        Assert.Equal("1,2,", string.Join(',', client.MGet("a", "b", "none")));
        using (RedisClient.TransactionHook transaction = client.Multi())
        {
            transaction.IncrBy("a", 10);
            transaction.Get("a");
            Assert.Equal([11L, "11"], transaction.Exec());
        }

        client.XGroupCreate("events", "workers", "0", true);
        string id = client.XAdd("events", "kind", "opened");
        StreamsEntryResult[] read = client.XReadGroup("workers", "ann", 10, 0, false, "events", ">");
        Assert.Equal(id, read[0].entries[0].id);
        Assert.Equal(1, client.XAck("events", "workers", id));
        var heard = new TaskCompletionSource<string>(TaskCreationOptions.RunContinuationsAsynchronously);
        using IDisposable subscription = client.Subscribe("news", (_, body) => heard.TrySetResult($"{body}"));
        while (client.Publish("news", "hello") == 0) await Task.Delay(10, Cancellation);
        Assert.Equal("hello", await heard.Task.WaitAsync(Cancellation));
        Assert.Equal("42", $"{client.Eval("return ARGV[1]", ["k"], 42)}");
    }

    [Theory]
    [MemberData(nameof(Names))]
    public async Task Opentelemetry_traces_commands(string server)
    {
        await using ConnectionMultiplexer multiplexer = await ConnectionMultiplexer.ConnectAsync(servers.On(server));
        var activities = new List<Activity>();
        using (TracerProvider tracing = Sdk.CreateTracerProviderBuilder()
            .AddRedisInstrumentation(multiplexer, options => options.FlushInterval = TimeSpan.FromMilliseconds(20))
            .AddProcessor(new SimpleActivityExportProcessor(new ListExporter(activities)))
            .Build())
        {
            await multiplexer.GetDatabase().StringSetAsync("k", "v");
            await multiplexer.GetDatabase().StringGetAsync("k");
            for (int i = 0; i < 1000 && CountOf(activities) < 2; i++) await Task.Delay(10, Cancellation);
        }

        lock (activities) Assert.Equal(["GET", "SET"], activities.Select(activity => activity.DisplayName).Order());
    }

    private static int CountOf(List<Activity> activities)
    {
        lock (activities) return activities.Count;
    }

    private sealed class ListExporter(List<Activity> activities) : BaseExporter<Activity>
    {
        public override ExportResult Export(in Batch<Activity> batch)
        {
            lock (activities)
            {
                foreach (Activity activity in batch) activities.Add(activity);
            }

            return ExportResult.Success;
        }
    }
}
