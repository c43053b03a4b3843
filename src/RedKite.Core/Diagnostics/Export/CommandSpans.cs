using System.Diagnostics;
using System.Globalization;
using System.Text;
using RedKite.Protocol;
using RedKite.Server.Model;

namespace RedKite.Server.Diagnostics.Export;

/// <summary>
/// Spans for the commands that the process itself calls, with OpenTelemetry's conventions for clients of databases and of Redis. They are
/// children of the caller's span. Keys and values are in none. Without a listener a call costs one comparison.
/// </summary>
internal static class CommandSpans
{
    internal const string Multi = "MULTI";
    internal const string Pipeline = "PIPELINE";

    /// <summary>What stands for the name of a command that does not exist.</summary>
    internal const string Unknown = "unknown";

    private static readonly ActivitySource Source = new(ServerEvents.Name, ServerVersion.Text);

    /// <summary>Whether anything listens to spans.</summary>
    internal static bool HasListeners => Source.HasListeners();

    /// <summary>Begins a span; null: it is not recorded.</summary>
    /// <param name="operation">The command by its name in the table, or "unknown": names that clients make up would be as many series.</param>
    /// <param name="database">The number of the database.</param>
    internal static Activity? Begin(string operation, int database)
    {
        string name = OperationOf(operation);
        Activity? span = Source.StartActivity(name, ActivityKind.Client);
        if (span is not { IsAllDataRequested: true }) return span;
        span.SetTag("db.system.name", "redis");
        span.SetTag("db.operation.name", name);
        span.SetTag("db.namespace", database.ToString(CultureInfo.InvariantCulture));
        return span;
    }

    /// <summary>Begins one span for requests that are executed together; null: it is not recorded.</summary>
    /// <param name="kind">MULTI or PIPELINE, as the conventions call them.</param>
    /// <param name="commands">The commands of the server.</param>
    /// <param name="requests">The requests, in the protocol's form.</param>
    /// <param name="database">The number of the database.</param>
    internal static Activity? Begin(string kind, CommandTable commands, ReadOnlySpan<byte> requests, int database)
    {
        (int count, string? operation) = Summarize(commands, requests);
        if (count == 0) return null;
        if (count == 1 && kind == Pipeline) return Begin(operation!, database);
        Activity? span = Begin(operation is null ? kind : $"{kind} {operation}", database);
        if (count > 1) span?.SetTag("db.operation.batch.size", count);
        return span;
    }

    // How many requests there are, and their command if all have the same.
    private static (int Count, string? Operation) Summarize(CommandTable commands, ReadOnlySpan<byte> requests)
    {
        byte[] copy = requests.ToArray(); // inline requests are unquoted in place
        var parser = new RequestParser();
        PartialRequest? partial = null;
        int position = 0;
        int count = 0;
        string? common = null;
        while (position < copy.Length)
        {
            parser.Clear();
            if (parser.Parse(copy, ref position, RequestLimits.OfLog, ref partial, out int first, out int arguments) != ParseStatus.Complete) break;
            if (arguments == 0) continue;
            ArgumentSlice name = parser.Arguments(first, arguments)[0];
            string operation = commands.Find(copy.AsSpan(name.Start, name.Length))?.FullName ?? Unknown;
            common = count++ == 0 || operation == common ? operation : null;
        }

        return (count, common);
    }

    /// <summary>A command's name as the conventions have it: "CONFIG GET".</summary>
    internal static string OperationOf(string fullName) => fullName.Replace('|', ' ').ToUpperInvariant();

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
