using RedKite.TestSupport;
using RedKite.Types.Tests;

namespace RedKite.TimeSeries.Tests;

/// <summary>Replies of the commands as the documentation of Redis 8 and its clients' tests have them.</summary>
public sealed class SeriesCommandTests
{
    [Fact]
    public async Task Series_is_created_and_changed()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        Assert.Equal("OK", server.Run("TS.CREATE", "a", "RETENTION", "20", "CHUNK_SIZE", "128", "DUPLICATE_POLICY", "min", "LABELS", "Time", "Series"));
        Assert.Equal("ERR TSDB: key already exists", server.Run("TS.CREATE", "a"));
        Assert.Equal("TSDB-TYPE", server.Run("TYPE", "a"));
        RespValue info = Info(server, "a");
        Assert.Equal("20", info["retentionTime"]!.Text);
        Assert.Equal("128", info["chunkSize"]!.Text);
        Assert.Equal("min", info["duplicatePolicy"]!.Text);
        Assert.Equal("compressed", info["chunkType"]!.Text);
        Assert.Equal("Series", info["labels"]!["Time"]!.Text);
        Assert.Equal("OK", server.Run("TS.ALTER", "a", "RETENTION", "10", "LABELS", "x", "y"));
        info = Info(server, "a");
        Assert.Equal("10", info["retentionTime"]!.Text);
        Assert.Equal("min", info["duplicatePolicy"]!.Text);
        Assert.Equal("y", info["labels"]!["x"]!.Text);
        Assert.Equal("ERR TSDB: the key does not exist", server.Run("TS.ALTER", "b"));
        Assert.Equal("ERR TSDB: the key does not exist", server.Run("TS.INFO", "b"));
    }

    [Theory]
    [InlineData("ERR TSDB: CHUNK_SIZE value must be a multiple of 8 in the range [48 .. 1048576]", "CHUNK_SIZE", "100")]
    [InlineData("ERR TSDB: CHUNK_SIZE value must be a multiple of 8 in the range [48 .. 1048576]", "CHUNK_SIZE", "40")]
    [InlineData("ERR TSDB: Couldn't parse RETENTION", "RETENTION", "-1")]
    [InlineData("ERR TSDB: Unknown DUPLICATE_POLICY", "DUPLICATE_POLICY", "x")]
    [InlineData("ERR TSDB: unknown ENCODING parameter", "ENCODING", "x")]
    [InlineData("ERR TSDB: Couldn't parse LABELS", "LABELS", "a")]
    [InlineData("ERR TSDB: Couldn't parse LABELS", "LABELS", "a", "(b")]
    [InlineData("ERR TSDB: Couldn't parse IGNORE", "IGNORE", "1", "-1")]
    public async Task Options_that_are_wrong_are_refused(string error, params string[] options)
    {
        await using TypeServer server = await TypeServer.StartAsync();
        Assert.Equal(error, server.Run(["TS.CREATE", "a", .. options]));
        Assert.Equal("0", server.Run("EXISTS", "a"));
    }

    // Redis's clients for .NET and Python write some of them there.
    [Theory]
    [InlineData("last compressed 0", "a:b", "LABELS", "a", "b", "DUPLICATE_POLICY", "LAST")]
    [InlineData("max uncompressed 5", "a:b c:d", "LABELS", "a", "b", "c", "d", "UNCOMPRESSED", "DUPLICATE_POLICY", "MAX", "IGNORE", "5", "0.5")]
    [InlineData("block compressed 0", "a:b", "LABELS", "a", "b", "COMPRESSED")]
    [InlineData("block compressed 5", "", "COMPRESSED", "LABELS", "IGNORE", "5", "1")]
    [InlineData("block compressed 0", "ignore:x duplicate_policy:y compressed:z", "LABELS", "ignore", "x", "duplicate_policy", "y", "compressed", "z")]
    public async Task Options_may_follow_labels(string settings, string labels, params string[] options)
    {
        await using TypeServer server = await TypeServer.StartAsync();
        Assert.Equal("OK", server.Run(["TS.CREATE", "a", .. options]));
        RespValue info = Info(server, "a");
        Assert.Equal(settings, $"{info["duplicatePolicy"]!.Text} {info["chunkType"]!.Text} {info["ignoreMaxTimeDiff"]!.Text}");
        Assert.Equal(labels, string.Join(' ', Enumerable.Range(0, info["labels"]!.Items.Count / 2).Select(i => $"{info["labels"]!.Items[2 * i].Text}:{info["labels"]!.Items[(2 * i) + 1].Text}")));
    }

    [Fact]
    public async Task Samples_are_added()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        Assert.Equal("1548149183000", server.Run("TS.ADD", "a", "1548149183000", "27", "RETENTION", "31536000000"));
        Assert.Equal("1548149183000 27", server.Run("TS.GET", "a"));
        Assert.Equal("ERR TSDB: invalid timestamp", server.Run("TS.ADD", "a", "x", "1"));
        Assert.Equal("ERR TSDB: invalid timestamp, must be a nonnegative integer", server.Run("TS.ADD", "a", "-1", "1"));
        Assert.Equal("ERR TSDB: invalid value", server.Run("TS.ADD", "a", "*", "inf"));
        Assert.Equal("ERR TSDB: invalid value", server.Run("TS.ADD", "a", "*", "1e999"));
        Assert.Equal("ERR TSDB: Timestamp is older than retention", server.Run("TS.ADD", "a", "1", "1"));
        Assert.Equal("ERR TSDB: Error at upsert, update is not supported when DUPLICATE_POLICY is set to BLOCK mode", server.Run("TS.ADD", "a", "1548149183000", "1"));
        server.Run("TS.CREATE", "b");
        Assert.Equal("", server.Run("TS.GET", "b"));
        RespValue added = server.Client.Run("TS.MADD b 1 5 missing 2 6 b 3 7.5 b 3 8");
        Assert.Equal(["1", "ERR TSDB: the key does not exist", "3"], added.Items.Take(3).Select(item => item.Text));
        Assert.StartsWith("ERR TSDB: Error at upsert", added.Items[3].Text, StringComparison.Ordinal);
        Assert.Equal("3 7.5", server.Run("TS.GET", "b"));
        server.Run("SET", "s", "x");
        Assert.StartsWith("WRONGTYPE", server.Run("TS.ADD", "s", "1", "1"), StringComparison.Ordinal);
        Assert.StartsWith("WRONGTYPE", server.Run("TS.RANGE", "s", "-", "+"), StringComparison.Ordinal);
        Assert.StartsWith("WRONGTYPE", server.Run("GET", "b"), StringComparison.Ordinal);
        Assert.Equal("ERR wrong number of arguments for 'ts.add' command", server.Run("TS.ADD", "b", "1"));
    }

    [Theory]
    [InlineData("LAST", "10")]
    [InlineData("FIRST", "5")]
    [InlineData("MAX", "10")]
    [InlineData("MIN", "5")]
    [InlineData("SUM", "15")]
    public async Task Duplicates_follow_the_policy(string policy, string value)
    {
        await using TypeServer server = await TypeServer.StartAsync();
        server.Run("TS.ADD", "a", "1", "5");
        Assert.Equal("1", server.Run("TS.ADD", "a", "1", "10", "ON_DUPLICATE", policy));
        Assert.Equal($"1 {value}", server.Run("TS.GET", "a"));
        server.Run("TS.CREATE", "b", "DUPLICATE_POLICY", policy);
        server.Run("TS.MADD", "b", "7", "1", "b", "1", "5", "b", "1", "10");
        Assert.Equal(["1:" + value, "7:1"], Range(server, "TS.RANGE", "b", "-", "+"));
    }

    [Fact]
    public async Task Samples_that_say_nothing_new_are_ignored()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        server.Run("TS.CREATE", "a", "DUPLICATE_POLICY", "LAST", "IGNORE", "10", "5.5");
        server.Run("TS.ADD", "a", "1000", "1");
        Assert.Equal("1000", server.Run("TS.ADD", "a", "1005", "3"));
        Assert.Equal("1000", server.Run("TS.MADD", "a", "1006", "3"));
        Assert.Equal("1020", server.Run("TS.ADD", "a", "1020", "3"));
        Assert.Equal("1021", server.Run("TS.ADD", "a", "1021", "30"));
        Assert.Equal(["1000:1", "1020:3", "1021:30"], Range(server, "TS.RANGE", "a", "-", "+"));
    }

    [Fact]
    public async Task Counters_go_up_and_down()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        Assert.Equal("5", server.Run("TS.INCRBY", "a", "1.5", "TIMESTAMP", "5"));
        Assert.Equal("7", server.Run("TS.INCRBY", "a", "2.25", "TIMESTAMP", "7"));
        Assert.Equal("7 3.75", server.Run("TS.GET", "a"));
        server.Run("TS.INCRBY", "a", "1", "TIMESTAMP", "7");
        server.Run("TS.DECRBY", "a", "2.5", "TIMESTAMP", "15");
        Assert.Equal("15 2.25", server.Run("TS.GET", "a"));
        Assert.Equal("ERR TSDB: timestamp must be equal to or higher than the maximum existing timestamp", server.Run("TS.INCRBY", "a", "1", "TIMESTAMP", "1"));
    }

    [Fact]
    public async Task Ranges_are_deleted()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        Assert.Equal("ERR TSDB: the key does not exist", server.Run("TS.DEL", "a", "0", "100"));
        for (int i = 0; i < 100; i++) server.Run("TS.ADD", "a", $"{i}", $"{i % 7}", "CHUNK_SIZE", "48");
        Assert.Equal("22", server.Run("TS.DEL", "a", "0", "21"));
        Assert.Empty(Range(server, "TS.RANGE", "a", "0", "21"));
        Assert.Equal(["22:1"], Range(server, "TS.RANGE", "a", "22", "22"));
        Assert.Equal("10", server.Run("TS.DEL", "a", "50", "59"));
        Assert.Equal("68", Info(server, "a")["totalSamples"]!.Text);
        Assert.Equal("68", server.Run("TS.DEL", "a", "-", "+"));
        Assert.Equal("", server.Run("TS.GET", "a"));
        Assert.Equal("1", server.Run("EXISTS", "a"));
    }

    [Fact]
    public async Task Old_samples_are_not_kept()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        server.Run("TS.CREATE", "a", "RETENTION", "100", "CHUNK_SIZE", "48");
        for (int i = 0; i < 2000; i++) server.Run("TS.ADD", "a", $"{i}", $"{i * 1.1}");
        Assert.InRange(int.Parse(Info(server, "a")["totalSamples"]!.Text, System.Globalization.CultureInfo.InvariantCulture), 101, 120);
        Assert.Equal(101, Range(server, "TS.RANGE", "a", "-", "+").Count);
    }

    [Fact]
    public async Task Replies_have_the_protocols_types()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        server.Run("TS.ADD", "a", "1", "1.5", "LABELS", "l", "v");
        server.Run("TS.ADD", "a", "2", "nan");
        Assert.Equal("*2\r\n*2\r\n:1\r\n+1.5\r\n*2\r\n:2\r\n+NaN\r\n", Raw(server, 2, "TS.RANGE a - +"));
        Assert.Equal("*2\r\n*2\r\n:1\r\n,1.5\r\n*2\r\n:2\r\n,nan\r\n", Raw(server, 3, "TS.RANGE a - +"));
        Assert.Contains("+labels\r\n%1\r\n$1\r\nl\r\n$1\r\nv\r\n", Raw(server, 3, "TS.INFO a"), StringComparison.Ordinal);
        Assert.Contains("+labels\r\n*1\r\n*2\r\n$1\r\nl\r\n$1\r\nv\r\n", Raw(server, 2, "TS.INFO a DEBUG"), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Commands_have_their_categories_and_flags()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        RespValue info = server.Client.Run("COMMAND INFO ts.add").Items[0];
        Assert.Equal(["@write", "@slow", "@timeseries"], info.Items[6].Items.Select(item => item.Text));
        Assert.Contains("TS.MADD", server.Run("ACL", "CAT", "timeseries").ToUpperInvariant(), StringComparison.Ordinal);
        Assert.Equal(["a", "b"], server.Client.Run("COMMAND GETKEYS TS.MADD a 1 2 b 3 4").Items.Select(item => item.Text));
    }

    internal static RespValue Info(TypeServer server, string key)
    {
        server.Client.Run("HELLO 3");
        RespValue info = server.Client.Run($"TS.INFO {key} DEBUG");
        server.Client.Run("HELLO 2");
        return info;
    }

    internal static List<string> Range(TypeServer server, params string[] words)
    {
        RespValue reply = server.Client.Run([.. words.Select(System.Text.Encoding.Latin1.GetBytes)]);
        Assert.True(reply.IsAggregate, reply.Text);
        return [.. reply.Items.Select(item => $"{item.Items[0].Text}:{item.Items[1].Text}")];
    }

    private static string Raw(TypeServer server, int protocol, string command)
    {
        server.Client.Run($"HELLO {protocol}");
        server.Client.Run(command);
        string reply = System.Text.Encoding.Latin1.GetString(server.Client.LastBytes);
        server.Client.Run("HELLO 2");
        return reply;
    }
}
