using RedKite.Server.Config;
using RedKite.Server.Diagnostics;
using RedKite.Server.Logging;

namespace RedKite.Server.Tests.Diagnostics;

public class FindingTrackerTests
{
    private const long Now = 1_800_000_000_000;

    private readonly List<string> _log = [];
    private readonly FindingTracker _tracker;
    private Diagnosis? _diagnosis;

    public FindingTrackerTests()
    {
        var rule = new FindingRule("too-much", "Too much of it.", "Take less.", "memory", _ => _diagnosis);
        _tracker = new FindingTracker([rule], new ServerLog(new Settings(), entry => _log.Add(entry.Message)));
    }

    [Fact]
    public void Finding_opens_with_a_log_line_and_keeps_its_start()
    {
        Evaluate("12 of 10 are in use", FindingSeverity.Warning, Now);
        Evaluate("13 of 10 are in use", FindingSeverity.Warning, Now + 1000);
        Finding finding = Assert.Single(_tracker.Current);
        Assert.Equal((Now, "13 of 10 are in use"), (finding.SinceUnixMs, finding.Diagnosis.Evidence));
        Assert.Equal(["Finding too-much: There is too much (12 of 10 are in use). Take less."], _log);
    }

    [Fact]
    public void Finding_that_gets_worse_is_logged_again()
    {
        Evaluate("a", FindingSeverity.Warning, Now);
        Evaluate("b", FindingSeverity.Critical, Now + 1000);
        Assert.Equal(2, _log.Count);
        Assert.Equal(Now, Assert.Single(_tracker.Current).SinceUnixMs);
    }

    [Fact]
    public void Finding_ends_when_its_rule_was_silent_for_a_while()
    {
        Evaluate("a", FindingSeverity.Warning, Now);
        EvaluateNothing(Now + 5000);
        Assert.Single(_tracker.Current);
        EvaluateNothing(Now + 10_000);
        Assert.Empty(_tracker.Current);
        Assert.Equal((Now, Now + 10_000), (_tracker.Ended[0].SinceUnixMs, _tracker.Ended[0].EndedUnixMs));
        Assert.Equal("Finding too-much has ended: There is too much", _log[^1]);
    }

    private void Evaluate(string evidence, FindingSeverity severity, long nowMs)
    {
        _diagnosis = new Diagnosis("There is too much", evidence, severity);
        _tracker.Evaluate(View(), nowMs);
    }

    private void EvaluateNothing(long nowMs)
    {
        _diagnosis = null;
        _tracker.Evaluate(View(), nowMs);
    }

    private static DiagnosticsView View() => new(new MetricHistory(MetricTable.All.Count), new double[MetricTable.All.Count], Now / 1000, _ => "");
}
