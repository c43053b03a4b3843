using System.Diagnostics;
using System.Text.Json;
using RedKite.Figures;

namespace RedKite.History;

/// <summary>Runs scenarios of './dev bench' and appends their figures to the results file.</summary>
internal static class Recorder
{
    // Settings that take minutes rather than an hour. Other scenarios run with their defaults.
    private static readonly Dictionary<string, string[]> CheapSettings = new()
    {
        ["cpu"] = ["--pipelines", "1,16", "--rounds", "3", "--seconds", "1", "--servers", "redkite,redis"],
        ["memory"] = ["--keys", "1000000", "--servers", "redkite"],
    };

    internal static IReadOnlyList<string> DefaultScenarios { get; } = [.. CheapSettings.Keys];

    /// <param name="root">The repository.</param>
    /// <exception cref="CannotMeasureException">The working copy is dirty without permission, or a scenario failed.</exception>
    internal static void Record(HistoryOptions options, string root, TextWriter output)
    {
        WorkingCopy copy = WorkingCopy.Read(root);
        EnsureRecordable(copy, options.AllowDirty);
        string file = Path.Combine(root, options.ResultsFile);
        foreach (string scenario in options.Scenarios)
        {
            string[] settings = [.. CheapSettings.GetValueOrDefault(scenario, []), .. options.Settings];
            foreach (string line in Measure(root, scenario, settings))
            {
                HistoryRecord record = ToRecord(copy, string.Join(' ', settings), line);
                ResultsFile.Append(file, record);
                output.WriteLine($"{options.ResultsFile}: {record.Scenario} at {record.Revision[..12]}, {record.Figures.Count} figures");
            }
        }
    }

    internal static void EnsureRecordable(WorkingCopy copy, bool allowDirty)
    {
        if (copy.IsDirty && !allowDirty)
        {
            throw new CannotMeasureException(
                "the working copy has changes that are not committed, and a record names a commit: commit them, or give --allow-dirty to mark it");
        }
    }

    /// <exception cref="CannotMeasureException">The report has no figures.</exception>
    internal static HistoryRecord ToRecord(WorkingCopy copy, string settings, string reportLine)
    {
        using JsonDocument document = JsonDocument.Parse(reportLine);
        JsonElement report = document.RootElement;
        Dictionary<string, double> figures = ScenarioFigures.Read(report);
        string scenario = report.GetProperty("scenario").GetString()!;
        return figures.Count > 0
            ? new HistoryRecord(
                copy.Revision, copy.IsDirty, report.GetProperty("date").GetString()!, report.GetProperty("machine").GetString()!,
                scenario, settings, figures)
            : throw new CannotMeasureException($"{scenario} measured nothing: {report.GetProperty("notes")}");
    }

    private static string[] Measure(string root, string scenario, string[] settings)
    {
        string program = Path.Combine(root, "artifacts", "bin", "RedKite.Figures", "release", "RedKite.Figures.dll");
        string json = Path.GetTempFileName();
        try
        {
            // The scenario's own output goes to the console.
            using Process figures = Process.Start("dotnet", [program, scenario, .. settings, "--json", json]);
            figures.WaitForExit();
            return figures.ExitCode == 0 ? File.ReadAllLines(json) : throw new CannotMeasureException($"{scenario} was not measured");
        }
        finally
        {
            File.Delete(json);
        }
    }
}
