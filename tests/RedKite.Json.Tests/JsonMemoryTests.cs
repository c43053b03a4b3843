using System.Globalization;
using System.Text.Json.Nodes;
using RedKite.Types.Tests;

namespace RedKite.Json.Tests;

/// <summary>The memory of documents, with their keys and what the arena rounds up, by the bytes of their compact text.</summary>
public sealed class JsonMemoryTests
{
    // Profiles as of a shop, orders with lines, and measurements.
    [Theory]
    [InlineData("profile", 200)]
    [InlineData("profile", 1000)]
    [InlineData("orders", 1000)]
    [InlineData("orders", 10_000)]
    [InlineData("orders", 100_000)]
    [InlineData("profile", 10_000)]
    [InlineData("measurements", 1000)]
    [InlineData("measurements", 100_000)]
    [InlineData("dictionary", 10_000)]
    [InlineData("dictionary", 100_000)]
    public async Task Documents_take_at_most_1_3_times_their_text(string shape, int bytes)
    {
        await using TypeServer server = await TypeServer.StartAsync();
        string text = JsonModel.Text(Of(shape, bytes));
        server.Json("JSON.SET", "doc", "$", text);
        Assert.Equal(text, server.Document("doc"));
        long usage = long.Parse(server.Run("MEMORY", "USAGE", "doc"), CultureInfo.InvariantCulture);
        TestContext.Current.TestOutputHelper!.WriteLine(string.Create(CultureInfo.InvariantCulture, $"{shape} {text.Length}: {usage} bytes, {(double)usage / text.Length:F2}"));
        Assert.InRange(usage, text.Length / 4, text.Length * 13 / 10);

        // After changes of all parts the memory is about the same.
        server.Json("JSON.ARRAPPEND", "doc", "$..tags", "\"x\"");
        server.Json("JSON.ARRPOP", "doc", "$..tags");
        long after = long.Parse(server.Run("MEMORY", "USAGE", "doc"), CultureInfo.InvariantCulture);
        Assert.InRange(after, text.Length / 4, text.Length * 13 / 10);
    }

    // With more blocks than are counted: all alike, and most of them deep in one of several values.
    [Theory]
    [InlineData(1)]
    [InlineData(3)]
    public async Task Memory_of_a_document_with_very_many_blocks_is_estimated(int depth)
    {
        await using TypeServer server = await TypeServer.StartAsync();
        var random = new Random(7);
        string Item() => $$"""{"text":"{{new string('x', 2500)}}","number":{{random.Next(1000)}}}""";
        string value = '[' + string.Join(',', Enumerable.Range(0, 5000).Select(_ => Item())) + ']';
        for (int i = 1; i < depth; i++) value = $$"""[{{Item()}},{"a":{{value}},"b":[{{Item()}},{{Item()}}]},{{Item()}}]""";
        server.Json("JSON.SET", "warm", "$", "[]");
        long before = server.UsedBytes;
        Assert.Equal("OK", server.Json("JSON.SET", "doc", "$", value));
        long used = server.UsedBytes - before, usage = long.Parse(server.Run("MEMORY", "USAGE", "doc"), CultureInfo.InvariantCulture);
        Assert.InRange(usage, used * 9 / 10, used * 11 / 10);
    }

    // Of a document whose text is shorter, what several paths select, or what is between the values.
    [Theory]
    [InlineData("JSON.GET doc $..*")]
    [InlineData("JSON.GET doc $['array','array']")]
    [InlineData("JSON.GET doc .array .array[0]")]
    [InlineData("JSON.MGET doc doc $..*")]
    [InlineData("JSON.GET doc NEWLINE 11111111111111111111111111111111111111111111111111111111111111111111111111111111 $.items[*]")]
    public async Task Text_of_a_reply_is_bounded(string command)
    {
        const int Divisor = 1024; // 1 MiB of text
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: false, Divisor);
        string text = '"' + string.Concat(Enumerable.Repeat("\\u0001", 100_000)) + '"', items = string.Join(',', Enumerable.Repeat('1', 20_000));
        Assert.Equal("OK", server.Json("JSON.SET", "doc", "$", $$"""{"name":1,"array":[{{text}}],"items":[{{items}}]}"""));
        Assert.EndsWith(" than there is", server.Json(command.Split(' ')).Replace(" room for", "", StringComparison.Ordinal), StringComparison.Ordinal);
        Assert.Equal("[1]", server.Json("JSON.GET", "doc", "$.name"));
        Assert.Equal("[100000]", server.Json("JSON.STRLEN", "doc", "$.array[0]"));
        Assert.Equal("[1]", server.Json("JSON.ARRLEN", "doc", "$.array"));
    }

    // In pieces, whose ends are anywhere in the text.
    [Fact]
    public async Task Long_names_and_strings_are_written_in_pieces()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        var random = new Random(7);
        string Long(int length) => string.Concat(Enumerable.Range(0, length).Select(_ => random.Next(4) switch { 0 => "\\n", 1 => "\\u0001", 2 => "ü", _ => "x" }));
        string text = $$"""{"{{Long(70_000)}}":{"{{Long(150_000)}}":["{{Long(200_000)}}",{"{{Long(65_536)}}":"{{Long(131_072)}}"},1]},"a":"b"}""";
        Assert.Equal("OK", server.Json("JSON.SET", "doc", "$", text));
        Assert.Equal(text, server.Document("doc"));
        Assert.Equal("OK", server.Restore("restored", server.Dump("doc")));
        Assert.Equal(text, server.Document("restored"));
        Assert.Equal(text.Replace("\":", "\": ", StringComparison.Ordinal), server.Json("JSON.GET", "doc", "SPACE", " "));
    }

    internal static JsonNode Of(string shape, int bytes)
    {
        var random = new Random(7);
        JsonNode document = shape == "profile" || shape == "dictionary" ? new JsonObject() : new JsonArray();
        int step = shape == "measurements" ? 1 + (bytes / 10_000) : 1; // many short items: to write all of them behind each takes seconds
        for (int i = 0; i % step != 0 || JsonModel.Text(document).Length < bytes - 60; i++)
        {
            string number = i.ToString(CultureInfo.InvariantCulture);
            switch (shape)
            {
                case "profile":
                    ((JsonObject)document)["field" + number] = (i % 4) switch { 0 => "some text of a field " + number, 1 => random.Next(100_000), 2 => random.Next(2) == 0, _ => new JsonObject { ["city"] = "Oslo", ["tags"] = new JsonArray("a", "b") } };
                    break;
                case "dictionary":
                    ((JsonObject)document)["user:" + random.Next(1_000_000).ToString(CultureInfo.InvariantCulture)] = new JsonObject { ["name"] = "Ada Lovelace", ["visits"] = random.Next(1000) };
                    break;
                case "orders":
                    ((JsonArray)document).Add(new JsonObject { ["id"] = 1000 + i, ["customer"] = "c-" + random.Next(9999).ToString(CultureInfo.InvariantCulture), ["price"] = random.Next(10_000) / 100.0, ["paid"] = i % 3 == 0, ["tags"] = new JsonArray("new", "gift") });
                    break;
                default:
                    ((JsonArray)document).Add(random.Next(100_000) / 100.0);
                    break;
            }
        }

        return document;
    }
}
