using System.Text;
using System.Text.Json;
using RedKite.Server.Diagnostics.Reports;

namespace RedKite.Types.Tests;

/// <summary>What a survey of keys counts of each type, in the report that a debug package has.</summary>
internal sealed class SurveyReport
{
    /// <summary>A server's settings with which no survey begins by itself.</summary>
    internal static readonly string[] Settings = ["diagnostics", "yes", "key-survey-cpu-percent", "0"];

    private const int PatienceMs = 60_000;

    private readonly byte[] _report;

    private SurveyReport(byte[] report) => _report = report;

    /// <summary>Makes a survey. The report names no key.</summary>
    /// <param name="server">The server.</param>
    /// <param name="keyText">A text that all keys have.</param>
    internal static SurveyReport Of(TypeServer server, string keyText)
    {
        server.Run("CONFIG", "SET", "key-survey-cpu-percent", "100");
        Assert.True(SpinWait.SpinUntil(() => server.Server.Diagnostics!.Survey.Latest is not null, PatienceMs), "a survey has ended");
        byte[] report = server.Server.Reports!.Write(ReportTable.Find("big-keys")!, redactionKey: new byte[32], TestContext.Current.CancellationToken);
        Assert.False(report.AsSpan().IndexOf(Encoding.UTF8.GetBytes(keyText)) >= 0, "no key is named");
        return new SurveyReport(report);
    }

    /// <summary>The facts of a type by name, as "name:count" with spaces between them.</summary>
    internal string FactsOf(string type)
    {
        using JsonDocument json = JsonDocument.Parse(_report);
        IEnumerable<JsonProperty> facts = json.RootElement.GetProperty("types").GetProperty(type).GetProperty("facts").EnumerateObject();
        return string.Join(' ', facts.OrderBy(fact => fact.Name, StringComparer.Ordinal).Select(fact => $"{fact.Name}:{fact.Value}"));
    }
}
