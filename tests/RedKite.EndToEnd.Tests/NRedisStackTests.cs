using NRedisStack;
using NRedisStack.RedisStackCommands;
using RedKite.TestSupport;
using StackExchange.Redis;

namespace RedKite.EndToEnd.Tests;

/// <summary>Redis's own .NET client: the blocking commands that it adds to StackExchange.Redis.</summary>
public sealed class NRedisStackTests
{
    public static TheoryData<string> Servers => ["redkite", "redis"];

    [Theory]
    [MemberData(nameof(Servers))]
    public async Task First_of_several_keys_is_popped(string name)
    {
        await using StackClient client = await StackClient.ConnectAsync(RedisProtocol.Resp2, name == "redkite" ? ServerProgram.UnderTest : ServerProgram.Oracle);
        IDatabase database = client.Database;
        await database.SortedSetAddAsync("scores", [new SortedSetEntry("low", 1), new SortedSetEntry("high", 2)]);
        var (key, popped) = database.BZPopMax(["none", "scores"], 0.1)!;
        Assert.Equal(("scores", "high", 2), ((string?)key, (string?)popped.Value, popped.Score));
        Assert.Null(database.BZPopMin("none", 0.01));
        await database.ListRightPushAsync("jobs", ["a", "b"]);
        Assert.Equal("a", (string?)database.BLPop("jobs", 0.1)!.Item2);
        Assert.Equal("b", (string?)database.BLMove("jobs", "taken", ListSide.Left, ListSide.Right, 0.1));
        await database.StreamAddAsync("events", "kind", "opened");
        var read = database.XRead("events", "0", count: 10, timeoutMilliseconds: 10)!;
        Assert.Equal("opened", (string?)read[0]["kind"]);
    }

    // The compared server has no documents.
    [Theory]
    [MemberData(nameof(StackClient.Protocols), MemberType = typeof(StackClient))]
    public async Task Documents_are_read_and_changed(RedisProtocol protocol)
    {
        await using StackClient client = await StackClient.ConnectAsync(protocol);
        JsonCommands json = client.Database.JSON();
        Assert.True(json.Set("doc", "$", new { name = "Ada", age = 33, nested = new { age = 34, tags = new[] { "a" } }, other = new { age = "cat" }, on = true }));
        Assert.False(json.Set("doc", "$", "1", When.NotExists));
        Assert.Equal([35d, 36d, null], json.NumIncrby("doc", "$..age", 2));
        Assert.Equal(3, json.ArrAppend("doc", "$.nested.tags", "b", "c")[0]);
        Assert.Equal(1, json.ArrIndex("doc", "$..tags", "b")[0]);
        Assert.Equal("\"c\"", json.ArrPop("doc", "$.nested.tags")[0].ToString());
        Assert.Equal(2, json.ArrLen("doc", "$.nested.tags")[0]);
        Assert.Equal(6, json.StrAppend("doc", " II", "$.name")[0]);
        Assert.Equal(6, json.StrLen("doc", "$.name")[0]);
        Assert.False(json.Toggle("doc", "$.on")[0]);
        Assert.Equal("INTEGER", json.Type("doc", "$.age").Single().ToString());
        Assert.Equal(["age", "tags"], json.ObjKeys("doc", "$.nested").Single());
        Assert.Equal(2, json.ObjLen("doc", "$.nested")[0]);
        Assert.Equal(35, json.Get<int>("doc", "$.age"));
        Assert.Equal("[\"Ada II\"]", json.MGet(["doc", "none"], "$.name")[0].ToString());
        Assert.True(json.Merge("doc", "$", new { age = 40 }));
        Assert.Equal(1, json.Clear("doc", "$.age"));
        Assert.Equal(1, json.Del("doc", "$.age"));
        Assert.True(json.DebugMemory("doc") > 20);
        Assert.Equal(1, json.Forget("doc"));
        Assert.True(json.Get("doc").IsNull);
    }
}
