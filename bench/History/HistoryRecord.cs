using System.Text.Encodings.Web;
using System.Text.Json;
using System.Text.Json.Nodes;

namespace RedKite.History;

/// <summary>One scenario's figures at one revision on one machine: a line of the results file.</summary>
/// <param name="Revision">The commit's full hash.</param>
/// <param name="Dirty">The working copy had uncommitted changes.</param>
/// <param name="Date">The time of the measurement: UTC, ISO 8601, to the second.</param>
/// <param name="Settings">The scenario's options; figures with different settings are not comparable.</param>
/// <param name="Figures">By name, with the unit last.</param>
internal sealed record HistoryRecord(
    string Revision, bool Dirty, string Date, string Machine, string Scenario, string Settings, IReadOnlyDictionary<string, double> Figures)
{
    // Readable for people: no browser parses this file as HTML, so quotation marks need no Unicode escape.
    private static readonly JsonSerializerOptions Readable = new() { Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping };

    internal string ToLine() => new JsonObject
    {
        ["revision"] = Revision,
        ["dirty"] = Dirty,
        ["date"] = Date,
        ["machine"] = Machine,
        ["scenario"] = Scenario,
        ["settings"] = Settings,
        ["figures"] = new JsonObject(Figures.Select(figure => KeyValuePair.Create(figure.Key, (JsonNode?)figure.Value))),
    }.ToJsonString(Readable);

    /// <exception cref="FormatException">The line is not a record; the message states the error.</exception>
    internal static HistoryRecord Parse(string line)
    {
        try
        {
            using JsonDocument document = JsonDocument.Parse(line);
            JsonElement record = document.RootElement;
            Dictionary<string, double> figures =
                Member(record, "figures").EnumerateObject().ToDictionary(figure => figure.Name, figure => figure.Value.GetDouble());
            if (figures.Count == 0) throw new FormatException("\"figures\" is empty");
            return new HistoryRecord(
                Text(record, "revision"), Member(record, "dirty").GetBoolean(), Text(record, "date"), Text(record, "machine"),
                Text(record, "scenario"), Text(record, "settings"), figures);
        }
        catch (Exception malformed) when (malformed is JsonException or InvalidOperationException or ArgumentException)
        {
            throw new FormatException(malformed.Message, malformed);
        }
    }

    private static string Text(JsonElement record, string name) =>
        Member(record, name).GetString() ?? throw new FormatException($"\"{name}\" is null");

    private static JsonElement Member(JsonElement record, string name) =>
        record.TryGetProperty(name, out JsonElement member) ? member : throw new FormatException($"there is no \"{name}\"");
}
