using RedKite.Types.Tests;
using static RedKite.TimeSeries.Tests.SeriesCommandTests;

namespace RedKite.TimeSeries.Tests;

/// <summary>Ranges, their filters and their aggregations.</summary>
public sealed class RangeTests
{
    [Fact]
    public async Task Filters_and_counts()
    {
        await using TypeServer server = await StartAsync();
        Sevens(server, "a");
        Assert.Equal(200, Range(server, "TS.RANGE", "a", "0", "500").Count);
        Assert.Equal(10, Range(server, "TS.RANGE", "a", "0", "500", "COUNT", "10").Count);
        Assert.Equal(["299:1", "298:0"], Range(server, "TS.REVRANGE", "a", "-", "+", "COUNT", "2"));
        string[] filters = ["FILTER_BY_TS", .. Enumerable.Range(10, 10).Select(i => $"{i}"), "FILTER_BY_VALUE", "1", "2"];
        Assert.Equal(["15:1", "16:2"], Range(server, ["TS.RANGE", "a", "0", "500", .. filters]));
        Assert.Equal(["16:2", "15:1"], Range(server, ["TS.REVRANGE", "a", "0", "500", .. filters]));
    }

    [Fact]
    public async Task Buckets_are_aligned()
    {
        await using TypeServer server = await StartAsync();
        Sevens(server, "a");
        Assert.Equal(20, Range(server, "TS.RANGE", "a", "0", "500", "AGGREGATION", "avg", "10").Count);
        Assert.Equal(["0:10", "10:1"], Range(server, "TS.RANGE", "a", "0", "10", "ALIGN", "+", "AGGREGATION", "count", "10"));
        Assert.Equal(["0:5", "5:6"], Range(server, "TS.RANGE", "a", "0", "10", "ALIGN", "5", "AGGREGATION", "count", "10"));
        Assert.Equal(["1:10", "0:1"], Range(server, "TS.REVRANGE", "a", "0", "10", "ALIGN", "1", "AGGREGATION", "count", "10"));
        Assert.Equal(["0:2.55", "10:3"], Range(server, "TS.RANGE", "a", "0", "10", "AGGREGATION", "twa", "10"));
        Assert.Equal(["10:3", "0:2.55"], Range(server, "TS.REVRANGE", "a", "0", "10", "AGGREGATION", "twa", "10"));
        server.Run("TS.CREATE", "stock");
        foreach (int thousand in (int[])[1, 2, 3])
        {
            foreach (int ten in (int[])[0, 1, 2]) server.Run("TS.ADD", "stock", $"{(thousand * 1000) + (ten * 10)}", $"{(thousand * 100) + (ten * 10)}");
        }

        Assert.Equal(["1000:100", "1020:120", "2000:200", "2020:220", "3000:300", "3020:320"], Range(server, "TS.RANGE", "stock", "-", "+", "AGGREGATION", "min", "20"));
        Assert.Equal(["990:100", "1010:110", "1990:200", "2010:210", "2990:300", "3010:310"], Range(server, "TS.RANGE", "stock", "-", "+", "ALIGN", "10", "AGGREGATION", "min", "20"));
        Assert.Equal(["985:100", "1005:110", "1985:200", "2005:210", "2985:300", "3005:310"], Range(server, "TS.RANGE", "stock", "5", "+", "ALIGN", "-", "AGGREGATION", "min", "20"));
        Assert.Equal("ERR TSDB: start alignment can only be used with explicit start timestamp", server.Run("TS.RANGE", "stock", "-", "+", "ALIGN", "-", "AGGREGATION", "min", "20"));
    }

    [Fact]
    public async Task Buckets_have_times_and_may_be_empty()
    {
        await using TypeServer server = await StartAsync();
        server.Run("TS.CREATE", "t");
        server.Run("TS.MADD", "t", "15", "1", "t", "17", "4", "t", "51", "3", "t", "73", "5", "t", "75", "3");
        Assert.Equal(["10:4", "50:3", "70:5"], Range(server, "TS.RANGE", "t", "0", "100", "AGGREGATION", "max", "10"));
        Assert.Equal(["20:4", "60:3", "80:5"], Range(server, "TS.RANGE", "t", "0", "100", "AGGREGATION", "max", "10", "BUCKETTIMESTAMP", "+"));
        Assert.Equal(["15:4", "55:3", "75:5"], Range(server, "TS.RANGE", "t", "0", "100", "AGGREGATION", "max", "10", "BUCKETTIMESTAMP", "~"));
        Assert.Equal(["10:4", "20:NaN", "30:NaN", "40:NaN", "50:3", "60:NaN", "70:5"], Range(server, "TS.RANGE", "t", "0", "100", "AGGREGATION", "max", "10", "EMPTY"));
        Assert.Equal(["70:5", "60:NaN", "50:3", "40:NaN", "30:NaN", "20:NaN", "10:4"], Range(server, "TS.REVRANGE", "t", "0", "100", "AGGREGATION", "max", "10", "EMPTY"));
        Assert.Equal(["10:5", "20:0", "30:0", "40:0", "50:3", "60:0", "70:8"], Range(server, "TS.RANGE", "t", "0", "100", "AGGREGATION", "sum", "10", "EMPTY"));
        Assert.Equal(["10:4", "20:4", "30:4", "40:4", "50:3", "60:3", "70:3"], Range(server, "TS.RANGE", "t", "0", "100", "AGGREGATION", "last", "10", "EMPTY"));
        Assert.StartsWith("ERR TSDB: the range has too many", Rejected(server, "TS.ADD t 99999999 1", "TS.RANGE t - + AGGREGATION sum 1 EMPTY"), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("avg", "5")]
    [InlineData("sum", "40")]
    [InlineData("min", "2")]
    [InlineData("max", "9")]
    [InlineData("range", "7")]
    [InlineData("count", "8")]
    [InlineData("first", "2")]
    [InlineData("last", "9")]
    [InlineData("std.p", "2")]
    [InlineData("var.p", "4")]
    [InlineData("var.s", "4.571428571428571")]
    [InlineData("countnan", "1")]
    [InlineData("countall", "9")]
    public async Task Aggregators(string aggregator, string value)
    {
        await using TypeServer server = await StartAsync();
        int time = 100;
        foreach (int number in (int[])[2, 4, 4, 4, 5, 5, 7, 9]) server.Run("TS.ADD", "a", $"{time++}", $"{number}");
        server.Run("TS.ADD", "a", $"{time}", "nan");
        Assert.Equal(["100:" + value], Range(server, "TS.RANGE", "a", "-", "+", "AGGREGATION", aggregator, "100"));
    }

    [Theory]
    [InlineData("ERR TSDB: wrong fromTimestamp", "x", "+")]
    [InlineData("ERR TSDB: wrong toTimestamp", "-", "x")]
    [InlineData("ERR TSDB: Couldn't parse COUNT", "-", "+", "COUNT", "x")]
    [InlineData("ERR TSDB: Unknown aggregation type", "-", "+", "AGGREGATION", "x", "10")]
    [InlineData("ERR TSDB: bucketDuration must be greater than zero", "-", "+", "AGGREGATION", "avg", "0")]
    [InlineData("ERR TSDB: Couldn't parse AGGREGATION", "-", "+", "AGGREGATION", "avg")]
    [InlineData("ERR TSDB: unknown BUCKETTIMESTAMP parameter", "-", "+", "AGGREGATION", "avg", "10", "BUCKETTIMESTAMP", "x")]
    [InlineData("ERR TSDB: unknown ALIGN parameter", "-", "+", "ALIGN", "x", "AGGREGATION", "avg", "10")]
    [InlineData("ERR TSDB: Couldn't parse MIN", "-", "+", "FILTER_BY_VALUE", "x", "1")]
    [InlineData("ERR TSDB: FILTER_BY_TS one or more arguments are missing", "-", "+", "FILTER_BY_TS")]
    public async Task Wrong_arguments_are_refused(string error, params string[] arguments)
    {
        await using TypeServer server = await StartAsync();
        server.Run("TS.CREATE", "a");
        Assert.Equal(error, server.Run(["TS.RANGE", "a", .. arguments]));
    }

    private static Task<TypeServer> StartAsync() => TypeServer.StartAsync(guardsMemory: true);

    private static void Sevens(TypeServer server, string key)
    {
        for (int i = 0; i < 100; i++)
        {
            server.Run("TS.ADD", key, $"{i}", $"{i % 7}", "CHUNK_SIZE", "64");
            server.Run("TS.ADD", key, $"{i + 200}", $"{i % 7}");
        }
    }

    private static string Rejected(TypeServer server, string first, string second)
    {
        server.Client.Run(first);
        return server.Client.Run(second).Text;
    }
}
