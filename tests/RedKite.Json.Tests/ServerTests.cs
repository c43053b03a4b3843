using RedKite.Types.Tests;

namespace RedKite.Json.Tests;

/// <summary>The project's types are in a server.</summary>
public sealed class ServerTests
{
    [Fact]
    public async Task Server_starts()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        Assert.Equal("PONG", server.Run("PING"));
    }
}
