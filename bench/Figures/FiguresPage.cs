using System.Globalization;
using System.Text;

namespace RedKite.Figures;

/// <summary>
/// The part of docs/reference/figures.md that this program writes: everything between its two markers. It has a section per scenario,
/// each with its date and machine, and first a table of all targets. A run replaces the sections of the scenarios that it
/// measured and keeps the others.
/// </summary>
internal static class FiguresPage
{
    private const string Begin = "<!-- figures:begin -->";
    private const string End = "<!-- figures:end -->";
    private const string Heading = "## ";
    private const string Summary = "targets";

    /// <param name="order">The scenarios in the order of the page.</param>
    internal static void Write(string file, IEnumerable<Report> reports, Options options, IEnumerable<string> order)
    {
        string page = File.ReadAllText(file);
        (int begin, int end) = FindMarkers(file, page);
        Dictionary<string, string> sections = ReadSections(page[(begin + Begin.Length)..end]);
        foreach (Report report in reports) sections[report.Scenario] = report.ToMarkdown(Measured(options));

        List<string> names = [.. order.Where(sections.ContainsKey)];
        var text = new StringBuilder(Begin).AppendLine().Append(Summarize(names, sections));
        foreach (string name in names) text.AppendLine().Append(sections[name]);
        File.WriteAllText(file, $"{page[..begin]}{text}{page[end..]}");
    }

    /// <summary>Runs before the first measurement, so that a missing marker does not cost a long run.</summary>
    internal static void EnsureWritable(string file)
    {
        if (!File.Exists(file)) throw new CannotMeasureException($"{file} does not exist");
        FindMarkers(file, File.ReadAllText(file));
    }

    private static string Measured(Options options)
    {
        string date = DateTime.UtcNow.ToString("yyyy-MM-dd", CultureInfo.InvariantCulture);
        return $"Measured on {date} on {Machine.Description} with `{options.CommandLine}`; {PeerProgram.Describe()}.";
    }

    private static Dictionary<string, string> ReadSections(string text)
    {
        Dictionary<string, string> sections = [];
        string? name = null;
        foreach (string line in text.Split('\n'))
        {
            if (line.StartsWith(Heading, StringComparison.Ordinal)) sections[name = line[Heading.Length..].Trim()] = "";
            if (name is not null) sections[name] += line + "\n";
        }

        sections.Remove(Summary);
        return sections.ToDictionary(section => section.Key, section => section.Value.TrimEnd() + "\n");
    }

    // The rows of the sections' own tables, so that it also has those of earlier runs.
    private static string Summarize(List<string> names, Dictionary<string, string> sections)
    {
        var text = new StringBuilder($"{Heading}{Summary}").AppendLine().AppendLine()
            .AppendLine("The targets of all sections but `types`, met or not: medians with the range of their rounds. The tables of `types` have a target in each row. The sections below have the dates and the machines.")
            .AppendLine().AppendLine("| section | figure | measured | range | target | met |").AppendLine("|---|---|---:|---:|---|---|");
        foreach (string name in names)
        {
            IEnumerable<string> rows = sections[name].Split('\n').SkipWhile(line => line != Report.TargetsTitle)
                .SkipWhile(line => !line.StartsWith("|---", StringComparison.Ordinal)).Skip(1).TakeWhile(line => line.StartsWith('|'));
            foreach (string row in rows) text.AppendLine($"| {name} {row}");
        }

        return text.ToString();
    }

    private static (int Begin, int End) FindMarkers(string file, string page)
    {
        int begin = page.IndexOf(Begin, StringComparison.Ordinal);
        int end = begin < 0 ? -1 : page.IndexOf(End, begin, StringComparison.Ordinal);
        return end >= 0 ? (begin, end) : throw new CannotMeasureException($"{file} lacks {Begin} followed by {End}");
    }
}
