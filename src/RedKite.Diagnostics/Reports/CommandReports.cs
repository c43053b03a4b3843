using System.Text;
using System.Text.Json;
using RedKite.Net;
using RedKite.Server.Metrics;
using RedKite.Server.Model;

namespace RedKite.Server.Diagnostics.Reports;

/// <summary>Reports on commands: counts, times, errors, and the logs of single requests.</summary>
internal static class CommandReports
{
    internal static void Commands(ReportContext report)
    {
        Utf8JsonWriter json = report.Json;
        ExecutorMetrics[] executors = report.Parts.Core.Metrics.Executors;
        json.WriteStartArray();
        foreach (Command command in report.Parts.Core.Commands.All)
        {
            CommandMetrics sum = CommandMetrics.SumOf(executors, command.Index);
            if (sum.Calls + sum.Rejected + sum.Failed == 0) continue;
            json.WriteStartObject();
            json.WriteString("name", command.FullName);
            json.WriteString("family", command.Group);
            WriteSum(report, sum);
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }

    internal static void Families(ReportContext report)
    {
        Utf8JsonWriter json = report.Json;
        ExecutorMetrics[] executors = report.Parts.Core.Metrics.Executors;
        var sums = new SortedDictionary<string, CommandMetrics>(StringComparer.Ordinal);
        foreach (Command command in report.Parts.Core.Commands.All)
        {
            foreach (ExecutorMetrics executor in executors)
            {
                if (executor.Peek(command.Index) is not { } metrics) continue;
                if (!sums.TryGetValue(command.Group, out CommandMetrics? sum)) sums.Add(command.Group, sum = new CommandMetrics());
                sum.Add(metrics);
            }
        }

        json.WriteStartArray();
        foreach ((string family, CommandMetrics sum) in sums)
        {
            if (sum.Calls + sum.Rejected + sum.Failed == 0) continue;
            json.WriteStartObject();
            json.WriteString("family", family);
            WriteSum(report, sum);
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }

    internal static void Histograms(ReportContext report)
    {
        Utf8JsonWriter json = report.Json;
        ExecutorMetrics[] executors = report.Parts.Core.Metrics.Executors;
        json.WriteStartArray();
        foreach (Command command in report.Parts.Core.Commands.All)
        {
            CommandMetrics sum = CommandMetrics.SumOf(executors, command.Index);
            if (sum.Latency.Count + sum.Waiting.Count == 0) continue;
            json.WriteStartObject();
            json.WriteString("name", command.FullName);
            WriteBuckets(json, "waiting", sum.Waiting);
            WriteBuckets(json, "executing", sum.Latency);
            WriteBuckets(json, "sending", sum.Sending);
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }

    internal static void Errors(ReportContext report)
    {
        var counts = new SortedDictionary<string, long>(StringComparer.Ordinal);
        foreach (ExecutorMetrics executor in report.Parts.Core.Metrics.Executors)
        {
            lock (executor.ErrorsByClass)
            {
                foreach ((string errorClass, long count) in executor.ErrorsByClass) counts[errorClass] = counts.GetValueOrDefault(errorClass) + count;
            }
        }

        report.Json.WriteStartArray();
        foreach ((string errorClass, long count) in counts)
        {
            report.Json.WriteStartObject();
            report.Json.WriteString("class", report.ShownErrorWord(errorClass));
            report.Json.WriteNumber("count", count);
            report.Json.WriteEndObject();
        }

        report.Json.WriteEndArray();
    }

    internal static void SlowLog(ReportContext report)
    {
        report.Json.WriteStartArray();
        foreach (RequestLogEntry entry in report.Parts.Core.SlowLog.Newest(-1)) WriteEntry(report, entry, isSlow: true);
        report.Json.WriteEndArray();
    }

    internal static void CommandLog(ReportContext report)
    {
        report.Json.WriteStartObject();
        report.Json.WriteStartArray("large_requests");
        foreach (RequestLogEntry entry in report.Parts.Core.LargeRequests.Newest(-1)) WriteEntry(report, entry, isSlow: false);
        report.Json.WriteEndArray();
        report.Json.WriteStartArray("large_replies");
        foreach (RequestLogEntry entry in report.Parts.Core.LargeReplies.Newest(-1)) WriteEntry(report, entry, isSlow: false);
        report.Json.WriteEndArray();
        report.Json.WriteEndObject();
    }

    internal static void LatencyEvents(ReportContext report)
    {
        Utf8JsonWriter json = report.Json;
        json.WriteStartArray();
        foreach (LatencyEvent latency in report.Parts.Core.LatencyMonitor.Events)
        {
            json.WriteStartObject();
            json.WriteString("event", latency.Name);
            json.WriteNumber("worst_milliseconds", latency.WorstMs);
            json.WriteStartArray("samples");
            foreach (LatencySample sample in latency.Samples)
            {
                json.WriteStartArray();
                json.WriteNumberValue(sample.UnixSeconds);
                json.WriteNumberValue(sample.Ms);
                json.WriteEndArray();
            }

            json.WriteEndArray();
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }

    // The name of a command is no secret; its other arguments are keys and values.
    private static void WriteEntry(ReportContext report, RequestLogEntry entry, bool isSlow)
    {
        Utf8JsonWriter json = report.Json;
        json.WriteStartObject();
        json.WriteNumber("id", entry.Id);
        json.WriteNumber("unix_seconds", entry.UnixSeconds);
        if (isSlow)
        {
            json.WriteNumber("waiting_microseconds", entry.WaitingMicroseconds);
            json.WriteNumber("microseconds", entry.Value);
            json.WriteNumber("sending_microseconds", entry.SendingMicroseconds);
        }
        else
        {
            json.WriteNumber("bytes", entry.Value);
        }

        json.WriteString("command", Encoding.Latin1.GetString(entry.Arguments[0]));
        json.WriteNumber("argument_count", entry.Arguments.Length);
        if (!report.IsRedacted)
        {
            json.WriteStartArray("arguments");
            foreach (byte[] argument in entry.Arguments) json.WriteStringValue(Encoding.Latin1.GetString(argument));
            json.WriteEndArray();
        }

        json.WriteString("address", report.Shown(entry.ClientAddress));
        json.WriteString("client", report.Shown(entry.ClientName));
        json.WriteEndObject();
    }

    private static void WriteSum(ReportContext report, CommandMetrics sum)
    {
        Utf8JsonWriter json = report.Json;
        json.WriteNumber("calls", sum.Calls);
        json.WriteNumber("rejected", sum.Rejected);
        json.WriteNumber("failed", sum.Failed);
        json.WriteNumber("total_microseconds", sum.TotalNs / 1000);
        WriteHistogram(json, "waiting", sum.Waiting);
        WriteHistogram(json, "executing", sum.Latency);
        WriteHistogram(json, "sending", sum.Sending);
        json.WriteStartObject("errors");
        foreach ((string errorClass, long count) in sum.ErrorsByClass ?? []) json.WriteNumber(report.ShownErrorWord(errorClass), count);
        json.WriteEndObject();
    }

    private static void WriteBuckets(Utf8JsonWriter json, string name, LatencyHistogram histogram)
    {
        json.WriteStartArray(name);
        foreach ((long upperNs, long count) in histogram.Buckets())
        {
            json.WriteStartArray();
            json.WriteNumberValue(upperNs);
            json.WriteNumberValue(count);
            json.WriteEndArray();
        }

        json.WriteEndArray();
    }

    private static void WriteHistogram(Utf8JsonWriter json, string name, LatencyHistogram histogram)
    {
        json.WriteStartObject(name);
        json.WriteNumber("count", histogram.Count);
        json.WriteNumber("p50_us", histogram.PercentileNs(50) / 1000.0);
        json.WriteNumber("p99_us", histogram.PercentileNs(99) / 1000.0);
        json.WriteNumber("p999_us", histogram.PercentileNs(99.9) / 1000.0);
        json.WriteNumber("max_us", histogram.MaxNs / 1000.0);
        json.WriteEndObject();
    }
}
