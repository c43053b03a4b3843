using RedKite.Server.Config;
using RedKite.Server.Diagnostics;
using static RedKite.Server.Diagnostics.FindingSeverity;
using static RedKite.Server.Diagnostics.MetricTable;

namespace RedKite.Server.Tests.Diagnostics;

/// <summary>Each rule with the numbers of a sick server, and all of them with those of a healthy one.</summary>
public class FindingRulesTests
{
    private const long Now = FindingCause.Now;
    private const double MiB = 1 << 20;
    private const double GiB = 1 << 30;

    public static TheoryData<string> RuleNames => [.. FindingTable.Rules.Select(rule => rule.Name)];

    [Theory]
    [MemberData(nameof(RuleNames))]
    public void Rule_finds_its_cause(string name)
    {
        Assert.True(FindingCauses.All.ContainsKey(name), $"{name} has no cause here");
        FindingCause cause = FindingCauses.All[name];
        Diagnosis? diagnosis = FindingTable.Rules.Single(rule => rule.Name == name).Check(cause.View());
        Assert.NotNull(diagnosis);
        Assert.Equal(cause.Severity, diagnosis.Severity);
        Assert.Matches("[0-9a-z]", diagnosis.Evidence);
        Assert.DoesNotContain("NaN", diagnosis.Title + diagnosis.Evidence, StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(RuleNames))]
    public void Rule_is_silent_on_a_healthy_server(string name) =>
        Assert.Null(FindingTable.Rules.Single(rule => rule.Name == name).Check(new FindingCause(Notice).View()));

    [Theory]
    [MemberData(nameof(RuleNames))]
    public void Rule_is_silent_without_data(string name)
    {
        var values = new double[MetricTable.All.Count];
        Array.Fill(values, double.NaN);
        var view = new DiagnosticsView(new MetricHistory(values.Length), values, Now, new Configuration(new Settings()).Get);
        Assert.Null(FindingTable.Rules.Single(rule => rule.Name == name).Check(view));
    }

    [Fact]
    public void At_least_thirty_rules() => Assert.InRange(FindingTable.Rules.Count, 30, 200);

    [Fact]
    public void Growth_predicts_when_memory_will_be_exhausted()
    {
        var history = new MetricHistory(MetricTable.All.Count);
        var values = new double[MetricTable.All.Count];
        for (int i = 0; i < 600; i++)
        {
            values[MaxMemory.Index] = GiB;
            values[UsedMemory.Index] = (0.5 * GiB) + (i * MiB / 4);
            history.Add(Now - 599 + i, values);
        }

        var view = new DiagnosticsView(history, values, Now, _ => "");
        Diagnosis diagnosis = FindingTable.Rules.Single(rule => rule.Name == "memory-near-limit").Check(view)!;
        Assert.Equal("Memory will reach its limit in about 24 minutes", diagnosis.Title);
        Assert.Equal("661.75 MiB of 1 GiB are in use, growing by 15 MiB a minute", diagnosis.Evidence);
    }

    [Fact]
    public void Cache_is_meant_to_be_full()
    {
        FindingCause full = new(Critical, (MaxMemory, 100 * MiB), (UsedMemory, 99 * MiB)) { Settings = { ["maxmemory-policy"] = "allkeys-lru" } };
        Assert.Null(FindingTable.Rules.Single(rule => rule.Name == "memory-near-limit").Check(full.View()));
    }
}
