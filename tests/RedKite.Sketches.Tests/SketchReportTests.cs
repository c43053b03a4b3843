using RedKite.Types.Tests;

namespace RedKite.Sketches.Tests;

/// <summary>What the survey of keys counts of sketches, in the report that a debug package has.</summary>
public sealed class SketchReportTests
{
    [Fact]
    public async Task Sketches_are_counted()
    {
        await using TypeServer server = await TypeServer.StartAsync([.. SurveyReport.Settings, "cf-max-expansions", "1000"]);
        server.Run("BF.RESERVE", "planted:1", "0.01", "2"); // and 4 in another layer
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
        SurveyReport types = SurveyReport.Of(server, "planted");
        Assert.Equal("capacity:11 elements:4 layers:3 that_do_not_grow:1", types.FactsOf("Bloomfilter"));
        Assert.Equal($"capacity:{8 * layers} deletions:1 elements:2399 layers:{layers} that_do_not_grow:0", types.FactsOf("cuckoofilter"));
        Assert.Equal("counters:80", types.FactsOf("count-minsketch"));
        Assert.Equal("counters:70 listed:2 listed_at_most:3", types.FactsOf("top-ksketch"));
        Assert.Equal("centroids:0 compressions:0 unmerged:3", types.FactsOf("t-digest"));
    }
}
