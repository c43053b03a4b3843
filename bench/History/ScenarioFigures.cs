using System.Text.Json;

namespace RedKite.History;

/// <summary>
/// Extracts RedKite's figures from a scenario's report: each number of its tables, named by the table, the cells that
/// describe its row, and the column. Rows of other servers are omitted; if they were measured, RedKite's rows have the
/// ratio.
/// </summary>
internal static class ScenarioFigures
{
    private const string ServerColumn = "server";
    private const string Server = "redkite";

    // Numeric columns that describe a row. Text columns always do.
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
            // If several rows have the same description, the first counts: the longest operation.
            figures.TryAdd($"{string.Join(", ", subject)}: {cell.Name}", cell.Value.GetDouble());
        }
    }

    private static bool IsSubject(JsonProperty cell) =>
        cell.Value.ValueKind == JsonValueKind.String || SubjectColumns.Contains(cell.Name);
}
