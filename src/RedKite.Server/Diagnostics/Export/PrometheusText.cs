using System.Globalization;
using System.Text;
using RedKite.Net;
using RedKite.Server.Metrics;

namespace RedKite.Server.Diagnostics.Export;

/// <summary>
/// The metrics in Prometheus's text exposition format 0.0.4. A name is "redkite_", the metric's name, its base unit, and "_total" for
/// a counter; values are in base units (seconds, bytes, ratios), so that `used_cpu_user` is `redkite_used_cpu_user_seconds_total`.
/// </summary>
internal static class PrometheusText
{
    internal const string ContentType = "text/plain; version=0.0.4; charset=utf-8";

    // A unit in a metric's own name is replaced by the base unit.
    private static readonly string[] UnitsInNames = ["_milliseconds", "_microseconds", "_seconds", "_bytes", "_percent", "_perc", "_ratio"];

    private static readonly (string Label, double Percentile)[] Quantiles = [("0.5", 50), ("0.99", 99), ("0.999", 99.9), ("1", 100)];

    /// <summary>All metrics as of the latest observation; commands, errors and findings as of now.</summary>
    internal static string Write(ServerParts parts, DiagnosticsService diagnostics)
    {
        var text = new StringBuilder(64 * 1024);
        Head(text, "redkite_build_info", "gauge", "The server's version.");
        text.Append(CultureInfo.InvariantCulture, $"redkite_build_info{{version=\"{Escape(ServerVersion.Text)}\",redis_version=\"{Escape(ServerVersion.Redis)}\"}} 1\n");
        if (diagnostics.Latest is { } observation) WriteMetrics(text, observation);
        WriteCommands(text, parts);
        WriteErrors(text, parts);
        WriteFindings(text, diagnostics.Findings.Current);
        return text.ToString();
    }

    /// <summary>The name under which Prometheus knows a metric.</summary>
    internal static string NameOf(Metric metric)
    {
        string name = metric.Name;
        if (metric.Unit != MetricUnit.Count && UnitsInNames.FirstOrDefault(unit => name.EndsWith(unit, StringComparison.Ordinal)) is { } suffix) name = name[..^suffix.Length];
        string unit = metric.Unit switch
        {
            MetricUnit.Bytes => "_bytes",
            MetricUnit.Seconds or MetricUnit.Milliseconds or MetricUnit.Microseconds => "_seconds",
            MetricUnit.Percent or MetricUnit.Ratio => "_ratio",
            _ => "",
        };
        return "redkite_" + name + unit + (metric.Kind == MetricKind.Counter ? "_total" : "");
    }

    /// <summary>A metric's value in its base unit.</summary>
    internal static double InBaseUnit(Metric metric, double value) => metric.Unit switch
    {
        MetricUnit.Milliseconds => value / 1e3,
        MetricUnit.Microseconds => value / 1e6,
        MetricUnit.Percent => value / 100,
        _ => value,
    };

    private static void WriteMetrics(StringBuilder text, Observation observation)
    {
        foreach (Metric metric in MetricTable.All)
        {
            double value = metric.Read(observation);
            if (double.IsNaN(value)) continue;
            string name = NameOf(metric);
            Head(text, name, metric.Kind == MetricKind.Counter ? "counter" : "gauge", metric.Help);
            Sample(text, name, "", InBaseUnit(metric, value));
        }
    }

    private static void WriteCommands(StringBuilder text, ServerParts parts)
    {
        ExecutorMetrics[] executors = parts.Metrics.Executors;
        (string Labels, CommandMetrics Metrics)[] called =
        [
            .. parts.Commands.All
                .Select(command => (Labels: $"command=\"{Escape(command.FullName)}\"", Metrics: CommandMetrics.SumOf(executors, command.Index)))
                .Where(command => command.Metrics.Calls + command.Metrics.Rejected + command.Metrics.Failed > 0),
        ];
        Counter("redkite_command_calls_total", "Calls of a command.", metrics => metrics.Calls);
        Counter("redkite_command_failed_calls_total", "Calls that executed and replied an error.", metrics => metrics.Failed);
        Counter("redkite_command_rejected_calls_total", "Calls that were refused before they executed.", metrics => metrics.Rejected);
        Summary("redkite_command_executing_seconds", "How long calls executed, waiting for locks included.", metrics => metrics.Latency, metrics => metrics.TotalNs / 1e9);
        Summary("redkite_command_waiting_seconds", "How long calls waited for their turn on the loop.", metrics => metrics.Waiting, sum: null);
        Summary("redkite_command_sending_seconds", "How long it took until the system had taken the replies (sampled).", metrics => metrics.Sending, sum: null);

        void Counter(string name, string help, Func<CommandMetrics, long> read)
        {
            Head(text, name, "counter", help);
            foreach ((string labels, CommandMetrics metrics) in called) Sample(text, name, labels, read(metrics));
        }

        void Summary(string name, string help, Func<CommandMetrics, LatencyHistogram> read, Func<CommandMetrics, double>? sum)
        {
            Head(text, name, "summary", help);
            foreach ((string labels, CommandMetrics metrics) in called)
            {
                LatencyHistogram histogram = read(metrics);
                if (histogram.Count == 0) continue;
                foreach ((string quantile, double percentile) in Quantiles) Sample(text, name, $"{labels},quantile=\"{quantile}\"", histogram.PercentileNs(percentile) / 1e9);
                if (sum is not null) Sample(text, name + "_sum", labels, sum(metrics));
                Sample(text, name + "_count", labels, histogram.Count);
            }
        }
    }

    private static void WriteErrors(StringBuilder text, ServerParts parts)
    {
        var counts = new SortedDictionary<string, long>(StringComparer.Ordinal);
        foreach (ExecutorMetrics executor in parts.Metrics.Executors)
        {
            lock (executor.ErrorsByClass)
            {
                foreach ((string errorClass, long count) in executor.ErrorsByClass) counts[errorClass] = counts.GetValueOrDefault(errorClass) + count;
            }
        }

        Head(text, "redkite_errors_total", "counter", "Error replies by their first word.");
        foreach ((string errorClass, long count) in counts) Sample(text, "redkite_errors_total", $"class=\"{Escape(errorClass)}\"", count);
    }

    private static void WriteFindings(StringBuilder text, IReadOnlyList<Finding> findings)
    {
        Head(text, "redkite_finding", "gauge", "Open findings: 1 for each, with its name and severity.");
        foreach (Finding finding in findings)
        {
            string severity = finding.Diagnosis.Severity switch
            {
                FindingSeverity.Critical => "critical",
                FindingSeverity.Warning => "warning",
                _ => "notice",
            };
            Sample(text, "redkite_finding", $"name=\"{finding.Rule.Name}\",severity=\"{severity}\"", 1);
        }
    }

    private static void Head(StringBuilder text, string name, string type, string help)
    {
        string line = help.Replace("\\", @"\\", StringComparison.Ordinal).Replace("\n", @"\n", StringComparison.Ordinal);
        text.Append(CultureInfo.InvariantCulture, $"# HELP {name} {line}\n# TYPE {name} {type}\n");
    }

    private static void Sample(StringBuilder text, string name, string labels, double value)
    {
        text.Append(name);
        if (labels.Length > 0) text.Append('{').Append(labels).Append('}');
        string number = double.IsPositiveInfinity(value) ? "+Inf" : double.IsNegativeInfinity(value) ? "-Inf" : value.ToString("R", CultureInfo.InvariantCulture);
        text.Append(' ').Append(number).Append('\n');
    }

    // A label's value: an error's class is a client's word where DEBUG ERROR is used.
    private static string Escape(string value) =>
        value.Replace("\\", @"\\", StringComparison.Ordinal).Replace("\"", "\\\"", StringComparison.Ordinal).Replace("\n", @"\n", StringComparison.Ordinal);
}
