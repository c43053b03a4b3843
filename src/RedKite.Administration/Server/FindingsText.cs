using System.Text;
using RedKite.Server.Diagnostics;

namespace RedKite.Server.Commands.Server;

/// <summary>The open findings of some views, as LATENCY DOCTOR and MEMORY DOCTOR add them to their reports.</summary>
internal static class FindingsText
{
    /// <summary>One line for each finding; empty if there are none.</summary>
    internal static string Of(IEnumerable<Finding> findings, params ReadOnlySpan<string> views)
    {
        var text = new StringBuilder();
        foreach (Finding finding in findings)
        {
            if (!views.Contains(finding.Rule.View)) continue;
            if (text.Length == 0) text.Append("\nFindings:\n\n");
            text.Append("- ").Append(finding.Diagnosis.Title).Append(" (").Append(finding.Rule.Name).Append("): ").Append(finding.Diagnosis.Details).Append(". ").Append(finding.Rule.Remedy).Append('\n');
        }

        return text.ToString();
    }
}
