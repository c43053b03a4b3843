using RedKite.Types.Tests;

namespace RedKite.TimeSeries.Tests;

/// <summary>What the survey of keys counts of series, in the report that a debug package has.</summary>
public sealed class SeriesReportTests
{
    [Fact]
    public async Task Series_are_counted()
    {
        await using TypeServer server = await TypeServer.StartAsync(SurveyReport.Settings);
        server.Run("TS.CREATE", "planted:1", "RETENTION", "1000", "DUPLICATE_POLICY", "MAX", "LABELS", "planted", "planted");
        server.Run("TS.CREATE", "planted:2", "ENCODING", "UNCOMPRESSED", "CHUNK_SIZE", "48");
        server.Run("TS.CREATE", "planted:3");
        server.Run("TS.CREATERULE", "planted:1", "planted:3", "AGGREGATION", "sum", "10");
        for (int i = 0; i < 7; i++) server.Run("TS.ADD", "planted:2", $"{i}", "1");
        foreach (string time in new[] { "1", "12" }) server.Run("TS.ADD", "planted:1", time, "5");
        SurveyReport types = SurveyReport.Of(server, "planted");
        Assert.Equal("chunks:5 compactions:1 policy_block:2 policy_max:1 samples:10 series_with_rules:1 uncompressed:1 without_labels:2 without_retention:2", types.FactsOf("timeseries"));
    }
}
