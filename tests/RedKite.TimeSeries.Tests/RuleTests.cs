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

    // A rule is between two keys: it ends when one of them is no longer what it was.
    [Theory]
    [InlineData("RENAME d e")]
    [InlineData("RENAME s t|RENAME t s", true)]
    [InlineData("DEL d")]
    [InlineData("DEL d|TS.CREATE d")]
    [InlineData("COPY s t|DEL s|COPY t s")]
    [InlineData("SET d x")]
    [InlineData("PEXPIREAT d 1")]
    [InlineData("MOVE d 1")]
    [InlineData("FLUSHALL|TS.CREATE s|TS.CREATE d")]
    public async Task Rules_end_with_their_keys(string commands, bool stays = false)
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: true, "appendonly", "yes");
        server.Run("TS.CREATE", "s");
        server.Run("TS.CREATE", "d");
        server.Run("TS.CREATERULE", "s", "d", "AGGREGATION", "sum", "10");
        server.Run("TS.MADD", "s", "1", "1", "s", "11", "2");
        foreach (string command in commands.Split('|')) Assert.False(server.Client.Run(command).IsError);
        Assert.False(server.Client.Run("TS.ADD s 21 3").IsError);
        Assert.Equal(stays, Info(server, "s")["rules"]!.Items.Count > 0);
        server.Run("TS.CREATE", "x");
        Assert.Equal("OK", server.Run("TS.CREATERULE", "s", "x", "AGGREGATION", "sum", "10"));
        Assert.False(server.Client.Run("TS.ADD s 31 3").IsError);
        string digest = server.Digest;
        await server.RestartAsync();
        Assert.Equal(digest, server.Digest);
    }

    // A restored destination is compacted into again; a restored source begins with an open bucket as it was.
    [Fact]
    public async Task Rules_go_on_with_restored_keys()
    {
        await using TypeServer server = await StartAsync("sum");
        server.Run("TS.MADD", "s", "1", "1", "s", "11", "2");
        byte[] destination = server.Client.Run("DUMP d").Payload!, source = server.Client.Run("DUMP s").Payload!;
        server.Run("DEL", "d");
        server.Client.Run("RESTORE"u8.ToArray(), "d"u8.ToArray(), "0"u8.ToArray(), destination);
        server.Run("TS.ADD", "s", "21", "3");
        Assert.Equal(["0:1", "10:2"], Range(server, "TS.RANGE", "d", "-", "+"));
        server.Client.Run("RESTORE"u8.ToArray(), "s"u8.ToArray(), "0"u8.ToArray(), source, "REPLACE"u8.ToArray());
        server.Run("TS.ADD", "s", "25", "4");
        Assert.Equal(["0:1", "10:2"], Range(server, "TS.RANGE", "d", "-", "+"));
        Assert.Equal("20 4", server.Run("TS.GET", "d", "LATEST"));
    }

    // What is appended costs the same for any bucket; anything else has the whole bucket read.
    [Fact]
    public async Task Buckets_that_are_computed_anew_are_bounded()
    {
        await using TypeServer server = await StartAsync("max");
        server.Run("TS.CREATE", "d2");
        server.Run("TS.CREATERULE", "s", "d2", "AGGREGATION", "sum", "1000000");
        server.Run("TS.ALTER", "s", "DUPLICATE_POLICY", "LAST");
        var words = new List<string> { "TS.MADD" };
        for (int i = 0; i < 10_000; i++) words.AddRange(["s", $"{i * 10}", "1"]);
        server.Server.Execute([.. words]);
        const string TooMany = "ERR TSDB: the buckets of the compaction rules have too many samples to be computed anew", TooLong = "ERR the command takes too long for a transaction or script";
        using RedKiteSession client = server.Server.CreateSession();
        client.UnitWork.Limits = (100_000, 1_000_000);
        Assert.Equal(TooMany, client.Execute("TS.ADD", "s", "5", "7").Text);
        Assert.Equal(TooMany, client.Execute("TS.INCRBY", "s", "7", "TIMESTAMP", "99990").Text);
        Assert.Equal(TooMany, client.Execute("TS.DEL", "s", "5", "50").Text);
        Assert.Equal(100_000, client.Execute("TS.ADD", "s", "100000", "7").Integer);
        client.UnitWork.Limits = (200_000, 250_000);
        Assert.Equal(["20", TooLong, TooLong], Exec());
        client.UnitWork.Limits = (200_000, 400_000);
        Assert.Equal(6, client.Execute("TS.DEL", "s", "0", "50").Integer);
        Assert.Equal(["20", "20", TooLong], Exec());
        Assert.Equal("10003", server.Client.Run("TS.GET d2 LATEST").Items[1].Text);

        string[] Exec()
        {
            client.Execute("MULTI");
            for (int i = 0; i < 3; i++) client.Execute("TS.ADD", "s", "20", "2");
            return [.. client.Execute("EXEC").Items.Select(item => item.IsError ? item.Text! : $"{item.Integer}")];
        }
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
