using System.Text.Json;
using System.Text.Json.Serialization;
using RedKite.Types.Tests;

namespace RedKite.Json.Tests;

/// <summary>Documents as objects, by the client in the process.</summary>
public sealed partial class JsonClientTests
{
    [Fact]
    public async Task Documents_are_objects()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        RedKiteJson json = server.Server.CreateClient().Json;
        Assert.Null(json.Get("user:1", "$", Shapes.Default.Person));
        Assert.True(json.Set("user:1", "$", new Person("Ada", 36, ["a", "b"]), Shapes.Default.Person));
        Assert.Equal("Ada", json.Get("user:1", "$", Shapes.Default.Person)!.Name);
        Assert.Equal(36, json.Get("user:1", "$.Age", Shapes.Default.Int32));
        Assert.True(json.Set("user:1", "$.Age", 37, Shapes.Default.Int32));
        Assert.False(json.Set("user:1", "$.none.Age", 37, Shapes.Default.Int32));
        Assert.Equal(["a", "b"], json.GetAll("user:1", "$.Tags[*]", Shapes.Default.String));
        Assert.Equal("""{"Name":"Ada","Age":37,"Tags":["a","b"]}""", server.Document("user:1"));
        Assert.Throws<JsonException>(() => json.Get("user:1", "$.Name", Shapes.Default.Int32));
        Assert.Throws<RedKiteException>(() => json.Get("user:1", "$[", Shapes.Default.Int32));
        Assert.Throws<ArgumentException>(() => json.Get("user:1", ".Age", Shapes.Default.Int32));
        Assert.Equal(1, json.Remove("user:1", "$.Age"));
        Assert.Equal(1, json.Remove("user:1"));
    }

    internal sealed record Person(string Name, int Age, string[] Tags);

    [JsonSerializable(typeof(Person))]
    [JsonSerializable(typeof(int))]
    [JsonSerializable(typeof(string))]
    internal sealed partial class Shapes : JsonSerializerContext;
}
