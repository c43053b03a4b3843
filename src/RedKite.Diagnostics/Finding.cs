using RedKite.Server.Diagnostics.Export;

namespace RedKite.Server.Diagnostics;

// Rules, and the findings that they make.

internal enum FindingSeverity
{
    /// <summary>Worth knowing; nothing is wrong now.</summary>
    Notice,

    /// <summary>Will become a problem, or costs performance.</summary>
    Warning,

    /// <summary>Clients are affected, or data is at risk.</summary>
    Critical,
}

/// <summary>A problem that a rule found.</summary>
/// <param name="Title">A full statement: "Memory will reach its limit in about 40 minutes".</param>
/// <param name="Evidence">The numbers and names that show it.</param>
/// <param name="Severity">How bad it is now.</param>
internal sealed record Diagnosis(string Title, string Evidence, FindingSeverity Severity)
{
    /// <summary>
    /// Who or what causes it, with names, keys and addresses: "client 7 (worker, 10.0.0.3:4711, user alice)". Empty: unknown. A debug package
    /// does not have it.
    /// </summary>
    internal string Culprit { get; init; } = "";

    /// <summary>The evidence with the culprit.</summary>
    internal string Details => Culprit.Length > 0 ? $"{Evidence}; {Culprit}" : Evidence;
}

/// <summary>
/// A rule that turns numbers into a sentence: a row of <see cref="FindingTable"/>.
/// </summary>
/// <param name="Name">The name under which the finding is documented: lower case with hyphens.</param>
/// <param name="Meaning">What the rule looks for, and its thresholds: one or two sentences for docs/reference/findings.md.</param>
/// <param name="Remedy">What to do.</param>
/// <param name="View">The view of the dashboard that shows it: overview, commands, loops, memory, clients, slow, keys,
/// durability, replication, cluster, machine, security, configuration, log.</param>
/// <param name="Check">Returns what is wrong, or null.</param>
internal sealed record FindingRule(string Name, string Meaning, string Remedy, string View, Func<DiagnosticsView, Diagnosis?> Check)
{
    /// <summary>Whether the finding stays open although the rule finds nothing, because what it found is not over; null: it ends with that.</summary>
    internal Func<DiagnosticsView, bool>? Lasts { get; init; }

    /// <summary>Names who or what causes it, on a running server; null: the rule cannot.</summary>
    internal Func<Culprits, string>? Culprit { get; init; }
}

/// <summary>A finding that is open, or was.</summary>
internal sealed record Finding(FindingRule Rule, Diagnosis Diagnosis, long SinceUnixMs) : IFindingText
{
    /// <summary>When its cause was gone; 0 while it is open.</summary>
    internal long EndedUnixMs { get; init; }

    /// <summary>The severity as exports and reports name it.</summary>
    public string Severity => Diagnosis.Severity switch
    {
        FindingSeverity.Critical => "critical",
        FindingSeverity.Warning => "warning",
        _ => "notice",
    };

    public string Name => Rule.Name;

    public string Title => Diagnosis.Title;

    public string Details => Diagnosis.Details;
}
