using System.Text.Json;
using RedKite.Server.Diagnostics.Reports;
using RedKite.Types.Tests;

namespace RedKite.Sketches.Tests;

/// <summary>What the survey of keys counts of sketches, in the report that a debug package has.</summary>
public sealed class SketchReportTests
{
    private const int PatienceMs = 60_000;

    [Fact]
    public async Task Sketches_are_counted()
    {
        await using TypeServer server = await TypeServer.StartAsync("diagnostics", "yes", "key-survey-cpu-percent", "0", "cf-max-expansions", "1000");
        server.Run("BF.RESERVE", "planted:1", "0.01", "100");
        server.Run("BF.RESERVE", "planted:2", "0.01", "5", "NONSCALING");
        server.Run("CF.RESERVE", "planted:3", "8", "BUCKETSIZE", "2", "MAXITERATIONS", "1");
        server.Run(["CF.INSERT", "planted:3", "ITEMS", .. Enumerable.Range(0, 2400).Select(i => $"{i}")]);
        server.Run("CF.DEL", "planted:3", "1");
        server.Run("BF.MADD", "planted:1", "a", "b", "c");
        server.Run("BF.ADD", "planted:2", "a");
        server.Run("CMS.INITBYDIM", "planted:4", "20", "4");
        server.Run("TOPK.RESERVE", "planted:5", "3", "10", "7", "0.9");
        server.Run("TOPK.ADD", "planted:5", "a", "b");
        server.Run("TDIGEST.CREATE", "planted:6");
        server.Run("TDIGEST.ADD", "planted:6", "1", "2", "3");
        long layers = server.Client.Run("CF.INFO planted:3").Items[5].Number;
        Assert.InRange(layers, 257, 400);
        server.Run("CONFIG", "SET", "key-survey-cpu-percent", "100");
        Assert.True(SpinWait.SpinUntil(() => server.Server.Diagnostics!.Survey.Latest is not null, PatienceMs), "a survey has ended");
        byte[] report = server.Server.Reports!.Write(ReportTable.Find("big-keys")!, redactionKey: new byte[32], TestContext.Current.CancellationToken);
        Assert.False(report.AsSpan().IndexOf("planted"u8) >= 0, "no key is named");
        using JsonDocument json = JsonDocument.Parse(report);
        JsonElement types = json.RootElement.GetProperty("types");
        Assert.Equal("capacity:105 elements:4 layers:2 that_do_not_grow:1", Facts("Bloomfilter"));
        Assert.Equal($"capacity:{8 * layers} deletions:1 elements:2399 layers:{layers} that_do_not_grow:0", Facts("cuckoofilter"));
        Assert.Equal("counters:80", Facts("count-minsketch"));
        Assert.Equal("counters:70 listed:2 listed_at_most:3", Facts("top-ksketch"));
        Assert.Equal("centroids:0 compressions:0 unmerged:3", Facts("t-digest"));

        string Facts(string type) => string.Join(' ', types.GetProperty(type).GetProperty("facts").EnumerateObject().OrderBy(fact => fact.Name, StringComparer.Ordinal).Select(fact => $"{fact.Name}:{fact.Value}"));
    }
}
