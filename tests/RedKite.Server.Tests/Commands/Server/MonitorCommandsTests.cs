namespace RedKite.Server.Tests.Commands;

public class MonitorCommandsTests
{
    // Lines that are never read would pile up.
    [Fact]
    public async Task Caller_in_the_process_cannot_monitor()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        Assert.Equal("ERR MONITOR needs a connection", server.Execute("MONITOR").Text);
        Assert.False(server.Engine.Monitors.IsOn);
    }
}
