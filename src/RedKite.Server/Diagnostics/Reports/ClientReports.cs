using System.Text.Json;
using RedKite.Server.Metrics;
using RedKite.Server.Model;

namespace RedKite.Server.Diagnostics.Reports;

/// <summary>Reports on clients.</summary>
internal static class ClientReports
{
    // Sessions are read while they work: a value may be a moment old.
    internal static void Clients(ReportContext report)
    {
        Utf8JsonWriter json = report.Json;
        long nowMs = report.Parts.Clock.SteadyMs;
        json.WriteStartArray();
        foreach (Session session in report.Parts.Clients.InOrder)
        {
            report.Cancellation.ThrowIfCancellationRequested();
            json.WriteStartObject();
            json.WriteNumber("id", session.Id);
            json.WriteString("name", report.Shown(session.Name));
            json.WriteString("address", report.Shown(session.Address));
            json.WriteString("library", report.IsRedacted ? session.LibraryName.Split('(')[0] : session.LibraryName); // what is in parentheses is an application's name
            json.WriteString("library_version", session.LibraryVersion);
            json.WriteString("user", report.Shown(session.User.Name));
            json.WriteNumber("database", session.DatabaseIndex);
            json.WriteNumber("protocol", session.Resp3 ? 3 : 2);
            json.WriteNumber("loop", session.Connection?.Loop.Index ?? -1);
            json.WriteNumber("age_seconds", Math.Max(0, (nowMs - session.CreatedMs) / 1000));
            json.WriteNumber("idle_seconds", Math.Max(0, (nowMs - session.LastInteractionMs) / 1000));
            json.WriteNumber("commands", session.CommandsProcessed);
            json.WriteNumber("bytes_received", session.BytesReceived);
            json.WriteNumber("bytes_sent", session.BytesSent);
            json.WriteNumber("input_bytes", session.Connection?.InputBytes ?? 0);
            json.WriteNumber("output_bytes", session.Connection?.OutputBytes ?? 0);
            json.WriteNumber("memory_bytes", LoopMetrics.ConnectionBytes + (session.Connection?.BufferBytes ?? 0));
            json.WriteString("last_command", session.LastCommand?.FullName);
            json.WriteBoolean("blocked", session.Blocked is not null);
            json.WriteBoolean("paused", session.IsPaused);
            json.WriteBoolean("suspended", session.IsSuspended);
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }

    internal static void Timeline(ReportContext report)
    {
        Utf8JsonWriter json = report.Json;
        json.WriteStartArray();
        foreach (TimelineEvent item in report.Parts.Timeline.Events)
        {
            json.WriteStartObject();
            json.WriteNumber("unix_ms", item.UnixMs);
            json.WriteString("kind", ServerReports.Word(item.Kind));
            json.WriteNumber("microseconds", item.DurationMicroseconds);
            json.WriteNumber("client_id", item.ClientId);
            json.WriteString("address", report.Shown(item.Address));
            json.WriteString("name", report.Shown(item.Name));
            json.WriteString("detail", item.Detail);
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }
}
