using RedKite.Server.Tests.Commands;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Limits;

/// <summary>Replies whose size is a client's number, not that of any data: refused by what the process may use, before they are built.</summary>
public sealed class RepeatedReplyTests
{
    // Each reply has more than 64 MiB, an eighth of maxmemory, and far less than the machine's memory.
    [Theory]
    [InlineData("HRANDFIELD h -12000000")]
    [InlineData("HRANDFIELD h -6000000 WITHVALUES")]
    [InlineData("HRANDFIELD h -2147483649")]
    [InlineData("HRANDFIELD h -4294967297 WITHVALUES")]
    [InlineData("HRANDFIELD large -2000 WITHVALUES")]
    [InlineData("ZRANDMEMBER z -6000000 WITHSCORES")]
    [InlineData("ZRANDMEMBER z -4294967297")]
    [InlineData("SRANDMEMBER s -12000000")]
    [InlineData("SRANDMEMBER s -4294967297")]
    [InlineData("SRANDMEMBER large-set -2000")]
    [InlineData("VRANDMEMBER v -12000000")]
    [InlineData("VRANDMEMBER v -4294967297")]
    public async Task Reply_of_a_client_s_number_is_refused_by_the_process_s_limit(string command)
    {
        await using LiveServer server = await LiveServer.StartAsync("maxmemory", "512mb");
        string large = new('x', 60_000);
        foreach (string line in (string[])["HSET h f v", "HSET large f " + large, "ZADD z 1 m", "SADD s m", "SADD large-set " + large, "VADD v VALUES 1 1 e"]) Assert.NotEqual('-', server.Run(line).Marker);
        Assert.True(server.Run(command).IsClosed);
        using RespConnection next = RespConnection.Connect(server.Server.Port);
        Assert.Equal("PONG", next.Run("PING").Text);
        Assert.True(server.Server.Engine.Buffers.UsedBytes <= 96 << 20, "the reply is not kept");
    }

    [Fact]
    public async Task Smaller_ones_are_given()
    {
        await using LiveServer server = await LiveServer.StartAsync("maxmemory", "512mb");
        server.Run("HSET h f v");
        Assert.Equal(200_000, server.Run("HRANDFIELD h -100000 WITHVALUES").Items!.Count);
    }
}
