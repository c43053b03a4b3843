using RedKite.Server.Logging;

namespace RedKite.Server.Diagnostics;

/// <summary>
/// Evaluates the rules, and records which findings are open, since when, and which have ended recently. Each opening and end is one line
/// of the log. The diagnostics thread writes; any thread reads.
/// </summary>
internal sealed class FindingTracker(IReadOnlyList<FindingRule> rules, ServerLog log)
{
    private const int EndedMax = 200;

    // A finding ends when its rule has been silent for this long, so that one near its threshold does not flap.
    private const long QuietMs = 10_000;

    // To look for the culprit again takes some milliseconds; it may have changed.
    private const long CulpritMs = 10_000;

    private readonly Dictionary<string, (Finding Finding, long SeenMs)> _open = [];
    private readonly Dictionary<string, long> _namedMs = [];
    private volatile IReadOnlyList<Finding> _current = [];
    private volatile IReadOnlyList<Finding> _ended = [];

    /// <summary>Called on the diagnostics thread with a finding that is new or has become worse.</summary>
    internal event Action<Finding>? Opened;

    /// <summary>Called on the diagnostics thread with a finding that has ended.</summary>
    internal event Action<Finding>? HasEnded;

    /// <summary>Open findings, the worst first.</summary>
    internal IReadOnlyList<Finding> Current => _current;

    /// <summary>Findings that have ended, the latest first.</summary>
    internal IReadOnlyList<Finding> Ended => _ended;

    internal void Evaluate(DiagnosticsView view, long nowUnixMs)
    {
        foreach (FindingRule rule in rules)
        {
            bool isNew = !_open.TryGetValue(rule.Name, out (Finding Finding, long SeenMs) known);
            if (rule.Check(view) is not { } diagnosis)
            {
                if (!isNew && rule.Lasts?.Invoke(view) == true) _open[rule.Name] = (known.Finding, nowUnixMs);
                continue;
            }

            bool isWorse = !isNew && diagnosis.Severity > known.Finding.Diagnosis.Severity;
            if (!isNew && !isWorse) diagnosis = diagnosis with { Severity = known.Finding.Diagnosis.Severity }; // the worst until it ends
            diagnosis = diagnosis with { Culprit = CulpritOf(rule, view, isNew || isWorse, isNew ? "" : known.Finding.Diagnosis.Culprit, nowUnixMs) };
            var finding = new Finding(rule, diagnosis, isNew ? nowUnixMs : known.Finding.SinceUnixMs);
            _open[rule.Name] = (finding, nowUnixMs);
            if (!isNew && !isWorse) continue;
            Write(diagnosis, rule);
            Opened?.Invoke(finding);
        }

        List<Finding> ended = [];
        foreach ((string name, (Finding finding, long seenMs)) in _open.ToArray())
        {
            if (nowUnixMs - seenMs < QuietMs) continue;
            _open.Remove(name);
            ended.Add(finding with { EndedUnixMs = nowUnixMs });
            log.Notice(LogEvents.FindingEnded, $"Finding {name} has ended: {finding.Diagnosis.Title}");
            HasEnded?.Invoke(ended[^1]);
        }

        // In this order, so that no reader sees a finding as ended and open.
        _current = [.. _open.Values.Select(open => open.Finding).OrderByDescending(finding => finding.Diagnosis.Severity).ThenBy(finding => finding.SinceUnixMs)];
        if (ended.Count > 0) _ended = [.. ended, .. _ended.Take(EndedMax - ended.Count)];
    }

    // What was found before stays if nothing is found any more: the client may have left.
    private string CulpritOf(FindingRule rule, DiagnosticsView view, bool isNeeded, string before, long nowUnixMs)
    {
        if (rule.Culprit is null || view.Culprits is null) return before;
        if (!isNeeded && nowUnixMs - _namedMs.GetValueOrDefault(rule.Name) < CulpritMs) return before;
        _namedMs[rule.Name] = nowUnixMs;
        return rule.Culprit(view.Culprits) is { Length: > 0 } found ? found : isNeeded ? "" : before;
    }

    // The culprit is text of clients: a debug package has the line without it.
    private void Write(Diagnosis diagnosis, FindingRule rule)
    {
        string line = $"Finding {rule.Name}: {diagnosis.Title} ({diagnosis.Evidence}). {rule.Remedy}";
        bool isWarning = diagnosis.Severity != FindingSeverity.Notice;
        if (diagnosis.Culprit.Length > 0) log.OfClient(LogEvents.FindingOpened, isWarning, line + " Seen: ", diagnosis.Culprit);
        else if (isWarning) log.Warning(LogEvents.FindingOpened, line);
        else log.Notice(LogEvents.FindingOpened, line);
    }
}
