using System.Globalization;
using System.Text;
using System.Text.Json.Nodes;

namespace RedKite.Figures;

/// <summary>The result of one scenario: its method, tables and targets.</summary>
internal sealed class Report(string scenario, string method)
{
    /// <summary>The line before the table of targets in Markdown.</summary>
    internal const string TargetsTitle = "Targets:";

    internal string Scenario => scenario;

    internal List<string> Notes { get; } = [];
    internal List<Table> Tables { get; } = [];
    internal List<Target> Targets { get; } = [];

    /// <summary>Adds a note unless it is there.</summary>
    internal void AddNote(string note)
    {
        if (!Notes.Contains(note)) Notes.Add(note);
    }

    internal string ToText()
    {
        var text = new StringBuilder().AppendLine($"== {scenario}").AppendLine(method);
        foreach (string note in Notes) text.AppendLine($"note: {note}");
        foreach (Table table in ShownTables()) text.AppendLine().Append(table.ToText());
        return text.ToString();
    }

    /// <param name="measured">When and where it was measured: the section's last line.</param>
    internal string ToMarkdown(string measured)
    {
        var text = new StringBuilder().AppendLine($"# {scenario}").AppendLine().AppendLine(method);
        foreach (string note in Notes) text.AppendLine().AppendLine($"Note: {note}");
        foreach (Table table in ShownTables())
        {
            text.AppendLine().AppendLine($"{char.ToUpperInvariant(table.Title[0])}{table.Title[1..]}:").AppendLine().Append(table.ToMarkdown());
        }

        return text.AppendLine().AppendLine(measured).ToString();
    }

    /// <summary>A single line, so that a file of reports grows by appending.</summary>
    internal string ToJson(Options options) => new JsonObject
    {
        ["scenario"] = scenario,
        ["date"] = DateTime.UtcNow.ToString("yyyy-MM-dd'T'HH:mm:ss'Z'", CultureInfo.InvariantCulture),
        ["machine"] = Machine.Description,
        ["command"] = options.CommandLine,
        ["method"] = method,
        ["notes"] = new JsonArray([.. Notes.Select(note => (JsonNode)note)]),
        ["tables"] = new JsonArray([.. Tables.Select(table => (JsonNode)table.ToJson())]),
        ["targets"] = new JsonArray([.. Targets.Select(target => (JsonNode)target.ToJson())]),
    }.ToJsonString();

    private IEnumerable<Table> ShownTables()
    {
        IEnumerable<Table> measured = Tables.Where(table => !table.IsEmpty);
        return Targets.Count > 0 ? measured.Append(Target.ToTable(Targets)) : measured;
    }
}
