using System.Diagnostics.Tracing;
using System.Text;
using System.Text.RegularExpressions;
using RedKite.Server.Config;
using RedKite.Server.Diagnostics;
using RedKite.Server.Diagnostics.Actions;
using RedKite.Server.Diagnostics.Export;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Diagnostics;

/// <summary>Keeps the metrics, findings and actions in docs/reference, and the events of docs/exports.md, complete. Run with REDKITE_WRITE_DOCS=1 to regenerate them.</summary>
public partial class DiagnosticsPagesTests
{
    private const string WriteVariable = "REDKITE_WRITE_DOCS";

    [Fact]
    public void Page_lists_every_metric() => AssertPage("metrics.md", MetricsPage());

    [Fact]
    public void Page_lists_every_finding() => AssertPage("findings.md", FindingsPage());

    [Fact]
    public void Page_lists_every_action() => AssertPage("actions.md", ActionsPage());

    // The names are literals of the source, and the payloads' records are public.
    [Fact]
    public void Table_of_events_has_every_event_and_payload()
    {
        string[] inSource = [.. EventName().Matches(File.ReadAllText(Path.Combine(RepositoryRoot.Path, "src", "RedKite.Core", "Diagnostics", "Export", "ServerEvents.cs"))).Select(match => match.Groups[1].Value).Distinct().Order(StringComparer.Ordinal)];
        (string, string)[] ofEventSource = [.. typeof(ServerEventSource).GetMethods().Where(method => method.IsDefined(typeof(EventAttribute), inherit: false)).Select(method => (method.Name, string.Join(", ", method.GetParameters().Select(parameter => parameter.Name)))).Order()];
        (string Event, string Payload, string Fields, string Parameters)[] rows = [.. EventRow().Matches(File.ReadAllText(Path.Combine(RepositoryRoot.Path, "docs", "exports.md"))).Select(match => (match.Groups[1].Value, match.Groups[2].Value, match.Groups[3].Value, match.Groups[4].Value))];
        Assert.Equal(7, inSource.Length);
        Assert.Equal(inSource, rows.Select(row => row.Event).Order(StringComparer.Ordinal));
        Assert.Equal(ofEventSource, rows.Select(row => (row.Event, row.Parameters)).Order());

        // A payload's fields are listed where it is named first.
        Dictionary<string, string> expected = typeof(ConnectionEvent).Assembly.GetExportedTypes()
            .Where(type => type.Namespace == typeof(ConnectionEvent).Namespace && type.Name.EndsWith("Event", StringComparison.Ordinal))
            .ToDictionary(type => type.Name, type => string.Join(", ", type.GetProperties().Select(property => property.Name)));
        Assert.Equal(5, expected.Count);
        Assert.Equal(
            expected.OrderBy(pair => pair.Key, StringComparer.Ordinal),
            rows.GroupBy(row => row.Payload).Select(group => KeyValuePair.Create(group.Key, group.First().Fields)).OrderBy(pair => pair.Key, StringComparer.Ordinal));
    }

    [Fact]
    public void Names_are_unique()
    {
        Assert.Equal(MetricTable.All.Count, MetricTable.All.Select(metric => metric.Name).Distinct().Count());
        Assert.Equal(FindingTable.Rules.Count, FindingTable.Rules.Select(rule => rule.Name).Distinct().Count());
        Assert.Equal(ActionTable.All.Select(action => "action_" + action.Name.Replace('-', '_')), MetricTable.All.Select(metric => metric.Name).Where(name => name.StartsWith("action_", StringComparison.Ordinal)));
    }

    private static void AssertPage(string name, string page)
    {
        string path = Path.Combine(RepositoryRoot.Path, "docs", "reference", name);
        if (Environment.GetEnvironmentVariable(WriteVariable) == "1") File.WriteAllText(path, page);
        Assert.Equal(page, File.ReadAllText(path));
    }

    private static string MetricsPage()
    {
        var page = new StringBuilder();
        page.Append("# Metrics\n\n");
        page.Append("What the server knows about itself, every second for an hour and every minute for two weeks. Generated from the table of\n");
        page.Append("metrics: run the server's tests with `REDKITE_WRITE_DOCS=1` to regenerate this page. `INFO metrics`, the page, findings and the debug package\n");
        page.Append("use these names. A counter's history is its growth per second. `INFO metrics` is RedKite's own section, shown by its name\n");
        page.Append("alone: the values of the last second, as totals and in the units of this table; `nan` is unknown. Prometheus and OpenTelemetry get the\n");
        page.Append("names on the right, and base units ([exports.md](../exports.md)). Rows without one are exported for each command and each error instead.\n\n");
        page.Append("| Metric | Kind | Unit | | Prometheus |\n|---|---|---|---|---|\n");
        foreach (Metric metric in MetricTable.All) page.Append($"| {metric.Name} | {Lower(metric.Kind)} | {Lower(metric.Unit)} | {metric.Help} | {Exported(metric)} |\n");
        page.Append("\n## Each command and each event loop\n\n");
        page.Append("These series have the same history and are on the page and in the debug package alone. A second and a minute keep the\n");
        page.Append($"{RankedTable.Commands.RecordsMax} commands that executed longest and the {RankedTable.Loops.RecordsMax} busiest loops. A minute has the mean of its seconds, or the largest value.\n\n");
        page.Append("| Series | Of a minute | Unit | |\n|---|---|---|---|\n");
        foreach (RankedSeries series in (RankedSeries[])[.. RankedTable.Commands.Series, .. RankedTable.Loops.Series]) page.Append($"| {series.Name} | {(series.IsPeak ? "largest" : "mean")} | {Lower(series.Unit)} | {series.Help} |\n");
        return page.ToString();
    }

    private static string Exported(Metric metric)
    {
        if (metric.Export is null) return "";
        string labels = PrometheusText.LabelsOf(metric);
        return $"`{ExportedMetrics.Of(metric).PrometheusName}{(labels.Length > 0 ? $"{{{labels}}}" : "")}`";
    }

    private static string FindingsPage()
    {
        var page = new StringBuilder();
        page.Append("# Findings\n\n");
        page.Append("What the server reports about itself, in its log, in INFO, in DOCTOR commands, on the page and in the debug package.\n");
        page.Append("Generated from the table of rules: run the server's tests with `REDKITE_WRITE_DOCS=1` to regenerate this page.\n");
        foreach (FindingRule rule in FindingTable.Rules) page.Append($"\n## {rule.Name}\n\n{rule.Meaning}\n\n**What to do:** {rule.Remedy}\n");
        return page.ToString();
    }

    private static string ActionsPage()
    {
        var page = new StringBuilder();
        page.Append("# Actions\n\n");
        page.Append("What the server does by itself, within limits that settings allow. What clients notice is off by default. Each action is counted\n");
        page.Append("(the metric `action_` and its name), written to the log at most once a second with how often it was taken since, put on the\n");
        page.Append("timeline, and shown on the page and in the debug package. Generated from the table of actions: run the server's tests with\n");
        page.Append("`REDKITE_WRITE_DOCS=1` to regenerate this page.\n\n");
        page.Append("| Action | Setting | Default | When, and what |\n|---|---|---|---|\n");
        foreach (ServerAction action in ActionTable.All)
        {
            string text = SettingTable.Find(action.Setting)!.DefaultText;
            string shown = text switch { "" => "empty: off", "0" => "0: off", _ => text };
            page.Append($"| {action.Name} | `{action.Setting}` | {shown} | {action.Meaning} |\n");
        }

        return page.ToString();
    }

    [GeneratedRegex("Write\\(\"RedKite\\.([A-Za-z]+)\"")]
    private static partial Regex EventName();

    [GeneratedRegex(@"^\| `RedKite\.([A-Za-z]+)` \| `([A-Za-z]+)`(?:: ([A-Za-z, ]+))? \| ([A-Za-z, ]+) \|", RegexOptions.Multiline)]
    private static partial Regex EventRow();

#pragma warning disable CA1308 // For a table that people read.
    private static string Lower(Enum value) => value.ToString().ToLowerInvariant();
#pragma warning restore CA1308
}
