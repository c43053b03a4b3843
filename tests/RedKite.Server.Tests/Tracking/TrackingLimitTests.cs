using System.Diagnostics;
using System.Text;
using RedKite.Server.Tests.Commands;
using RedKite.Testing;

namespace RedKite.Server.Tests.Tracking;

/// <summary>The limit of tracked keys.</summary>
public class TrackingLimitTests
{
    // Removed from the table's beginning one by one they took minutes, with the stripe locked.
    [Fact]
    public async Task Smaller_limit_forgets_many_keys_in_moments()
    {
        const int Keys = 300_000, Kept = 10, KeysOfRequest = 1000;
        await using LiveServer server = await LiveServer.StartAsync("loops", "1", "stripes", "1");
        using RespConnection reader = RespConnection.Connect(server.Server.Port);
        using RespConnection receiver = RespConnection.Connect(server.Server.Port);
        reader.Run("CLIENT TRACKING ON REDIRECT " + receiver.Run("CLIENT ID").Number).IsOk();
        for (int first = 0; first < Keys; first += KeysOfRequest)
        {
            reader.Send(CommandLine.Encode([.. Enumerable.Range(first, KeysOfRequest).Select(i => $"key:{i}").Prepend("MGET").Select(Encoding.Latin1.GetBytes)]));
            reader.Read();
        }

        Assert.Equal(Keys, server.Server.Engine.Tracking.Keys);
        receiver.Dispose(); // the invalidations go nowhere
        Stopwatch clock = Stopwatch.StartNew();
        server.Run($"CONFIG SET tracking-table-max-keys {Kept}").IsOk();
        Assert.True(SpinWait.SpinUntil(() => server.Server.Engine.Tracking.Keys == Kept, 15_000), $"{server.Server.Engine.Tracking.Keys} keys are left");
        Assert.InRange(clock.Elapsed.TotalSeconds, 0, 15);
    }
}
