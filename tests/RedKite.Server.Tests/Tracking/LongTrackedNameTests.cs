using RedKite.Server.Tests.Commands;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Tracking;

/// <summary>A name that the managed heap has no room for is not remembered: its reader is told to forget everything.</summary>
public sealed class LongTrackedNameTests
{
    [Fact]
    public async Task Long_name_is_not_remembered()
    {
        await using LiveServer server = await LiveServer.StartAsync("loops", "1");
        server.Server.Engine.Tracking.NameBytesMax = 5000;
        using RespConnection reader = RespConnection.Connect(server.Server.Port);
        reader.Run("HELLO 3");
        reader.Run("CLIENT TRACKING ON").IsOk();
        reader.Run("GET " + new string('k', 5000));
        Assert.Equal(1, server.Server.Engine.Tracking.Keys);
        Assert.Empty(reader.Pushes);
        reader.Run("GET " + new string('k', 5001));
        reader.Run("PING");
        Assert.Equal(1, server.Server.Engine.Tracking.Keys);
        Assert.Single(reader.Pushes);
        Assert.DoesNotContain("kkk", reader.Pushes[0].ToString(), StringComparison.Ordinal);
    }
}
