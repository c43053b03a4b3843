using System.Text.Json;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Server.Sessions;

namespace RedKite.Server.Diagnostics.Reports;

/// <summary>Reports on clients.</summary>
internal static class ClientReports
{
    private static readonly string[] KnownLibraries = ["SE.Redis", "redis-py", "jedis", "lettuce", "go-redis", "node-redis", "ioredis", "redis-rs", "redisson", "predis", "phpredis", "hiredis", "NRedisStack", "GlidePy", "GlideJS", "GlideJava"];

    // Sessions are read while they work: a value may be a moment old.
    internal static void Clients(ReportContext report)
    {
        Utf8JsonWriter json = report.Json;
        long nowMs = report.Parts.Core.Clock.SteadyMs;
        json.WriteStartArray();
        foreach (Session session in report.Parts.Core.Clients.InOrder)
        {
            report.Cancellation.ThrowIfCancellationRequested();
            json.WriteStartObject();
            json.WriteNumber("id", session.Id);
            json.WriteString("name", report.Shown(session.Name));
            json.WriteString("address", report.Shown(session.Address));
            WriteLibrary(report, session.LibraryName, session.LibraryVersion);
            json.WriteString("user", report.Shown(session.User.Name));
            json.WriteNumber("database", session.DatabaseIndex);
            json.WriteNumber("protocol", session.Resp3 ? 3 : 2);
            json.WriteNumber("loop", session.Connection?.Loop.Index ?? -1);
            json.WriteNumber("age_seconds", Math.Max(0, (nowMs - session.CreatedMs) / 1000));
            json.WriteNumber("idle_seconds", Math.Max(0, (nowMs - session.Counts.LastInteractionMs) / 1000));
            json.WriteNumber("commands", session.Counts.CommandsProcessed);
            json.WriteNumber("bytes_received", session.Counts.BytesReceived);
            json.WriteNumber("bytes_sent", session.Counts.BytesSent);
            json.WriteNumber("input_bytes", session.Connection?.InputBytes ?? 0);
            json.WriteNumber("output_bytes", session.Connection?.OutputBytes ?? 0);
            json.WriteNumber("memory_bytes", LoopMetrics.ConnectionBytes + (session.Connection?.BufferBytes ?? 0));
            json.WriteString("last_command", session.Counts.LastCommand?.FullName);
            json.WriteBoolean("blocked", session.Blocked is not null);
            json.WriteBoolean("paused", session.IsPaused);
            json.WriteBoolean("suspended", session.Counts.IsSuspended);
            json.WriteEndObject();
        }

        WriteDeparted(report);
        json.WriteEndArray();
    }

    // Those that have left have a time for that; the rest is as it was then.
    private static void WriteDeparted(ReportContext report)
    {
        Utf8JsonWriter json = report.Json;
        Dictionary<long, TimelineKind> reasons = [];
        foreach (TimelineEvent item in report.Parts.Core.Timeline.Events.Where(item => item.Kind.ClosesClient())) reasons[item.ClientId] = item.Kind;
        foreach (DepartedClient client in report.Parts.Core.Clients.Departed.Latest)
        {
            json.WriteStartObject();
            json.WriteNumber("id", client.Id);
            json.WriteString("name", report.Shown(client.Name));
            json.WriteString("address", report.Shown(client.Address.ToString()));
            WriteLibrary(report, client.LibraryName, client.LibraryVersion);
            json.WriteString("user", report.Shown(client.User));
            json.WriteNumber("database", client.Database);
            json.WriteNumber("protocol", client.Resp3 ? 3 : 2);
            json.WriteNumber("age_seconds", client.ConnectedMs / 1000);
            json.WriteNumber("commands", client.Commands);
            json.WriteNumber("bytes_received", client.BytesReceived);
            json.WriteNumber("bytes_sent", client.BytesSent);
            json.WriteString("last_command", client.LastCommand);
            json.WriteNumber("left_unix_ms", client.LeftUnixMs);
            json.WriteString("closed_for", reasons.TryGetValue(client.Id, out TimelineKind reason) ? ServerReports.Word(reason) : "");
            json.WriteEndObject();
        }
    }

    // A package has the names of libraries that many use. Anything else is a text that the client chose.
    private static void WriteLibrary(ReportContext report, string name, string version)
    {
        bool isKnown = KnownLibraries.Contains(name.Split('(')[0]); // what is in parentheses is an application's name
        report.Json.WriteString("library", !report.IsRedacted ? name : isKnown ? name.Split('(')[0] : report.Shown(name));
        report.Json.WriteString("library_version", !report.IsRedacted || (isKnown && version.All(letter => char.IsAsciiDigit(letter) || letter == '.')) ? version : report.Shown(version));
    }

    internal static void Timeline(ReportContext report)
    {
        Utf8JsonWriter json = report.Json;
        json.WriteStartArray();
        foreach (TimelineEvent item in report.Parts.Core.Timeline.Events)
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
