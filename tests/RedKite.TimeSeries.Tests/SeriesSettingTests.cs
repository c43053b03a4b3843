using System.Text;
using RedKite.Server.Config;
using RedKite.TestSupport;
using RedKite.TimeSeries.Ranges;
using RedKite.Types.Tests;
using static RedKite.TimeSeries.Tests.SeriesCommandTests;

namespace RedKite.TimeSeries.Tests;

/// <summary>The settings ts-*.</summary>
public sealed class SeriesSettingTests
{
    private const int PatienceMs = 60_000;

    // As Redis 8 shows them.
    [Fact]
    public async Task Defaults_are_those_of_Redis()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        string[] shown = [.. server.Client.Run("CONFIG GET ts-*").Items.Select(item => item.Text).Order(StringComparer.Ordinal)];
        Assert.Equal(
            [.. new[] { "ts-retention-policy", "0", "ts-chunk-size-bytes", "4096", "ts-duplicate-policy", "block", "ts-ignore-max-time-diff", "0", "ts-ignore-max-val-diff", "0.000000", "ts-compaction-policy", "", "ts-encoding", "compressed", "ts-num-threads", "3" }.Order(StringComparer.Ordinal)],
            shown);
        Assert.StartsWith("ERR CONFIG SET failed (possibly related to argument 'ts-num-threads')", server.Run("CONFIG", "SET", "ts-num-threads", "4"), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("ts-chunk-size-bytes", "48", true)]
    [InlineData("ts-chunk-size-bytes", "1048576", true)]
    [InlineData("ts-chunk-size-bytes", "40", false)]
    [InlineData("ts-chunk-size-bytes", "100", false)]
    [InlineData("ts-chunk-size-bytes", "2097152", false)]
    [InlineData("ts-duplicate-policy", "SUM", true)]
    [InlineData("ts-duplicate-policy", "none", false)]
    [InlineData("ts-encoding", "UNCOMPRESSED", true)]
    [InlineData("ts-encoding", "x", false)]
    [InlineData("ts-retention-policy", "9223372036854775807", true)]
    [InlineData("ts-retention-policy", "-1", false)]
    [InlineData("ts-ignore-max-time-diff", "-1", false)]
    [InlineData("ts-ignore-max-val-diff", "0.00000001", true)]
    [InlineData("ts-ignore-max-val-diff", "-1", false)]
    [InlineData("ts-ignore-max-val-diff", "nan", false)]
    [InlineData("ts-compaction-policy", "", true)]
    [InlineData("ts-compaction-policy", "max:1M:1h", true)]
    [InlineData("ts-compaction-policy", "avg:2h:10d:2d", true)]
    [InlineData("ts-compaction-policy", "avg:1h:0", true)]
    [InlineData("ts-compaction-policy", "max:1M:1h;min:10s:5d:5m", true)]
    [InlineData("ts-compaction-policy", "max:1M", false)]
    [InlineData("ts-compaction-policy", "max", false)]
    [InlineData("ts-compaction-policy", "x:1M:1h", false)]
    [InlineData("ts-compaction-policy", "max:x:y", false)]
    [InlineData("ts-compaction-policy", "max:0m:1h", false)]
    [InlineData("ts-compaction-policy", "max:-1m:1h", false)]
    [InlineData("ts-compaction-policy", "max:9223372036854775807d:1h", false)]
    public async Task Values_are_checked(string name, string value, bool isValid)
    {
        await using TypeServer server = await TypeServer.StartAsync();
        string reply = server.Run("CONFIG", "SET", name, value);
        if (!isValid)
        {
            Assert.StartsWith("ERR CONFIG SET failed", reply, StringComparison.Ordinal);
            return;
        }

        Assert.Equal("OK", reply);
        string shown = server.Client.Run($"CONFIG GET {name}").Items[1].Text;
        if (name == "ts-ignore-max-val-diff") Assert.Equal(1e-8, double.Parse(shown, System.Globalization.CultureInfo.InvariantCulture));
        else Assert.Equal(value, shown, ignoreCase: true);
    }

    [Fact]
    public void Policies_have_every_aggregator()
    {
        foreach (Aggregator aggregator in Enum.GetValues<Aggregator>())
        {
            if (aggregator == Aggregator.None) continue;
            Assert.True(CompactionPolicy.TryParse($"{Aggregators.NameOf(aggregator)}:1s:0", out CompactionPolicy policy), $"{aggregator}");
            Assert.True(Aggregators.TryFind(Encoding.ASCII.GetBytes(policy.Rules[0].Aggregator), out Aggregator found));
            Assert.Equal(aggregator, found);
        }

        Assert.False(CompactionPolicy.TryParse(string.Join(';', Enumerable.Repeat("avg:1s:0", CompactionPolicy.RulesMax + 1)), out _));
    }

    [Fact]
    public async Task Series_have_what_the_settings_say_when_they_are_created()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        server.Run("TS.CREATE", "before");
        server.Run("CONFIG", "SET", "ts-retention-policy", "70", "ts-chunk-size-bytes", "128", "ts-duplicate-policy", "last", "ts-ignore-max-time-diff", "5", "ts-ignore-max-val-diff", "0.5", "ts-encoding", "uncompressed");
        server.Run("TS.CREATE", "created");
        server.Run("TS.ADD", "added", "100", "1");
        server.Run("TS.INCRBY", "incremented", "1");
        server.Run("TS.CREATE", "other", "RETENTION", "3", "CHUNK_SIZE", "256", "DUPLICATE_POLICY", "MIN", "IGNORE", "1", "2");
        foreach (string key in new[] { "created", "added", "incremented" }) Assert.Equal("70 128 last 5 0.5 compressed", Settings(server, key));
        Assert.Equal("0 4096 block 0 0 compressed", Settings(server, "before"));
        Assert.Equal("3 256 min 1 2 compressed", Settings(server, "other"));
        Assert.Equal("100", server.Run("TS.ADD", "added", "104", "1.4"));
        server.Run("TS.ADD", "added", "100", "9");
        Assert.Equal(["100:9"], Range(server, "TS.RANGE", "added", "-", "+"));
        server.Run("CONFIG", "SET", "ts-duplicate-policy", "block");
        Assert.Equal("100", server.Run("TS.ADD", "added", "100", "8"));
        server.Run("TS.ALTER", "created", "LABELS", "a", "b");
        Assert.Equal("70 128 last 5 0.5 compressed", Settings(server, "created"));
    }

    [Fact]
    public async Task Added_series_are_compacted_by_the_policy()
    {
        await using TypeServer server = await TypeServer.StartAsync("ts-compaction-policy", "max:10m:1h;sum:1s:0m:300m", "ts-encoding", "uncompressed", "notify-keyspace-events", "KEA");
        server.Run("TS.CREATE", "s_MAX_10");
        server.Run("TS.ADD", "other_SUM_1000_300", "1", "1");
        server.Run("FLUSHALL");
        server.Run("TS.CREATE", "created");
        Assert.Equal("created", string.Join(' ', server.Client.Run("KEYS *").Items.Select(item => item.Text)));

        server.Run("TS.ADD", "s", "1", "5", "LABELS", "room", "study");
        server.Run("TS.MADD", "s", "4", "7", "s", "12", "6", "s", "1400", "1");
        Assert.Equal(["0:7", "10:6"], Range(server, "TS.RANGE", "s_MAX_10", "-", "+"));
        Assert.Equal(["0:18"], Range(server, "TS.RANGE", "s_SUM_1000_300", "-", "+"));
        Assert.Equal("3600000 4096 block 0 0 uncompressed", Settings(server, "s_MAX_10"));
        RespValue info = Info(server, "s_SUM_1000_300");
        Assert.Equal("s", info["sourceKey"]!.Text);
        Assert.Equal(["study", "SUM", "1000"], new[] { "room", "aggregation", "time_bucket" }.Select(name => info["labels"]![name]!.Text));
        Assert.Equal(["1000", "SUM", "300"], Info(server, "s")["rules"]!["s_SUM_1000_300"]!.Items.Select(item => item.Text));
        Assert.Equal(["s_MAX_10", "s_SUM_1000_300"], server.Client.Run("TS.QUERYINDEX room=study aggregation!=").Items.Select(item => item.Text).Order(StringComparer.Ordinal));

        server.Run("SET", "t_MAX_10", "x");
        server.Run("TS.DECRBY", "t", "2", "TIMESTAMP", "5");
        Assert.Equal("x", server.Run("GET", "t_MAX_10"));
        Assert.Equal("t_SUM_1000_300", Info(server, "t")["rules"]!.Items[0].Text);
        Assert.Equal("ERR TSDB: the destination key already has a src rule", server.Run("TS.CREATERULE", "created", "s_MAX_10", "AGGREGATION", "avg", "10"));
    }

    // What the settings of one server determine does not depend on those of another one.
    [Fact]
    public async Task Replicas_and_logs_have_series_as_they_were_created()
    {
        await using TypeServer primary = await TypeServer.StartAsync("appendonly", "yes", "repl-diskless-sync-delay", "0");
        await using TypeServer replica = await TypeServer.StartAsync("ts-duplicate-policy", "max", "ts-retention-policy", "1", "ts-compaction-policy", "min:1s:0");
        replica.Run("REPLICAOF", "127.0.0.1", primary.Port);
        primary.Client.SetTimeout(PatienceMs);
        Assert.True(SpinWait.SpinUntil(() => replica.Run("INFO", "replication").Contains("master_link_status:up", StringComparison.Ordinal), PatienceMs), "the link is up");
        primary.Run("CONFIG", "SET", "ts-retention-policy", "5000", "ts-chunk-size-bytes", "128", "ts-duplicate-policy", "last", "ts-ignore-max-time-diff", "5", "ts-ignore-max-val-diff", "0.5", "ts-encoding", "uncompressed", "ts-compaction-policy", "twa:7m:0m;count:1s:1h:5m");
        primary.Run("TS.CREATE", "created", "LABELS", "a", "b");
        primary.Run("TS.ADD", "added", "*", "1.5", "LABELS", "c", "d e");
        primary.Run("TS.DECRBY", "decremented", "2.25");
        primary.Run("MULTI");
        primary.Run("TS.ADD", "multi", "3", "1");
        primary.Run("TS.ADD", "multi", "13", "4");
        primary.Run("EXEC");
        Assert.Equal("3", primary.Run("EVAL", "return redis.call('TS.ADD', KEYS[1], 3, 1)", "1", "script"));
        primary.Run("TS.MADD", "created", "1", "1", "created", "1", "2", "multi", "23", "4");
        Assert.Equal("0:1.6", Range(primary, "TS.RANGE", "multi_TWA_7", "-", "+")[0]);
        Assert.Equal("1", primary.Run("WAIT", "1", "55000"));
        string digest = primary.Digest;
        Assert.Equal(digest, replica.Digest);
        Assert.Equal("13", primary.Run("DBSIZE"));
        await primary.RestartAsync();
        Assert.Equal(digest, primary.Digest);
    }

    private static string Settings(TypeServer server, string key)
    {
        RespValue info = Info(server, key);
        return string.Join(' ', new[] { "retentionTime", "chunkSize", "duplicatePolicy", "ignoreMaxTimeDiff", "ignoreMaxValDiff", "chunkType" }.Select(name => info[name]!.Text));
    }
}
