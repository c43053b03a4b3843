using System.Text;
using RedKite.Server.Commands.VectorSets;
using RedKite.Server.Commands.VectorSets.Filters;
using RedKite.Server.Tests.Execution.Slices;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.VectorSets;

namespace RedKite.Server.Tests.Commands.VectorSets;

/// <summary>What filters may do with attributes that are both as long as clients like: counted in steps and in allocated bytes.</summary>
[Collection("Searches that have stopped")] // one number of the process bounds them
public sealed class FilterBoundsTests
{
    private const int Megabyte = 1 << 20;

    private static readonly string Long = new('1', Megabyte);
    private static readonly string List = "[" + string.Join(',', Enumerable.Repeat("2", Megabyte / 2)) + "]";

    [Theory]
    [InlineData(" and ", 17)]
    [InlineData(" and ", 20_000)]
    [InlineData(" + ", 20_000)]
    [InlineData(" == ", 20_000)]
    [InlineData("+0*", 20_000)]
    public void Field_is_read_once_however_often_the_filter_names_it(string between, int times)
    {
        (VectorMatch match, long steps, long allocated) = Match(string.Join(between, Enumerable.Repeat(".a", times)), $"{{\"x\":1,\"a\":\"{Long}\"}}");
        Assert.NotEqual(VectorMatch.TooLong, match);
        Assert.InRange(steps, Megabyte, FilterProgram.StepsMax);
        Assert.InRange(allocated, 0, 16 * Megabyte);
    }

    [Theory]
    [InlineData(".a == .b", 40)]
    [InlineData("2 in .c", 100)]
    [InlineData("1 in .c", 100)]
    [InlineData("\"x\" in .c", 100)]
    [InlineData(".d % 3", 20_000)]
    public void Operators_are_bounded_by_what_they_compare(string filter, int times)
    {
        string all = string.Join(" or ", Enumerable.Repeat(filter, times));
        (_, long steps, long allocated) = Match(all[..Math.Min(all.Length, FilterCompiler.TextBytesMax)], $"{{\"a\":\"x{Long}\",\"b\":\"y{Long}\",\"d\":1e300,\"c\":{List}}}");
        Assert.InRange(steps, 0, FilterProgram.StepsMax + (Megabyte / 4)); // the last operator ends
        Assert.InRange(allocated, 0, 64 * Megabyte);
    }

    [Fact]
    public void More_than_one_element_may_take_is_no_match_but_too_long()
    {
        string large = new('1', 64 * Megabyte);
        foreach (string attributes in (string[])[$"{{\"a\":\"{large}\"}}", $"{{\"a\":{large}}}", $"{{\"a\":[{string.Join(',', Enumerable.Repeat("2", 2 * Megabyte))}]}}", "{\"b\":[" + new string('[', 24 * Megabyte)])
        {
            (VectorMatch match, long steps, long allocated) = Match(".a", attributes);
            Assert.Equal(VectorMatch.TooLong, match);
            Assert.InRange(steps, FilterProgram.StepsMax, 80 * Megabyte * 3L); // bytes that are found too many before they are read
            Assert.InRange(allocated, 0, 64 * Megabyte);
        }
    }

    [Fact]
    public void Passing_over_a_large_value_is_cheap()
    {
        string attributes = $"{{\"large\":\"{new string('x', 32 * Megabyte)}\",\"a\":1}}";
        Assert.Equal(VectorMatch.Yes, Match(".a", attributes).Match);
    }

    [Fact]
    public void Distinct_fields_are_read_in_one_pass()
    {
        const int Fields = 10_000;
        string filter = string.Join(" and ", Enumerable.Range(0, Fields).Select(i => $".f{i}"));
        string attributes = "{" + string.Join(',', Enumerable.Range(0, Fields).Select(i => $"\"f{i}\":1")) + "}";
        (VectorMatch match, long steps, _) = Match(filter, attributes);
        Assert.Equal(VectorMatch.Yes, match);
        Assert.InRange(steps, 0, Fields * 80L);
    }

    [Fact]
    public async Task Command_replies_an_error_and_the_server_goes_on()
    {
        await using RedKiteServer server = Start();
        using RedKiteSession client = server.CreateSession();
        client.Execute("VADD", "v", "VALUES", "1", "1", "e", "SETATTR", $"{{\"a\":\"{new string('x', 24 * Megabyte)}\"}}");
        Assert.Equal("ERR the FILTER takes too long for the attributes of one element", client.Execute("VSIM", "v", "ELE", "e", "FILTER", string.Join(" and ", Enumerable.Repeat(".a", 17))).Text);
        Assert.Equal("PONG", client.Execute("PING").Text);
    }

    // Each element takes a good part of what one may: a slice ends among the links of a node, not behind all of them.
    [Fact]
    public async Task Slice_ends_behind_the_element_that_exceeds_it()
    {
        const int Elements = 40;
        await using RedKiteServer server = Start();
        using RedKiteSession client = server.CreateSession();
        for (int i = 0; i < Elements; i++) client.Execute("VADD", "v", "VALUES", "1", "1", $"e{i}", "SETATTR", $"{{\"a\":\"{Long}\"}}");
        foreach (bool isExact in (bool[])[false, true])
        {
            Assert.True(FilterProgram.TryCompile("not .a"u8, out FilterProgram program, out _));
            Keyspace keyspace = server.Engine.Keyspace;
            VectorSetValue set = VectorSetValue.Of(keyspace.Databases[0], keyspace.Databases[0].FindByHash(keyspace.Hash("v"u8)));
            VectorSearch search = set.Query(set.Find("e1"u8)).Begin(new VectorSearchBounds(Elements, Elements, program.Predicate, IsExact: isExact));
            long before = 0;
            int slices = 0;
            for (bool isComplete = false; !isComplete; slices++, before = search.BytesRead)
            {
                isComplete = search.Run(set, VectorSearchWork.SliceBytes);
                Assert.InRange(search.BytesRead - before, 0, VectorSearchWork.SliceBytes + (FilterProgram.StepsMax * VectorSearchWork.BytesPerStep));
            }

            Assert.InRange(slices, Elements, Elements + 1);
        }
    }

    [Fact]
    public async Task Search_in_slices_has_a_limit()
    {
        await using RedKiteServer server = Start();
        using RedKiteSession client = server.CreateSession();
        for (int i = 0; i < 10; i++) client.Execute("VADD", "v", "VALUES", "1", "1", $"e{i}", "SETATTR", $"{{\"a\":\"{Long}\"}}");
        foreach (string[] exact in (string[][])[[], ["TRUTH"]])
        {
            using var search = new SlicedCommand(server.Engine, ["VSIM", "v", "ELE", "e1", "FILTER", "not .a", .. exact]);
            ((VectorSearchWork)search.Client.Work!).StepsMax = 5 * Megabyte;
            Assert.Equal("-ERR the command takes too long", search.RunToEnd());
            Assert.InRange(search.Slices, 1, 5); // of ten
            Assert.Equal("PONG", client.Execute("PING").Text);
        }
    }

    // 0.4 ms each, any number of times.
    [Fact]
    public async Task Unit_has_a_limit_for_searches_that_end_in_their_first_slice()
    {
        await using RedKiteServer server = Start();
        using RedKiteSession client = server.CreateSession();
        string attributes = $"{{\"a\":\"{new string('1', 100_000)}\"}}"; // more than half a slice for a filter that reads it
        client.Execute("VADD", "v", "VALUES", "1", "1", "e", "SETATTR", attributes);
        client.UnitWork.Limits = (Megabyte, 4 * Megabyte);
        client.Execute("MULTI");
        for (int i = 0; i < 100; i++) client.Execute("VSIM", "v", "ELE", "e", "FILTER", "not .a");
        RedKiteReply replies = client.Execute("EXEC");
        Assert.InRange(replies.Items.Count(item => item.Text?.StartsWith("ERR", StringComparison.Ordinal) != true), 8, 30);
        Assert.Equal("ERR the command takes too long for a transaction or script", replies.Items[^1].Text);
        Assert.Equal("PONG", client.Execute("PING").Text);
    }

    [Fact]
    public async Task Unit_has_a_limit_for_each_command_and_for_all()
    {
        await using RedKiteServer server = Start();
        using RedKiteSession client = server.CreateSession();
        for (int i = 0; i < 10; i++) client.Execute("VADD", "v", "VALUES", "1", "1", $"e{i}", "SETATTR", $"{{\"a\":\"{Long}\"}}");
        string[] search = ["VSIM", "v", "ELE", "e1", "FILTER", "not .a"];
        Assert.Empty(client.Execute(search).Items); // in slices
        client.UnitWork.Limits = (40 * Megabyte, 100 * Megabyte);
        Assert.Equal(["", "", "", "ERR the command takes too long for a transaction or script"], Exec(search, 4)); // 30 million steps each
        Assert.Equal(["", "", ""], Exec(search, 3)); // another unit
        Assert.Contains("takes too long for a transaction or script", client.Execute("EVAL", "for i = 1, 4 do redis.call('VSIM', 'v', 'ELE', 'e1', 'FILTER', 'not .a') end", "1", "v").Text, StringComparison.Ordinal);
        client.UnitWork.Limits = (20 * Megabyte, 100 * Megabyte);
        Assert.Equal(["ERR the command takes too long for a transaction or script"], Exec(search, 1));

        string[] Exec(string[] command, int times)
        {
            client.Execute("MULTI");
            for (int i = 0; i < times; i++) client.Execute(command);
            return [.. client.Execute("EXEC").Items.Select(item => item.Text ?? "")];
        }
    }

    private static (VectorMatch Match, long Steps, long Allocated) Match(string filter, string attributes)
    {
        byte[] text = Encoding.ASCII.GetBytes(attributes);
        Assert.True(FilterProgram.TryCompile(Encoding.ASCII.GetBytes(filter), out FilterProgram program, out _));
        long before = GC.GetAllocatedBytesForCurrentThread();
        long work = 0;
        VectorMatch match = program.Matches(text, ref work);
        return (match, -work / VectorSearchWork.BytesPerStep, GC.GetAllocatedBytesForCurrentThread() - before);
    }

    private static RedKiteServer Start()
    {
        var options = new RedKiteOptions { Port = 0 };
        options.Settings["bind"] = "127.0.0.1";
        return RedKiteServer.StartAsync(options).GetAwaiter().GetResult();
    }
}
