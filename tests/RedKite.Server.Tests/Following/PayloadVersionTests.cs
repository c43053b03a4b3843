using RedKite.TestSupport;

namespace RedKite.Server.Tests.Following;

/// <summary>Payloads in the stream: each replica gets a version that it reads, as in a full synchronization.</summary>
public class PayloadVersionTests
{
    private const string Library = "#!lua name=l\nredis.register_function('f', function() return 1 end)";

    [Theory]
    [InlineData("valkey 8")]
    [InlineData("valkey 9")]
    [InlineData("redis")]
    [InlineData("valkey 9", "redis")]
    public Task Restored_values_and_functions_reach_every_replica(params string[] replicas) => Restored_values_reach(replicas, chained: false);

    // The one in between passes the stream on as it came.
    [Theory]
    [InlineData("valkey 8")]
    [InlineData("valkey 9")]
    [InlineData("redis")]
    [InlineData("redkite", "valkey 8")]
    public Task Restored_values_and_functions_reach_the_replica_of_a_replica(params string[] replicas) => Restored_values_reach(["redkite", .. replicas], chained: true);

    private static async Task Restored_values_reach(string[] replicas, bool chained)
    {
        await using ReplicationChain chain = await ReplicationChain.StartAsync("redkite");
        foreach (string replica in replicas) await chain.AddAsync(replica, chained ? null : chain.Primary);
        RespConnection client = chain.Primary.Client;
        client.Run("SET string value").IsOk();
        client.Run("RPUSH list a b c");
        client.Run("HSET hash f v g w");
        client.Run("ZADD zset 1 a 2 b");
        client.Run("XADD stream 1-1 f v");
        client.Run("SADD set a b c");
        if (!replicas.Contains("valkey 8"))
        {
            client.Run("HSET times f v g w");
            if (chained ? replicas.Contains("redis") : replicas.Length == 1) client.Run("HPEXPIREAT times 4000000000000 FIELDS 1 f");
        }

        foreach (string key in client.Run("KEYS *").Items.Select(static item => item.Text!).ToArray())
        {
            byte[] payload = client.Run("DUMP " + key).Payload!;
            client.Run("RESTORE"u8.ToArray(), Bytes("copy-" + key), "0"u8.ToArray(), payload).IsOk();
            client.Run("RESTORE"u8.ToArray(), Bytes("expiring-" + key), "3600000"u8.ToArray(), payload).IsOk();
            client.Run("RESTORE"u8.ToArray(), Bytes("copy-" + key), "4000000000000"u8.ToArray(), payload, "REPLACE"u8.ToArray(), "ABSTTL"u8.ToArray()).IsOk();
        }

        client.Run("FUNCTION"u8.ToArray(), "LOAD"u8.ToArray(), Bytes(Library.Replace("\\n", "\n", StringComparison.Ordinal)));
        byte[] functions = client.Run("FUNCTION DUMP").Payload!;
        client.Run("FUNCTION FLUSH").IsOk();
        client.Run("FUNCTION"u8.ToArray(), "RESTORE"u8.ToArray(), functions).IsOk();
        chain.WaitForSame();
        foreach (ChainNode node in chain.Nodes)
        {
            Assert.Equal(client.Run("DBSIZE").ToString(), node.Client.Run("DBSIZE").ToString());
            Assert.Single(node.Client.Run("FUNCTION LIST").Items);
        }
    }

    private static byte[] Bytes(string text) => System.Text.Encoding.ASCII.GetBytes(text);
}
