using System.Globalization;
using System.Text;
using RedKite.Net;
using RedKite.Server.Metrics;

namespace RedKite.Server.Diagnostics.Export;

/// <summary>
/// The metrics in Prometheus's text exposition format 0.0.4. Names are those of <see cref="ExportedMetrics"/>; values are in base units (seconds,
/// bytes, ratios). Times of commands are classic histograms: the buckets of several servers can be added up, quantiles cannot. The format
/// has no native ones.
/// </summary>
internal static class PrometheusText
{
    internal const string ContentType = "text/plain; version=0.0.4; charset=utf-8";

    // The upper ends of a histogram's buckets, as Go writes them: a microsecond is a quick GET, and ten seconds are beyond every timeout.
    private static readonly (long Ns, string Le)[] Bounds =
    [
        (1_000, "1e-06"), (2_500, "2.5e-06"), (5_000, "5e-06"), (10_000, "1e-05"), (25_000, "2.5e-05"), (50_000, "5e-05"),
        (100_000, "0.0001"), (250_000, "0.00025"), (500_000, "0.0005"), (1_000_000, "0.001"), (2_500_000, "0.0025"), (5_000_000, "0.005"),
        (10_000_000, "0.01"), (25_000_000, "0.025"), (50_000_000, "0.05"), (100_000_000, "0.1"), (500_000_000, "0.5"), (1_000_000_000, "1"), (10_000_000_000, "10"),
    ];

    /// <summary>All metrics as of the latest observation; commands, errors and findings as of now.</summary>
    internal static string Write(ServerParts parts, DiagnosticsService diagnostics)
    {
        var text = new StringBuilder(64 * 1024);
        Head(text, "redkite_build_info", "gauge", "The server's version.");
        text.Append(CultureInfo.InvariantCulture, $"redkite_build_info{{version=\"{Escape(ServerVersion.Text)}\",redis_version=\"{Escape(parts.Core.Settings.ReportedRedisVersion)}\"}} 1\n");
        if (diagnostics.Latest is { } observation) WriteTable(text, observation);
        WriteCommands(text, parts);
        WriteErrors(text, parts);
        WriteReplicas(text, parts);
        WriteFindings(text, diagnostics.Findings.Current);
        return text.ToString();
    }

    /// <summary>The labels of one metric of the table, as they stand between the braces.</summary>
    internal static string LabelsOf(Metric metric) => string.Join(',', metric.Export!.Labels.Select(label => $"{label.Name}=\"{label.Value}\""));

    private static void WriteTable(StringBuilder text, Observation observation)
    {
        foreach ((ExportedMetric metric, Metric[] rows) in ExportedMetrics.OfTable)
        {
            (Metric Row, double Value)[] known = [.. rows.Select(row => (row, row.Read(observation))).Where(sample => !double.IsNaN(sample.Item2))];
            if (known.Length == 0) continue;
            Head(text, metric);
            foreach ((Metric row, double value) in known) Sample(text, metric.PrometheusName, LabelsOf(row), metric.InBaseUnit(value));
        }
    }

    private static void WriteCommands(StringBuilder text, ServerParts parts)
    {
        (string Labels, CommandMetrics[] Counts)[] called =
            [.. ExportedMetrics.CalledCommands(parts).Select(each => ($"family=\"{each.Command.Group}\",command=\"{Escape(each.Command.FullName)}\"", each.Counts))];

        Head(text, ExportedMetrics.Calls);
        foreach ((string labels, CommandMetrics[] counts) in called) Sample(text, ExportedMetrics.Calls.PrometheusName, labels, counts.Sum(each => each.Calls));

        Head(text, ExportedMetrics.CallErrors);
        foreach ((string labels, CommandMetrics[] counts) in called)
        {
            Sample(text, ExportedMetrics.CallErrors.PrometheusName, $"{labels},outcome=\"failed\"", counts.Sum(each => each.Failed));
            Sample(text, ExportedMetrics.CallErrors.PrometheusName, $"{labels},outcome=\"rejected\"", counts.Sum(each => each.Rejected));
        }

        Histograms("redkite_call_duration_seconds", "How long calls executed, waiting for locks included.", counts => counts.Latency);
        Histograms("redkite_call_waiting_seconds", "How long calls waited for their turn on the loop (sampled, all long waits included).", counts => counts.Waiting);
        Histograms("redkite_call_sending_seconds", "How long it took until the system had taken the replies (sampled).", counts => counts.Sending);

        void Histograms(string name, string help, Func<CommandMetrics, LatencyHistogram> read)
        {
            Head(text, name, "histogram", help);
            foreach ((string labels, CommandMetrics[] counts) in called)
            {
                var sum = new LatencyHistogram();
                foreach (CommandMetrics each in counts) read(each).AddTo(sum);
                if (sum.Count > 0) Histogram(text, name, labels, sum);
            }
        }
    }

    // A bound counts the histogram's own buckets that end at it or before: it is exact to their precision of 3 percent.
    private static void Histogram(StringBuilder text, string name, string labels, LatencyHistogram histogram)
    {
        long seen = 0;
        int next = 0;
        foreach ((long upperNs, long count) in histogram.Buckets())
        {
            for (; next < Bounds.Length && Bounds[next].Ns < upperNs; next++) Bucket(Bounds[next].Le);
            seen += count;
        }

        for (; next < Bounds.Length; next++) Bucket(Bounds[next].Le);
        Bucket("+Inf");
        Sample(text, name + "_sum", labels, histogram.SumNs / 1e9);
        Sample(text, name + "_count", labels, seen);

        void Bucket(string le) => Sample(text, name + "_bucket", $"{labels},le=\"{le}\"", seen);
    }

    private static void WriteErrors(StringBuilder text, ServerParts parts)
    {
        Head(text, ExportedMetrics.ErrorReplies);
        foreach ((string errorClass, long count) in ExportedMetrics.ErrorsByClass(parts)) Sample(text, ExportedMetrics.ErrorReplies.PrometheusName, $"class=\"{Escape(errorClass)}\"", count);
    }

    private static void WriteReplicas(StringBuilder text, ServerParts parts)
    {
        (string Name, long LagBytes, double SilentSeconds)[] replicas = [.. ExportedMetrics.EachReplica(parts)];
        if (replicas.Length == 0) return;
        Head(text, ExportedMetrics.ReplicaOffsetLag);
        foreach ((string name, long lagBytes, _) in replicas) Sample(text, ExportedMetrics.ReplicaOffsetLag.PrometheusName, $"replica=\"{Escape(name)}\"", lagBytes);
        Head(text, ExportedMetrics.ReplicaAcknowledgementAge);
        foreach ((string name, _, double silent) in replicas) Sample(text, ExportedMetrics.ReplicaAcknowledgementAge.PrometheusName, $"replica=\"{Escape(name)}\"", silent);
    }

    private static void WriteFindings(StringBuilder text, IReadOnlyList<Finding> findings)
    {
        Head(text, ExportedMetrics.Finding);
        foreach (Finding finding in findings) Sample(text, ExportedMetrics.Finding.PrometheusName, $"name=\"{finding.Rule.Name}\",severity=\"{finding.Severity}\"", 1);
    }

    private static void Head(StringBuilder text, ExportedMetric metric) => Head(text, metric.PrometheusName, metric.Kind == MetricKind.Counter ? "counter" : "gauge", metric.Help);

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
