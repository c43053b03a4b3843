using System.Diagnostics;
using System.Text;
using RedKite.Server.Tests.Commands;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Tracking;

/// <summary>The limit of tracked keys.</summary>
[Long]
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
        Assert.True(SpinWait.SpinUntil(() => server.Server.Engine.Tracking.Keys == Kept, 60_000), $"{server.Server.Engine.Tracking.Keys} keys are left");
        Assert.InRange(clock.Elapsed.TotalSeconds, 0, 15);
    }

    // Compared with each other, and with each key that changes, they stopped everyone for minutes.
    [Fact]
    public async Task Very_many_long_prefixes_delay_no_client()
    {
        const int Prefixes = 100_000, Sets = 50_000;
        await using LiveServer server = await LiveServer.StartAsync("loops", "1", "max-tracking-prefixes-per-client", "100000");
        using RespConnection follower = RespConnection.Connect(server.Server.Port);
        follower.Run("HELLO 3");
        string[] names = [.. Enumerable.Range(0, Prefixes).Select(i => $"{i:D8}{new string('x', 70)}")];
        Stopwatch clock = Stopwatch.StartNew();
        follower.Send(CommandLine.Encode([.. "CLIENT TRACKING ON BCAST".Split(' ').Concat(names.SelectMany(name => (string[])["PREFIX", name])).Select(Encoding.Latin1.GetBytes)]));
        follower.Read().IsOk();
        using RespConnection writer = RespConnection.Connect(server.Server.Port);
        writer.Send(string.Concat(Enumerable.Range(0, Sets).Select(i => $"SET k{i} v\r\n")));
        for (int i = 0; i < Sets; i++) writer.Read().IsOk();
        writer.Run("SET " + names[4711] + " v").IsOk();
        Assert.Contains(names[4711], follower.ReadAny().ToString(), StringComparison.Ordinal);
        follower.Run("RESET");
        Assert.Equal(0, server.Server.Engine.Tracking.Prefixes);
        Assert.InRange(clock.Elapsed.TotalSeconds, 0, 15);
    }
}
