using System.Text.Json;
using RedKite.TestSupport;

namespace RedKite.Dashboard.Tests;

/// <summary>A real Prometheus reads the product's own address, with its password.</summary>
public class PrometheusTests
{
    [Fact]
    public async Task Real_prometheus_scrapes_the_dashboard_with_a_password()
    {
        Assert.SkipUnless(PrometheusProgram.Find("prometheus") is not null, PrometheusProgram.NotInstalled);
        CancellationToken cancellation = TestContext.Current.CancellationToken;
        await using PageServer server = await PageServer.StartAsync("requirepass", "secret", "slowlog-log-slower-than", "-1");
        for (int i = 0; i < 100; i++) server.Server.Execute("SET", "key", "value");
        await using PrometheusProgram prometheus = await PrometheusProgram.StartAsync(
            $"[{{job_name: redkite, basic_auth: {{username: default, password: secret}}, static_configs: [{{targets: ['127.0.0.1:{server.Dashboard.Port}']}}]}}, "
            + $"{{job_name: stranger, static_configs: [{{targets: ['127.0.0.1:{server.Dashboard.Port}']}}]}}]",
            cancellation);
        Assert.Equal("100", await prometheus.QueryAsync("redkite_calls_total{command=\"set\"}", cancellation));
        Assert.Equal("1", await prometheus.QueryAsync("up{job=\"redkite\"}", cancellation));
        Assert.Equal("1", await prometheus.QueryAsync("redkite_finding{name=\"slow-log-off\"}", cancellation));
        Assert.Equal("0", await prometheus.QueryAsync("up{job=\"stranger\"}", cancellation)); // without the password

        using JsonDocument targets = JsonDocument.Parse(await prometheus.GetAsync("api/v1/targets", cancellation));
        JsonElement target = targets.RootElement.GetProperty("data").GetProperty("activeTargets").EnumerateArray().Single(each => each.GetProperty("labels").GetProperty("job").GetString() == "redkite");
        Assert.Equal(("up", ""), (target.GetProperty("health").GetString(), target.GetProperty("lastError").GetString()));

        // The type by which Prometheus chooses the text format.
        using var request = new HttpRequestMessage(HttpMethod.Get, "/metrics");
        request.Headers.Authorization = new("Basic", Convert.ToBase64String("default:secret"u8));
        using HttpResponseMessage response = await server.Http.SendAsync(request, cancellation);
        Assert.Equal("text/plain; version=0.0.4; charset=utf-8", response.Content.Headers.ContentType!.ToString());
    }
}
