using System.Globalization;
using System.Text;

namespace RedKite.Figures;

/// <summary>
/// What this program writes: a file for each section in bench/Results, with its tables, date and machine, and in docs/reference/figures.md, between two markers, the
/// table of all targets. A run replaces the files of the scenarios that it measured and keeps the others.
/// </summary>
internal static class FiguresPage
{
    private const string Begin = "<!-- figures:begin -->";
    private const string End = "<!-- figures:end -->";

    /// <param name="page">The page.</param>
    /// <param name="folder">The folder of the sections' files.</param>
    /// <param name="order">The scenarios in the order of the page.</param>
    internal static void Write(string page, string folder, IEnumerable<Report> reports, Options options, IEnumerable<string> order)
    {
        Directory.CreateDirectory(folder);
        foreach (Report report in reports) File.WriteAllText(FileOf(folder, report.Scenario), report.ToMarkdown(Measured(options)));
        string text = File.ReadAllText(page);
        (int begin, int end) = FindMarkers(page, text);
        File.WriteAllText(page, $"{text[..begin]}{Begin}\n{Summarize(folder, order)}{text[end..]}");
    }

    /// <summary>Runs before the first measurement, so that a missing marker does not cost a long run.</summary>
    internal static void EnsureWritable(string page)
    {
        if (!File.Exists(page)) throw new CannotMeasureException($"{page} does not exist");
        FindMarkers(page, File.ReadAllText(page));
    }

    private static string FileOf(string folder, string scenario) => Path.Combine(folder, scenario + ".md");

    private static string Measured(Options options)
    {
        string date = DateTime.UtcNow.ToString("yyyy-MM-dd", CultureInfo.InvariantCulture);
        return $"Measured on {date} on {Machine.Description} with `{options.CommandLine}`; {PeerProgram.Describe()}.";
    }

    // The rows of the sections' own tables, so that it also has those of earlier runs.
    private static string Summarize(string folder, IEnumerable<string> order)
    {
        var text = new StringBuilder("## targets").AppendLine().AppendLine()
            .AppendLine("The targets of all sections but `types`, met or not: medians with the range of their rounds. The tables of `types` have a target in each row. The files of the sections have the dates and the machines.")
            .AppendLine().AppendLine("| section | figure | measured | range | target | met |").AppendLine("|---|---|---:|---:|---|---|");
        foreach (string name in order.Where(name => File.Exists(FileOf(folder, name))))
        {
            IEnumerable<string> rows = File.ReadLines(FileOf(folder, name)).SkipWhile(line => line != Report.TargetsTitle)
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
