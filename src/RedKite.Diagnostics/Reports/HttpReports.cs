using System.Text.Json;
using RedKite.Server.Metrics;

namespace RedKite.Server.Diagnostics.Reports;

/// <summary>The report on requests to the dashboard.</summary>
internal static class HttpReports
{
    internal static void Requests(ReportContext report)
    {
        Utf8JsonWriter json = report.Json;
        json.WriteStartArray();
        foreach (HttpFigures figures in report.Parts.Core.Metrics.Server.Http.Figures)
        {
            json.WriteStartObject();
            json.WriteString("endpoint", figures.Endpoint);
            json.WriteNumber("requests", figures.Requests);
            json.WriteNumber("failures", figures.Failures);
            json.WriteNumber("exceptions", figures.Exceptions);
            report.Number("p50_us", figures.Durations.PercentileNs(50) / 1000.0);
            report.Number("p99_us", figures.Durations.PercentileNs(99) / 1000.0);
            report.Number("max_us", figures.Durations.MaxNs / 1000.0);
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }
}
