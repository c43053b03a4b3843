using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Cluster;

/// <summary>What removes, lists and watches the keys of slots, as in Valkey 9.1 (CLUSTER FLUSHSLOT, CLUSTERSCAN) and Redis 8.6 (TRIMSLOTS, SLOTS of HOTKEYS). The slot of "b" is 3300, that of "a" 15495.</summary>
public sealed class SlotKeyTests
{
    private static readonly string[] OfValkey =
    [
        "CLUSTER LINKS", "CLUSTER FLUSHSLOT 5", "CLUSTER FLUSHSLOT 5 ASYNC", "CLUSTER FLUSHSLOT 5 sync", "CLUSTER FLUSHSLOT 5 FOO", "CLUSTER FLUSHSLOT x", "CLUSTER FLUSHSLOT 16384", "CLUSTER FLUSHSLOT -1", "CLUSTER FLUSHSLOT", "CLUSTER FLUSHSLOT 5 SYNC x",
        "CLUSTER FLUSHSLOT x FOO", "SET b 1", "SET {b}2 1 PX 1000000", "LPUSH {b}3 1 2 3", "SET a 1", "CLUSTER FLUSHSLOT 3300", "CLUSTER COUNTKEYSINSLOT 3300", "DBSIZE", "SET b 1", "MULTI", "CLUSTER FLUSHSLOT 3300", "GET b", "EXEC", "SET b 1",
        "EVAL \"return redis.call('cluster','flushslot',3300)\" 0", "EXISTS b", "SET b 1", "CLUSTER DELSLOTS 3300", "CLUSTER FLUSHSLOT 3300", "CLUSTER COUNTKEYSINSLOT 3300", "CLUSTER ADDSLOTS 3300", "GET b", "FLUSHALL",
        "CLUSTERSCAN", "CLUSTERSCAN 0", "CLUSTERSCAN x", "CLUSTERSCAN 1", "CLUSTERSCAN 00", "CLUSTERSCAN 0 COUNT 5", "CLUSTERSCAN 0 COUNT 0", "CLUSTERSCAN 0 COUNT x", "CLUSTERSCAN 0 SLOT 5", "CLUSTERSCAN 0 SLOT x", "CLUSTERSCAN 0 SLOT 16384",
        "CLUSTERSCAN 0 SLOT 16383", "CLUSTERSCAN 0 SLOT 3300", "CLUSTERSCAN 0 MATCH", "CLUSTERSCAN 0 FOO 1", "CLUSTERSCAN 0 TYPE string", "CLUSTERSCAN 0 TYPE nosuch", "CLUSTERSCAN 0 NOVALUES", "CLUSTERSCAN 0-{06S}", "CLUSTERSCAN 0-{06S}-x",
        "CLUSTERSCAN -0-{06S}-0", "CLUSTERSCAN 0-{06S}-", "CLUSTERSCAN 0-{06S}-99999999999999999999", "CLUSTERSCAN 0-{06S}-0 SLOT 5", "CLUSTERSCAN 0-{06S}-0 SLOT 0", "COMMAND GETKEYS CLUSTERSCAN 0", "MULTI", "CLUSTERSCAN 0", "EXEC",
        "EVAL \"return redis.call('clusterscan','0')\" 0", "SET a 1", "CLUSTERSCAN 0-{a}-0 COUNT 100", "CLUSTERSCAN 0-{a}-0 SLOT 15495 COUNT 100", "CLUSTERSCAN 0-{a}-0 MATCH x* COUNT 100", "CLUSTERSCAN 0-{a}-0 TYPE list COUNT 100",
        "CLUSTERSCAN 0-{a}-7 SLOT 15495 COUNT 100", "CLUSTERSCAN xyz-{a}-00 SLOT 15495 COUNT 100", "CLUSTER DELSLOTS 0", "CLUSTERSCAN 0-{06S}-0", "CLUSTERSCAN 0-{06S}-x", "CLUSTER ADDSLOTS 0", "FLUSHALL",
    ];

    private static readonly string[] OfRedis =
    [
        "CLUSTER LINKS", "TRIMSLOTS RANGES 1 5 6", "TRIMSLOTS RANGES 2 5 6", "TRIMSLOTS RANGES x 5 6", "TRIMSLOTS FOO 1 5 6", "TRIMSLOTS RANGES 1 6 5", "TRIMSLOTS RANGES 1 6 99999", "TRIMSLOTS RANGES 1 6 x", "TRIMSLOTS RANGES 1 6 7 8", "TRIMSLOTS RANGES 0 6 7",
        "TRIMSLOTS RANGES -1 6 7", "TRIMSLOTS RANGES 2 5 6 6 7", "TRIMSLOTS RANGES 2 5 6 7 8", "TRIMSLOTS RANGES 1", "MULTI", "TRIMSLOTS RANGES 1 5 6", "EXEC", "SET b 1", "CLUSTER DELSLOTS 3300", "TRIMSLOTS RANGES 1 3300 3301",
        "TRIMSLOTS RANGES 1 3300 3300", "CLUSTER COUNTKEYSINSLOT 3300", "CLUSTER ADDSLOTS 3300", "EXISTS b", "CLIENT MAINT_NOTIFICATIONS ON", "CLIENT MAINT_NOTIFICATIONS",
        "HOTKEYS START METRICS 1 CPU SLOTS 0", "HOTKEYS START METRICS 1 CPU SLOTS 2 1", "HOTKEYS START METRICS 1 CPU SLOTS x 1", "HOTKEYS START METRICS 1 CPU SLOTS 1 x", "HOTKEYS START METRICS 1 CPU SLOTS 1 16384",
        "HOTKEYS START METRICS 1 CPU SLOTS -1 5", "HOTKEYS START METRICS 1 CPU SLOTS 2 5 5", "HOTKEYS START METRICS 1 CPU SLOTS 1 5 SLOTS 1 6", "HOTKEYS START METRICS 1 CPU SLOTS", "HOTKEYS START SLOTS 1 5", "CLUSTER DELSLOTS 6",
        "HOTKEYS START METRICS 1 CPU SLOTS 1 6", "HOTKEYS START METRICS 1 NET", "HOTKEYS GET", "HOTKEYS STOP", "HOTKEYS RESET", "CLUSTER ADDSLOTS 6", "HOTKEYS START METRICS 1 CPU SLOTS 2 5 6", "HOTKEYS GET", "HOTKEYS STOP", "HOTKEYS RESET",
        "HOTKEYS START METRICS 1 NET SLOTS 3 5 3300 4", "SET b 1", "SET a 1", "PING", "SET {06S}q 1", "MSET b 1 {b}2 2", "GET b", "HOTKEYS GET", "HOTKEYS STOP", "HOTKEYS GET", "HOTKEYS RESET", "HOTKEYS START METRICS 1 NET SAMPLE 100000 SLOTS 1 5",
        "HOTKEYS GET", "HOTKEYS STOP", "HOTKEYS RESET", "FLUSHALL",
    ];

    private static readonly string[] InDatabases =
    [
        "SELECT 15", "SELECT 16", "SELECT -1", "SELECT x", "SELECT 0", "SET b 1", "MOVE b 3", "MOVE b 0", "MOVE b 16", "MOVE b x", "MOVE nosuch 3", "SET b 2", "MOVE b 3", "SET a 1", "MOVE a 3", "COPY b {b}c DB 4", "COPY b b DB 4", "COPY b b",
        "COPY b b DB 16", "COPY b {b}c DB x", "COPY b a DB 4", "SWAPDB 0 1", "SELECT 4", "DBSIZE", "SCAN 0 MATCH b", "GET b", "MULTI", "SELECT 3", "GET b", "EXEC", "GET b", "CLUSTER COUNTKEYSINSLOT 3300", "CLUSTER GETKEYSINSLOT 3300 10", "FLUSHDB",
        "SELECT 0", "CLUSTER COUNTKEYSINSLOT 3300", "CLUSTER SLOT-STATS SLOTSRANGE 3300 3300", "CLUSTER FLUSHSLOTS", "SET {b}e 1 PX 1", "SELECT 4", "SET b 1 PX 1", "SELECT 3", "KEYS *", "RANDOMKEY", "CLUSTERSCAN 0-{b}-0 COUNT 1000 SLOT 3300",
        "CLUSTER FLUSHSLOT 3300", "DBSIZE", "FLUSHALL", "DBSIZE", "EVAL \"redis.call('select', 2) return redis.call('set', KEYS[1], 1)\" 1 b", "GET b", "SELECT 2", "GET b", "CONFIG GET cluster-databases", "CONFIG SET cluster-databases 3", "FLUSHALL",
    ];

    [Theory]
    [InlineData(2)]
    [InlineData(3)]
    public async Task Replies_are_those_of_a_node_of_Valkey(int protocol)
    {
        await using SingleNodes nodes = await SingleNodes.StartAsync(OracleProgram.Valkey9, OracleProgram.Valkey9Missing);
        using SingleNodes.Pair node = nodes.Open(protocol);
        node.RunAll(OfValkey);
    }

    [Theory]
    [InlineData(2)]
    [InlineData(3)]
    public async Task Replies_are_those_of_a_node_of_Redis(int protocol)
    {
        await using SingleNodes nodes = await SingleNodes.StartAsync(OracleProgram.Redis86, OracleProgram.Redis86Missing);
        using SingleNodes.Pair node = nodes.Open(protocol);
        node.RunAll(OfRedis);
    }

    [Theory]
    [InlineData(2)]
    [InlineData(3)]
    public async Task Several_databases_are_those_of_Valkey(int protocol)
    {
        await using SingleNodes nodes = await SingleNodes.StartAsync(OracleProgram.Valkey9, OracleProgram.Valkey9Missing, ("cluster-databases", "16"));
        using SingleNodes.Pair node = nodes.Open(protocol);
        node.RunAll(InDatabases);
    }

    // Key by key, each with its event; those of another slot stay.
    [Fact]
    public async Task A_flush_tells_of_each_key()
    {
        await using SingleNodes nodes = await SingleNodes.StartAsync(OracleProgram.Valkey9, OracleProgram.Valkey9Missing, ("notify-keyspace-events", "KEA"));
        using SingleNodes.Pair node = nodes.Open(), listener = nodes.Open();
        node.RunAll(["SET b 1", "SET a 1", "SET {b}2 1"]);
        listener.Run("PSUBSCRIBE __keyevent@0__:*");
        node.RunAll(["CLUSTER FLUSHSLOT 3300", "SET a 2", "DBSIZE"]);
        string[] events = [.. Enumerable.Range(0, 3).Select(_ => listener.ReadUncompared())];
        Assert.Equal(2, events.Count(static each => each.Contains("__keyevent@0__:del", StringComparison.Ordinal)));
        Assert.Contains("__keyevent@0__:set", events[2], StringComparison.Ordinal);
        using SingleNodes.Pair watcher = nodes.Open();
        node.Run("SET b 1");
        watcher.RunAll(["WATCH b", "MULTI", "GET a"]);
        node.Run("CLUSTER FLUSHSLOT 3300");
        watcher.Run("EXEC");
    }
}
