using System.Globalization;
using System.Text;
using System.Text.Json.Nodes;

namespace RedKite.Figures;

/// <param name="Name">The heading, and the name in JSON, with the unit last.</param>
/// <param name="Format">The format of numbers, for example "F2"; JSON has full precision.</param>
internal readonly record struct Column(string Name, string Format = "F0");

/// <summary>
/// A table of figures that can be written as aligned text, Markdown and JSON. A cell is a string, a number, a range, or null if not
/// measured.
/// </summary>
internal sealed class Table(string title, params Column[] columns)
{
    private const string NotMeasured = "-";
    private readonly List<object?[]> _rows = [];

    internal string Title => title;

    internal bool IsEmpty => _rows.Count == 0;

    internal void Add(params object?[] cells)
    {
        if (cells.Length != columns.Length) throw new ArgumentException($"{title}: {cells.Length} cells for {columns.Length} columns");
        _rows.Add(cells);
    }

    internal string ToText()
    {
        int[] widths = [.. columns.Select((column, i) => _rows.Select(row => Show(row[i], column).Length).Append(column.Name.Length).Max())];
        var text = new StringBuilder(title).AppendLine();
        AppendTextRow(text, widths, [.. columns.Select(column => (object?)column.Name)], headings: true);
        foreach (object?[] row in _rows)
        {
            AppendTextRow(text, widths, row, headings: false);
        }

        return text.ToString();
    }

    internal string ToMarkdown()
    {
        var text = new StringBuilder();
        text.Append("| ").AppendJoin(" | ", columns.Select(column => column.Name)).AppendLine(" |");
        text.Append('|').AppendJoin('|', columns.Select((_, i) => IsText(i) ? "---" : "---:")).AppendLine("|");
        foreach (object?[] row in _rows)
        {
            text.Append("| ").AppendJoin(" | ", row.Select((cell, i) => Show(cell, columns[i]))).AppendLine(" |");
        }

        return text.ToString();
    }

    internal JsonObject ToJson()
    {
        var rows = new JsonArray();
        foreach (object?[] row in _rows)
        {
            var json = new JsonObject();
            for (int i = 0; i < columns.Length; i++)
            {
                json[columns[i].Name] = row[i] switch
                {
                    null => null,
                    string word => JsonValue.Create(word),
                    ValueRange range => new JsonArray(range.Lowest, range.Highest),
                    object number => JsonValue.Create(Convert.ToDouble(number, CultureInfo.InvariantCulture)),
                };
            }

            rows.Add((JsonNode)json);
        }

        return new JsonObject { ["title"] = title, ["rows"] = rows };
    }

    private void AppendTextRow(StringBuilder text, int[] widths, object?[] row, bool headings)
    {
        var line = new StringBuilder();
        for (int i = 0; i < columns.Length; i++)
        {
            string cell = headings ? (string)row[i]! : Show(row[i], columns[i]);
            line.Append("  ").Append(IsText(i) ? cell.PadRight(widths[i]) : cell.PadLeft(widths[i]));
        }

        text.AppendLine(line.ToString().TrimEnd());
    }

    private bool IsText(int column) => _rows.Exists(row => row[column] is string);

    private static string Show(object? cell, Column column) => cell switch
    {
        null => NotMeasured,
        string word => word,
        IFormattable number => number.ToString(column.Format, CultureInfo.InvariantCulture),
        _ => throw new ArgumentException($"{column.Name}: a cell is a string, a number or a range"),
    };
}
