using System.Globalization;
using System.Text;

namespace RedKite.Figures;

/// <summary>The part of README.md that this program owns: what stands between its two markers.</summary>
internal static class ReadmeSection
{
    private const string Begin = "<!-- figures:begin -->";
    private const string End = "<!-- figures:end -->";

    internal static void Write(string file, IEnumerable<Report> reports, Options options)
    {
        string readme = File.ReadAllText(file);
        (int begin, int end) = FindMarkers(file, readme);

        var section = new StringBuilder(Begin).AppendLine();
        string date = DateTime.UtcNow.ToString("yyyy-MM-dd", CultureInfo.InvariantCulture);
        section.AppendLine($"Measured on {date} on {Machine.Description}, by `{options.CommandLine}`.");
        foreach (Report report in reports) section.AppendLine().Append(report.ToMarkdown());
        File.WriteAllText(file, $"{readme[..begin]}{section}{readme[end..]}");
    }

    /// <summary>Called before anything is measured, so that a long run is not lost to a missing marker.</summary>
    internal static void EnsureWritable(string file)
    {
        if (!File.Exists(file)) throw new CannotMeasureException($"{file} does not exist, so nothing can be written into it");
        FindMarkers(file, File.ReadAllText(file));
    }

    private static (int Begin, int End) FindMarkers(string file, string readme)
    {
        int begin = readme.IndexOf(Begin, StringComparison.Ordinal);
        int end = begin < 0 ? -1 : readme.IndexOf(End, begin, StringComparison.Ordinal);
        return end >= 0 ? (begin, end) : throw new CannotMeasureException($"{file} lacks {Begin} followed by {End}");
    }
}
