using System.Globalization;
using RedKite.Server.Tests.Execution.Slices;
using RedKite.Store.Keyspace;
using RedKite.TimeSeries.Ranges;
using RedKite.Types.Tests;

namespace RedKite.TimeSeries.Tests;

/// <summary>Ranges and queries by labels that take longer than a slice: other clients go on meanwhile.</summary>
public sealed class SeriesSliceTests
{
    private const int BoundsDivisor = 16;
    private const int Samples = 20_000;
    private const long SliceSteps = RangeQuery.SliceSteps / BoundsDivisor;
    private const string TooLong = "ERR the command takes too long for a transaction or script";

    private static readonly string[] Sum = ["TS.RANGE", "a", "-", "+", "AGGREGATION", "sum", "1000000000"];

    [Theory]
    [InlineData("TS.RANGE", false)]
    [InlineData("TS.REVRANGE", true)]
    public async Task Large_ranges_are_replied_as_a_whole(string command, bool isReverse)
    {
        await using TypeServer server = await StartAsync();
        string[] expected = [.. Enumerable.Range(0, Samples).Select(i => $"{i * 10} {i % 7}")];
        if (isReverse) Array.Reverse(expected);
        Assert.Equal(expected, server.Client.Run($"{command} a - +").Items.Select(sample => $"{sample.Items[0].Text} {sample.Items[1].Text}"));
        Assert.Equal("59997", SumOf(server));
    }

    [Fact]
    public async Task Range_runs_in_slices()
    {
        await using TypeServer server = await StartAsync();
        using var range = new SlicedCommand(server.Server.Engine, Sum);
        while (range.RunSlice()) server.Run("SET", "other", "x"); // by another thread: no stripe is locked
        Assert.Equal("*1 *2 :0 +59997", Line(range.Reply));
        Assert.InRange(range.Slices, Samples * RangeQuery.SampleSteps / SliceSteps - 2, 100);

        using var replied = new SlicedCommand(server.Server.Engine, ["TS.RANGE", "a", "-", "+"]);
        replied.RunToEnd();
        Assert.InRange(replied.Slices, Samples * RangeQuery.ReplySteps / SliceSteps, 500);
    }

    // What is appended, or dropped because it is old when it has been read, makes no difference.
    [Fact]
    public async Task Range_has_the_samples_of_one_time()
    {
        await using TypeServer server = await StartAsync();
        using var range = new SlicedCommand(server.Server.Engine, Sum);
        range.RunSlice();
        server.Run("TS.ADD", "a", $"{Samples * 10}", "1000000");
        server.Run("TS.ALTER", "a", "RETENTION", "180000");
        server.Run("TS.ADD", "a", $"{(Samples * 10) + 10}", "1000000");
        Assert.Equal("*1 *2 :0 +59997", Line(range.RunToEnd()));
        Assert.Equal("2053997", SumOf(server)); // without the dropped samples, with the new ones
    }

    [Fact]
    public async Task Range_of_a_series_that_changes_begins_again()
    {
        await using TypeServer server = await StartAsync();
        using (var range = new SlicedCommand(server.Server.Engine, Sum))
        {
            range.RunSlice();
            server.Run("TS.DEL", "a", "10", "10");
            server.Run("TS.ADD", "a", "15", "100");
            Assert.Equal("*1 *2 :0 +60096", Line(range.RunToEnd()));
        }

        using (var range = new SlicedCommand(server.Server.Engine, Sum))
        {
            while (range.RunSlice()) server.Run("TS.ADD", "a", "15", "0", "ON_DUPLICATE", "LAST");
            Assert.Equal("*1 *2 :0 +59996", Line(range.Reply));
        }

        using (var range = new SlicedCommand(server.Server.Engine, ["TS.MRANGE", "-", "+", "AGGREGATION", "sum", "1000000000", "FILTER", "room=study"]))
        {
            while (range.RunSlice()) server.Run("TS.ADD", "a", "15", "1", "ON_DUPLICATE", "LAST");
            Assert.Equal("*1 *3 $1 a *0 *1 *2 :0 +59997", Line(range.Reply));
        }
    }

    [Fact]
    public async Task Range_begins_again_if_what_it_has_not_read_is_dropped()
    {
        await using TypeServer server = await StartAsync();
        using var range = new SlicedCommand(server.Server.Engine, ["TS.REVRANGE", "a", "-", "+", "FILTER_BY_VALUE", "6", "6"]);
        range.RunSlice();
        server.Run("TS.ALTER", "a", "RETENTION", "100");
        Assert.Equal(string.Concat(Enumerable.Range(Samples - 11, 11).Where(i => i % 7 == 6).Reverse().Select(i => $" *2 :{i * 10} +6")), Line(range.RunToEnd())![2..]);
    }

    [Theory]
    [InlineData("-ERR TSDB: the key does not exist", "DEL a")]
    [InlineData("-WRONGTYPE Operation against a key holding the wrong kind of value", "SET a x")]
    [InlineData("*1 *2 :0 +3", "DEL a|TS.ADD a 1 3")]
    public async Task Range_of_a_key_that_is_another_one_meanwhile(string reply, string changes)
    {
        await using TypeServer server = await StartAsync();
        using var range = new SlicedCommand(server.Server.Engine, Sum);
        range.RunSlice();
        foreach (string change in changes.Split('|')) server.Client.Run(change);
        Assert.Equal(reply, Line(range.RunToEnd()));
    }

    [Fact]
    public async Task Units_are_bounded()
    {
        await using TypeServer server = await StartAsync();
        string[] labels = ["TS.MRANGE", "-", "+", "AGGREGATION", "sum", "1000000000", "FILTER", "room=study"];
        using RedKiteSession client = server.Server.CreateSession();
        Assert.Single(client.Execute(Sum).Items);
        client.UnitWork.Limits = ((6 << 20) / BoundsDivisor, (8 << 20) / BoundsDivisor);
        Assert.Equal(["0", TooLong], Exec(Sum, 2));
        Assert.Equal(["a", TooLong], Exec(labels, 2));
        Assert.Equal([TooLong], Exec(["TS.RANGE", "a", "-", "+"], 1));
        Assert.Equal(Enumerable.Repeat("0", 500), Exec(["TS.RANGE", "a", "-", "+", "COUNT", "10"], 500));
        client.UnitWork.Limits = ((1 << 20) / BoundsDivisor, (1 << 20) / BoundsDivisor);
        Assert.Contains(TooLong, client.Execute(["EVAL", "return redis.call('TS.RANGE', KEYS[1], '-', '+', 'AGGREGATION', 'sum', 1000000000)", "1", "a"]).Text, StringComparison.Ordinal);
        Assert.Contains(TooLong, client.Execute(["EVAL", "return redis.call('TS.MRANGE', '-', '+', 'AGGREGATION', 'sum', 1000000000, 'FILTER', 'room=study')", "0"]).Text, StringComparison.Ordinal);
        Assert.Equal("PONG", client.Execute("PING").Text);

        string[] Exec(string[] command, int times)
        {
            client.Execute("MULTI");
            for (int i = 0; i < times; i++) client.Execute(command);
            return [.. client.Execute("EXEC").Items.Select(item => item.IsError ? item.Text! : item.Items[0].Items[0].Text ?? item.Items[0].Items[0].Integer.ToString(CultureInfo.InvariantCulture))];
        }
    }

    // More than may keep what they have found.
    [Fact]
    public async Task Ranges_wait_for_each_other()
    {
        const int RoundsMax = 100_000;
        await using TypeServer server = await StartAsync();
        string[] labels = ["TS.MRANGE", "-", "+", "AGGREGATION", "sum", "1000000000", "FILTER", "room=study"];
        SlicedCommand[] ranges = [.. Enumerable.Range(0, KeptPlaces.CountMax + 4).Select(i => new SlicedCommand(server.Server.Engine, i % 2 == 0 ? Sum : labels))];
        int waited = 0;
        for (int round = 0; round < RoundsMax && Array.Exists(ranges, range => range.Reply is null); round++)
        {
            foreach (SlicedCommand range in ranges) range.RunSlice();
            if (ranges[0].Reply is not null && ranges[^1].Reply is null) waited++;
        }

        for (int i = 0; i < ranges.Length; i++) Assert.Equal(i % 2 == 0 ? "*1 *2 :0 +59997" : "*1 *3 $1 a *0 *1 *2 :0 +59997", Line(ranges[i].Reply));
        Assert.NotEqual(0, waited);
        foreach (SlicedCommand range in ranges) range.Dispose();
    }

    [Fact]
    public async Task Queries_of_many_series_run_in_slices()
    {
        const int Series = 400;
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: false, BoundsDivisor);
        for (int i = 0; i < Series; i++) server.Server.Execute("TS.ADD", $"s{i}", "1", $"{i}", "LABELS", "type", "x", "rest", $"{i % 3}");
        string[] keys = [.. Enumerable.Range(0, Series).Select(i => $"s{i}").Order(StringComparer.Ordinal)];
        for (int round = 0; round < 3; round++) // with the index, when it is complete
        {
            Assert.Equal(keys, server.Client.Run("TS.QUERYINDEX type=x").Items.Select(key => key.Text));
            Assert.Equal(keys.Select(key => key[1..]), server.Client.Run("TS.MGET FILTER type=(x,x)").Items.Select(item => item.Items[2].Items[1].Text));
        }

        string[][] commands = [["TS.QUERYINDEX", "type=x"], ["TS.MGET", "FILTER", "type=x"], ["TS.MRANGE", "-", "+", "FILTER", "type=x"], ["TS.MRANGE", "-", "+", "FILTER", "type=x", "GROUPBY", "rest", "REDUCE", "max"]];
        foreach (string[] command in commands)
        {
            using var query = new SlicedCommand(server.Server.Engine, command);
            while (query.RunSlice()) server.Run("SET", "other", "x");
            Assert.InRange(query.Slices, 4, 100);
            Assert.NotNull(query.Reply);
        }

        // What changes behind the query is in the reply or not.
        using (var query = new SlicedCommand(server.Server.Engine, commands[0]))
        {
            query.RunSlice();
            server.Run("DEL", keys[^1]);
            server.Run("TS.ALTER", keys[^2], "LABELS", "type", "y");
            server.Run("SET", keys[^3], "x");
            Assert.StartsWith($"*{Series - 3}", query.RunToEnd(), StringComparison.Ordinal);
        }

        Assert.Equal(
            ["rest=0 399", "rest=1 397", "rest=2 398"],
            server.Client.Run("TS.MREVRANGE - + FILTER type=(x,y) rest!= GROUPBY rest REDUCE max").Items.Select(group => $"{group.Items[0].Text} {group.Items[2].Items[0].Items[1].Text}"));
    }

    [Fact]
    public async Task Groups_are_merged_in_slices()
    {
        await using TypeServer server = await StartAsync();
        var words = new List<string> { "TS.MADD" };
        server.Run("TS.CREATE", "b", "CHUNK_SIZE", "256", "LABELS", "room", "study");
        for (int i = 0; i < Samples; i += 3) words.AddRange(["b", $"{(i * 10) + (i % 2)}", "100"]);
        server.Server.Execute([.. words]);
        foreach (string command in new[] { "TS.MRANGE", "TS.MREVRANGE" })
        {
            var sums = new SortedDictionary<int, int>();
            for (int i = 0; i < Samples; i++) sums[i * 10] = i % 7;
            for (int i = 0; i < Samples; i += 3) sums[(i * 10) + (i % 2)] = 100 + sums.GetValueOrDefault((i * 10) + (i % 2));
            IEnumerable<string> expected = sums.Select(sum => $"{sum.Key} {sum.Value}");
            if (command == "TS.MREVRANGE") expected = expected.Reverse();
            Assert.Equal(expected, server.Client.Run($"{command} - + FILTER room=study GROUPBY room REDUCE sum").Items[0].Items[2].Items.Select(sample => $"{sample.Items[0].Text} {sample.Items[1].Text}"));
        }
    }

    private static async Task<TypeServer> StartAsync()
    {
        TypeServer server = await TypeServer.StartAsync(guardsMemory: false, BoundsDivisor);
        server.Run("TS.CREATE", "a", "CHUNK_SIZE", "256", "LABELS", "room", "study");
        const int AtOnce = 10_000;
        for (int first = 0; first < Samples; first += AtOnce)
        {
            var words = new List<string> { "TS.MADD" };
            for (int i = first; i < first + AtOnce; i++) words.AddRange(["a", $"{i * 10}", $"{i % 7}"]);
            server.Server.Execute([.. words]);
        }

        return server;
    }

    private static string SumOf(TypeServer server) => server.Client.Run(string.Join(' ', Sum)).Items[0].Items[1].Text;

    private static string? Line(string? reply) => reply?.ReplaceLineEndings(" ");
}
