using RedKite.TestSupport;
using RedKite.Types.Tests;
using static RedKite.TimeSeries.Tests.SeriesCommandTests;

namespace RedKite.TimeSeries.Tests;

/// <summary>Compaction rules: a series into another one.</summary>
public sealed class RuleTests
{
    [Fact]
    public async Task Closed_buckets_are_compacted_and_the_open_one_is_the_latest()
    {
        await using TypeServer server = await StartAsync("sum");
        server.Run("TS.MADD", "s", "1", "1", "s", "2", "3", "s", "11", "7", "s", "13", "1");
        Assert.Equal(["0:4"], Range(server, "TS.RANGE", "d", "0", "10"));
        Assert.Equal(["0:4", "10:8"], Range(server, "TS.RANGE", "d", "0", "10", "LATEST"));
        Assert.Equal(["10:8", "0:4"], Range(server, "TS.REVRANGE", "d", "0", "10", "LATEST"));
        Assert.Equal(["0:4"], Range(server, "TS.RANGE", "d", "0", "9", "LATEST"));
        Assert.Equal("0 4", server.Run("TS.GET", "d"));
        Assert.Equal("10 8", server.Run("TS.GET", "d", "LATEST"));
        server.Run("TS.ALTER", "d", "LABELS", "l", "v");
        Assert.Equal("10", server.Client.Run("TS.MGET LATEST FILTER l=v").Items[0].Items[2].Items[0].Text);
        RespValue rule = Info(server, "s")["rules"]!["d"]!;
        Assert.Equal(["10", "SUM", "0"], rule.Items.Select(item => item.Text));
        Assert.Equal("s", Info(server, "d")["sourceKey"]!.Text);
        Assert.Equal("OK", server.Run("TS.DELETERULE", "s", "d"));
        Assert.Equal("ERR TSDB: compaction rule does not exist", server.Run("TS.DELETERULE", "s", "d"));
        Assert.True(Info(server, "d")["sourceKey"]!.IsNull);
        server.Run("TS.ADD", "s", "21", "1");
        Assert.Equal(["0:4"], Range(server, "TS.RANGE", "d", "-", "+", "LATEST"));
    }

    [Fact]
    public async Task Rules_that_make_no_sense_are_refused()
    {
        await using TypeServer server = await StartAsync("avg");
        server.Run("TS.CREATE", "x");
        string[] rule = ["AGGREGATION", "avg", "10"];
        Assert.Equal("ERR TSDB: the source key and destination key should be different", server.Run(["TS.CREATERULE", "x", "x", .. rule]));
        Assert.Equal("ERR TSDB: the key does not exist", server.Run(["TS.CREATERULE", "x", "missing", .. rule]));
        Assert.Equal("ERR TSDB: the destination key already has a src rule", server.Run(["TS.CREATERULE", "x", "d", .. rule]));
        Assert.Equal("ERR TSDB: the destination key already has a dst rule", server.Run(["TS.CREATERULE", "x", "s", .. rule]));
        Assert.Equal("ERR TSDB: the source key already has a source rule", server.Run(["TS.CREATERULE", "d", "x", .. rule]));
        Assert.Equal("ERR TSDB: Unknown aggregation type", server.Run("TS.CREATERULE", "x", "s", "AGGREGATION", "y", "10"));
        server.Run("DEL", "d");
        server.Run("TS.MADD", "s", "1", "1", "s", "50", "1");
        Assert.Empty(Info(server, "s")["rules"]!.Items);
    }

    // Whatever the order, and after deletions and new values, a compaction has what a range aggregates.
    [Theory]
    [InlineData("avg")]
    [InlineData("min")]
    [InlineData("last")]
    [InlineData("std.p")]
    [InlineData("count")]
    public async Task Compactions_equal_aggregated_ranges(string aggregator)
    {
        await using TypeServer server = await StartAsync(aggregator);
        server.Run("TS.ALTER", "s", "DUPLICATE_POLICY", "LAST");
        var random = new Random(3);
        for (int i = 0; i < 400; i++)
        {
            server.Run("TS.ADD", "s", $"{Math.Max(0, (i * 3) - random.Next(60))}", $"{random.Next(100)}");
            if (i % 50 != 49) continue;
            int from = random.Next(i * 3);
            server.Run("TS.DEL", "s", $"{from}", $"{from + random.Next(40)}");
        }

        server.Run("TS.ADD", "s", "5000", "1");
        List<string> expected = Range(server, "TS.RANGE", "s", "0", "4999", "AGGREGATION", aggregator, "10");
        Assert.Equal(Rounded(expected), Rounded(Range(server, "TS.RANGE", "d", "-", "+")));
    }

    [Fact]
    public async Task Compactions_are_kept_and_copied()
    {
        await using TypeServer primary = await TypeServer.StartAsync("appendonly", "yes", "repl-diskless-sync-delay", "0");
        primary.Run("TS.CREATE", "s");
        primary.Run("TS.CREATE", "d");
        primary.Run("TS.CREATERULE", "s", "d", "AGGREGATION", "twa", "10", "3");
        primary.Run("TS.MADD", "s", "1", "1", "s", "7", "3", "s", "15", "7");
        await using TypeServer replica = await TypeServer.StartAsync();
        replica.Run("REPLICAOF", "127.0.0.1", primary.Port);
        primary.Client.SetTimeout(60_000);
        primary.Run("TS.MADD", "s", "5", "9", "s", "26", "4");
        Assert.Equal("1", primary.Run("WAIT", "1", "55000"));
        string latest = primary.Run("TS.GET", "d", "LATEST"), digest = primary.Digest;
        Assert.Equal(digest, replica.Digest);
        Assert.Equal(latest, replica.Run("TS.GET", "d", "LATEST"));
        primary.Run("EVAL", "return redis.call('TS.ADD', KEYS[1], 40, 1)", "1", "s");
        primary.Run("MULTI");
        primary.Run("TS.ADD", "s", "55", "2");
        primary.Run("EXEC");
        Assert.Equal("1", primary.Run("WAIT", "1", "55000"));
        digest = primary.Digest;
        Assert.Equal(digest, replica.Digest);
        latest = primary.Run("TS.RANGE", "d", "-", "+", "LATEST");
        await primary.RestartAsync();
        Assert.Equal(digest, primary.Digest);
        primary.Run("DEBUG", "RELOAD");
        Assert.Equal(digest, primary.Digest);
        Assert.Equal(latest, primary.Run("TS.RANGE", "d", "-", "+", "LATEST"));
    }

    private static async Task<TypeServer> StartAsync(string aggregator)
    {
        TypeServer server = await TypeServer.StartAsync(guardsMemory: true);
        server.Run("TS.CREATE", "s", "CHUNK_SIZE", "128");
        server.Run("TS.CREATE", "d");
        Assert.Equal("OK", server.Run("TS.CREATERULE", "s", "d", "AGGREGATION", aggregator, "10"));
        return server;
    }

    private static IEnumerable<string> Rounded(List<string> samples) => samples.Select(sample =>
    {
        string[] parts = sample.Split(':');
        return $"{parts[0]}:{Math.Round(double.Parse(parts[1], System.Globalization.CultureInfo.InvariantCulture), 9)}";
    });
}
