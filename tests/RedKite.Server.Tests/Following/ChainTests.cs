using RedKite.TestSupport;

namespace RedKite.Server.Tests.Following;

/// <summary>RedKite follows RedKite, and chains of both servers: all have the same data at the same offset.</summary>
public class ChainTests
{
    private const string Library = "FUNCTION LOAD \"#!lua name=l\\nredis.register_function('f', function(keys) redis.call('INCR', keys[1]) return redis.call('APPEND', keys[2], 'x') end)\"";

    public static TheoryData<string[], int> Chains => new()
    {
        { ["redkite", "redkite"], 1 },
        { ["redis", "redkite", "redis", "redkite"], 2 },
        { ["redis", "redkite", "valkey 9", "redkite"], 12 },
    };

    public static TheoryData<string[], int> MoreChains => new()
    {
        { ["redkite", "redkite", "redkite"], 3 },
        { ["redkite", "redis", "redkite", "redis"], 4 },
        { ["redis", "redkite", "redkite", "redis"], 5 },
        { ["redkite", "redkite", "redkite", "redkite", "redkite"], 6 },
        { ["valkey 9", "redkite", "valkey 9", "redkite"], 13 },
    };

    [Theory]
    [MemberData(nameof(Chains))]
    public Task Servers_that_follow_each_other_have_the_same_data(string[] kinds, int seed) => Follow(kinds, seed, keys: 8, rounds: 3, commands: 300);

    [Theory]
    [Long]
    [MemberData(nameof(MoreChains))]
    public Task More_servers_that_follow_each_other_have_the_same_data(string[] kinds, int seed) => Follow(kinds, TestScale.GivenSeed ?? seed, keys: 40, rounds: 10, commands: 3_000);

    private static async Task Follow(string[] kinds, int seed, int keys, int rounds, int commands)
    {
        await using ReplicationChain chain = await ReplicationChain.StartAsync(kinds[0]);
        RandomData.Fill(chain.Primary.Client, new Random(seed), keys, hasFieldExpiry: true);
        Assert.Equal("l", chain.Primary.Client.Run(Library).Text);
        var random = new RandomWrites(seed, chain.Primary.Client);
        foreach (string kind in kinds[1..])
        {
            random.Run(commands / 4);
            await chain.AddAsync(kind);
        }

        for (int i = 0; i < rounds; i++)
        {
            random.Run(commands);
            chain.WaitForSame();
        }

        foreach (string request in (string[])["SWAPDB 3 4", "SWAPDB 4 3", "FLUSHDB", "FUNCTION FLUSH", Library, "RESTORE restored 0 \"\\x00\\x01a\\x0b\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\" REPLACE"]) chain.Primary.Client.Run(request);
        random.Run(commands);
        chain.WaitForSame();
        foreach (ChainNode node in chain.Nodes.Where(static node => node.Server is not null)) Assert.Equal(0, node.Server!.Engine.Metrics.Server.StreamErrors);
        foreach (ChainNode node in chain.Nodes) Assert.Equal("l", Assert.Single(node.Client.Run("FUNCTION LIST").Items)["library_name"]!.Text);
    }

    // It has no expiries of fields, and reads no newer format of Redis.
    [Fact]
    public async Task Valkey_8_follows()
    {
        await using ReplicationChain chain = await ReplicationChain.StartAsync("redkite");
        RandomData.Fill(chain.Primary.Client, new Random(14), keys: 8, hasFieldExpiry: false);
        Assert.Equal("l", chain.Primary.Client.Run(Library).Text);
        ChainNode replica = await chain.AddAsync("valkey 8");
        chain.WaitForSame();
        for (int i = 0; i < 100; i++)
        {
            foreach (string request in (string[])[$"HSET hash {i} a", $"XADD stream * a {i}", $"SET key{i % 7} value EX 1000"]) Assert.False(chain.Primary.Client.Run(request).IsError);
        }

        chain.WaitForSame();
        Assert.Equal(["first", "l", "second"], replica.Client.Run("FUNCTION LIST").Items.Select(static item => item["library_name"]!.Text).Order());
    }

    [Fact]
    public async Task A_link_in_the_middle_that_breaks_goes_on_where_it_was()
    {
        await using ReplicationChain chain = await ReplicationChain.StartAsync("redkite", "redkite", "redkite");
        var random = new RandomWrites(7, chain.Primary.Client);
        random.Run(100);
        chain.WaitForSame();
        for (int i = 1; i <= 3; i++)
        {
            random.Run(50);
            Assert.Equal(1, chain.Nodes[i % 2].Client.Run("CLIENT KILL TYPE replica").Number);
            random.Run(50);
            chain.WaitForSame();
        }

        Assert.Equal("1", chain.Nodes[0].Field("sync_full", "stats"));
        Assert.Equal("1", chain.Nodes[1].Field("sync_full", "stats"));
        Assert.Equal("1", chain.Nodes[0].Field("sync_partial_ok", "stats"));
        Assert.Equal("2", chain.Nodes[1].Field("sync_partial_ok", "stats"));
    }

    [Fact]
    public async Task Replicas_of_a_promoted_replica_go_on_and_so_does_its_old_primary()
    {
        await using ReplicationChain chain = await ReplicationChain.StartAsync("redkite", "redkite", "redkite");

        // Nothing expires: the old primary would remove it, and be ahead then.
        for (int i = 0; i < 100; i++) Assert.False(chain.Primary.Client.Run($"RPUSH list:{i % 7} {i}").IsError);
        chain.WaitForSame();
        (ChainNode old, ChainNode promoted, ChainNode last) = (chain.Nodes[0], chain.Nodes[1], chain.Nodes[2]);
        string id = old.Field("master_replid");
        promoted.Client.Run("REPLICAOF NO ONE").IsOk();
        promoted.Client.Run("SET written after").IsOk();
        chain.WaitFor(() => last.Offset == promoted.Offset && last.Digest == promoted.Digest, "the last replica");
        Assert.Equal(id, promoted.Field("master_replid2"));
        Assert.Equal("1", promoted.Field("sync_full", "stats"));

        // Nothing was written to the old primary, so it goes on too.
        old.Follow(promoted.Port);
        chain.WaitForSame();
        Assert.Equal("after", old.Client.Run("GET written").Text);
        Assert.True(promoted.Field("sync_full", "stats") == "1", promoted.Log);
        Assert.Equal("2", promoted.Field("sync_partial_ok", "stats"));
        new RandomWrites(9, promoted.Client).Run(200);
        chain.WaitForSame();
    }

    [Fact]
    public async Task Replicas_of_replicas_get_all_data_when_their_primary_does()
    {
        await using ReplicationChain chain = await ReplicationChain.StartAsync("redkite", "redkite", "redis", "redkite");
        new RandomWrites(10, chain.Primary.Client).Run(200);
        chain.WaitForSame();
        ChainNode other = await chain.AddAsync("redkite", chain.Primary);
        chain.WaitForSame();
        other.Client.Run("REPLICAOF NO ONE").IsOk();
        new RandomWrites(11, other.Client).Run(200);
        chain.Nodes[0].Follow(other.Port);
        chain.WaitForSame();
        chain.WaitFor(() => chain.Nodes.All(node => node.Field("master_replid") == other.Field("master_replid")), "the history's name");
    }
}
