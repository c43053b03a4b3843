using System.Text.Json;
using RedKite.Server.Diagnostics.Export;
using RedKite.Server.Metrics;

namespace RedKite.Server.Diagnostics.Reports;

/// <summary>The report on chart marks: moments that explain why a curve changes.</summary>
internal static class MarkReports
{
    private const int MarksMax = 300;

    internal static void Marks(ReportContext report)
    {
        FindingTracker findings = report.Diagnostics.Findings;
        IEnumerable<(long UnixMs, string Kind, string Severity, string Detail)> marks =
        [
            .. findings.Current.Concat(findings.Ended).Select(finding => (finding.SinceUnixMs, "finding", ServerEvents.Word(finding.Diagnosis.Severity), finding.Diagnosis.Title)),
            .. report.Parts.Timeline.Events
                .Where(item => item.Kind is TimelineKind.Started or TimelineKind.SettingChanged or TimelineKind.Action)
                .Select(item => (item.UnixMs, ServerReports.Word(item.Kind), "", item.Detail)),
        ];
        Utf8JsonWriter json = report.Json;
        json.WriteStartArray();
        foreach ((long unixMs, string kind, string severity, string detail) in marks.OrderByDescending(mark => mark.UnixMs).Take(MarksMax))
        {
            json.WriteStartObject();
            json.WriteNumber("unix_ms", unixMs);
            json.WriteString("kind", kind);
            if (severity.Length > 0) json.WriteString("severity", severity);
            json.WriteString("detail", detail);
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }
}
