using RedKite.Store.Keyspace;
using RedKite.TestSupport;
using RedKite.TimeSeries.Labels;
using RedKite.Types.Tests;

namespace RedKite.TimeSeries.Tests;

/// <summary>Queries by labels, before and after the index has been filled.</summary>
public sealed class LabelTests
{
    [Theory]
    [InlineData("a b c", "type=temp")]
    [InlineData("a", "type=temp", "room=study")]
    [InlineData("a b", "type=temp", "room=(study,kitchen)")]
    [InlineData("c", "type=temp", "room=")]
    [InlineData("a b", "type=temp", "room!=")]
    [InlineData("b c", "type=temp", "room!=study")]
    [InlineData("c", "type=temp", "room!=(study,kitchen)")]
    [InlineData("d", "name=\"x y\"")]
    [InlineData("", "type=none")]
    public async Task Filters(string keys, params string[] filters)
    {
        await using TypeServer server = await StartAsync();
        for (int i = 0; i < 3; i++) Assert.Equal(keys, server.Run(["TS.QUERYINDEX", .. filters]));
    }

    [Theory]
    [InlineData("ERR TSDB: please provide at least one matcher", "room!=study")]
    [InlineData("ERR TSDB: please provide at least one matcher", "room=")]
    [InlineData("ERR TSDB: failed parsing labels", "room")]
    [InlineData("ERR TSDB: failed parsing labels", "=x")]
    [InlineData("ERR TSDB: failed parsing labels", "room=(a")]
    [InlineData("ERR TSDB: failed parsing labels", "room=(a,)")]
    public async Task Filters_that_are_wrong_are_refused(string error, string filter)
    {
        await using TypeServer server = await StartAsync();
        Assert.Equal(error, server.Run("TS.QUERYINDEX", filter));
    }

    // The index sees every way in which a key gets or loses its labels.
    [Fact]
    public async Task Index_follows_all_changes()
    {
        await using TypeServer server = await StartAsync();
        string[] query = ["TS.QUERYINDEX", "type=temp"];
        for (int i = 0; i < 3; i++) Assert.Equal("a b c", server.Run(query));
        server.Run("TS.CREATE", "e", "LABELS", "type", "temp");
        Assert.Equal("a b c e", server.Run(query));
        server.Run("TS.ALTER", "e", "LABELS", "type", "other");
        Assert.Equal("a b c", server.Run(query));
        server.Run("RENAME", "a", "f");
        Assert.Equal("b c f", server.Run(query));
        server.Run("COPY", "f", "g");
        Assert.Equal("b c f g", server.Run(query));
        byte[] payload = server.Client.Run("DUMP g").Payload!;
        server.Run("DEL", "g");
        server.Run("SET", "c", "string");
        Assert.Equal("b f", server.Run(query));
        server.Client.Run("RESTORE"u8.ToArray(), "h"u8.ToArray(), "0"u8.ToArray(), payload);
        server.Run("PEXPIREAT", "b", "1");
        Assert.Equal("f h", server.Run(query));
        server.Run("MULTI");
        server.Run("TS.ADD", "i", "1", "1", "LABELS", "type", "temp");
        server.Run(query);
        Assert.Equal("1 f h i", string.Join(' ', server.Client.Run("EXEC").Items.Select(item => item.IsAggregate ? string.Join(' ', item.Items.Select(key => key.Text)) : item.Text)));
        Assert.Equal("f h i", string.Join(' ', server.Client.Run("EVAL \"return redis.call('TS.QUERYINDEX', 'type=temp')\" 0").Items.Select(item => item.Text)));
        server.Run("SWAPDB", "0", "1");
        Assert.Equal("", server.Run(query));
        server.Run("SELECT", "1");
        for (int i = 0; i < 3; i++) Assert.Equal("f h i", server.Run(query));
        server.Run("DEBUG", "RELOAD");
        for (int i = 0; i < 3; i++) Assert.Equal("f h i", server.Run(query));
        server.Run("FLUSHALL");
        for (int i = 0; i < 3; i++) Assert.Equal("", server.Run(query));
    }

    // The index is complete once it has seen all changes during a walk, and forgets everything when keys are exchanged.
    [Fact]
    public async Task Index_is_complete_after_a_walk_that_it_has_seen()
    {
        await using TypeServer server = await StartAsync();
        var index = new LabelIndex(server.Server.Engine.Changes);
        Database database = server.Server.Engine.Keyspace.Databases[0];
        var filter = new LabelFilter("type"u8.ToArray(), IsNegated: false, ["temp"u8.ToArray()]);
        Assert.Equal(-1, index.BeginWalk());
        server.Run("TS.QUERYINDEX", "no=series");
        long epoch = index.BeginWalk();
        server.Run("TS.CREATE", "e", "LABELS", "type", "temp");
        Assert.Equal(["e"], index.Find(database, filter).Select(System.Text.Encoding.Latin1.GetString));
        Assert.False(index.IsComplete(database));
        index.EndWalk(database, epoch);
        Assert.True(index.IsComplete(database));
        server.Run("SWAPDB", "0", "1");
        Assert.False(index.IsComplete(database));
        index.EndWalk(database, epoch);
        Assert.False(index.IsComplete(database));
        Assert.Empty(index.Find(database, filter));
    }

    // What the server removes by itself leaves the index, too.
    [Fact]
    public async Task Index_loses_evicted_and_expired_series()
    {
        await using TypeServer server = await TypeServer.StartAsync("maxmemory-policy", "allkeys-random", "hz", "100");
        (LabelIndex index, Database database) = Watch(server);
        string[] series = ["TS.CREATE", "", "LABELS", "type", "temp"];
        for (int i = 0; i < 500; i++) Add($"first{i}");
        Assert.Equal(500, Found(index, database));
        for (int i = 0; i < 100; i++) server.Run("PEXPIRE", $"first{i}", "1");
        Assert.True(SpinWait.SpinUntil(() => server.Run("DBSIZE") == "400" && Found(index, database) == 400, 60_000), "the sweep has removed what has expired");
        server.Run("CONFIG", "SET", "maxmemory", "1");
        Assert.True(SpinWait.SpinUntil(() => !server.Client.Run("INFO stats").Text.Contains("evicted_keys:0\r", StringComparison.Ordinal), 60_000), "keys are evicted");
        server.Run("CONFIG", "SET", "maxmemory", "0");
        Assert.InRange(Found(index, database), 0, 399);
        Assert.Equal(server.Run("DBSIZE"), $"{Found(index, database)}");
        Add("last");
        Assert.Equal("last", server.Run("TS.QUERYINDEX", "type=temp")[^4..]);

        void Add(string key)
        {
            series[1] = key;
            server.Run(series);
        }
    }

    [Fact]
    public async Task Index_loses_the_series_of_slots_that_are_given_away()
    {
        await using TypeServer server = await TypeServer.StartAsync("cluster-enabled", "yes", "stripes", "64");
        Assert.Equal("OK", server.Run("CLUSTER", "ADDSLOTSRANGE", "0", "16383"));
        (LabelIndex index, Database database) = Watch(server);
        foreach (string key in new[] { "{a}1", "{a}2", "{b}1" }) server.Run("TS.ADD", key, "1", "2", "LABELS", "type", "temp");
        for (int i = 0; i < 3; i++) Assert.Equal("{a}1 {a}2 {b}1", server.Run("TS.QUERYINDEX", "type=temp"));
        Assert.Equal("OK", server.Run("CLUSTER", "FLUSHSLOT", server.Run("CLUSTER", "KEYSLOT", "{a}1")));
        Assert.Equal("{b}1", server.Run("TS.QUERYINDEX", "type=temp"));
        Assert.Equal(1, Found(index, database));
        Assert.Single(server.Client.Run("TS.MGET FILTER type=temp").Items);
        Assert.Single(server.Client.Run("TS.MRANGE - + FILTER type=temp").Items);
    }

    [Fact]
    public async Task Newest_samples_of_series()
    {
        await using TypeServer server = await StartAsync();
        server.Run("TS.ADD", "a", "5", "1.5");
        Assert.Equal("*2\r\n*3\r\n$1\r\na\r\n*0\r\n*2\r\n:5\r\n+1.5\r\n*3\r\n$1\r\nb\r\n*0\r\n*0\r\n", Raw(server, 2, "TS.MGET FILTER type=temp room!="));
        Assert.Equal("%1\r\n$1\r\na\r\n*2\r\n%2\r\n$4\r\ntype\r\n$4\r\ntemp\r\n$4\r\nroom\r\n$5\r\nstudy\r\n*2\r\n:5\r\n,1.5\r\n", Raw(server, 3, "TS.MGET WITHLABELS FILTER type=temp room=study"));
        Assert.Equal("*1\r\n*3\r\n$1\r\na\r\n*2\r\n*2\r\n$4\r\nroom\r\n$5\r\nstudy\r\n*2\r\n$1\r\nx\r\n$-1\r\n*2\r\n:5\r\n+1.5\r\n", Raw(server, 2, "TS.MGET SELECTED_LABELS room x FILTER type=temp room=study"));
        Assert.Equal("ERR TSDB: missing FILTER argument", server.Run("TS.MGET", "WITHLABELS", "x"));
    }

    [Fact]
    public async Task Ranges_of_series_and_groups()
    {
        await using TypeServer server = await StartAsync();
        server.Run("TS.MADD", "a", "1000", "100", "a", "1010", "110", "a", "1020", "120", "b", "1000", "120", "b", "1010", "110", "b", "1020", "100");
        Assert.Equal("*2\r\n*3\r\n$1\r\na\r\n*0\r\n*1\r\n*2\r\n:1000\r\n+100\r\n*3\r\n$1\r\nb\r\n*0\r\n*1\r\n*2\r\n:1000\r\n+120\r\n", Raw(server, 2, "TS.MRANGE - + COUNT 1 FILTER type=temp room!="));
        Assert.Equal("%1\r\n$1\r\na\r\n*3\r\n%0\r\n%1\r\n$11\r\naggregators\r\n*1\r\n$3\r\navg\r\n*1\r\n*2\r\n:1000\r\n,110\r\n", Raw(server, 3, "TS.MRANGE - + AGGREGATION avg 1000 FILTER room=study"));
        Assert.Equal(
            "*1\r\n*3\r\n$9\r\ntype=temp\r\n*3\r\n*2\r\n$4\r\ntype\r\n$4\r\ntemp\r\n*2\r\n$11\r\n__reducer__\r\n$3\r\nmax\r\n*2\r\n$10\r\n__source__\r\n$3\r\na,b\r\n*3\r\n*2\r\n:1000\r\n+120\r\n*2\r\n:1010\r\n+110\r\n*2\r\n:1020\r\n+120\r\n",
            Raw(server, 2, "TS.MRANGE - + WITHLABELS FILTER type=temp room!= GROUPBY type REDUCE max"));
        Assert.Equal(
            "%1\r\n$9\r\ntype=temp\r\n*4\r\n%0\r\n%1\r\n$8\r\nreducers\r\n*1\r\n$3\r\nsum\r\n%1\r\n$7\r\nsources\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n*1\r\n*2\r\n:1010\r\n,220\r\n",
            Raw(server, 3, "TS.MREVRANGE 1010 1010 FILTER type=temp room!= GROUPBY type REDUCE sum"));
        Assert.Equal("ERR TSDB: Invalid reducer type", server.Run("TS.MRANGE", "-", "+", "FILTER", "type=temp", "GROUPBY", "type", "REDUCE", "twa"));
    }

    [Fact]
    public async Task Users_must_be_allowed_to_read_all_series()
    {
        await using TypeServer server = await StartAsync();
        server.Run("ACL", "SETUSER", "u", "on", "nopass", "+@all", "~a");
        using RespConnection client = RespConnection.Connect(server.Server.Port);
        client.Run("AUTH u x");
        Assert.StartsWith("NOPERM", client.Run("TS.MGET FILTER type=temp").Text, StringComparison.Ordinal);
        Assert.True(client.Run("TS.MGET FILTER room=study").IsAggregate);
    }

    // An index of the test's own, which sees all changes from now on.
    private static (LabelIndex Index, Database Database) Watch(TypeServer server)
    {
        var index = new LabelIndex(server.Server.Engine.Changes);
        Database database = server.Server.Engine.Keyspace.Databases[0];
        Assert.Equal(-1, index.BeginWalk());
        server.Run("PING");
        Assert.True(index.BeginWalk() >= 0);
        return (index, database);
    }

    private static int Found(LabelIndex index, Database database) => index.Find(database, new LabelFilter("type"u8.ToArray(), IsNegated: false, ["temp"u8.ToArray()])).Count;

    private static async Task<TypeServer> StartAsync()
    {
        TypeServer server = await TypeServer.StartAsync();
        server.Run("SET", "string", "x");
        server.Run("TS.CREATE", "b", "LABELS", "type", "temp", "room", "kitchen");
        server.Run("TS.CREATE", "a", "LABELS", "type", "temp", "room", "study");
        server.Run("TS.CREATE", "c", "LABELS", "type", "temp");
        server.Run("TS.CREATE", "d", "LABELS", "name", "x y");
        return server;
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
