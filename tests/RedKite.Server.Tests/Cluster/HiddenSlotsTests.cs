using System.Globalization;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Cluster;

/// <summary>Keys of slots that are another node's: clients do not see them, and they are removed, also from replicas and the log.</summary>
public sealed class HiddenSlotsTests : IDisposable
{
    private const int Keys = 300;

    private static readonly string Other = new('b', 40);

    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task Keys_of_a_slot_that_went_are_hidden_at_once_and_then_removed()
    {
        await using RedKiteServer server = await StartAsync();
        Fill(server);
        server.Engine.Run.IsBackgroundPaused = true;
        int own = TakeAway(server);
        Assert.InRange(own, 1, Keys - 1);
        Assert.Equal(Keys, Held(server));
        AssertSees(server, own);
        Assert.Equal("OK", server.Execute("FLUSHALL").Text);
        Assert.Equal(0, Held(server));

        server.Execute("CLUSTERX", "SETNODES", $"{Id(server)} 127.0.0.1 7001 master - 0-16383", "3");
        Fill(server);
        TakeAway(server, version: 4);
        server.Engine.Run.IsBackgroundPaused = false;
        Assert.True(SpinWait.SpinUntil(
            () =>
            {
                Assert.Equal(own, server.Engine.Keyspace.Databases[0].VisibleCount); // whatever is removed at this moment
                return Held(server) == own;
            },
            60_000));
        AssertSees(server, own);
        Assert.True(SpinWait.SpinUntil(() => server.Engine.Keyspace.HiddenSlots is null, 60_000)); // nothing has to be looked at any more
    }

    [Fact]
    public async Task Removal_reaches_the_log_watching_and_tracking_clients_and_is_no_event()
    {
        int own;
        await using (RedKiteServer server = await StartAsync(appendOnly: true))
        {
            Fill(server);
            string key = Enumerable.Range(0, Keys).Select(static i => $"key{i}").First(static key => KeySlot.Of(System.Text.Encoding.ASCII.GetBytes(key)) > 8000);
            server.Execute("CONFIG", "SET", "notify-keyspace-events", "KEA");
            using RespConnection events = RespConnection.Connect(server.Port), tracking = RespConnection.Connect(server.Port), watching = RespConnection.Connect(server.Port);
            events.Run("PSUBSCRIBE __key*");
            tracking.Run("HELLO 3");
            tracking.Run("CLIENT TRACKING ON").IsOk();
            tracking.Run($"GET {key}");
            watching.Run($"WATCH {key}").IsOk();
            own = TakeAway(server);
            Assert.True(SpinWait.SpinUntil(() => Held(server) == own, 60_000));
            Assert.Contains(key, tracking.ReadAny().ToString(), StringComparison.Ordinal);
            watching.Run("MULTI").IsOk();
            watching.Run("EXEC").IsNull();
            Assert.Contains("x", events.Run("PING x").ToString(), StringComparison.Ordinal); // no event is before it
        }

        await using RedKiteServer again = await StartAsync(appendOnly: true);
        Assert.Equal(own, Held(again));
        Assert.Null(again.Engine.Keyspace.RemovedSlots);
    }

    [Fact]
    public async Task A_node_that_starts_with_such_keys_removes_them()
    {
        int own;
        await using (RedKiteServer server = await StartAsync(appendOnly: true))
        {
            Fill(server);
            server.Engine.Run.IsBackgroundPaused = true;
            own = TakeAway(server);
            Assert.Equal(Keys, Held(server));
        }

        await using RedKiteServer again = await StartAsync(appendOnly: true);
        AssertSees(again, own);
        Assert.True(SpinWait.SpinUntil(() => Held(again) == own, 60_000));
    }

    // What is left of the slot is seen again, and nothing that is written to it is removed.
    [Fact]
    public async Task A_slot_that_comes_back_is_not_removed_any_more()
    {
        await using RedKiteServer server = await StartAsync();
        string id = Id(server);
        for (int version = 2; version < 40; version += 2)
        {
            Fill(server);
            TakeAway(server, version);
            Assert.Equal("OK", server.Execute("CLUSTERX", "SETNODES", $"{id} 127.0.0.1 7001 master - 0-16383", (version + 1).ToString(CultureInfo.InvariantCulture)).Text);
            Fill(server);
            for (int i = 0; i < 3; i++) server.Execute("PING");
            Assert.Equal(Keys, server.Execute("DBSIZE").Integer);
        }

        Assert.Null(server.Engine.Keyspace.RemovedSlots);
        Assert.Equal(Keys, Held(server));
    }

    // They would be taken for keys that have come.
    [Fact]
    public async Task A_slot_whose_keys_are_being_removed_does_not_come_key_by_key()
    {
        await using RedKiteServer server = await StartAsync();
        Fill(server);
        server.Engine.Run.IsBackgroundPaused = true;
        int own = TakeAway(server);
        Assert.Equal("TRYAGAIN keys of the slot are still here, and being removed", server.Execute("CLUSTER", "SETSLOT", "12182", "IMPORTING", Other).Text);
        AssertSees(server, own);
        server.Engine.Run.IsBackgroundPaused = false;
        Assert.True(SpinWait.SpinUntil(() => Held(server) == own, 60_000));
        Assert.Equal("OK", server.Execute("CLUSTER", "SETSLOT", "12182", "IMPORTING", Other).Text);
        AssertSees(server, own);
    }

    // A removal is from the first key to the last one. Slots without keys have none.
    [Fact]
    public async Task Cluster_info_says_how_far_the_removal_is()
    {
        await using RedKiteServer server = await StartAsync();
        TakeAway(server);
        Assert.Equal([0, 0, 0, 0, 0, 0, 0], Removals(server));
        GiveBack(version: 3);
        Fill(server);
        server.Engine.Run.IsBackgroundPaused = true;
        int own = TakeAway(server, version: 4);
        Assert.Equal([0, 1, Keys - own, 0, 1, 0, 0], Removals(server));
        GiveBack(version: 5);
        Assert.Equal([0, 0, 0, 0, 1, 0, 1], Removals(server));
        TakeAway(server, version: 6);
        Assert.Equal([0, 1, Keys - own, 0, 2, 0, 1], Removals(server));
        server.Engine.Run.IsBackgroundPaused = false;
        Assert.True(SpinWait.SpinUntil(() => Removals(server) is [0, 0, 0, 0, 2, 1, 1], 60_000));

        void GiveBack(int version) => Assert.Equal("OK", server.Execute("CLUSTERX", "SETNODES", $"{Id(server)} 127.0.0.1 7001 master - 0-16383", version.ToString(CultureInfo.InvariantCulture)).Text);
    }

    // As redis-server 8.0.2: nobody else has them.
    [Fact]
    public async Task A_slot_without_an_owner_keeps_its_keys()
    {
        await using RedKiteServer server = await StartAsync();
        Assert.Equal("OK", server.Execute("SET", "foo", "1").Text);
        Assert.Equal("OK", server.Execute("CLUSTER", "DELSLOTS", "12182").Text);
        Assert.Equal(1, server.Execute("DBSIZE").Integer);
        Assert.Equal(1, server.Execute("CLUSTER", "COUNTKEYSINSLOT", "12182").Integer);
        Assert.Equal("OK", server.Execute("CLUSTER", "ADDSLOTS", "12182").Text);
        Assert.Equal("1", server.Execute("GET", "foo").Text);
    }

    // Their clients are being redirected. As many slots come back at the same time.
    [Fact]
    public async Task Nothing_is_removed_at_once_of_slots_that_have_just_gone()
    {
        await using RedKiteServer server = await StartAsync();
        Fill(server);
        server.Engine.Run.IsBackgroundPaused = true;
        Keyspace keyspace = server.Engine.Keyspace;
        var removal = new SlotRemoval(keyspace, 0, 1);
        Have(2, "0-8191", "8192-16383");
        Assert.True(SpinWait.SpinUntil(() => Remove() > 0, 60_000));
        while (keyspace.RemovedSlots!.Slots().Any(slot => keyspace.Databases[0].CountOfSlot(slot) > 0)) Remove();
        Have(3, "8192-16383", "0-8191");
        long left = Held(server), removed = removal.Keys;
        Assert.InRange(left, 1, Keys - 1);
        Assert.Equal(removed, Remove());
        Assert.True(SpinWait.SpinUntil(() => Remove() > removed, 60_000));

        long Remove()
        {
            removal.Run(long.MaxValue, Enter, Exit);
            return removal.Keys;
        }

        bool Enter(int stripe)
        {
            keyspace.Stripes[stripe].Enter();
            return true;
        }

        void Exit(int stripe) => keyspace.Stripes[stripe].Exit();

        void Have(int version, string own, string others) => Assert.Equal("OK", server.Execute("CLUSTERX", "SETNODES", $"{Id(server)} 127.0.0.1 7001 master - {own}\n{Other} 127.0.0.1 7002 master - {others}", version.ToString(CultureInfo.InvariantCulture)).Text);
    }

    // Some have keys that clients see, and most have hidden ones.
    private static void AssertSees(RedKiteServer server, int keys)
    {
        Assert.Equal(keys, server.Execute("DBSIZE").Integer);
        Assert.Equal(keys, server.Execute("KEYS", "*").Items.Count);
        Assert.Equal(keys, server.Execute("SCAN", "0", "COUNT", "1000000").Items[1].Items.Count);
        Assert.Contains($"keys={keys},", server.Execute("INFO", "keyspace").Text, StringComparison.Ordinal);
        for (int i = 0; i < 50; i++) Assert.True(KeySlot.Of(System.Text.Encoding.ASCII.GetBytes(server.Execute("RANDOMKEY").Text!)) <= 1000);
        long counted = Enumerable.Range(0, 1001).Sum(slot => server.Execute("CLUSTER", "COUNTKEYSINSLOT", slot.ToString(CultureInfo.InvariantCulture)).Integer);
        Assert.Equal(keys, counted);
        Assert.Equal(0, server.Execute("CLUSTER", "COUNTKEYSINSLOT", "12182").Integer);
        Assert.Empty(server.Execute("CLUSTER", "GETKEYSINSLOT", "12182", "10").Items);
    }

    private static void Fill(RedKiteServer server)
    {
        for (int i = 0; i < Keys - 1; i++) Assert.Equal("OK", server.Execute("SET", $"key{i}", "value").Text);
        Assert.Equal("OK", server.Execute("SET", "foo", "value").Text);
    }

    // Returns how many keys the node still has by its slots.
    private static int TakeAway(RedKiteServer server, int version = 2)
    {
        Assert.Equal("OK", server.Execute("CLUSTERX", "SETNODES", $"{Id(server)} 127.0.0.1 7001 master - 0-1000\n{Other} 127.0.0.1 7002 master - 1001-16383", version.ToString(CultureInfo.InvariantCulture)).Text);
        return Enumerable.Range(0, Keys - 1).Count(static i => KeySlot.Of(System.Text.Encoding.ASCII.GetBytes($"key{i}")) <= 1000);
    }

    // Moves, whether keys are removed, how many there were and are gone, and how many removals have begun, ended and been given up.
    private static long[] Removals(RedKiteServer server) =>
        [.. server.Execute("CLUSTER", "INFO").Text!.Split("\r\n").Where(static line => line.StartsWith("cluster_slot_migration_", StringComparison.Ordinal)).Select(static line => long.Parse(line.Split(':')[1], CultureInfo.InvariantCulture))];

    private static long Held(RedKiteServer server) => server.Engine.Keyspace.Databases[0].Count;

    private static string Id(RedKiteServer server) => server.Execute("CLUSTER", "MYID").Text!;

    private async Task<RedKiteServer> StartAsync(bool appendOnly = false)
    {
        var options = new RedKiteOptions { Port = 0 };
        foreach ((string setting, string value) in (ReadOnlySpan<(string, string)>)[("cluster-enabled", "yes"), ("dir", _folder.Path), ("loops", "1"), ("save", ""), ("diagnostics", "no"), ("appendonly", appendOnly ? "yes" : "no")]) options.Settings[setting] = value;
        RedKiteServer server = await RedKiteServer.StartAsync(options);
        if (server.Execute("CLUSTERX", "VERSION").Text == "0") Assert.Equal("OK", server.Execute("CLUSTERX", "SETNODES", $"{Id(server)} 127.0.0.1 7001 master - 0-16383", "1").Text);
        return server;
    }
}
