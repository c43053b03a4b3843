using RedKite.Server.Metrics;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Cluster;

/// <summary>What the statistics of slots cost: nothing while they are off, and one addition for each command while they are on.</summary>
public sealed class SlotCountersTests
{
    private const int Commands = 100;

    [Fact]
    public async Task Commands_add_to_their_slot_once_and_only_while_the_setting_is_on()
    {
        using var folder = new TemporaryFolder();
        var options = new RedKiteOptions { Port = 0 };
        foreach ((string name, string value) in (ReadOnlySpan<(string, string)>)[("cluster-enabled", "yes"), ("dir", folder.Path), ("loops", "1"), ("save", ""), ("diagnostics", "no")]) options.Settings[name] = value;
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        server.Execute("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
        using RespConnection client = RespConnection.Connect(server.Port);

        Pipeline(client);
        client.Run("SET a 1").IsOk();
        Assert.Equal("1", server.Execute("GET", "a").Text);
        Assert.All(Executors(server), static executor => Assert.Null(executor.Slots)); // no counter exists

        client.Run("CONFIG SET cluster-slot-stats-enabled mem").IsOk(); // measured when it is asked for
        Pipeline(client);
        Assert.All(Executors(server), static executor => Assert.Null(executor.Slots));

        client.Run("CONFIG SET cluster-slot-stats-enabled yes").IsOk();
        Pipeline(client);
        Assert.Equal(Commands, Additions(server));
        client.Run("SET a 1").IsOk();
        client.Run("MGET a a").ToString();
        server.Execute("GET", "a");
        Assert.Equal(Commands + 3, Additions(server));

        // A short one in between that is executed alone does not move what neighbours are counted for.
        client.Run("CONFIG RESETSTAT").IsOk();
        foreach (string line in (string[])["SET a 1", "SET b 1", "MGET a a", "GET b", "GET a"]) client.Send(CommandLine.Encode(CommandLine.Split(line)));
        for (int i = 0; i < 5; i++) client.Read();
        Assert.Equal("*[*[:3300 *[$key-count :1 $network-bytes-in :47 $network-bytes-out :12]]]", WithNet(client, 3300)); // "b"
        Assert.Equal("*[*[:15495 *[$key-count :1 $network-bytes-in :75 $network-bytes-out :30]]]", WithNet(client, 15495)); // "a": 27 + 28 + 20, and 5 + 18 + 7

        client.Run("CONFIG SET cluster-slot-stats-enabled no").IsOk();
        long before = Additions(server);
        Pipeline(client);
        Assert.Equal(before, Additions(server));
    }

    private static string WithNet(RespConnection client, int slot)
    {
        client.Run("CONFIG SET cluster-slot-stats-enabled net").IsOk();
        return client.Run($"CLUSTER SLOT-STATS SLOTSRANGE {slot} {slot}").ToString();
    }

    private static ExecutorMetrics[] Executors(RedKiteServer server) => server.Engine.Metrics.Executors;

    private static long Additions(RedKiteServer server) => Executors(server).Sum(static executor => executor.Slots?.Additions ?? 0);

    private static void Pipeline(RespConnection client)
    {
        for (int i = 0; i < Commands; i++) client.Send(CommandLine.Encode(CommandLine.Split($"SET key{i} 1")));
        for (int i = 0; i < Commands; i++) client.Read();
    }
}
