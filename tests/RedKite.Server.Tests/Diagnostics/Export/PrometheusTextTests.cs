using System.Diagnostics;
using System.Net;
using System.Text;
using System.Text.RegularExpressions;
using RedKite.Server.Diagnostics;
using RedKite.Server.Diagnostics.Export;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Diagnostics.Export;

/// <summary>The text for Prometheus, read by Prometheus itself and its promtool where they are installed.</summary>
public partial class PrometheusTextTests
{
    private static readonly string Folder = Path.Combine(RepositoryRoot.Path, "docs", "prometheus");

    [Fact]
    public async Task Every_line_is_a_comment_or_a_sample_and_every_known_metric_is_there()
    {
        await using RedKiteServer server = await StartedAsync();
        string text = Text(server);
        Assert.EndsWith("\n", text, StringComparison.Ordinal);
        string[] lines = text.TrimEnd('\n').Split('\n');
        Assert.All(lines, line => Assert.Matches(Line(), line));
        Assert.Equal(lines.Length, lines.Distinct().Count());
        DiagnosticsView view = server.Diagnostics!.View(server.Diagnostics.History.LatestSecond);
        foreach (Metric metric in MetricTable.All.Where(metric => !double.IsNaN(view[metric]))) Assert.Contains(lines, line => line.StartsWith(PrometheusText.NameOf(metric) + " ", StringComparison.Ordinal));
        Assert.Contains("redkite_command_calls_total{command=\"set\"} 100", lines);
        Assert.Contains("redkite_errors_total{class=\"WRONGTYPE\"} 1", lines);
        Assert.Contains("redkite_finding{name=\"slow-log-off\",severity=\"notice\"} 1", lines);
        Assert.Contains(lines, line => line.StartsWith("redkite_command_executing_seconds{command=\"set\",quantile=\"0.99\"} ", StringComparison.Ordinal));
    }

    [Fact]
    public void Names_are_unique_and_end_in_base_units()
    {
        string[] names = [.. MetricTable.All.Select(PrometheusText.NameOf)];
        Assert.Equal(names.Length, names.Distinct().Count());
        Assert.All(names, name => Assert.DoesNotMatch("milliseconds|microseconds|percent", name));
        Assert.Equal("redkite_used_cpu_user_seconds_total", PrometheusText.NameOf(MetricTable.CpuUser));
        Assert.Equal("redkite_used_memory_bytes", PrometheusText.NameOf(MetricTable.UsedMemory));
        Assert.Equal("redkite_gc_pause_seconds_total", PrometheusText.NameOf(MetricTable.PauseTime));
        Assert.Equal(0.25, PrometheusText.InBaseUnit(MetricTable.BusiestLoop, 25));
        Assert.Equal(0.0015, PrometheusText.InBaseUnit(MetricTable.LatencyP99, 1500));
    }

    [Fact]
    public async Task Promtool_has_no_complaint()
    {
        Assert.SkipUnless(PrometheusProgram.Find("promtool") is not null, PrometheusProgram.NotInstalled);
        await using RedKiteServer server = await StartedAsync();
        Assert.Equal("", await Promtool(Text(server), "check", "metrics"));
        Assert.Contains("SUCCESS: 7 rules found", await Promtool("", "check", "rules", Path.Combine(Folder, "alerts.yml")), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Dashboard_and_alerts_name_metrics_that_exist()
    {
        await using RedKiteServer server = await StartedAsync();
        string text = Text(server);
        string[] known = [.. MetricTable.All.Select(PrometheusText.NameOf), .. Regex.Matches(text, "^# TYPE (\\S+)", RegexOptions.Multiline).Select(match => match.Groups[1].Value)];
        foreach (string file in new[] { "alerts.yml", "dashboard.json" })
        {
            string[] named = [.. Regex.Matches(await File.ReadAllTextAsync(Path.Combine(Folder, file), TestContext.Current.CancellationToken), "\\bredkite_\\w+").Select(match => match.Value).Distinct()];
            Assert.NotEmpty(named);
            Assert.Empty(named.Except(known));
        }
    }

    [Fact]
    public async Task Real_prometheus_scrapes_it()
    {
        Assert.SkipUnless(PrometheusProgram.Find("prometheus") is not null, PrometheusProgram.NotInstalled);
        await using RedKiteServer server = await StartedAsync();
        int port = LoopbackPort.Next();
        using var listener = new HttpListener();
        listener.Prefixes.Add($"http://127.0.0.1:{port}/");
        listener.Start();
        _ = Serve(listener, server);
        CancellationToken cancellation = TestContext.Current.CancellationToken;
        await using PrometheusProgram prometheus = await PrometheusProgram.StartAsync($"[{{job_name: redkite, static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}]", cancellation);
        Assert.Equal("100", await prometheus.QueryAsync("redkite_command_calls_total{command=\"set\"}", cancellation));
        Assert.Equal("1", await prometheus.QueryAsync("up{job=\"redkite\"}", cancellation));
        Assert.Equal("1", await prometheus.QueryAsync("redkite_finding{name=\"slow-log-off\"}", cancellation));
        listener.Stop();
    }

    private static async Task<RedKiteServer> StartedAsync()
    {
        RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["slowlog-log-slower-than"] = "-1" } });
        for (int i = 0; i < 100; i++) server.Execute("SET", "key", "value");
        server.Execute("LPUSH", "key", "value");
        ObservedSeconds.Until(server, () => server.Diagnostics!.Findings.Current.Any(finding => finding.Rule.Name == "slow-log-off"), "it is observed");
        return server;
    }

    private static string Text(RedKiteServer server) => server.GetMetricsText();

    private static async Task Serve(HttpListener listener, RedKiteServer server)
    {
        while (listener.IsListening)
        {
            HttpListenerContext context = await listener.GetContextAsync();
            context.Response.ContentType = PrometheusText.ContentType;
            await context.Response.OutputStream.WriteAsync(Encoding.UTF8.GetBytes(Text(server)));
            context.Response.Close();
        }
    }

    private static async Task<string> Promtool(string input, params string[] arguments)
    {
        using Process process = Process.Start(new ProcessStartInfo(PrometheusProgram.Find("promtool")!, arguments) { RedirectStandardInput = true, RedirectStandardOutput = true, RedirectStandardError = true })!;
        Task<string> output = process.StandardOutput.ReadToEndAsync(TestContext.Current.CancellationToken);
        Task<string> errors = process.StandardError.ReadToEndAsync(TestContext.Current.CancellationToken);
        await process.StandardInput.WriteAsync(input);
        process.StandardInput.Close();
        string all = await output + await errors;
        await process.WaitForExitAsync(TestContext.Current.CancellationToken);
        Assert.True(process.ExitCode == 0, all);
        return all;
    }

    [GeneratedRegex("""^(# (HELP|TYPE) redkite_[a-z0-9_]+ \S.*|redkite_[a-z0-9_]+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? ([-+]?[0-9.]+(E[-+]?[0-9]+)?|[-+]Inf))$""")]
    private static partial Regex Line();
}
