using System.Globalization;
using System.Runtime.InteropServices;
using System.Text;
using RedKite.Server.Commands.VectorSets;
using RedKite.Server.Metrics;
using RedKite.Server.Tests.Execution.Slices;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.VectorSets;

namespace RedKite.Server.Tests.Commands.VectorSets;

/// <summary>Searches and additions that take several slices: commands of other clients in between are steps of the test.</summary>
[Collection("Searches that have stopped")] // one number of the process bounds them
public sealed class SlicedSearchTests : IAsyncDisposable, IClassFixture<SlicedSearchTests.LargeSet>
{
    private const int Elements = 300;
    private const int Dimensions = 32_768; // of a byte each: all vectors are more than twice what a slice reads
    private const int SlicesOfAll = 3;

    private readonly RedKiteServer _server = Start();
    private readonly RedKiteSession _session;
    private readonly Random _random = new(7);
    private readonly LargeSet _set;

    public SlicedSearchTests(LargeSet set)
    {
        _set = set;
        _session = _server.CreateSession();
        Assert.Equal("OK", _session.Execute([Bytes("RESTORE"), Bytes("v"), Bytes("0"), set.Dump]).Text);
    }

    public async ValueTask DisposeAsync()
    {
        _session.Dispose();
        await _server.DisposeAsync();
    }

    [Theory]
    [InlineData("VSIM v ELE e5 COUNT 3 TRUTH")]
    [InlineData("VSIM v ELE e5 COUNT 3 EF 300")]
    [InlineData("VSIM v ELE e5 COUNT 3 TRUTH WITHSCORES FILTER .n==\"even\"")]
    public void Search_in_slices_replies_what_it_does_at_once(string command)
    {
        string atOnce = AtOnce(command);
        using SlicedCommand search = Begin(command);
        Assert.Equal(atOnce, search.RunToEnd()!.ReplaceLineEndings(" "));
        Assert.InRange(search.Slices, SlicesOfAll - 1, 2 * SlicesOfAll); // the first one is the command's own
        Assert.Equal("300", Run("VCARD v"));
    }

    [Fact]
    public void Searches_and_what_they_read_are_counted()
    {
        const long AllVectors = (long)Elements * Dimensions;
        ServerTotals before = ServerTotals.Of(_server.Engine.Metrics);
        Assert.Equal((Elements, 0), (_set.SearchesOfAdditions, before.VectorSearches));
        using (SlicedCommand search = Begin("VSIM v ELE e5 COUNT 3 TRUTH")) search.RunToEnd();
        ServerTotals after = ServerTotals.Of(_server.Engine.Metrics);
        Assert.Equal(before.VectorSearches + 1, after.VectorSearches);
        Assert.InRange(after.VectorBytesRead - before.VectorBytesRead, AllVectors, AllVectors * 11 / 10);
        AtOnce("VSIM v ELE e5 COUNT 3 EF 3");
        Assert.InRange(ServerTotals.Of(_server.Engine.Metrics).VectorBytesRead - after.VectorBytesRead, 3 * Dimensions, AllVectors);
    }

    // What counts is what is read, not time.
    [Fact]
    public void Slice_reads_so_much_and_no_more()
    {
        Keyspace keyspace = _server.Engine.Keyspace;
        VectorSetValue set = VectorSetValue.Of(keyspace.Databases[0], keyspace.Databases[0].FindByHash(keyspace.Hash("v"u8)));
        VectorSearch search = set.Query(set.Find("e1"u8)).Begin(new VectorSearchBounds(3, 0, IsExact: true));
        int parts = 1;
        while (!search.Run(set, VectorSearchWork.SliceBytes / 4)) parts++;
        Assert.Equal(10, parts); // of 32 vectors
        Assert.Equal("e1", Encoding.ASCII.GetString(set.At(DistanceKey.Number(search.Results(set)[0])).Name));
    }

    [Theory]
    [InlineData("TRUTH")]
    [InlineData("EF 300")]
    public void What_is_removed_meanwhile_is_not_found_and_what_stays_is(string how)
    {
        string[] before = AtOnce($"VSIM v ELE e5 COUNT 40 {how}").Split(' ');
        using SlicedCommand search = Begin($"VSIM v ELE e5 COUNT 40 {how}");
        string[] names = [.. before.Where(word => word.StartsWith('e'))];
        string[] removed = [.. names.Where((_, at) => at % 2 == 1)];
        Assert.True(search.RunSlice());
        foreach (string name in removed) Assert.Equal("1", Run($"VREM v {name}"));
        foreach (string name in removed) Assert.Equal("1", Add(_session, $"{name}:other", Vector(), "").Text); // takes a number that the search has found
        string[] found = [.. search.RunToEnd()!.ReplaceLineEndings(" ").Split(' ').Where(word => word.StartsWith('e'))];
        Assert.Equal(names.Except(removed), found.Intersect(names));
        Assert.Empty(found.Intersect(removed));
    }

    [Theory]
    [InlineData("DEL v", "*0")]
    [InlineData("FLUSHALL", "*0")]
    [InlineData("RENAME v w", "*0")]
    [InlineData("SET v string", "-WRONGTYPE Operation against a key holding the wrong kind of value")]
    public void Command_begins_again_when_its_set_is_gone(string change, string reply)
    {
        using SlicedCommand search = Begin("VSIM v VALUES 1 1 TRUTH", FirstAsVector);
        Run(change);
        Assert.Equal(reply, search.RunToEnd());
        Assert.Equal(1, search.Restarts);
    }

    [Fact]
    public void Addition_links_what_is_left_of_what_it_has_found()
    {
        byte[] vector = Vector();
        using SlicedCommand adding = new(_server.Engine, ["VADD", "v", "FP32", Encoding.Latin1.GetString(vector), "new", "EF", "300"]);
        Assert.Equal("300", Run("VCARD v"));
        for (int i = 0; i < 75; i++) Run($"VREM v e{i}");
        Assert.Equal(":1", adding.RunToEnd());
        Assert.InRange(adding.Slices, 1, 2 * SlicesOfAll);
        Assert.Equal("226", Run("VCARD v"));
        Assert.NotEqual("", Run("VLINKS v new"));
        Assert.Equal("new", Run("VSIM v ELE new COUNT 1 EF 50"));
    }

    [Fact]
    public void Element_that_is_added_again_by_two_clients_is_there_once()
    {
        string first = Encoding.Latin1.GetString(Vector()), second = Encoding.Latin1.GetString(Vector());
        using SlicedCommand one = new(_server.Engine, ["VADD", "v", "FP32", first, "new", "EF", "300", "CAS"]);
        using SlicedCommand other = new(_server.Engine, ["VADD", "v", "FP32", second, "new", "EF", "300"]);
        Assert.Equal(":1", other.RunToEnd());
        Assert.Equal(":0", one.RunToEnd());
        Assert.Equal("301", Run("VCARD v"));
        Assert.Equal("new", Run("VSIM v ELE new COUNT 1"));
    }

    [Fact]
    public void Transaction_does_all_at_once()
    {
        using var session = _server.CreateSession();
        session.Execute("MULTI");
        session.Execute("VSIM", "v", "ELE", "e5", "TRUTH", "COUNT", "1");
        Assert.Equal("e5", Text(session.Execute("EXEC")));
    }

    // More searches than keep what they have found: the others wait for their turn, and all end.
    [Fact]
    public void Searches_beyond_the_limit_wait_with_their_vectors_alone()
    {
        List<SlicedCommand> searches = [];
        try
        {
            for (int i = 0; i < VectorSearchWork.StoppedMax + 10; i++) searches.Add(Begin($"VSIM v ELE e{i} COUNT 1 TRUTH"));
            for (int turn = 0; turn < SlicesOfAll + 1; turn++) Assert.True(searches[^1].RunSlice()); // nothing is done
            foreach (SlicedCommand search in searches) search.RunToEnd();
            for (int i = 0; i < searches.Count; i++) Assert.Equal($"*1 ${i.ToString(CultureInfo.InvariantCulture).Length + 1} e{i}", searches[i].Reply!.ReplaceLineEndings(" "));
        }
        finally
        {
            foreach (SlicedCommand search in searches) search.Dispose();
        }
    }

    // What 10 searches that want 300 elements each may take is more than there is for a command: the last one begins when others have ended.
    [Fact]
    public void Searches_beyond_the_memory_for_them_wait_with_their_vectors_alone()
    {
        List<SlicedCommand> searches = [];
        ScratchMemory.Refuses = true;
        try
        {
            for (int i = 0; i < 10; i++) searches.Add(Begin($"VSIM v ELE e{i} COUNT 300 TRUTH"));
            for (int turn = 0; turn < SlicesOfAll + 1; turn++) Assert.True(searches[^1].RunSlice()); // nothing is done
            foreach (SlicedCommand search in searches) Assert.StartsWith("*300", search.RunToEnd(), StringComparison.Ordinal);
        }
        finally
        {
            ScratchMemory.Refuses = false;
            foreach (SlicedCommand search in searches) search.Dispose();
        }
    }

    [Fact]
    public void Client_that_is_killed_leaves_nothing()
    {
        for (int i = 0; i < VectorSearchWork.StoppedMax * 2; i++)
        {
            using SlicedCommand search = Begin("VSIM v ELE e5 TRUTH");
            Assert.True(search.Client.TryEnd());
            search.RunToEnd();
        }

        using SlicedCommand last = Begin("VSIM v ELE e5 COUNT 1 TRUTH");
        Assert.Equal("*1 $2 e5", last.RunToEnd()!.ReplaceLineEndings(" "));
    }

    private static RedKiteServer Start()
    {
        var options = new RedKiteOptions { Port = 0 };
        options.Settings["bind"] = "127.0.0.1";
        return RedKiteServer.StartAsync(options).GetAwaiter().GetResult();
    }

    private SlicedCommand Begin(string command, byte[]? vector = null)
    {
        string[] words = command.Split(' ');
        if (vector is not null) words = ["VSIM", "v", "FP32", Encoding.Latin1.GetString(vector), .. words[5..]];
        return new SlicedCommand(_server.Engine, words);
    }

    private byte[] FirstAsVector => Vector();

    // In a transaction nothing waits.
    private string AtOnce(string command)
    {
        using var session = _server.CreateSession();
        session.Execute("MULTI");
        session.Execute([.. command.Split(' ')]);
        RedKiteReply[] items = [.. session.Execute("EXEC").Items[0].Items];
        return string.Join(' ', items.Select(item => $"${item.Text!.Length} {item.Text}").Prepend($"*{items.Length}"));
    }

    private static RedKiteReply Add(RedKiteSession session, string name, ReadOnlyMemory<byte> vector, string kind)
    {
        string[] last = kind.Length == 0 ? [] : ["SETATTR", $"{{\"n\":\"{kind}\"}}"];
        return session.Execute([Bytes("VADD"), Bytes("v"), Bytes("FP32"), vector, .. new[] { name, "EF", "30" }.Concat(last).Select(Bytes)]);
    }

    private static ReadOnlyMemory<byte> Bytes(string text) => Encoding.Latin1.GetBytes(text);

    private byte[] Vector() => Vector(_random);

    private static byte[] Vector(Random random)
    {
        float[] vector = new float[Dimensions];
        for (int i = 0; i < vector.Length; i++) vector[i] = random.NextSingle() - 0.5f;
        return MemoryMarshal.AsBytes<float>(vector).ToArray();
    }

    private string? Run(string command) => Text(_server.Execute([.. command.Split(' ')]));

    private static string? Text(RedKiteReply reply) => reply.Items.Count > 0 ? string.Join(' ', reply.Items.Select(Text)) : reply.Text;

    /// <summary>The vector set with which each test begins. It is built once, because its graph takes seconds.</summary>
    public sealed class LargeSet
    {
        public LargeSet()
        {
            using RedKiteServer server = Start();
            using RedKiteSession session = server.CreateSession();
            var random = new Random(6);
            for (int i = 0; i < Elements; i++) Assert.Equal("1", Add(session, $"e{i}", Vector(random), i % 2 == 0 ? "even" : "").Text);

            SearchesOfAdditions = ServerTotals.Of(server.Engine.Metrics).VectorSearches;
            Dump = session.Execute("DUMP", "v").Bytes;
        }

        internal ReadOnlyMemory<byte> Dump { get; }

        internal long SearchesOfAdditions { get; }
    }
}
