using RedKite.Server.Tests.Commands;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Tracking;

/// <summary>Broadcast invalidations of what a host's command changes in slices, on the host's thread.</summary>
public class BroadcastOfSlicesTests
{
    // No machine copies them in one slice.
    private const int Members = 20_000;
    private const int MembersPerCommand = 1000;

    [Fact]
    public async Task A_copy_in_slices_is_told_to_broadcast_clients()
    {
        await using LiveServer server = await LiveServer.StartAsync("loops", "1");
        using RespConnection tracker = RespConnection.Connect(server.Server.Port);
        tracker.Run("HELLO 3");
        RedKiteClient client = server.Server.CreateClient();
        for (int i = 0; i < Members; i += MembersPerCommand) client.Execute(["SADD", "source", .. Enumerable.Range(i, MembersPerCommand).Select(static member => $"member:{member}")]);
        tracker.Run("CLIENT TRACKING ON BCAST").IsOk();
        Assert.Equal(1, client.Execute("COPY", "source", "target").Integer);
        NetworkTests.WaitFor(
            () =>
            {
                tracker.Run("PING");
                return tracker.Pushes.Count > 0;
            },
            "the invalidation");
        Assert.Contains("target", tracker.Pushes[0].Items[1].Items.Select(static key => key.Text));
        Assert.False(server.Server.Engine.Tracking.HasBroadcast);
    }
}
