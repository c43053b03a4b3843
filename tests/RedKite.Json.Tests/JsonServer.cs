using System.Text;
using RedKite.TestSupport;
using RedKite.Types.Tests;

namespace RedKite.Json.Tests;

/// <summary>Runs commands on documents, and writes replies as people read them.</summary>
internal static class JsonServer
{
    /// <summary>The reply as text: lists in brackets, (nil), 'text', errors as they are.</summary>
    internal static string Json(this TypeServer server, params string[] words) => Show(server.Client.Run([.. words.Select(Encoding.UTF8.GetBytes)]));

    internal static string Json(this RespConnection client, params string[] words) => Show(client.Run([.. words.Select(Encoding.UTF8.GetBytes)]));

    /// <summary>The text of a document.</summary>
    internal static string Document(this TypeServer server, string key) => server.Client.Run(Encoding.UTF8.GetBytes("JSON.GET"), Encoding.UTF8.GetBytes(key), "."u8.ToArray()) is { IsNull: false } reply ? Encoding.UTF8.GetString(reply.Payload!) : "(nil)";

    private static string Show(RespValue reply)
    {
        if (reply.IsNull) return "(nil)";
        if (reply.IsAggregate) return "[" + string.Join(", ", reply.Items.Select(Show)) + "]";
        return reply.Payload is { } payload ? Encoding.UTF8.GetString(payload) : reply.Text;
    }
}
