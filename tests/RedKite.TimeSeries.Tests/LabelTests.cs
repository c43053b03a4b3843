using System.Buffers.Binary;
using System.Text;
using RedKite.Server.Tests.Execution.Slices;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;
using RedKite.TimeSeries.Labels;
using RedKite.TimeSeries.Store;
using RedKite.Types.Tests;

namespace RedKite.TimeSeries.Tests;

/// <summary>Queries by labels, before and after the index has been filled.</summary>
public sealed class LabelTests
{
    private static readonly LabelFilter Temp = new("type"u8.ToArray(), IsNegated: false, ["temp"u8.ToArray()]);

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

    // The index is complete once it has seen all changes during a walk, and forgets the series of a database whose keys are exchanged.
    [Fact]
    public async Task Index_is_complete_after_a_walk_that_it_has_seen()
    {
        await using TypeServer server = await StartAsync();
        var index = new LabelIndex(server.Server.Engine.Changes);
        Database first = server.Server.Engine.Keyspace.Databases[0], third = server.Server.Engine.Keyspace.Databases[2];
        Assert.Null(index.PartOf(first));
        index.Apply();
        LabelledSeries part = index.PartOf(first)!, other = index.PartOf(third)!;
        server.Run("TS.CREATE", "e", "LABELS", "type", "temp");
        Assert.False(part.TryFind(Temp, []));
        part.NoteWalked();
        other.NoteWalked();
        Assert.Equal(["e"], Keys(part));
        server.Run("TS.CREATE", "f", "LABELS", "type", "temp");
        Assert.Equal(["e", "f"], Keys(part));
        server.Run("SWAPDB", "0", "1");
        Assert.False(index.IsOf(first, part));
        Assert.False(index.PartOf(first)!.TryFind(Temp, []));
        Assert.True(index.IsOf(third, other));
        server.Run("SELECT", "2");
        server.Run("TS.CREATE", "g", "LABELS", "type", "temp");
        Assert.Equal(["g"], Keys(other));
        server.Run("FLUSHALL");
        Assert.False(index.IsOf(third, other));
        Assert.Equal(["e", "f"], Keys(part)); // what a query has begun with stays what it was
    }

    // A query that has begun sees that its database has other keys, and begins again: its reply has the series of one of them.
    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(4)]
    public async Task Query_has_the_series_of_one_database_if_it_is_exchanged(int slices)
    {
        await using TypeServer server = await StartWithTwoDatabasesAsync();
        using var query = new SlicedCommand(server.Server.Engine, ["TS.QUERYINDEX", "type=temp"]);
        for (int i = 0; i < slices; i++) Assert.True(query.RunSlice());
        server.Run("SWAPDB", "0", "1");
        Assert.Equal(Enumerable.Range(0, 1000).Select(i => $"b{i}").Order(StringComparer.Ordinal), query.RunToEnd()!.Split("\r\n").Where(static line => line[0] is not ('*' or '$')));
    }

    [Fact]
    public async Task Query_whose_database_is_exchanged_again_and_again_is_an_error()
    {
        await using TypeServer server = await StartWithTwoDatabasesAsync();
        using var query = new SlicedCommand(server.Server.Engine, ["TS.QUERYINDEX", "type=temp"]);
        for (int i = 0; i < 4; i++)
        {
            query.RunSlice();
            server.Run("SWAPDB", "0", "1");
        }

        Assert.Equal("ERR TSDB: the database got other keys while its series were read", query.RunToEnd()?[1..]);
    }

    // Long keys are copied to the managed heap only within a limit: beyond it the database is walked.
    [Fact]
    public void Long_keys_beyond_a_limit_are_not_in_the_index()
    {
        var part = new LabelledSeries { LongBytesMax = 10_000 };
        byte[] labels = LabelsOf("type", "temp");
        part.NoteWalked();
        part.Enter(1, new byte[6000], labels);
        part.Enter(1, new byte[6000], []);
        part.Enter(2, new byte[6000], labels);
        part.Enter(3, new byte[4096], labels);
        Assert.True(part.TryFind(Temp, []));
        part.Enter(4, new byte[6000], labels);
        Assert.False(part.TryFind(Temp, []));
    }

    // Keys leave the lists of labels while a query reads them, and lists are made anew when half of their keys have left.
    [Fact]
    public void Lists_of_labels_are_read_while_keys_come_and_go()
    {
        var part = new LabelledSeries();
        byte[] labels = LabelsOf("type", "temp");
        part.NoteWalked();
        for (uint i = 0; i < 100; i++) part.Enter(i, BitConverter.GetBytes(i), labels);
        List<ArraySegment<LabelledKey>> found = [];
        Assert.True(part.TryFind(Temp, found));
        for (uint i = 0; i < 99; i++)
        {
            part.Enter(i, BitConverter.GetBytes(i), []);
            if (i == 30) part.Enter(200, BitConverter.GetBytes(200), labels);
            Assert.Equal(Enumerable.Range((int)i + 1, 99 - (int)i).Concat(i >= 30 ? [200] : []), Numbers(part));
        }

        Assert.Equal(Enumerable.Range(0, 100), Assert.Single(found).Select(static key => BitConverter.ToInt32(key.Key)));
        Assert.Equal([99], found[0].Where(static key => !key.IsGone).Select(static key => BitConverter.ToInt32(key.Key)));
        part.Enter(99, BitConverter.GetBytes(99), []);
        part.Enter(200, BitConverter.GetBytes(200), []);
        Assert.Empty(Numbers(part));
        part.Enter(5, BitConverter.GetBytes(5), labels);
        Assert.Equal([5], Numbers(part));
    }

    // What the server removes by itself leaves the index, too.
    [Fact]
    public async Task Index_loses_evicted_and_expired_series()
    {
        await using TypeServer server = await TypeServer.StartAsync("maxmemory-policy", "allkeys-random", "hz", "100");
        LabelledSeries part = Watch(server);
        string[] series = ["TS.CREATE", "", "LABELS", "type", "temp"];
        for (int i = 0; i < 500; i++) Add($"first{i}");
        Assert.Equal(500, Keys(part).Length);
        for (int i = 0; i < 100; i++) server.Run("PEXPIRE", $"first{i}", "1");
        Assert.True(SpinWait.SpinUntil(() => server.Run("DBSIZE") == "400" && Keys(part).Length == 400, 60_000), "the sweep has removed what has expired");
        server.Run("CONFIG", "SET", "maxmemory", "1");
        Assert.True(SpinWait.SpinUntil(() => !server.Client.Run("INFO stats").Text.Contains("evicted_keys:0\r", StringComparison.Ordinal), 60_000), "keys are evicted");
        server.Run("CONFIG", "SET", "maxmemory", "0");
        Assert.InRange(Keys(part).Length, 0, 399);
        Assert.Equal(server.Run("DBSIZE"), $"{Keys(part).Length}");
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
        LabelledSeries part = Watch(server);
        foreach (string key in new[] { "{a}1", "{a}2", "{b}1" }) server.Run("TS.ADD", key, "1", "2", "LABELS", "type", "temp");
        for (int i = 0; i < 3; i++) Assert.Equal("{a}1 {a}2 {b}1", server.Run("TS.QUERYINDEX", "type=temp"));
        Assert.Equal("OK", server.Run("CLUSTER", "FLUSHSLOT", server.Run("CLUSTER", "KEYSLOT", "{a}1")));
        Assert.Equal("{b}1", server.Run("TS.QUERYINDEX", "type=temp"));
        Assert.Single(Keys(part));
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

    // A part of an index of the test's own, which sees all changes of the first database from now on.
    private static LabelledSeries Watch(TypeServer server)
    {
        var index = new LabelIndex(server.Server.Engine.Changes);
        Database database = server.Server.Engine.Keyspace.Databases[0];
        Assert.Null(index.PartOf(database));
        server.Run("PING");
        LabelledSeries part = index.PartOf(database)!;
        part.NoteWalked();
        return part;
    }

    private static async Task<TypeServer> StartWithTwoDatabasesAsync()
    {
        TypeServer server = await TypeServer.StartAsync();
        for (int i = 0; i < 2000; i++) server.Run("TS.CREATE", $"a{i}", "LABELS", "type", "temp");
        server.Run("SELECT", "1");
        for (int i = 0; i < 1000; i++) server.Run("TS.CREATE", $"b{i}", "LABELS", "type", "temp");
        for (int i = 0; i < 2000; i += 2) server.Run("TS.CREATE", $"a{i}", "LABELS", "type", "other");
        return server;
    }

    private static IEnumerable<LabelledKey> Find(LabelledSeries part)
    {
        List<ArraySegment<LabelledKey>> found = [];
        Assert.True(part.TryFind(Temp, found));
        return found.SelectMany(static keys => keys).Where(static key => !key.IsGone);
    }

    private static byte[] LabelsOf(string name, string value)
    {
        byte[] labels = new byte[SeriesLabels.HeadBytes + name.Length + value.Length];
        BinaryPrimitives.WriteInt32LittleEndian(labels, name.Length);
        BinaryPrimitives.WriteInt32LittleEndian(labels.AsSpan(4), value.Length);
        Encoding.Latin1.GetBytes(name + value, labels.AsSpan(SeriesLabels.HeadBytes));
        return labels;
    }

    private static string[] Keys(LabelledSeries part) => [.. Find(part).Select(static key => Encoding.Latin1.GetString(key.Key))];

    private static IEnumerable<int> Numbers(LabelledSeries part) => Find(part).Select(static key => BitConverter.ToInt32(key.Key));

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
        string reply = Encoding.Latin1.GetString(server.Client.LastBytes);
        server.Client.Run("HELLO 2");
        return reply;
    }
}
