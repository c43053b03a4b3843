using System.Globalization;
using System.Text;
using RedKite.Json.Commands;
using RedKite.Json.Paths;
using RedKite.Server.Client;
using RedKite.Server.Execution;
using RedKite.Server.Execution.Slices;
using RedKite.Server.Sessions;
using RedKite.Server.Tests.Execution.Slices;
using RedKite.TestSupport;
using RedKite.Types.Tests;

namespace RedKite.Json.Tests;

/// <summary>Paths that examine so much that the search goes on in slices while its client waits.</summary>
public sealed class JsonSliceTests
{
    private const int BoundsDivisor = 16;
    private const int Items = 6250;

    [Theory]
    [InlineData("JSON.GET doc $..*")]
    [InlineData("JSON.GET doc $[*].a")]
    [InlineData("JSON.GET doc $[?(@.a>6190)].b")]
    [InlineData("JSON.GET doc $[?(@.a>6240||@.b=='x7')]['a','c']")]
    [InlineData("JSON.GET doc $..[0,-1]")]
    [InlineData("JSON.GET doc $..[?(@>6240)]")]
    [InlineData("JSON.GET doc $[2999::-3]..c[::2]")]
    [InlineData("JSON.GET doc $[::7]..c[::-1]")]
    [InlineData("JSON.STRLEN doc ..b")]
    [InlineData("JSON.TYPE doc $..a")]
    [InlineData("JSON.ARRLEN doc $..c")]
    [InlineData("JSON.OBJKEYS doc $[?(@.a>=6190)]")]
    [InlineData("JSON.STRLEN doc $..b")]
    [InlineData("JSON.RESP doc $..c")]
    [InlineData("JSON.ARRINDEX doc $..c 3")]
    [InlineData("JSON.DEBUG MEMORY doc $..c")]
    public async Task Search_in_slices_finds_what_it_does_at_once(string command)
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: false, BoundsDivisor);
        Fill(server, "doc");
        string atOnce = AtOnce(server, command);
        using var search = new SlicedCommand(server.Server.Engine, command.Split(' '));
        Assert.Equal(atOnce, Whole(search));
        Assert.InRange(search.Slices, 1, 30);
        AssertReleased(server);
    }

    [Theory]
    [InlineData("JSON.NUMINCRBY doc $..a 2")]
    [InlineData("JSON.NUMMULTBY doc $..* 3")]
    [InlineData("JSON.STRAPPEND doc $..b \"more\"")]
    [InlineData("JSON.TOGGLE doc $..d")]
    [InlineData("JSON.DEL doc $..c")]
    [InlineData("JSON.CLEAR doc $..*")]
    [InlineData("JSON.ARRAPPEND doc $..c 7")]
    [InlineData("JSON.ARRPOP doc $..c")]
    [InlineData("JSON.ARRTRIM doc $..c 1 1")]
    [InlineData("JSON.SET doc $..c[0] {\"new\":1}")]
    [InlineData("JSON.MERGE doc $[*].none 1")]
    [InlineData("JSON.MERGE doc $[?(@.a>6240)] {\"a\":null,\"e\":1}")]
    public async Task Change_after_a_search_in_slices_is_what_it_is_at_once(string command)
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: false, BoundsDivisor);
        Fill(server, "doc");
        server.Run("COPY", "doc", "kept");
        string atOnce = AtOnce(server, command), digest = server.DigestOf("doc");
        server.Run("RENAME", "kept", "doc");
        using var change = new SlicedCommand(server.Server.Engine, command.Split(' '));
        Assert.Equal(atOnce, Whole(change));
        Assert.Equal(digest, server.DigestOf("doc"));
        Assert.InRange(change.Slices, 1, 30);
        AssertReleased(server);
    }

    [Theory]
    [InlineData("DEL doc", "$-1", 1)]
    [InlineData("RENAME doc other", "$-1", 1)]
    [InlineData("FLUSHALL SYNC", "$-1", 1)]
    [InlineData("SET doc text", "-Existing key has wrong Redis type", 1)]
    [InlineData("JSON.SET doc $ {\"a\":[5]}", "$2 []", 1)]
    [InlineData("JSON.SET doc $[6249].a 7", "$9 [1,7,7,7]", 1)]
    [InlineData("JSON.DEL doc $[0]", "$10 [7,7,6249]", 1)]
    [InlineData("JSON.GET doc $[0].a", "$12 [1,7,7,6249]", 0)]
    [InlineData("SET unrelated text", "$12 [1,7,7,6249]", 0)]
    public async Task Search_begins_again_when_the_document_changes(string change, string reply, int restarts)
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: false, BoundsDivisor);
        Fill(server, "doc");
        server.Json("JSON.SET", "doc", "$[0].a", "1");
        server.Json("JSON.SET", "doc", "$[1].a", "7");
        server.Json("JSON.SET", "doc", "$[2].a", "7");
        server.Json("JSON.SET", "doc", "$[3:6249].a", "2000000");
        using var search = new SlicedCommand(server.Server.Engine, ["JSON.GET", "doc", "$[?(@.a<1000000&&@.d==true)].a"]);
        Assert.True(search.RunSlice());
        server.Json(change.Split(' '));
        Assert.Equal(reply, search.RunToEnd()!.ReplaceLineEndings(" "));
        Assert.Equal(restarts, search.Restarts);
        AssertReleased(server);
    }

    [Fact]
    public async Task Search_ends_with_its_client()
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: true, BoundsDivisor);
        Fill(server, "doc");
        using (var search = new SlicedCommand(server.Server.Engine, ["JSON.NUMINCRBY", "doc", "$..a", "1"])) Assert.True(search.RunSlice());
        AssertReleased(server);
        Assert.Equal("[0]", server.Json("JSON.GET", "doc", "$[0].a"));
    }

    // More than may keep what they have found, and each client has its own path.
    [Fact]
    public async Task Searches_wait_for_each_other()
    {
        const int RoundsMax = 10_000;
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: false, BoundsDivisor);
        Fill(server, "doc");
        SlicedCommand[] searches = [.. Enumerable.Range(0, JsonSearchWork.KeptMax + 2).Select(i => new SlicedCommand(server.Server.Engine, ["JSON.GET", "doc", $"$..[?(@.a=={i})].b"]))];
        int waited = 0;
        for (int round = 0; round < RoundsMax && Array.Exists(searches, search => search.Reply is null); round++)
        {
            foreach (SlicedCommand search in searches)
            {
                search.RunSlice();
                if (((JsonSearchWork?)search.Client.Work)?.Matches.Steps == 0) waited++;
            }
        }

        Assert.True(waited > 0);
        Assert.Equal(searches.Select((_, i) => $"$6 [\"x{i}\"]"), searches.Select(search => search.Reply?.ReplaceLineEndings(" ")));
        foreach (SlicedCommand search in searches) search.Dispose();
        AssertReleased(server);
    }

    // Two of each document: the second one makes the first one stale when it begins.
    [Fact]
    public async Task Searches_that_a_pause_holds_do_not_keep_others_waiting()
    {
        const int RoundsMax = 10_000;
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: false, BoundsDivisor);
        foreach (string key in (string[])["doc", "doc0", "doc1"]) Fill(server, key);
        Engine engine = server.Server.Engine;
        SlicedCommand[] removals = [.. Enumerable.Range(0, JsonSearchWork.KeptMax).Select(i => new SlicedCommand(engine, ["JSON.DEL", $"doc{i / 2}", $"$..[?(@.a=={i + Items})].b"]))];
        Assert.All(removals, static removal => Assert.True(removal.RunSlice()));
        engine.Pause.Hold(PauseReason.Handover);
        var queue = new SliceQueue(engine, server.Server.Loops[0].Loop, engine.NewExecutor());
        foreach (SlicedCommand removal in removals) queue.Add(removal.Client);
        for (int i = 0; i < 2 * removals.Length; i++) Assert.False(queue.RunSlice(engine.Clock.SteadyMs));
        AssertReleased(server);
        using (var search = new SlicedCommand(engine, ["JSON.GET", "doc", "$..[?(@.a==5)].b"]))
        {
            for (int round = 0; round < RoundsMax && search.RunSlice(); round++)
            {
            }

            Assert.Contains("[\"x5\"]", search.Reply, StringComparison.Ordinal);
        }

        engine.Pause.Release(PauseReason.Handover);
        for (int i = 0; i < removals.Length; i++)
        {
            Assert.Equal(":0", removals[i].RunToEnd());
            Assert.Equal(i % 2 == 0 ? 1 : 0, removals[i].Restarts); // the pause counts for nothing
            removals[i].Dispose();
        }

        AssertReleased(server);
    }

    // A call in the process, which does its work itself.
    [Fact]
    public async Task A_call_whose_search_a_pause_holds_does_not_keep_others_waiting()
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: false, BoundsDivisor);
        Fill(server, "doc");
        Engine engine = server.Server.Engine;
        using var removal = new SlicedCommand(engine, ["JSON.DEL", "doc", "$..[?(@.a==5)].b"]);
        Assert.True(removal.RunSlice());
        engine.Pause.Hold(PauseReason.Handover);
        var caller = new Caller(engine);
        Assert.NotNull(caller.WorkFor(removal.Client));
        AssertReleased(server);
        engine.Pause.Release(PauseReason.Handover);
        Assert.Equal(":1", removal.RunToEnd());
    }

    [Fact]
    public async Task Searches_of_another_server_are_not_waited_for()
    {
        const int RoundsMax = 10_000;
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: false, BoundsDivisor), other = await TypeServer.StartAsync(guardsMemory: false, BoundsDivisor);
        Fill(server, "doc");
        Fill(other, "doc");
        SlicedCommand[] searches = [.. Enumerable.Range(0, JsonSearchWork.KeptMax).Select(i => new SlicedCommand(server.Server.Engine, ["JSON.GET", "doc", $"$..[?(@.a=={i})].b"]))];
        using (var search = new SlicedCommand(other.Server.Engine, ["JSON.GET", "doc", "$..[?(@.a==5)].b"]))
        {
            for (int round = 0; round < RoundsMax && search.RunSlice(); round++)
            {
            }

            Assert.Contains("[\"x5\"]", search.Reply, StringComparison.Ordinal);
        }

        foreach (SlicedCommand search in searches) search.Dispose();
        AssertReleased(server);
    }

    [Fact]
    public async Task Places_that_change_have_a_limit()
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: false, BoundsDivisor);
        server.Json("JSON.SET", "many", "$", "[" + string.Join(',', Enumerable.Repeat('1', (JsonMatches.PlacesMax / BoundsDivisor) + 1)) + "]");
        Assert.Equal("ERR the path selects more values than there is room for", server.Json("JSON.NUMINCRBY", "many", "$[*]", "1"));
        Assert.Equal("[1]", server.Json("JSON.GET", "many", "$[0]"));
        Assert.Equal("ERR merging takes too many steps in this document", server.Json("JSON.MERGE", "many", "$[1:18750]", "2"));
        Assert.StartsWith("[2, 2, 2", server.Json("JSON.NUMINCRBY", "many", "$[1:62501]", "1").Replace("[2,2,2", "[2, 2, 2", StringComparison.Ordinal), StringComparison.Ordinal);
        Assert.Equal("[1,2,2,1]", server.Json("JSON.GET", "many", "$[0,1,62500,62501]"));
        AssertReleased(server);
    }

    // All paths, keys or values of a command together: each alone takes a small part of it.
    [Fact]
    public async Task Searches_of_one_command_share_what_it_may_take()
    {
        const int Many = 100;
        await using TypeServer server = await TypeServer.StartAsync();
        Fill(server, "doc", 100_000);
        Assert.Equal("""{"$[?(@.a==0)].b":["x0"],"$[?(@.a==1)].b":["x1"]}""", server.Json(["JSON.GET", "doc", .. Paths(2)]));
        Assert.Equal("ERR the path takes too many steps in this document", server.Json(["JSON.GET", "doc", .. Paths(Many)]));
        Assert.Equal("[[\"x1\"], [\"x1\"]]", server.Json("JSON.MGET", "doc", "doc", "$[?(@.a==1)].b"));
        Assert.Equal("ERR the path takes too many steps, or its values more room than there is", server.Json(["JSON.MGET", .. Enumerable.Repeat("doc", Many), "$[?(@.a==1)].b"]));
        Assert.Equal("ERR the path takes too many steps in this document", server.Json(["JSON.MSET", .. Enumerable.Range(0, Many).SelectMany(i => new[] { "doc", $"$[?(@.a=={i})].b", "7" })]));
        Assert.Equal("[\"x0\"]", server.Json("JSON.GET", "doc", "$[0].b"));
        Assert.Equal("OK", server.Json("JSON.MSET", "doc", "$[?(@.a==0)].b", "7", "doc", "$[?(@.a==1)].b", "8"));
        Assert.Equal("[7,8]", server.Json("JSON.GET", "doc", "$[0,1].b"));

        static IEnumerable<string> Paths(int count) => Enumerable.Range(0, count).Select(i => $"$[?(@.a=={i})].b");
    }

    // JSON.MSET searches for each place twice, so it has half as many as a command that searches once.
    [Fact]
    public async Task Both_searches_of_a_command_share_what_it_may_take()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        Fill(server, "doc", 100_000);
        Assert.DoesNotContain("ERR", server.Json(["JSON.MGET", .. Enumerable.Repeat("doc", 60), "$[?(@.a==1)].b"]), StringComparison.Ordinal);
        Assert.Equal("ERR the path takes too many steps in this document", Set(60));
        Assert.Equal("[\"x1\"]", server.Json("JSON.GET", "doc", "$[1].b"));
        Assert.Equal("OK", Set(30));

        string Set(int count) => server.Json(["JSON.MSET", .. Enumerable.Range(0, count).SelectMany(_ => new[] { "doc", "$[?(@.a==1)].b", "7" })]);
    }

    [Theory]
    [InlineData("JSON.GET doc $[?(@.a<0)]")]
    [InlineData("JSON.NUMINCRBY doc $[?(@.a>=0)].a 1")]
    public async Task Search_that_takes_too_much_in_slices_ends_with_an_error(string command)
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: false, BoundsDivisor);
        Fill(server, "doc");
        using var search = new SlicedCommand(server.Server.Engine, command.Split(' '));
        ((JsonSearchWork)search.Client.Work!).Limit(2 * JsonAccess.SliceSteps / BoundsDivisor);
        Assert.Equal("-ERR the path takes too many steps in this document", search.RunToEnd());
        Assert.InRange(search.Slices, 1, 3);
        Assert.Equal("[0,6249]", server.Json("JSON.GET", "doc", "$[0,-1].a"));
        AssertReleased(server);
    }

    [Fact]
    public async Task Transactions_and_scripts_search_at_once_within_what_they_may_take()
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: false, BoundsDivisor);
        Fill(server, "doc");
        using RedKiteSession client = server.Server.CreateSession();
        client.UnitWork.Limits = ((4 << 20) / BoundsDivisor, (4 << 20) / BoundsDivisor);
        client.Execute("MULTI");
        client.Execute("JSON.GET", "doc", "$[?(@.a==5)].b");
        client.Execute("JSON.GET", "doc", "$..*");
        client.Execute("JSON.GET", "doc", "$[0].a");
        Assert.Equal(["[\"x5\"]", "ERR the path takes too many steps in this document", "[0]"], client.Execute("EXEC").Items.Select(item => item.Text));
    }

    private static string Whole(SlicedCommand command)
    {
        Assert.NotNull(command.RunToEnd());
        return string.Concat(command.Client.Reply!.Select(part => Encoding.Latin1.GetString(part.Bytes))).TrimEnd();
    }

    private static string AtOnce(TypeServer server, string command)
    {
        using RespConnection client = RespConnection.Connect(server.Server.Port);
        client.Run("MULTI");
        client.Json(command.Split(' '));
        client.Run("EXEC");
        return Encoding.Latin1.GetString(client.LastBytes)["*1\r\n".Length..].TrimEnd();
    }

    private static void Fill(TypeServer server, string key, int items = Items)
    {
        IEnumerable<string> texts = Enumerable.Range(0, items).Select(i => string.Create(CultureInfo.InvariantCulture, $$"""{"a":{{i}},"b":"x{{i}}","c":[1,2,{{i % 5}}],"d":true}"""));
        Assert.Equal("OK", server.Json("JSON.SET", key, "$", $"[{string.Join(',', texts)}]"));
    }

    private static void AssertReleased(TypeServer server) => Assert.All(server.Server.Engine.Keyspace.Stripes, stripe => Assert.False(stripe.HasPinned || stripe.HasWatches));
}
