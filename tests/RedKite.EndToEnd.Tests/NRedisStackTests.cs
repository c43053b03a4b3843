using NRedisStack;
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
        using ServerProcess server = ServerProcess.Start(name == "redkite" ? ServerProgram.UnderTest : ServerProgram.Oracle);
        await using ConnectionMultiplexer multiplexer = await ConnectionMultiplexer.ConnectAsync($"127.0.0.1:{server.Port}");
        IDatabase database = multiplexer.GetDatabase();
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
}
