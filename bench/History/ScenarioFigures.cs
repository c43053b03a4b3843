using System.Text.Json;

namespace RedKite.History;

/// <summary>
/// Takes RedKite's figures out of a scenario's report: each number of its tables, named by its table, the cells that say
/// what its row is about, and its column. The rows of other servers are not RedKite's history; where they were measured,
/// its own rows hold the ratio.
/// </summary>
internal static class ScenarioFigures
{
    private const string ServerColumn = "server";
    private const string Server = "redkite";

    // Numbers that say what a row is about. Texts always do.
    private static readonly string[] SubjectColumns = ["pipeline", "loops", "keys"];

    /// <param name="report">A line of what './dev bench --json' writes.</param>
    internal static Dictionary<string, double> Read(JsonElement report)
    {
        Dictionary<string, double> figures = [];
        foreach (JsonElement table in report.GetProperty("tables").EnumerateArray())
        {
            string title = table.GetProperty("title").GetString()!;
            foreach (JsonElement row in table.GetProperty("rows").EnumerateArray()) AddRow(figures, title, row);
        }

        return figures;
    }

    private static void AddRow(Dictionary<string, double> figures, string title, JsonElement row)
    {
        if (row.TryGetProperty(ServerColumn, out JsonElement server) && server.GetString() != Server) return;

        List<string> subject = [title];
        subject.AddRange(row.EnumerateObject().Where(IsSubject).Where(cell => cell.Name != ServerColumn).Select(cell => $"{cell.Name} {cell.Value}"));
        foreach (JsonProperty cell in row.EnumerateObject().Where(cell => !IsSubject(cell) && cell.Value.ValueKind == JsonValueKind.Number))
        {
            // Of rows about the same, the first is the one to watch: the longest operation of the longest ones.
            figures.TryAdd($"{string.Join(", ", subject)}: {cell.Name}", cell.Value.GetDouble());
        }
    }

    private static bool IsSubject(JsonProperty cell) =>
        cell.Value.ValueKind == JsonValueKind.String || SubjectColumns.Contains(cell.Name);
}
