using RedKite.Server.Tests.Durability;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Following;

/// <summary>Expiries of a set's members, and entries that streams add once, on a replica and after a restart.</summary>
public sealed class ExpiringMemberFollowingTests
{
    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public async Task Replica_has_the_same_members_expiries_and_producers(int seed)
    {
        await using ReplicationChain chain = await ReplicationChain.StartAsync("redkite");
        RespConnection primary = chain.Primary.Client;
        var writes = new ExpiringWrites(seed, request => Text(primary, request));
        primary.Run("XADD stream0 1-1 a 1"); // XCFGSET needs a stream
        for (int key = 1; key < 4; key++) primary.Run($"XADD stream{key} 1-1 a 1");
        writes.Run(400);
        RespConnection replica = (await chain.AddAsync("redkite")).Client;
        for (int round = 0; round < 3; round++)
        {
            // The first time what the synchronization has brought.
            if (round > 0) writes.Run(600);
            chain.WaitForSame();
            Assert.Equal(State(primary), State(replica));
        }

        // Promoted, it replies the ids of the same entries.
        Assert.Equal(0, chain.Nodes[1].Server!.Engine.Metrics.Server.StreamErrors);
        Dictionary<string, string> remembered = writes.Remembered();
        replica.Run("REPLICAOF NO ONE").IsOk();
        foreach ((string request, string id) in remembered) Assert.Equal(id, Text(replica, request));
    }

    [Fact]
    public async Task Replica_hides_expired_members_until_its_primary_removes_them()
    {
        var clock = new ShiftedClock();
        await using ReplicationChain chain = await ReplicationChain.StartAsync(clock, "redkite", "redkite");
        RespConnection primary = chain.Primary.Client, replica = chain.Nodes[1].Client;
        primary.Run("DEBUG SET-ACTIVE-EXPIRE 0").IsOk(); // the replica's sweep goes on
        primary.Run("SADD s a b c").IsInteger(3);
        primary.Run("SPEXPIRE s 100000 MEMBERS 2 a b").IsIntegers(1, 1);
        primary.Run("SADDEX gone PX 100000 MEMBERS 2 x y").IsInteger(1);
        primary.Run("SADD other a x z").IsInteger(3);
        chain.WaitForSame();
        string offset = chain.Primary.Offset;
        clock.Advance(200_000);

        for (int i = 0; i < 3; i++)
        {
            replica.Run("SMEMBERS s").IsArray("c");
            replica.Run("SISMEMBER s a").IsInteger(0);
            replica.Run("SMISMEMBER s a b c").IsIntegers(0, 0, 1);
            replica.Run("SCARD s").IsInteger(1);
            replica.Run("STTL s MEMBERS 2 a c").IsIntegers(-2, -1);
            replica.Run("SPEXPIRETIME s MEMBERS 1 b").IsIntegers(-2);
            replica.Run("SRANDMEMBER s 5").IsArray("c");
            replica.Run("SSCAN s 0").Items[1].IsArray("c");
            replica.Run("SINTER s other").IsArray();
            replica.Run("SMEMBERS gone").IsArray();
            replica.Run("SCARD gone").IsInteger(0);
        }

        // Reading has removed nothing, neither here nor there.
        Assert.Equal(2, Subexpiry(chain.Nodes[1]));
        Assert.Equal(0, chain.Nodes[1].Server!.Engine.Keyspace.ExpiredFields);
        Assert.Equal(offset, chain.Primary.Offset);

        primary.Run("SMEMBERS s").IsArray("c");
        primary.Run("SMEMBERS gone").IsArray();
        primary.Run("EXISTS gone").IsInteger(0);
        chain.WaitForSame();
        Assert.NotEqual(offset, chain.Primary.Offset);
        Assert.Equal(0, Subexpiry(chain.Nodes[1]));
        Assert.Equal(4, chain.Primary.Server!.Engine.Keyspace.ExpiredFields);
        Assert.Equal(0, chain.Nodes[1].Server!.Engine.Keyspace.ExpiredFields);
        replica.Run("DBSIZE").IsInteger(2);

        // The sweep's removals arrive, too.
        primary.Run("SADDEX s PX 100000 MEMBERS 2 d e").IsInteger(1);
        chain.WaitForSame();
        clock.Advance(200_000);
        replica.Run("SMEMBERS s").IsArray("c");
        Assert.Equal(1, Subexpiry(chain.Nodes[1]));
        primary.Run("DEBUG SET-ACTIVE-EXPIRE 1").IsOk();
        chain.WaitFor(() => Subexpiry(chain.Nodes[1]) == 0, "the removals");
        chain.WaitForSame();
        replica.Run("SCARD s").IsInteger(1);
    }

    [Theory]
    [InlineData(4)]
    [InlineData(5)]
    public async Task Log_has_the_same_members_expiries_and_producers(int seed)
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes");
        var writes = new ExpiringWrites(seed, request => Text(disk, request));
        for (int key = 0; key < 4; key++) disk.Run($"XADD stream{key} 1-1 a 1");
        for (int round = 0; round < 3; round++)
        {
            writes.Run(500);
            if (round == 1)
            {
                disk.Run("BGREWRITEAOF");
                disk.WaitFor(() => disk.Info("aof_rewrites") != "0", "the rewrite");
                writes.Run(100);
            }

            Dictionary<string, string> remembered = writes.Remembered();
            (string digest, string state) = (disk.Digest(), State(disk));
            await disk.RestartAsync();
            Assert.Equal(state, State(disk));
            Assert.Equal(digest, disk.Digest());
            foreach ((string request, string id) in remembered) Assert.Equal(id, Text(disk, request));
        }
    }

    private static int Subexpiry(ChainNode node)
    {
        string text = node.Client.Run("INFO keyspace").Text;
        int start = text.IndexOf("subexpiry=", StringComparison.Ordinal);
        return start < 0 ? 0 : text[start + "subexpiry=".Length] - '0';
    }

    private static string State(RespConnection client) => ExpiringWrites.StateOf(request => Text(client, request), request => [.. client.Run(request).Items.Select(static item => item.ToString()!)]);

    private static string State(DiskServer disk) => ExpiringWrites.StateOf(request => Text(disk, request), request => [.. disk.Run(request).Items.Select(static item => item.ToString())]);

    private static string Text(RespConnection client, string request) => client.Run(request).ToString()!;

    private static string Text(DiskServer disk, string request) => disk.Run(request).ToString();
}
