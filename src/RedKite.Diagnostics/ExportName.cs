namespace RedKite.Server.Diagnostics;

/// <summary>
/// What exports call a metric: a name as OpenTelemetry writes it, and labels that distinguish the metrics of one name. Adding up over a label
/// gives a number that has a meaning; the label `percentile`, of latencies, is the exception.
/// </summary>
/// <param name="Name">"redkite.network.io": without its unit.</param>
/// <param name="Labels">Such as direction=receive; mostly none.</param>
internal sealed record ExportName(string Name, IReadOnlyList<(string Name, string Value)> Labels)
{
    /// <summary>Parses "redkite.network.io" or "redkite.network.io{direction=receive}".</summary>
    internal static ExportName Parse(string text)
    {
        string[] parts = text.TrimEnd('}').Split('{');
        string[] labels = parts.Length == 1 ? [] : parts[1].Split(',');
        return new ExportName(parts[0], [.. labels.Select(label => label.Split('=')).Select(pair => (pair[0], pair[1]))]);
    }
}
