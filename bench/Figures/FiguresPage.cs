using System.Globalization;
using System.Text;

namespace RedKite.Figures;

/// <summary>The part of docs/figures.md that this program writes: everything between its two markers.</summary>
internal static class FiguresPage
{
    private const string Begin = "<!-- figures:begin -->";
    private const string End = "<!-- figures:end -->";

    internal static void Write(string file, IEnumerable<Report> reports, Options options)
    {
        string page = File.ReadAllText(file);
        (int begin, int end) = FindMarkers(file, page);

        var section = new StringBuilder(Begin).AppendLine();
        string date = DateTime.UtcNow.ToString("yyyy-MM-dd", CultureInfo.InvariantCulture);
        section.AppendLine($"Measured on {date} on {Machine.Description} with `{options.CommandLine}`.");
        foreach (Report report in reports) section.AppendLine().Append(report.ToMarkdown());
        File.WriteAllText(file, $"{page[..begin]}{section}{page[end..]}");
    }

    /// <summary>Runs before the first measurement, so that a missing marker does not cost a long run.</summary>
    internal static void EnsureWritable(string file)
    {
        if (!File.Exists(file)) throw new CannotMeasureException($"{file} does not exist");
        FindMarkers(file, File.ReadAllText(file));
    }

    private static (int Begin, int End) FindMarkers(string file, string page)
    {
        int begin = page.IndexOf(Begin, StringComparison.Ordinal);
        int end = begin < 0 ? -1 : page.IndexOf(End, begin, StringComparison.Ordinal);
        return end >= 0 ? (begin, end) : throw new CannotMeasureException($"{file} lacks {Begin} followed by {End}");
    }
}
