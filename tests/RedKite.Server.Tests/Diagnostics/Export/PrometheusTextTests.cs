using System.Diagnostics;
using System.Globalization;
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
    private static readonly string[] OldNamesOfCommands =
    [
        "redkite_command_calls_total", "redkite_command_failed_calls_total", "redkite_command_rejected_calls_total",
        "redkite_command_executing_seconds", "redkite_command_waiting_seconds", "redkite_command_sending_seconds", "redkite_errors_total",
    ];

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
        foreach (Metric metric in MetricTable.All.Where(metric => metric.Export is not null && !double.IsNaN(view[metric]))) Assert.Contains(lines, line => line.StartsWith(Series(metric) + " ", StringComparison.Ordinal));
        Assert.Contains("redkite_calls_total{family=\"string\",command=\"set\"} 100", lines);
        Assert.Contains("redkite_call_errors_total{family=\"list\",command=\"lpush\",outcome=\"failed\"} 1", lines);
        Assert.Contains("redkite_error_replies_total{class=\"WRONGTYPE\"} 1", lines);
        Assert.Contains("redkite_finding{name=\"slow-log-off\",severity=\"notice\"} 1", lines);
        Assert.Contains("redkite_call_duration_seconds_count{family=\"string\",command=\"set\"} 100", lines);
    }

    [Fact]
    public async Task Histogram_s_buckets_rise_to_its_count()
    {
        await using RedKiteServer server = await StartedAsync();
        string[] lines = [.. Text(server).Split('\n').Where(line => line.StartsWith("redkite_call_duration_seconds_", StringComparison.Ordinal) && line.Contains("command=\"set\"", StringComparison.Ordinal))];
        (double UpTo, long Count)[] buckets = [.. lines.Select(line => Bucket().Match(line)).Where(match => match.Success).Select(match => (match.Groups[1].Value == "+Inf" ? double.PositiveInfinity : double.Parse(match.Groups[1].Value, CultureInfo.InvariantCulture), long.Parse(match.Groups[2].Value, CultureInfo.InvariantCulture)))];
        Assert.Equal(20, buckets.Length);
        Assert.Equal(buckets.OrderBy(bucket => bucket.UpTo).ThenBy(bucket => bucket.Count), buckets);
        Assert.Equal((double.PositiveInfinity, 100), buckets[^1]);
        Assert.Contains(lines, line => line.StartsWith("redkite_call_duration_seconds_sum{", StringComparison.Ordinal));
    }

    [Fact]
    public void Names_are_unique_and_end_in_base_units()
    {
        string[] series = [.. MetricTable.All.Where(metric => metric.Export is not null).Select(Series)];
        Assert.Equal(series.Length, series.Distinct().Count());
        Assert.All(series, name => Assert.DoesNotMatch("milliseconds|microseconds|percent[^i]", name));
        Assert.Equal("redkite_process_cpu_time_seconds_total{mode=\"user\"}", Series(MetricTable.CpuUser));
        Assert.Equal("redkite_memory_used_bytes", Series(MetricTable.UsedMemory));
        Assert.Equal("redkite_dotnet_gc_pause_seconds_total", Series(MetricTable.PauseTime));
        Assert.Equal(0.25, ExportedMetrics.Of(MetricTable.BusiestLoop).InBaseUnit(25));
        Assert.Equal(0.0015, ExportedMetrics.Of(MetricTable.LatencyP99).InBaseUnit(1500));
    }

    // What several rows share has one type, one unit and one set of labels, and says what they are together.
    [Fact]
    public void Rows_of_one_name_agree()
    {
        foreach ((ExportedMetric metric, Metric[] rows) in ExportedMetrics.OfTable)
        {
            Assert.All(rows, row => Assert.Equal((metric.Kind, metric.PrometheusName), (row.Kind, ExportedMetrics.Of(row).PrometheusName)));
            Assert.All(rows, row => Assert.Equal(metric.InBaseUnit(1), ExportedMetrics.Of(row).InBaseUnit(1)));
            Assert.Single(rows.Select(row => string.Join(',', row.Export!.Labels.Select(label => label.Name))).Distinct());
            if (rows.Length > 1) Assert.True(rows[0].Export!.Labels.Count > 0 && rows.All(row => row.Help != metric.Help), metric.Name);
        }
    }

    // "total" says that something is a counter, at the end of its name alone; a unit is not in the middle.
    [Fact]
    public void Names_say_nothing_twice()
    {
        foreach ((ExportedMetric metric, _) in ExportedMetrics.OfTable)
        {
            string[] words = metric.PrometheusName.Split('_');
            Assert.True(words.Length == words.Distinct().Count(), metric.PrometheusName);
            Assert.Equal(metric.Kind == MetricKind.Counter, words[^1] == "total");
            Assert.DoesNotContain("total", words[..^1]);
            Assert.DoesNotContain(words[^1], (string[])["sum", "count", "bucket"]);
        }
    }

    // The names before the first release: a metric's own one, its base unit, and "_total" for a counter.
    [Fact]
    public async Task Changelog_has_the_old_and_the_new_name_of_every_renamed_metric()
    {
        string changelog = await File.ReadAllTextAsync(Path.Combine(RepositoryRoot.Path, "CHANGELOG.md"), TestContext.Current.CancellationToken);
        Dictionary<string, string> renamed = RenamedRow().Matches(changelog).ToDictionary(match => match.Groups[1].Value, match => match.Groups[2].Value);
        Metric[] rows = [.. MetricTable.All.Where(metric => renamed.ContainsKey(OldNameOf(metric)))];
        Assert.All(rows.Where(row => row.Export is not null), row => Assert.Equal(Series(row), renamed[OldNameOf(row)]));
        Assert.Empty(renamed.Keys.Where(name => !name.StartsWith("redkite_family_<family>_", StringComparison.Ordinal)).Except(rows.Select(OldNameOf)).Except(OldNamesOfCommands));

        // Nothing has an old name without labels, and everything that is named exists.
        await using RedKiteServer server = await StartedAsync();
        string[] types = [.. TypeOf().Matches(Text(server)).Select(match => match.Groups[1].Value)];
        string[] known = [.. ExportedMetrics.OfTable.Select(each => each.Metric.PrometheusName), .. types];
        Assert.Empty(renamed.Where(pair => !pair.Value.StartsWith(pair.Key + "{", StringComparison.Ordinal)).Select(pair => pair.Key).Intersect(known));
        Assert.Empty(renamed.Values.Select(name => HistogramPart().Replace(name.Split('{')[0], "")).Except(known));
        Assert.InRange(renamed.Count, 160, 200);
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
        string[] known = [.. ExportedMetrics.OfTable.Select(each => each.Metric.PrometheusName), .. TypeOf().Matches(text).Select(match => match.Groups[1].Value)];
        foreach (string file in new[] { "alerts.yml", "dashboard.json" })
        {
            string[] named = [.. Regex.Matches(await File.ReadAllTextAsync(Path.Combine(Folder, file), TestContext.Current.CancellationToken), "\\bredkite_\\w+").Select(match => match.Value).Distinct()];
            Assert.NotEmpty(named);
            Assert.Empty(named.Select(name => HistogramPart().Replace(name, "")).Except(known));
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
        Assert.Equal("100", await prometheus.QueryAsync("redkite_calls_total{command=\"set\"}", cancellation));
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

    private static string Series(Metric metric)
    {
        string labels = PrometheusText.LabelsOf(metric);
        return ExportedMetrics.Of(metric).PrometheusName + (labels.Length > 0 ? $"{{{labels}}}" : "");
    }

    private static string OldNameOf(Metric metric)
    {
        string[] units = ["_milliseconds", "_microseconds", "_seconds", "_bytes", "_percent", "_perc", "_ratio"];
        string name = metric.Name;
        if (metric.Unit != MetricUnit.Count && units.FirstOrDefault(unit => name.EndsWith(unit, StringComparison.Ordinal)) is { } suffix) name = name[..^suffix.Length];
        string unit = metric.Unit switch
        {
            MetricUnit.Count => "",
            MetricUnit.Bytes => "_bytes",
            MetricUnit.Percent or MetricUnit.Ratio => "_ratio",
            _ => "_seconds",
        };
        return "redkite_" + name + unit + (metric.Kind == MetricKind.Counter ? "_total" : "");
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

    [GeneratedRegex("^\\| `(redkite_[^`]+)` \\| `(redkite_[^`]+)` \\|$", RegexOptions.Multiline)]
    private static partial Regex RenamedRow();

    [GeneratedRegex("^# TYPE (\\S+)", RegexOptions.Multiline)]
    private static partial Regex TypeOf();

    [GeneratedRegex("(?<=^redkite_call_(duration|waiting|sending)_seconds)_(bucket|sum|count)$")]
    private static partial Regex HistogramPart();

    [GeneratedRegex("le=\"([^\"]+)\"} ([0-9]+)$")]
    private static partial Regex Bucket();

    [GeneratedRegex("""^(# (HELP|TYPE) redkite_[a-z0-9_]+ \S.*|redkite_[a-z0-9_]+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? ([-+]?[0-9.]+(E[-+]?[0-9]+)?|[-+]Inf))$""")]
    private static partial Regex Line();
}
