using System.Text;
using RedKite.Server.Diagnostics;
using RedKite.Server.Metrics;
using RedKite.Server.Tests.Commands;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Diagnostics;

/// <summary>Which keys are hot, and which are large.</summary>
public class KeyStatisticsTests
{
    private const int PatienceMs = 60_000;

    // A Zipf distribution of exponent 1 over a million keys; a sample of one request in 64 of four million.
    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public void Sketch_finds_nine_of_the_ten_hottest_of_a_million_keys(int seed)
    {
        var random = new Random(seed);
        double[] cumulative = Zipf(1_000_000);
        var metrics = new ExecutorMetrics(1);
        int gap = metrics.HotKeys.NextGap();
        for (int i = 0; i < 4_000_000; i++)
        {
            if (i % 133_333 == 0) metrics.HotKeys.Adapt(133_333); // a second of thirty
            int key = Pick(cumulative, random);
            if (--gap > 0) continue;
            gap = metrics.HotKeys.NextGap();
            metrics.HotKeys.Add(0, (ulong)key, Encoding.ASCII.GetBytes($"key:{key}"), nowMs: 100_000);
        }

        List<HotKey> hottest = HotKeySketch.Hottest([metrics], 10, nowMs: 109_000);
        int right = hottest.Count(key => int.Parse(Encoding.ASCII.GetString(key.Key)[4..], System.Globalization.CultureInfo.InvariantCulture) <= 10);
        Assert.InRange(right, 9, 10);

        // The hottest key's share is 1 / 14.39, of 4 million requests in 9 seconds.
        Assert.InRange(hottest[0].UsesPerSecond, 30_885 * 0.9, 30_885 * 1.1);
    }

    private static double[] Zipf(int keys)
    {
        var cumulative = new double[keys];
        double sum = 0;
        for (int i = 0; i < keys; i++) cumulative[i] = sum += 1.0 / (i + 1);
        for (int i = 0; i < keys; i++) cumulative[i] /= sum;
        return cumulative;
    }

    private static int Pick(double[] cumulative, Random random)
    {
        int at = Array.BinarySearch(cumulative, random.NextDouble());
        return (at < 0 ? ~at : at) + 1;
    }

    [Fact]
    public void Burst_after_a_quiet_second_is_not_sampled_whole()
    {
        var metrics = new ExecutorMetrics(1);
        metrics.HotKeys.Adapt(100);
        Assert.Equal(1, metrics.HotKeys.Stride);
        int samples = 0;
        for (int i = 0, gap = 1; i < 1_000_000; i++)
        {
            if (--gap > 0) continue;
            metrics.HotKeys.Add(0, 1, "key"u8, nowMs: 100_000);
            gap = metrics.HotKeys.NextGap();
            samples++;
        }

        Assert.InRange(samples, 4096, 30_000);
    }

    [Fact]
    public void Sketch_forgets_uses_after_twenty_seconds()
    {
        var metrics = new ExecutorMetrics(1);
        metrics.HotKeys.Add(0, 1, "old"u8, nowMs: 1_000_000);
        Assert.Equal("old", Text(Assert.Single(HotKeySketch.Hottest([metrics], 10, nowMs: 1_011_000))));
        metrics.HotKeys.Add(0, 2, "new"u8, nowMs: 1_012_000);
        Assert.Equal(2, HotKeySketch.Hottest([metrics], 10, nowMs: 1_013_000).Count);
        metrics.HotKeys.Add(0, 2, "new"u8, nowMs: 1_023_000);
        Assert.Equal("new", Text(Assert.Single(HotKeySketch.Hottest([metrics], 10, nowMs: 1_024_000))));
        Assert.Empty(HotKeySketch.Hottest([metrics], 10, nowMs: 9_000_000));

        static string Text(HotKey key) => Encoding.ASCII.GetString(key.Key);
    }

    // A load of one key, then one of many: the share is of the load that goes on.
    [Fact]
    public void Share_of_the_hottest_key_is_of_the_present_load()
    {
        var metrics = new ExecutorMetrics(1);
        long nowMs = 1_000_000;
        double Percent() => HotKeySketch.HottestPercent([metrics], nowMs);
        Assert.Equal(0, Percent());
        for (int second = 0; second < 15; second++, nowMs += 1000) Uses(hot: 8, others: 2);
        Assert.InRange(Percent(), 75, 85);
        for (int second = 0; second < 12; second++, nowMs += 1000) Uses(hot: 0, others: 10);
        Assert.InRange(Percent(), 0, 10);
        nowMs += 60_000;
        Assert.Equal(0, Percent());

        void Uses(int hot, int others)
        {
            for (int i = 0; i < hot * 10; i++) metrics.HotKeys.Add(0, 1, "hot"u8, nowMs);
            for (int i = 0; i < others * 10; i++) metrics.HotKeys.Add(0, (ulong)(2 + i), Encoding.ASCII.GetBytes($"key:{i}"), nowMs);
            metrics.HotKeys.Adapt(100);
        }
    }

    [Fact]
    public async Task Hot_keys_are_those_that_clients_use_most()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        for (int round = 0; round < 200; round++)
        {
            var pipeline = new StringBuilder();
            for (int i = 0; i < 50; i++) pipeline.Append("*2\r\n$3\r\nGET\r\n$3\r\nhot\r\n");
            for (int i = 0; i < 50; i++) pipeline.Append(System.Globalization.CultureInfo.InvariantCulture, $"*2\r\n$3\r\nGET\r\n$8\r\ncold:{(round * 7) + i % 7:d3}\r\n");
            server.Client.Send(pipeline.ToString());
            for (int i = 0; i < 100; i++) server.Client.Read();
        }

        RespValue hottest = server.Run("BUSYKEYS COUNT 1").Items.Single();
        Assert.Equal(["key", "hot", "database", "0"], hottest.Items.Take(4).Select(item => item.IsInteger ? item.Number.ToString(System.Globalization.CultureInfo.InvariantCulture) : item.Text));
        server.Run("BUSYKEYS COUNT 0").IsError("ERR COUNT must be between 1 and 1000");
        server.Run("BUSYKEYS TYPE list").IsError("ERR syntax error");
        server.Run("BUSYKEYS COUNT").IsError("ERR syntax error");
    }

    [Fact]
    public async Task Survey_finds_the_largest_keys_of_every_type_and_counts_all()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["key-survey-cpu-percent"] = "0" } }, TestContext.Current.CancellationToken);
        Assert.Equal("ERR there is no survey of keys: key-survey-cpu-percent is 0 or diagnostics are off", server.Execute("BIGKEYS").Text);
        for (int i = 0; i < 2000; i++) server.Execute("SET", $"string:{i}", new string('x', i % 50));
        server.Execute("SET", "largest", new string('x', 100_000));
        server.Execute("SET", "expiring", "x", "EX", "1000");
        for (int i = 0; i < 3000; i++)
        {
            server.Execute("RPUSH", "list", $"element {i}");
            server.Execute("SADD", "set", $"member {i}");
            server.Execute("ZADD", "zset", "1", $"member {i}");
            server.Execute("HSET", "hash", $"field {i}", "value");
            server.Execute("XADD", "stream", "*", "field", "value");
            server.Execute("ARINSERT", "array", "value");
        }

        server.Execute("CONFIG", "SET", "key-survey-cpu-percent", "100");
        Assert.True(SpinWait.SpinUntil(() => server.Diagnostics!.Survey.Latest is not null, PatienceMs), "a survey has ended");
        KeySurveyResult survey = server.Diagnostics!.Survey.Latest!;
        Assert.Equal(2002, survey.Types[DataType.String].Keys);
        Assert.Equal(2001, survey.Types[DataType.String].Persistent);
        Assert.Equal(1, survey.Types[DataType.String].TtlSeconds[TypeSurvey.BinOf(999)]);
        Assert.Equal([40, 41, 80], survey.Types[DataType.String].Sizes[..3]); // of 0, 1, 2 and 3 bytes
        foreach ((DataType type, string key) in (ReadOnlySpan<(DataType, string)>)[(DataType.List, "list"), (DataType.Set, "set"), (DataType.SortedSet, "zset"), (DataType.Hash, "hash"), (DataType.Stream, "stream"), (DataType.Array, "array")])
        {
            SurveyedKey found = Assert.Single(survey.Types[type].Largest);
            Assert.Equal((key, 3000), (Encoding.ASCII.GetString(found.Key), found.Size));
            Assert.Equal(found.Bytes + 10, server.Execute("MEMORY", "USAGE", key).Integer); // with its share of the table
        }

        Assert.Equal(["key", "largest", "database", "0", "type", "string", "size", "100000", "bytes"], server.Execute("BIGKEYS", "COUNT", "1", "TYPE", "string").Items.Single().Items.Take(9).Select(item => item.ToString()));
        Assert.Equal("ERR unknown type name", server.Execute("BIGKEYS", "TYPE", "nosuch").Text);
    }

    [Fact]
    [Alone]
    public Task Survey_keeps_to_its_share_of_a_core() => QuietMachine.TryAsync(async () =>
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["key-survey-cpu-percent"] = "0" } });
        for (int i = 0; i < 200_000; i++) server.Execute("SET", $"key:{i}", "value");
        server.Execute("CONFIG", "SET", "key-survey-cpu-percent", "10");
        Assert.True(SpinWait.SpinUntil(() => server.Diagnostics!.Survey.Latest is not null, PatienceMs), "a survey has ended");
        KeySurveyResult survey = server.Diagnostics!.Survey.Latest!;
        Assert.Equal(200_000, survey.Types[DataType.String].Keys);
        Assert.InRange(survey.CpuSeconds / ((survey.EndedUnixMs - survey.StartedUnixMs) / 1000.0), 0, 0.15);
    });
}
