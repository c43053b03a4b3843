using System.Globalization;
using System.Text.Json;

namespace RedKite.Server.Diagnostics.Package;

/// <summary>The verdict on the server of a package: every rule, evaluated on the package's contents.</summary>
internal sealed class PackageVerdict
{
    private PackageVerdict(IReadOnlyList<(FindingRule Rule, Diagnosis Diagnosis)> found) => Found = found;

    /// <summary>The findings, the worst first.</summary>
    internal IReadOnlyList<(FindingRule Rule, Diagnosis Diagnosis)> Found { get; }

    /// <summary>The worst severity; null: there is no finding.</summary>
    internal FindingSeverity? Worst => Found.Count == 0 ? null : Found[0].Diagnosis.Severity;

    internal static PackageVerdict Of(PackageReader package)
    {
        DiagnosticsView view = package.View;
        var found = new List<(FindingRule Rule, Diagnosis Diagnosis)>();
        foreach (FindingRule rule in FindingTable.Rules)
        {
            if (rule.Check(view) is { } diagnosis) found.Add((rule, diagnosis));
        }

        return new PackageVerdict([.. found.OrderByDescending(item => item.Diagnosis.Severity)]);
    }

    /// <summary>The verdict for people: one line, then each finding with evidence and remedy, then what the package lacks.</summary>
    internal void Write(TextWriter output, PackageReader package)
    {
        string time = DateTimeOffset.FromUnixTimeSeconds(package.WrittenUnixSeconds).ToString("yyyy-MM-dd HH:mm:ss", CultureInfo.InvariantCulture);
        output.WriteLine($"RedKite {package.Version}, package of {time} UTC");
        output.WriteLine(Worst switch
        {
            FindingSeverity.Critical => "Verdict: critical. Clients are affected, or data is at risk.",
            FindingSeverity.Warning => "Verdict: warnings. Something costs performance or will become a problem.",
            FindingSeverity.Notice => "Verdict: healthy, with notices.",
            _ => "Verdict: healthy.",
        });
        foreach ((FindingRule rule, Diagnosis diagnosis) in Found)
        {
            output.WriteLine();
            output.WriteLine($"[{Word(diagnosis.Severity)}] {diagnosis.Title} ({rule.Name})");
            output.WriteLine($"  {diagnosis.Evidence}");
            output.WriteLine($"  {rule.Remedy}");
        }

        WriteEnded(output, package);
        if (package.Errors.Count == 0) return;
        output.WriteLine();
        output.WriteLine("Parts that failed:");
        foreach (string error in package.Errors) output.WriteLine($"  {error}");
    }

    // Findings that had ended before the package was written.
    private static void WriteEnded(TextWriter output, PackageReader package)
    {
        if (package.Read("findings", CancellationToken.None) is not { } bytes) return;
        List<string> lines = [];
        try
        {
            using JsonDocument json = JsonDocument.Parse(bytes);
            foreach (JsonElement finding in json.RootElement.GetProperty("ended").EnumerateArray())
            {
                string time = DateTimeOffset.FromUnixTimeMilliseconds(finding.GetProperty("ended_unix_ms").GetInt64()).ToString("yyyy-MM-dd HH:mm:ss", CultureInfo.InvariantCulture);
                lines.Add($"  {time} [{finding.GetProperty("severity").GetString()}] {finding.GetProperty("title").GetString()}");
            }
        }
        catch (Exception failure) when (failure is JsonException or InvalidOperationException or KeyNotFoundException or FormatException or ArgumentOutOfRangeException)
        {
            throw new InvalidDataException($"the part findings is damaged: {failure.Message}", failure);
        }

        if (lines.Count == 0) return;
        output.WriteLine();
        output.WriteLine("Ended before:");
        foreach (string line in lines) output.WriteLine(line);
    }

    private static string Word(FindingSeverity severity) => severity switch
    {
        FindingSeverity.Critical => "critical",
        FindingSeverity.Warning => "warning",
        _ => "notice",
    };
}
