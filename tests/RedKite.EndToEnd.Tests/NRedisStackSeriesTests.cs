using NRedisStack;
using NRedisStack.DataTypes;
using NRedisStack.Literals.Enums;
using NRedisStack.RedisStackCommands;
using StackExchange.Redis;

namespace RedKite.EndToEnd.Tests;

/// <summary>Redis's own .NET client: its methods for time series.</summary>
public sealed class NRedisStackSeriesTests
{
    [Theory]
    [MemberData(nameof(StackClient.Protocols), MemberType = typeof(StackClient))]
    public async Task Series_are_used(RedisProtocol protocol)
    {
        await using StackClient client = await StackClient.ConnectAsync(protocol);
        TimeSeriesCommands series = client.Database.TS();

        TimeSeriesLabel[] labels = [new("room", "study"), new("type", "temp")];
        Assert.True(series.Create("a", new TsCreateParamsBuilder().AddRetentionTime(5000).AddChunkSizeBytes(128).AddDuplicatePolicy(TsDuplicatePolicy.MAX).AddLabels(labels).build()));
        Assert.Equal(TsDuplicatePolicy.MAX, series.Info("a").DuplicatePolicy);
        Assert.Equal(2, series.Info("a").Labels!.Count);
        Assert.True(series.Alter("a", new TsAlterParamsBuilder().AddRetentionTime(0).build()));
        Assert.Equal(1, (long)series.Add("a", new TsAddParamsBuilder().AddTimestamp(1).AddValue(1.5).build()));
        Assert.True((long)series.Add("now", new TsAddParamsBuilder().AddTimestamp("*").AddValue(2).build()) > 1_600_000_000_000);
        Assert.Equal([2, 3], series.MAdd([("a", 2, 2.5), ("a", 3, 7)]).Select(time => (long)time));
        Assert.Equal(4, series.IncrBy("a", new TsIncrByParamsBuilder().AddValue(2).AddTimestamp(4).build()));
        Assert.Equal(5, series.DecrBy("a", new TsDecrByParamsBuilder().AddValue(1).AddTimestamp(5).build()));
        Assert.Equal(new TimeSeriesTuple(5, 8), series.Get("a"));
        Assert.Equal([(1, 1.5), (2, 2.5), (3, 7), (4, 9), (5, 8)], series.Range("a", "-", "+").Select(Pair));
        Assert.Equal([(5, 8), (4, 9)], series.RevRange("a", "-", "+", count: 2).Select(Pair));
        Assert.Equal([(0, 4), (4, 17)], series.Range("a", "-", 5, filterByTs: [1, 2, 4, 5], aggregation: TsAggregation.Sum, timeBucket: 4).Select(Pair));
        Assert.Equal(1, series.Del("a", 5, 5));
        series.Add("a", new TsAddParamsBuilder().AddTimestamp(4).AddValue(3).build());
        Assert.Equal(new TimeSeriesTuple(4, 9), series.Get("a")); // by the policy MAX

        Assert.True(series.Create("b", new TsCreateParamsBuilder().AddLabels([new("room", "kitchen"), new("type", "temp")]).build()));
        series.Add("b", new TsAddParamsBuilder().AddTimestamp(1).AddValue(10).build());
        Assert.Equal(["a", "b"], series.QueryIndex(["type=temp"]));
        Assert.Equal(["a study 4", "b kitchen 1"], series.MGet(["type=temp"], withLabels: true).Select(found => $"{found.key} {found.labels.Single(label => label.Key == "room").Value} {(long)found.value.Time}"));
        Assert.Equal(["a 1 4", "b 1 1"], series.MRange("-", "+", ["type=temp"]).Select(found => $"{found.key} {(long)found.values[0].Time} {found.values.Count}"));
        Assert.Equal([(1, 10), (2, 2.5), (3, 7), (4, 9)], series.MRange("-", "+", ["type=temp"], groupbyTuple: ("type", TsReduce.Max)).Single().values.Select(Pair));
        Assert.Equal([(4, 9)], series.MRevRange("-", "+", ["room=study"], count: 1).Single().values.Select(Pair));

        Assert.True(series.Create("sums", new TsCreateParamsBuilder().build()));
        Assert.True(series.CreateRule("b", new TimeSeriesRule("sums", 10, TsAggregation.Sum)));
        series.MAdd([("b", 11, 1), ("b", 12, 2), ("b", 21, 3)]);
        Assert.Equal([(10, 3)], series.Range("sums", "-", "+").Select(Pair));
        Assert.Equal(new TimeSeriesTuple(20, 3), series.Get("sums", latest: true));
        TimeSeriesInformation info = series.Info("b", debug: true);
        Assert.Equal((4, 1, 21, 0, "kitchen"), (info.TotalSamples, (long)info.FirstTimeStamp!, (long)info.LastTimeStamp!, info.RetentionTime, info.Labels!.Single(label => label.Key == "room").Value));
        Assert.Equal(("sums", 10, TsAggregation.Sum), (info.Rules![0].DestKey, info.Rules[0].TimeBucket, info.Rules[0].Aggregation));
        Assert.Equal("b", series.Info("sums").SourceKey);
        Assert.True(series.DeleteRule("b", "sums"));
        Assert.Throws<RedisServerException>(() => series.Add("b", new TsAddParamsBuilder().AddTimestamp(1).AddValue(1).build()));
    }

    private static (long, double) Pair(TimeSeriesTuple sample) => (sample.Time, sample.Val);
}
