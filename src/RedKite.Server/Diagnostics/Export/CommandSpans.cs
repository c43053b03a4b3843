using System.Diagnostics;
using System.Globalization;
using System.Text;
using RedKite.Protocol;

namespace RedKite.Server.Diagnostics.Export;

/// <summary>
/// Spans for the commands that the process itself calls, with OpenTelemetry's conventions for clients of databases and of Redis. They are
/// children of the caller's span. Keys and values are in none. Without a listener a call costs one comparison.
/// </summary>
internal static class CommandSpans
{
    private static readonly ActivitySource Source = new(ServerMeter.Name, ServerVersion.Text);

    /// <summary>Whether anything listens to spans.</summary>
    internal static bool HasListeners => Source.HasListeners();

    /// <summary>Begins a span; null: it is not recorded.</summary>
    /// <param name="operation">The command by its name in the table, or "unknown": names that clients make up would be as many series.</param>
    /// <param name="database">The number of the database.</param>
    internal static Activity? Begin(string operation, int database)
    {
        string name = operation.Replace('|', ' ').ToUpperInvariant(); // as the conventions have it
        Activity? span = Source.StartActivity(name, ActivityKind.Client);
        if (span is not { IsAllDataRequested: true }) return span;
        span.SetTag("db.system.name", "redis");
        span.SetTag("db.operation.name", name);
        span.SetTag("db.namespace", database.ToString(CultureInfo.InvariantCulture));
        return span;
    }

    /// <summary>Notes the class of an error.</summary>
    internal static void NoteReply(Activity? span, ReplyWriter reply)
    {
        if (span is null || reply.IsChained || !reply.Tail.StartsWith("-"u8)) return;
        ReadOnlySpan<byte> text = reply.Tail[1..];
        int end = text.IndexOf((byte)'\r');
        NoteError(span, Encoding.UTF8.GetString(end < 0 ? text : text[..end]));
    }

    internal static void NoteError(Activity? span, string text)
    {
        if (span is null) return;
        string kind = text.Split(' ', 2)[0];
        span.SetTag("db.response.status_code", kind).SetTag("error.type", kind).SetStatus(ActivityStatusCode.Error);
    }

    internal static void NoteFailure(Activity? span, Exception failure) => span?.SetTag("error.type", failure.GetType().FullName).SetStatus(ActivityStatusCode.Error, failure.Message);
}
