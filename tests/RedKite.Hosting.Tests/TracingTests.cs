using System.Collections.Concurrent;
using System.Diagnostics;

namespace RedKite.Hosting.Tests;

/// <summary>The spans of the commands that the process calls.</summary>
public class TracingTests
{
    [Fact]
    public async Task Calls_are_spans_below_the_caller_s()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = null }, TestContext.Current.CancellationToken);
        var ended = new ConcurrentQueue<Activity>();
        using var source = new ActivitySource("test");
        using ActivityListener listener = Listen(ended);
        using Activity request = source.StartActivity("request")!;
        RedKiteClient client = server.CreateClient();
        client.Set("key", "value");
        Assert.Equal(5, client.Get("key", new byte[16]));
        server.Execute("SELECT", "3");
        using (RedKiteSession session = server.CreateSession())
        {
            session.Execute("SELECT", "3");
            session.Execute("CONFIG", "GET", "port");
            session.Execute("LPUSH", "list", "secret");
            session.Execute("INCR", "list");
            session.Execute("nosuchcommand", "secret");
        }

        Activity[] spans = [.. ended.Where(span => span.ParentSpanId == request.SpanId)];
        Assert.Equal(["SET", "GET", "SELECT", "SELECT", "CONFIG", "LPUSH", "INCR", "UNKNOWN"], spans.Select(span => span.DisplayName.Split(' ')[0]));
        Assert.All(spans, span =>
        {
            Assert.Equal(ActivityKind.Client, span.Kind);
            Assert.Equal("redis", span.GetTagItem("db.system.name"));
            Assert.Equal(span.DisplayName, span.GetTagItem("db.operation.name"));
            Assert.DoesNotContain("secret", string.Join(' ', span.Tags), StringComparison.Ordinal);
        });
        Assert.Equal(["0", "0", "0", "0", "3", "3", "3", "3"], spans.Select(span => span.GetTagItem("db.namespace")));
        Assert.Equal([null, "WRONGTYPE", "ERR"], spans[^3..].Select(span => span.GetTagItem("db.response.status_code")));
        Assert.Equal([ActivityStatusCode.Unset, ActivityStatusCode.Error, ActivityStatusCode.Error], spans[^3..].Select(span => span.Status));
    }

    [Fact]
    public async Task Calls_of_many_commands_and_waits_are_one_span_each()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = null }, TestContext.Current.CancellationToken);
        var ended = new ConcurrentQueue<Activity>();
        using var source = new ActivitySource("test");
        using ActivityListener listener = Listen(ended);
        using Activity request = source.StartActivity("request")!;
        RedKiteClient client = server.CreateClient();
        RedKiteBatch batch = client.CreateBatch();
        batch.Increment("a");
        batch.Increment("b", 2);
        batch.Execute();
        batch.Set("list", "text");
        batch.ListPushLeft("list", "secret");
        batch.Execute();
        using (RedKiteTransaction transaction = client.CreateTransaction())
        {
            transaction.Watch("a");
            transaction.Delete("list");
            Assert.True(transaction.Execute());
        }

        using (RedKiteSubscription news = client.Subscribe("news"))
        {
        }

        ValueTask<byte[]?> job = client.ListPopLeftAsync("list", cancellationToken: TestContext.Current.CancellationToken);
        Assert.Same(request, Activity.Current);
        client.ListPushLeft("list", "secret");
        Assert.NotNull(await job);
        using (RedKiteSession session = server.CreateSession())
        {
            var replies = new System.Buffers.ArrayBufferWriter<byte>();
            session.Execute("GET a\r\nGET b\r\n"u8.ToArray(), replies);
            session.Execute("LPUSH a secret\r\n"u8.ToArray(), replies);
            session.Execute("PING\r\nGET b\r\n"u8.ToArray(), replies);
        }

        Activity[] spans = [.. ended.Where(span => span.ParentSpanId == request.SpanId)];
        Assert.Equal(["BLPOP", "LPUSH", "LPUSH", "MULTI DEL", "PIPELINE", "PIPELINE", "PIPELINE GET", "PIPELINE INCRBY", "SUBSCRIBE", "WATCH"], spans.Select(static span => span.DisplayName).Order(StringComparer.Ordinal));
        Assert.Equal([2, 2, 2, 2], spans.Select(span => span.GetTagItem("db.operation.batch.size")).OfType<int>());
        Assert.Equal(["WRONGTYPE", "WRONGTYPE"], spans.Select(span => span.GetTagItem("db.response.status_code")).OfType<string>());
        Assert.All(spans, static span => Assert.DoesNotContain("secret", string.Join(' ', span.Tags), StringComparison.Ordinal));
    }

    private static ActivityListener Listen(ConcurrentQueue<Activity> ended)
    {
        var listener = new ActivityListener
        {
            ShouldListenTo = candidate => candidate.Name is RedKiteTelemetry.ActivitySourceName or "test",
            Sample = (ref ActivityCreationOptions<ActivityContext> _) => ActivitySamplingResult.AllData,
            ActivityStopped = ended.Enqueue,
        };
        ActivitySource.AddActivityListener(listener);
        return listener;
    }
}
