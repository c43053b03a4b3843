using System.Text.Json;
using RedKite.Server.Metrics;

namespace RedKite.Server.Diagnostics.Reports;

/// <summary>The report on chart marks: moments that explain why a curve changes.</summary>
internal static class MarkReports
{
    private const int MarksMax = 300;
    private const int SnapshotsMax = 100; // they may be frequent

    internal static void Marks(ReportContext report)
    {
        FindingTracker findings = report.Diagnostics.Findings;
        TimelineEvent[] events = report.Parts.Core.Timeline.Events;
        IEnumerable<(long UnixMs, string Kind, string Severity, string Detail)> marks =
        [
            .. findings.Current.Concat(findings.Ended).Select(finding => (finding.SinceUnixMs, "finding", finding.Severity, finding.Diagnosis.Title)),
            .. events.Where(item => item.Kind is TimelineKind.Started or TimelineKind.SettingChanged or TimelineKind.Action).Select(OfEvent),
            .. events.Where(item => item.Kind is TimelineKind.Saved or TimelineKind.Rewritten).TakeLast(SnapshotsMax).Select(OfEvent),
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

        static (long UnixMs, string Kind, string Severity, string Detail) OfEvent(TimelineEvent item) => (item.UnixMs, ServerReports.Word(item.Kind), "", item.Detail);
    }
}
