using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>The file that CONFIG REWRITE leaves for a replica starts both servers as a replica of the same primary.</summary>
public sealed class RewrittenFileTests
{
    [Fact]
    public void File_of_a_replica_starts_redis_and_redkite()
    {
        using var group = new WatchedGroup(servers: 2, sentinels: 0);
        string line = $"replicaof 127.0.0.1 {group.Ports[0]}";
        using (RespConnection primary = group.Connect(0)) primary.Run("SET key value").IsOk();
        using (RespConnection replica = group.Connect(1))
        {
            replica.Run("REPLICAOF NO ONE").IsOk();
            replica.Run("CONFIG REWRITE").IsOk();
            Assert.DoesNotContain("replicaof", group.FileOf(1), StringComparison.Ordinal);
            replica.Run($"REPLICAOF 127.0.0.1 {group.Ports[0]}").IsOk();
            replica.Run("CONFIG SET replica-priority 7").IsOk();
            replica.Run("CONFIG REWRITE").IsOk();
            Assert.Contains(line, group.FileOf(1), StringComparison.Ordinal);
        }

        foreach (bool isRedis in (bool[])[true, false])
        {
            group.Kill(1);
            group.Start(1, isRedis);
            group.WaitForRoles(primary: 0);
            group.WaitForSame(primary: 0);
            using RespConnection replica = group.Connect(1);
            Assert.Equal("value", replica.Run("GET key").Text);
            Assert.Equal("7", replica.Run("CONFIG GET replica-priority").Items[1].Text);
            replica.Run("CONFIG REWRITE").IsOk(); // of redis-server, for RedKite
            Assert.Contains(line, group.FileOf(1), StringComparison.Ordinal);
        }
    }
}
