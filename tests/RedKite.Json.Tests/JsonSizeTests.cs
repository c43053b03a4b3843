using System.Globalization;
using RedKite.Json.Store;
using RedKite.Store.Keyspace;
using RedKite.Types.Tests;

namespace RedKite.Json.Tests;

/// <summary>How long the text of a document may become, with a bound of 1,000,000 bytes for commands.</summary>
public sealed class JsonSizeTests
{
    private const int Divisor = 1000;
    private const string TooLarge = "ERR document exceeds maximum allowed size";

    // The text of the control characters is six times as long as they are.
    [Theory]
    [InlineData("JSON.ARRAPPEND doc $.array LONG")]
    [InlineData("JSON.ARRAPPEND doc .array 1 LONG")]
    [InlineData("JSON.ARRINSERT doc $.array 0 LONG")]
    [InlineData("JSON.STRAPPEND doc $.text LONG")]
    [InlineData("JSON.STRAPPEND doc $..text LONG")]
    [InlineData("JSON.SET doc $.more LONG")]
    [InlineData("JSON.SET doc $.number LONG")]
    [InlineData("JSON.SET doc $.numbers[:4000] \"123456789012345678901234567890\"")]
    [InlineData("JSON.SET doc $ [LONG,LONG]")]
    [InlineData("JSON.SET new $ [LONG,LONG]")]
    [InlineData("JSON.SET new $ SHARED")]
    [InlineData("JSON.MERGE doc $ {\"more\":LONG}")]
    [InlineData("JSON.MERGE new $ [LONG,LONG]")]
    [InlineData("JSON.MERGE doc $.numbers[:200] MEDIUM")]
    [InlineData("JSON.MSET new $ 1 doc $.more LONG")]
    [InlineData("JSON.MSET new $ [LONG,1] doc $.number LONG")]
    [InlineData("JSON.NUMINCRBY doc $.numbers[:4000] 100000000000000000")]
    [InlineData("JSON.NUMMULTBY doc $.numbers[:4000] 1.0000000001")]
    public async Task Document_does_not_become_longer_than_is_persisted(string command)
    {
        await using TypeServer server = await StartAsync();
        string before = server.Document("doc");
        Assert.Equal(TooLarge, server.Json(Words(command)));
        Assert.Equal(before, server.Document("doc"));
        Assert.Equal("(nil)", server.Document("new"));
        AssertCounted(server);
        Assert.Equal("OK", server.Restore("restored", server.Dump("doc")));
        Assert.Equal(before, server.Document("restored"));
    }

    // What goes makes room for what comes, and what is nearly as long as it may be can be changed.
    [Theory]
    [InlineData("JSON.SET doc $.text LONG")]
    [InlineData("JSON.SET doc $['text','text'] LONG")]
    [InlineData("JSON.SET doc $ {\"a\":LONG}")]
    [InlineData("JSON.SET doc $ \"short\"")]
    [InlineData("JSON.STRAPPEND doc $.text \"a\"")]
    [InlineData("JSON.NUMINCRBY doc $.numbers[0] 1")]
    [InlineData("JSON.CLEAR doc $.*")]
    [InlineData("JSON.DEL doc $.text")]
    [InlineData("JSON.DEL doc $.numbers[1:4000]")]
    [InlineData("JSON.DEL doc $.*")]
    [InlineData("JSON.ARRTRIM doc $.numbers 1 2")]
    [InlineData("JSON.ARRPOP doc $.numbers")]
    [InlineData("JSON.TOGGLE doc $.flag")]
    [InlineData("JSON.MERGE doc $ {\"number\":null}")]
    [InlineData("COPY doc copy")]
    public async Task Document_has_room_for_what_comes_in_place_of_something(string command)
    {
        await using TypeServer server = await StartAsync();
        Assert.DoesNotContain("ERR", server.Json(Words(command)), StringComparison.Ordinal);
        AssertCounted(server);
        server.Json("JSON.DEL", "doc", "$.text");
        server.Json("JSON.DEL", "doc", "$.a");
        Assert.DoesNotContain("ERR", server.Json(Words("JSON.MSET doc $.text LONG")), StringComparison.Ordinal);
        AssertCounted(server);
    }

    // A buffer has room for 1,073,741 bytes, and what is behind it is not changed.
    [Theory]
    [InlineData("JSON.SET doc $.arrays[*] DOUBLES")]
    [InlineData("JSON.MSET doc $.other 1 doc $.arrays[*] DOUBLES")]
    [InlineData("JSON.ARRAPPEND doc $.arrays[*] DOUBLES")]
    [InlineData("JSON.ARRINSERT doc $.arrays[*] 0 DOUBLES")]
    [InlineData("JSON.STRAPPEND doc $.strings[*] STRING")]
    public async Task Values_for_all_places_fit_one_buffer(string command)
    {
        const int Places = 3000;
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: false, Divisor, "loops", "1", "stripes", "1");
        Assert.Equal("OK", server.Json("JSON.SET", "doc", "$", $$"""{"arrays":[{{string.Join(',', Enumerable.Repeat("[]", Places))}}],"strings":[{{string.Join(',', Enumerable.Repeat("\"\"", Places))}}],"other":0}"""));
        string before = server.Document("doc");
        string doubles = '[' + string.Join(',', Enumerable.Repeat("1e9", 45)) + ']', text = '"' + new string('x', 400) + '"';
        Assert.Equal("ERR the path selects more values than there is room for", server.Json(command.Replace("DOUBLES", doubles, StringComparison.Ordinal).Replace("STRING", text, StringComparison.Ordinal).Split(' ')));
        Assert.Equal(before, server.Document("doc"));
        AssertCounted(server);
    }

    [Fact]
    public async Task Payload_with_a_longer_text_is_refused()
    {
        await using TypeServer larger = await TypeServer.StartAsync();
        string text = $"[{Control(100_000)},{Control(100_000)}]";
        Assert.Equal("OK", larger.Json("JSON.SET", "doc", "$", text));
        await using TypeServer server = await StartAsync();
        long used = server.UsedBytes;
        Assert.Equal("ERR Bad data format", server.Restore("new", larger.Dump("doc")));
        Assert.Equal("(nil)", server.Document("new"));
        Assert.Equal(used, server.UsedBytes);
    }

    private static async Task<TypeServer> StartAsync()
    {
        TypeServer server = await TypeServer.StartAsync(guardsMemory: false, Divisor, "loops", "1", "stripes", "1");
        string numbers = string.Join(',', Enumerable.Repeat('7', 20_000));
        Assert.Equal("OK", server.Json("JSON.SET", "doc", "$", $$"""{"array":[],"text":{{Control(153_000)}},"numbers":[{{numbers}}],"number":5.25,"flag":true}"""));
        return server;
    }

    private static string Control(int characters) => '"' + string.Concat(Enumerable.Repeat("\\u0001", characters)) + '"';

    private static string[] Words(string command)
    {
        string text = Control(100_000);
        string shared = '[' + string.Join(',', Enumerable.Repeat("{\"" + string.Concat(Enumerable.Repeat("\\u0001", 64)) + "\":1}", 3000)) + ']';
        return [.. command.Split(' ').Select(word => word.Replace("LONG", text, StringComparison.Ordinal).Replace("MEDIUM", Control(50), StringComparison.Ordinal).Replace("SHARED", shared, StringComparison.Ordinal))];
    }

    // What is kept is what is there.
    private static void AssertCounted(TypeServer server)
    {
        Keyspace keyspace = server.Server.Engine.Keyspace;
        string text = server.Document("doc");
        using LockScope locked = keyspace.LockAll();
        Entry entry = keyspace.Databases[0].Find("doc"u8, keyspace.Hash("doc"u8), ExpiryClock.Never);
        long counted = JsonDocument.TextOf(entry);
        Assert.True(counted >= text.Length && counted <= text.Length + 8, string.Create(CultureInfo.InvariantCulture, $"{counted} for {text.Length}"));
    }
}
