using System.Globalization;
using System.Text;
using System.Text.Json.Nodes;
using RedKite.Json.Store;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;
using RedKite.Types.Tests;

namespace RedKite.Json.Tests;

/// <summary>Random changes of documents of all sizes on guarded memory, compared with another implementation after each.</summary>
public sealed class JsonModelTests
{
    private static readonly string[] Names = ["name1", "name2", "name3", "name4"];

    [Theory]
    [InlineData(8, 40)]     // in the entry
    [InlineData(60, 300)]   // a few blocks
    [InlineData(160, 3000)] // many, and long strings
    public async Task Documents_change_as_another_implementation_says(int items, int textMax)
    {
        int seed = TestScale.GivenSeed ?? Environment.TickCount;
        var random = new Random(seed);
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: true, "loops", "1");
        server.Run("SET", "doc", "x");
        server.Run("DEL", "doc"); // the table stays
        long before = server.UsedBytes;
        for (int round = 0; round < TestScale.Of(2, 200); round++)
        {
            JsonNode? model = Container(random, items, textMax);
            Assert.Equal("OK", server.Json("JSON.SET", "doc", "$", JsonModel.Text(model)));
            Assert.True(JsonModel.Text(model) == server.Document("doc"), $"seed {seed}: set");
            for (int step = 0; step < TestScale.Of(20, 200); step++)
            {
                string change = Change(server, random, ref model, items, textMax);
                string text = server.Document("doc");
                if (JsonModel.Text(model) != text) Assert.Fail($"seed {seed}, round {round}, step {step}: {Cut(change)}\nexpected {Around(JsonModel.Text(model), text)}\nis       {Around(text, JsonModel.Text(model))}");
                string name = Names[random.Next(Names.Length)];
                Assert.Equal("[" + string.Join(',', JsonModel.Descendants(model, name).Select(JsonModel.Text)) + "]", server.Json("JSON.GET", "doc", "$.." + name));
                if (step % 10 == 0) CheckMemory(server);
                Assert.Equal(Encoding.UTF8.GetByteCount(text) + JsonModel.Containers(model).Count(node => node is JsonObject { Count: > 0 } or JsonArray { Count: > 0 }) + 1, TextOf(server));
            }
        }

        server.Run("DEL", "doc");
        Assert.True(SpinWait.SpinUntil(() => server.UsedBytes <= before, 60_000), $"seed {seed}: {server.UsedBytes} bytes are used, {before} were");
    }

    // At the place of the first one; more names than are remembered by their hash, and names that another object has had.
    [Theory]
    [InlineData(5, 1)]
    [InlineData(40, 40)]
    [InlineData(40, 2000)]
    [InlineData(3000, 1)]
    [InlineData(3000, 30)]
    public async Task Last_value_of_a_name_counts(int count, int objects)
    {
        var random = new Random(TestScale.GivenSeed ?? Environment.TickCount);
        await using TypeServer server = await TypeServer.StartAsync();
        List<string> text = [], expected = [];
        for (int i = 0; i < objects; i++)
        {
            var values = new OrderedDictionary<string, string>();
            List<string> members = [];
            for (int member = 0; member < count; member++)
            {
                int number = random.Next(3) == 0 ? random.Next(member + 1) : member;
                (string name, string value) = ($"\"name{number + (objects > count ? i * count : 0)}\"", $"{member}");
                members.Add(name + ":" + value);
                values[name] = value;
            }

            text.Add("{" + string.Join(',', members) + "}");
            expected.Add("{" + string.Join(',', values.Select(pair => pair.Key + ":" + pair.Value)) + "}");
        }

        server.Json("JSON.SET", "doc", "$", "[" + string.Join(',', text) + "]");
        Assert.Equal("[" + string.Join(',', expected) + "]", server.Document("doc"));
    }

    // Between the two, so many other names come in an object inside that the first ones are not remembered.
    [Fact]
    public async Task Last_value_of_a_name_counts_behind_many_others()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        string inner = Members("inner", 5000, 0);
        server.Json("JSON.SET", "doc", "$", $"{{{Members("outer", 20, 0)},\"in\":{{{inner}}},{Members("outer", 20, 100)}}}");
        Assert.Equal($"{{{Members("outer", 20, 100)},\"in\":{{{inner}}}}}", server.Document("doc"));

        static string Members(string name, int count, int value) => string.Join(',', Enumerable.Range(0, count).Select(i => $"\"{name}{i}\":{i + value}"));
    }

    private static JsonNode Container(Random random, int items, int textMax)
    {
        while (true)
        {
            if (JsonModel.Random(random, items, textMax) is { } node and (JsonObject { Count: > 0 } or JsonArray { Count: > 0 })) return node;
        }
    }

    // The size of the text that is kept with the document: a comma behind each item.
    private static long TextOf(TypeServer server)
    {
        Keyspace keyspace = server.Server.Engine.Keyspace;
        using LockScope locked = keyspace.LockAll();
        return JsonDocument.TextOf(keyspace.Databases[0].Find("doc"u8, keyspace.Hash("doc"u8), ExpiryClock.Never));
    }

    private static void CheckMemory(TypeServer server)
    {
        using LockScope locked = server.Server.Engine.Keyspace.LockAll();
        server.Server.Engine.Keyspace.CheckGuards();
    }

    private static string Change(TypeServer server, Random random, ref JsonNode? model, int items, int textMax)
    {
        JsonNode[] containers = [.. JsonModel.Containers(model)];
        JsonNode at = containers[random.Next(containers.Length)];
        string path = JsonModel.PathOf(at);
        JsonNode? value = JsonModel.Random(random, items / 4, textMax);
        string text = JsonModel.Text(value);
        string[] command;
        switch (random.Next(9))
        {
            case 0 when at is JsonObject members:
                string name = random.Next(2) == 0 && members.Count > 0 ? members.GetAt(random.Next(members.Count)).Key : JsonModel.Name(random);
                command = ["JSON.SET", "doc", $"{path}['{name}']", text];
                members[name] = value;
                break;
            case 0 or 1 when at is JsonArray { Count: > 0 } list:
                int index = random.Next(list.Count);
                command = ["JSON.SET", "doc", $"{path}[{index}]", text];
                list[index] = value;
                break;
            case 1 or 2 when at is JsonObject { Count: > 0 } members:
                string removed = members.GetAt(random.Next(members.Count)).Key;
                command = ["JSON.DEL", "doc", $"{path}['{removed}']"];
                JsonModel.Remove(members, removed);
                break;
            case 2 or 3 when at is JsonArray { Count: > 0 } list:
                int popped = random.Next(list.Count);
                command = ["JSON.ARRPOP", "doc", path, popped.ToString(CultureInfo.InvariantCulture)];
                list.RemoveAt(popped);
                break;
            case 3 or 4 when at is JsonObject && value is JsonObject:
                command = ["JSON.MERGE", "doc", path, text];
                JsonModel.Merge(at, value);
                break;
            case 4 or 5 when at is JsonArray list:
                int inserted = random.Next(list.Count + 1);
                command = ["JSON.ARRINSERT", "doc", path, inserted.ToString(CultureInfo.InvariantCulture), text, "1", "\"x\""];
                list.Insert(inserted, value);
                list.Insert(inserted + 1, 1);
                list.Insert(inserted + 2, "x");
                break;
            case 5 or 6 when at is JsonArray { Count: > 0 } list:
                int start = random.Next(Math.Min(3, list.Count)), stop = list.Count - 1 - random.Next(Math.Min(3, list.Count - start));
                command = ["JSON.ARRTRIM", "doc", path, start.ToString(CultureInfo.InvariantCulture), stop.ToString(CultureInfo.InvariantCulture)];
                while (list.Count > stop + 1) list.RemoveAt(list.Count - 1);
                for (; start > 0; start--) list.RemoveAt(0);
                break;
            case 6 or 7:
                command = ["JSON.SET", "doc", "$.." + Names[random.Next(Names.Length)], text];
                SetAll(model, command[2][3..], value);
                break;
            default:
                command = ["JSON.ARRAPPEND", "doc", path, text];
                if (at is JsonArray appended) appended.Add(value);
                break;
        }

        server.Json(command);
        return string.Join(' ', command);
    }

    // A value inside of another one that is set is not there any more.
    private static void SetAll(JsonNode? node, string name, JsonNode? value)
    {
        if (node is JsonObject members && members.ContainsKey(name)) members[name] = value?.DeepClone();
        foreach (JsonNode? child in JsonModel.Children(node).ToArray())
        {
            if (node is JsonObject own && own.ContainsKey(name) && ReferenceEquals(own[name], child)) continue;
            SetAll(child, name, value);
        }
    }

    private static string Cut(string text) => text.Length > 400 ? text[..400] + "..." : text;

    private static string Around(string text, string other)
    {
        int at = 0;
        while (at < text.Length && at < other.Length && text[at] == other[at]) at++;
        return text[Math.Max(0, at - 60)..Math.Min(text.Length, at + 60)];
    }
}
