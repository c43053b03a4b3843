using System.Globalization;
using System.Text;
using Microsoft.AspNetCore.Http;
using RedKite.Persistence.Types;

namespace RedKite.Dashboard;

/// <summary>Looks at keys by commands that read a bounded part of them, and leaves no trace: no access is noted, no call counted.</summary>
internal static class KeyBrowser
{
    private const int ElementsMax = 100;
    private const int BytesMax = 4096; // of a string
    private const int TextMax = 1000;

    internal static Task ListAsync(AdminSite site, HttpContext http)
    {
        using RedKiteSession? client = Client(site, http, out string database);
        if (client is null) return RefuseAsync(http);
        string pattern = http.Request.Query["pattern"].ToString() is { Length: > 0 } given ? given : "*";
        string cursor = http.Request.Query["cursor"].ToString() is { Length: > 0 } last ? last : "0";
        string count = Text(Math.Clamp(AdminEndpoints.Number(http, "count", 100), 1, 1000));
        RedKiteReply scan = client.Execute("SCAN", cursor, "MATCH", pattern, "COUNT", count);
        if (scan.IsError) return RefuseAsync(http);
        return AdminEndpoints.SendJsonAsync(http, json =>
        {
            json.WriteStartObject();
            json.WriteString("cursor", scan.Items[0].Text);
            json.WriteStartArray("keys");
            foreach (RedKiteReply item in scan.Items[1].Items)
            {
                string key = item.Text!;
                string type = client.Execute("TYPE", key).Text!;
                json.WriteStartObject();
                json.WriteString("key", key);
                json.WriteNumber("database", int.Parse(database, CultureInfo.InvariantCulture));
                json.WriteString("type", type);
                json.WriteNumber("ttl_ms", client.Execute("PTTL", key).Integer);
                json.WriteNumber("size", Size(client, type, key));
                json.WriteEndObject();
            }

            json.WriteEndArray();
            json.WriteEndObject();
        });
    }

    internal static Task ValueAsync(AdminSite site, HttpContext http)
    {
        using RedKiteSession? client = Client(site, http, out _);
        if (client is null) return RefuseAsync(http);
        string key = http.Request.Query["key"].ToString();
        string type = client.Execute("TYPE", key).Text!;
        RedKiteReply? value = null;
        if (ReadingOf(type) is { } reading)
        {
            value = client.Execute(reading.Beginning(key, ElementsMax, BytesMax));
            if (reading.IsPage && !value.IsError) value = value.Items[1];
        }

        if (value is null || value.IsError)
        {
            http.Response.StatusCode = StatusCodes.Status404NotFound;
            return Task.CompletedTask;
        }

        return AdminEndpoints.SendJsonAsync(http, json =>
        {
            json.WriteStartObject();
            json.WriteString("type", type);
            json.WriteNumber("size", Size(client, type, key));
            json.WriteStartArray("elements");
            if (value.Kind != ReplyKind.Array) json.WriteStringValue(value.Text);
            else foreach (RedKiteReply element in value.Items.Take(2 * ElementsMax)) json.WriteStringValue(Shortened(element.Kind == ReplyKind.Array ? string.Join(' ', element.Items.Select(part => part.Text)) : element.Text));
            json.WriteEndArray();
            json.WriteEndObject();
        });
    }

    // Null: there is no such database.
    private static RedKiteSession? Client(AdminSite site, HttpContext http, out string database)
    {
        RedKiteSession client = site.Server!.CreateObserver();
        database = http.Request.Query["database"].ToString();
        if (database.Length == 0) database = "0";
        if (!client.Execute("SELECT", database).IsError) return client;
        client.Dispose();
        return null;
    }

    private static long Size(RedKiteSession client, string type, string key)
    {
        if (ReadingOf(type) is not { } reading) return 0;
        RedKiteReply count = client.Execute(reading.Count, key);
        return reading.CountAt < 0 || count.IsError ? count.Integer : count.Items[reading.CountAt].Integer;
    }

    private static ReadingCommands? ReadingOf(string type) => PersistedTypes.Find(Encoding.ASCII.GetBytes(type))?.Reading;

    private static string Shortened(string? text) => text is null ? "" : text.Length > TextMax ? text[..TextMax] + "…" : text;

    private static string Text(long number) => number.ToString(CultureInfo.InvariantCulture);

    private static Task RefuseAsync(HttpContext http)
    {
        http.Response.StatusCode = StatusCodes.Status400BadRequest;
        return Task.CompletedTask;
    }
}
