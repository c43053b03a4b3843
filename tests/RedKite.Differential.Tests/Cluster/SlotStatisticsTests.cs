using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Cluster;

/// <summary>CLUSTER SLOT-STATS as in Redis 8.6 and Valkey 9.1: forms, errors, the setting, and which bytes count for a slot. The slot of "b" is 3300.</summary>
public sealed class SlotStatisticsTests
{
    private const string OfSlot = "CLUSTER SLOT-STATS SLOTSRANGE 3300 3300";

    private static readonly string[] Forms =
    [
        "CLUSTER SLOT-STATS SLOTSRANGE 0 1", "CLUSTER SLOT-STATS SLOTSRANGE 1 0", "CLUSTER SLOT-STATS SLOTSRANGE x 0", "CLUSTER SLOT-STATS SLOTSRANGE 0 16384", "CLUSTER SLOT-STATS SLOTSRANGE -1 5", "CLUSTER SLOT-STATS SLOTSRANGE 0 1 2",
        "CLUSTER SLOT-STATS SLOTSRANGE 0", "CLUSTER SLOT-STATS SLOTSRANGE", "CLUSTER SLOT-STATS ORDERBY x", "CLUSTER SLOT-STATS FOO 1", "CLUSTER SLOT-STATS FOO 1 2", "CLUSTER SLOT-STATS", "CLUSTER SLOT-STATS SLOTSRANGE 0 1 DESC",
        "CLUSTER SLOT-STATS orderby cpu-usec limit 2 asc", "CLUSTER SLOT-STATS ORDERBY KEY-COUNT DESC LIMIT 2", "SET b 1", "SET {b}2 1", "CLUSTER SLOT-STATS ORDERBY KEY-COUNT LIMIT 3", "CLUSTER SLOT-STATS ORDERBY KEY-COUNT LIMIT 2 ASC",
        "CLUSTER SLOT-STATS ORDERBY NETWORK-BYTES-IN LIMIT 2", "CLUSTER SLOT-STATS ORDERBY network-bytes-out LIMIT 2", OfSlot, "CONFIG RESETSTAT", OfSlot, "MULTI", OfSlot, "EXEC", "CLUSTER DELSLOTS 3300", "CLUSTER SLOT-STATS SLOTSRANGE 3299 3301",
        "CLUSTER ADDSLOTS 3300", OfSlot, "FLUSHALL",
    ];

    private static readonly string[] Words = ["ASC", "DESC", "LIMIT", "1", "2", "0", "x", "16385", "asc", "limit 3", "LIMIT 1 LIMIT 2"];

    // Each alone, followed by the statistics of the slot.
    private static readonly string[] Counted =
    [
        "SET b 1", "GET b", "EXISTS b {b}2", "MGET b b {b}3", "LPUSH b x", "GET b x", "GET", "SET b 1 FOO", "SSUBSCRIBE b", "SPUBLISH b hello", "PUBLISH b hello", "GET nosuch{b}", "CLUSTER KEYSLOT b", "CLUSTER COUNTKEYSINSLOT 3300",
        "OBJECT ENCODING b", "WATCH b", "UNWATCH", "COMMAND GETKEYS GET b", "SORT b", "SELECT 0", "APPEND b xyz", "ASKING", "GET b", "XADD {b}s 1-1 f v", "XREAD COUNT 1 STREAMS {b}s 0", "DEL b {b}s",
    ];

    private static readonly string[] Settings =
    [
        "CONFIG SET cluster-slot-stats-enabled cpu", "CONFIG GET cluster-slot-stats-enabled", "CLUSTER SLOT-STATS SLOTSRANGE 0 0", "CLUSTER SLOT-STATS ORDERBY NETWORK-BYTES-IN LIMIT 1", "CLUSTER SLOT-STATS ORDERBY MEMORY-BYTES LIMIT 1",
        "CLUSTER SLOT-STATS ORDERBY CPU-USEC LIMIT 1", "CONFIG SET cluster-slot-stats-enabled \"net cpu\"", "CONFIG GET cluster-slot-stats-enabled", "CONFIG SET cluster-slot-stats-enabled net", "CLUSTER SLOT-STATS SLOTSRANGE 0 0",
        "CONFIG SET cluster-slot-stats-enabled \"no cpu\"", "CONFIG GET cluster-slot-stats-enabled", "CONFIG SET cluster-slot-stats-enabled foo", "CONFIG SET cluster-slot-stats-enabled \"cpu foo\"", "CONFIG SET cluster-slot-stats-enabled \"\"",
        "CONFIG SET cluster-slot-stats-enabled \"CPU net\"", "CONFIG GET cluster-slot-stats-enabled", "GET b", "CONFIG SET cluster-slot-stats-enabled cpu", "GET b", "CONFIG SET cluster-slot-stats-enabled \"cpu net\"", OfSlot,
        "CONFIG SET cluster-slot-stats-enabled no", "GET b", OfSlot, "CLUSTER SLOT-STATS ORDERBY CPU-USEC LIMIT 1", "CONFIG SET cluster-slot-stats-enabled \"cpu net\"", OfSlot,
    ];

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Replies_are_those_of_a_node(bool isOfValkey)
    {
        await using SingleNodes nodes = isOfValkey
            ? await SingleNodes.StartAsync(OracleProgram.Valkey9, OracleProgram.Valkey9Missing)
            : await SingleNodes.StartAsync(OracleProgram.Redis86, OracleProgram.Redis86Missing, ("cluster-slot-stats-enabled", "yes"));
        foreach (int protocol in (int[])[2, 3])
        {
            using SingleNodes.Pair node = nodes.Open(protocol);

            // Redis measures memory if it was on at the start, Valkey never does.
            if (isOfValkey)
            {
                node.RunUncompared("CONFIG SET cluster-slot-stats-enabled no");
                node.RunAll(["CLUSTER SLOT-STATS SLOTSRANGE 0 1", "CLUSTER SLOT-STATS ORDERBY KEY-COUNT LIMIT 2", "CLUSTER SLOT-STATS ORDERBY CPU-USEC LIMIT 2"]);
                SetCpuAndNet(nodes);
            }

            node.RunAll(Forms);
            var random = new Random(20261128);
            for (int i = 0; i < 100; i++) node.Run($"CLUSTER SLOT-STATS ORDERBY KEY-COUNT LIMIT {(i % 2) + 1} {string.Join(' ', random.GetItems(Words, random.Next(3)))}".TrimEnd());
            node.Run("CONFIG RESETSTAT");
        }
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Bytes_of_requests_and_replies_count_for_the_slot(bool isOfValkey)
    {
        await using SingleNodes nodes = isOfValkey
            ? await SingleNodes.StartAsync(OracleProgram.Valkey9, OracleProgram.Valkey9Missing)
            : await SingleNodes.StartAsync(OracleProgram.Redis86, OracleProgram.Redis86Missing, ("cluster-slot-stats-enabled", "cpu net"));
        using SingleNodes.Pair node = nodes.Open(protocol: 3), waiting = nodes.Open(), inline = nodes.Open();
        if (isOfValkey) SetCpuAndNet(nodes);
        foreach (string line in Counted)
        {
            if (line.StartsWith("SSUBSCRIBE", StringComparison.Ordinal)) waiting.Run(line);
            else node.Run(line);
            if (line.StartsWith("SPUBLISH", StringComparison.Ordinal)) waiting.Read();
            node.Run(OfSlot);
        }

        // Queued ones when they are queued, MULTI with EXEC. Redis counts a reply to a command in it twice.
        foreach (string line in (string[])["MULTI", "SET b 1", "SET {b}2 2", "DISCARD", OfSlot, "CONFIG RESETSTAT"]) node.Run(line);
        waiting.RunUncompared("SUNSUBSCRIBE");
        node.Run("CONFIG RESETSTAT");
        waiting.Send("BLPOP {b}l 0");
        node.WaitFor("INFO clients", "blocked_clients:1\r");
        node.Run(OfSlot);
        node.Run("RPUSH {b}l v");
        waiting.Read();
        node.Run(OfSlot);
        waiting.Run("BLPOP {b}l 0.01");
        node.Run(OfSlot);

        // In one batch.
        waiting.Send("SET b 1");
        waiting.Send("GET b");
        waiting.Send("GET {b}2");
        for (int i = 0; i < 3; i++) waiting.Read();
        node.Run(OfSlot);
        node.Run("FUNCTION LOAD \"#!lua name=l\\nredis.register_function('f', function(k, a) return 1 end)\"");
        node.Run("FCALL f 1 b");
        node.Run(OfSlot);
        if (!isOfValkey) node.RunAll(Settings);
    }

    // What Redis measures by allocations is here what MEMORY USAGE says of the keys.
    [Fact]
    public async Task Memory_is_that_of_the_keys()
    {
        await using SingleNodes nodes = await SingleNodes.StartAsync(OracleProgram.Redis86, OracleProgram.Redis86Missing, ("cluster-slot-stats-enabled", "yes"));
        using RespConnection client = RespConnection.Connect(nodes.Server.Port);
        for (int i = 0; i < 200; i++) client.Run($"SET {{b}}{i} {new string('x', 100)}").IsOk();
        client.Run("SET a x").IsOk();
        long Memory(string line) => client.Run(line).Items[0].Items[1].Items[3].Number;
        long one = client.Run("MEMORY USAGE {b}100").Number;
        Assert.InRange(Memory(OfSlot), 200 * (one - 16), 200 * (one + 16));
        Assert.Equal(Memory(OfSlot), Memory("CLUSTER SLOT-STATS ORDERBY MEMORY-BYTES LIMIT 2"));
        Assert.Equal(Memory(OfSlot), Memory("CLUSTER SLOT-STATS ORDERBY KEY-COUNT LIMIT 1"));
        client.Run("FLUSHALL").IsOk();
        Assert.Equal(0, Memory(OfSlot));
    }

    private static void SetCpuAndNet(SingleNodes nodes)
    {
        using SingleNodes.Pair node = nodes.Open();
        node.RunUncompared("CONFIG SET cluster-slot-stats-enabled yes"); // Redis's form of it is
        nodes.Server.Execute("CONFIG", "SET", "cluster-slot-stats-enabled", "cpu net");
    }
}
