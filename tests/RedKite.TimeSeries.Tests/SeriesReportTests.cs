using System.Text.Json;
using RedKite.Server.Diagnostics.Reports;
using RedKite.Types.Tests;

namespace RedKite.TimeSeries.Tests;

/// <summary>What the survey of keys counts of series, in the report that a debug package has.</summary>
public sealed class SeriesReportTests
{
    private const int PatienceMs = 60_000;

    [Fact]
    public async Task Series_are_counted()
    {
        await using TypeServer server = await TypeServer.StartAsync("diagnostics", "yes", "key-survey-cpu-percent", "0");
        server.Run("TS.CREATE", "planted:1", "RETENTION", "1000", "DUPLICATE_POLICY", "MAX", "LABELS", "planted", "planted");
        server.Run("TS.CREATE", "planted:2", "ENCODING", "UNCOMPRESSED", "CHUNK_SIZE", "48");
        server.Run("TS.CREATE", "planted:3");
        server.Run("TS.CREATERULE", "planted:1", "planted:3", "AGGREGATION", "sum", "10");
        for (int i = 0; i < 7; i++) server.Run("TS.ADD", "planted:2", $"{i}", "1");
        foreach (string time in new[] { "1", "12" }) server.Run("TS.ADD", "planted:1", time, "5");
        server.Run("CONFIG", "SET", "key-survey-cpu-percent", "100");
        Assert.True(SpinWait.SpinUntil(() => server.Server.Diagnostics!.Survey.Latest is not null, PatienceMs), "a survey has ended");
        byte[] report = server.Server.Reports!.Write(ReportTable.Find("big-keys")!, redactionKey: new byte[32], TestContext.Current.CancellationToken);
        Assert.False(report.AsSpan().IndexOf("planted"u8) >= 0, "no key is named");
        using JsonDocument json = JsonDocument.Parse(report);
        JsonElement types = json.RootElement.GetProperty("types");
        Assert.Equal("chunks:5 compactions:1 policy_block:2 policy_max:1 samples:10 series_with_rules:1 uncompressed:1 without_labels:2 without_retention:2", Facts("timeseries"));

        string Facts(string type) => string.Join(' ', types.GetProperty(type).GetProperty("facts").EnumerateObject().OrderBy(fact => fact.Name, StringComparer.Ordinal).Select(fact => $"{fact.Name}:{fact.Value}"));
    }
}
