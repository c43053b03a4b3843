using System.Globalization;
using System.Text;
using RedKite.Json.Commands;
using RedKite.Server.Tests.Execution.Slices;
using RedKite.Store.Memory;
using RedKite.TestSupport;
using RedKite.Types.Tests;

namespace RedKite.Json.Tests;

/// <summary>Texts that are so long that they are written in slices while their client waits, and in pieces.</summary>
public sealed class JsonReplyTests
{
    private const int BoundsDivisor = 16;
    private const int SliceBytes = JsonReplyText.SliceBytes / BoundsDivisor;

    // At most so many times a slice's bytes: 64 KiB of a string are a piece, of characters that are six bytes each.
    [Theory]
    [InlineData("JSON.GET doc", 14)]
    [InlineData("JSON.GET doc $", 14)]
    [InlineData("JSON.GET doc .items", 2)]
    [InlineData("JSON.GET doc $.items[*]", 2)]
    [InlineData("JSON.GET doc $..b", 2)]
    [InlineData("JSON.GET doc $.long", 14)]
    [InlineData("JSON.GET doc INDENT > NEWLINE / SPACE _", 14)]
    [InlineData("JSON.GET doc INDENT > NEWLINE / SPACE _ $.items[*]", 2)]
    public async Task Text_in_slices_is_what_it_is_at_once(string command, int slicesMax)
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: false, BoundsDivisor);
        Fill(server);
        string atOnce = AtOnce(server, command);
        using var text = new SlicedCommand(server.Server.Engine, command.Split(' '));
        JsonReplyText written = ((JsonSearchWork)text.Client.Work!).Text!;
        long before = written.Length, longest = before;
        while (text.RunSlice())
        {
            long length = written.Length;
            (longest, before) = (Math.Max(longest, length - before), length);
        }

        Assert.Equal(atOnce, string.Concat(text.Client.Reply!.Select(part => Encoding.Latin1.GetString(part.Bytes))));
        Assert.InRange(atOnce.Length, 4 * SliceBytes, int.MaxValue);
        Assert.InRange(text.Slices, 2, 100);
        Assert.InRange(longest, 1, slicesMax * SliceBytes);
        AssertReleased(server);
    }

    [Theory]
    [InlineData("JSON.GET doc", "")]
    [InlineData("JSON.GET doc $", "[]")]
    [InlineData("JSON.MGET doc doc $", "[]")]
    [InlineData("JSON.GET doc . .items[0]", "{\".\":,\".items[0]\":{\"a\":0,\"b\":\"x0\"}}")]
    public async Task Text_in_pieces_is_whole(string command, string around)
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: false, BoundsDivisor);
        string document = Fill(server);
        int at = command.Contains(".items", StringComparison.Ordinal) ? around.IndexOf(':', StringComparison.Ordinal) + 1 : around.Length / 2;
        string text = around[..at] + document + around[at..];
        string bulk = string.Create(CultureInfo.InvariantCulture, $"${text.Length}\r\n{text}\r\n");
        Assert.Equal(command.StartsWith("JSON.MGET", StringComparison.Ordinal) ? "*2\r\n" + bulk + bulk : bulk, AtOnce(server, command));
    }

    [Theory]
    [InlineData("JSON.GET doc . .items[", "ERR")]
    [InlineData("JSON.GET doc . .missing", "ERR Path does not exist")]
    public async Task Error_behind_pieces_takes_their_place(string command, string error)
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: false, BoundsDivisor);
        Fill(server);
        string reply = AtOnce(server, command);
        Assert.StartsWith("-" + error, reply, StringComparison.Ordinal);
        Assert.EndsWith("\r\n", reply, StringComparison.Ordinal);
        Assert.InRange(reply.Length, 1, 200);
        Assert.Equal("PONG", server.Json("PING"));
    }

    [Fact]
    public async Task Error_of_a_search_behind_pieces_takes_their_place()
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: false, BoundsDivisor);
        Fill(server);
        using RedKiteSession client = server.Server.CreateSession();
        client.UnitWork.Limits = ((4 << 20) / BoundsDivisor, (4 << 20) / BoundsDivisor);
        client.Execute("MULTI");
        client.Execute("JSON.GET", "doc", "$.end");
        client.Execute("JSON.GET", "doc", "$", "$..*");
        client.Execute("JSON.GET", "doc", "$.end");
        Assert.Equal(["[true]", "ERR the path takes too many steps in this document", "[true]"], client.Execute("EXEC").Items.Select(item => item.Text));
    }

    [Theory]
    [InlineData("DEL doc", 1, "$-1")]
    [InlineData("FLUSHALL SYNC", 1, "$-1")]
    [InlineData("SET doc text", 1, "-Existing key has wrong Redis type")]
    [InlineData("JSON.SET doc $ [7]", 1, "$5 [[7]]")]
    [InlineData("JSON.SET doc $.long 7", 1, null)]
    [InlineData("JSON.GET doc $.items[0].a", 0, null)]
    [InlineData("SET unrelated text", 0, null)]
    public async Task Text_begins_again_when_the_document_changes(string change, int restarts, string? reply)
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: false, BoundsDivisor);
        Fill(server);
        using var text = new SlicedCommand(server.Server.Engine, ["JSON.GET", "doc", "$"]);
        Assert.True(text.RunSlice());
        Assert.True(text.RunSlice());
        server.Json(change.Split(' '));
        text.RunToEnd();
        Assert.Equal(reply ?? AtOnce(server, "JSON.GET doc $").TrimEnd(), Whole(text).ReplaceLineEndings(reply is null ? "\r\n" : " "));
        Assert.Equal(restarts, text.Restarts);
        AssertReleased(server);
    }

    [Fact]
    public async Task Text_of_a_document_that_changes_each_time_is_written_at_once()
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: false, BoundsDivisor);
        Fill(server);
        using var text = new SlicedCommand(server.Server.Engine, ["JSON.GET", "doc", "$"]);
        for (int i = 0; text.RunSlice(); i++) server.Json("JSON.NUMINCRBY", "doc", "$.items[0].a", "1");
        Assert.Equal(2, text.Restarts);
        Assert.Equal(AtOnce(server, "JSON.GET doc $").TrimEnd(), Whole(text));
        AssertReleased(server);
    }

    [Fact]
    public async Task Text_ends_with_its_client()
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: true, BoundsDivisor);
        Fill(server);
        using (var text = new SlicedCommand(server.Server.Engine, ["JSON.GET", "doc"]))
        {
            Assert.True(text.RunSlice());
            Assert.True(text.RunSlice());
        }

        AssertReleased(server);
        Assert.Equal("[0]", server.Json("JSON.GET", "doc", "$.items[0].a"));
    }

    // More than may keep what they have written.
    [Fact]
    public async Task Texts_wait_for_each_other()
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: false, BoundsDivisor);
        Fill(server);
        string atOnce = AtOnce(server, "JSON.GET doc $").TrimEnd();
        SlicedCommand[] texts = [.. Enumerable.Range(0, JsonSearchWork.KeptMax + 2).Select(_ => new SlicedCommand(server.Server.Engine, ["JSON.GET", "doc", "$"]))];
        foreach (SlicedCommand text in texts) Assert.True(text.RunSlice());
        Assert.All(texts.Skip(JsonSearchWork.KeptMax), static text => Assert.Equal(1, ((JsonSearchWork)text.Client.Work!).Text!.Length));
        foreach (SlicedCommand text in texts)
        {
            text.RunToEnd();
            Assert.Equal(atOnce, Whole(text));
            text.Dispose();
        }

        AssertReleased(server);
    }

    [Theory]
    [InlineData("JSON.ARRPOP", "doc", "$..long")]
    [InlineData("JSON.ARRPOP", "doc", ".a.long")]
    [InlineData("JSON.GET", "doc", "$..long")]
    [InlineData("JSON.GET", "doc", ".", ".a")]
    public async Task Text_for_which_there_is_no_room_is_an_error_and_changes_nothing(params string[] command)
    {
        await using TypeServer server = await TypeServer.StartAsync();
        string item = '"' + new string('x', ScratchMemory.FreeBytes) + '"', document = $$$"""{"first":{"long":["short"]},"a":{"long":[1,{{{item}}}]}}""";
        Assert.Equal("OK", server.Json("JSON.SET", "doc", "$", document));
        using RedKiteSession client = server.Server.CreateSession();
        ScratchMemory.Refuses = true;
        try
        {
            Assert.Equal("ERR the text is longer than there is room for", client.Execute(command).Text);
        }
        finally
        {
            ScratchMemory.Refuses = false;
        }

        Assert.Equal(document, server.Document("doc"));
        Assert.Equal("PONG", client.Execute("PING").Text);
    }

    private static string Whole(SlicedCommand command) => string.Concat(command.Client.Reply!.Select(part => Encoding.Latin1.GetString(part.Bytes))).TrimEnd();

    private static string AtOnce(TypeServer server, string command)
    {
        using RespConnection client = RespConnection.Connect(server.Server.Port);
        client.Run("MULTI");
        client.Json(command.Split(' '));
        client.Run("EXEC");
        return Encoding.Latin1.GetString(client.LastBytes)["*1\r\n".Length..];
    }

    // Many short values, and a string whose text is much longer than the string.
    private static string Fill(TypeServer server)
    {
        IEnumerable<string> items = Enumerable.Range(0, 20_000).Select(i => string.Create(CultureInfo.InvariantCulture, $$"""{"a":{{i}},"b":"x{{i}}"}"""));
        string text = $$"""{"items":[{{string.Join(',', items)}}],"long":"{{string.Concat(Enumerable.Repeat("\\u0001", 100_000))}}","end":true}""";
        Assert.Equal("OK", server.Json("JSON.SET", "doc", "$", text));
        return text;
    }

    private static void AssertReleased(TypeServer server) => Assert.All(server.Server.Engine.Keyspace.Stripes, stripe => Assert.False(stripe.HasPinned || stripe.HasWatches));
}
