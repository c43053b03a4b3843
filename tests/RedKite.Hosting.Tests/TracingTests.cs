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
        using var listener = new ActivityListener
        {
            ShouldListenTo = candidate => candidate.Name is RedKiteTelemetry.ActivitySourceName or "test",
            Sample = (ref ActivityCreationOptions<ActivityContext> _) => ActivitySamplingResult.AllData,
            ActivityStopped = ended.Enqueue,
        };
        ActivitySource.AddActivityListener(listener);
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
}
