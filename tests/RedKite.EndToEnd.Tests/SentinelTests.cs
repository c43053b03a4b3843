using System.Globalization;
using RedKite.TestSupport;
using StackExchange.Redis;

namespace RedKite.EndToEnd.Tests;

/// <summary>redis-sentinel watches RedKite servers, chooses a new primary, and takes the old one back as a replica.</summary>
public sealed class SentinelTests
{
    /// <summary>The failover is asked for, so that nothing waits for a timeout.</summary>
    [Fact]
    public void Sentinel_promotes_a_replica_on_request()
    {
        using var group = new WatchedGroup(servers: 2, sentinels: 1);
        using RespConnection sentinel = group.Sentinels[0].Connect();
        group.WaitFor(() => sentinel.Run("SENTINEL REPLICAS m").Items is [{ } replica] && replica["master-link-status"]?.Text == "ok", "the replica's discovery");
        using (RespConnection old = group.Connect(0))
        {
            old.Run("SET before failover").IsOk();
            old.Run("WAIT 1 0").IsInteger(1);
        }

        group.WaitFor(() => sentinel.Run("SENTINEL FAILOVER m").Text == "OK", "the beginning of the failover");
        group.WaitForRoles(primary: 1);
        group.WaitFor(() => WatchedGroup.PrimaryOf(sentinel) == group.Ports[1], "the sentinel's report");
        using RespConnection promoted = group.Connect(1); // the sentinel closes earlier clients
        promoted.Run("SET after failover").IsOk();
        group.WaitForSame(primary: 1);
        Assert.Equal("failover", promoted.Run("GET before").Text);

        // Both have written down what they are now.
        group.WaitFor(() => group.FileOf(0).Contains($"replicaof 127.0.0.1 {group.Ports[1]}", StringComparison.Ordinal) && !group.FileOf(1).Contains("replicaof", StringComparison.Ordinal), "the files");
    }

    [Fact]
    [Long]
    public async Task Three_sentinels_replace_a_primary_that_was_killed_while_clients_write()
    {
        using var group = new WatchedGroup(servers: 3, sentinels: 3);
        using RespConnection sentinel = group.Sentinels[0].Connect();
        group.WaitFor(() => group.Sentinels.All(static process => IsComplete(process)), "discovery");
        string[] ports = [.. group.Sentinels.Select(static process => process.Port.ToString(CultureInfo.InvariantCulture))];

        // Clients that ask the sentinels.
        Task<ChildProgram> python = ChildProgram.Run(File.Exists("/usr/bin/python3") ? "/usr/bin/python3" : "python3", [Path.Combine(ChildProgram.ScriptFolder, "python", "sentinel_writer.py"), .. ports]);
        using RespConnection first = group.Connect(0);
        group.WaitFor(() => first.Run("GET writer").Text == "begun" || python.IsCompleted, "the writer");
        Assert.False(python.IsCompleted, python.IsCompleted ? (await python).Errors : "");
        await using ConnectionMultiplexer multiplexer = await ConnectionMultiplexer.ConnectAsync(string.Join(',', ports.Select(static port => "127.0.0.1:" + port)) + ",serviceName=m,connectTimeout=60000,syncTimeout=5000,abortConnect=false");
        IDatabase database = multiplexer.GetDatabase();
        Assert.True(await database.StringSetAsync("library", "before"));

        group.Kill(0);
        group.WaitFor(() => WatchedGroup.PrimaryOf(sentinel) is { } port && port != group.Ports[0], "a new primary");
        int chosen = Array.IndexOf(group.Ports, WatchedGroup.PrimaryOf(sentinel));
        group.WaitForRoles(chosen);
        (await python).Succeeded();
        group.WaitFor(() => Writes(database), "StackExchange.Redis");

        // The old primary comes back as a primary, from its file, and is made a replica; after another start its file says so.
        group.Start(0);
        group.WaitForRoles(chosen);
        group.WaitForSame(chosen);
        group.WaitFor(() => group.FileOf(0).Contains($"replicaof 127.0.0.1 {group.Ports[chosen]}", StringComparison.Ordinal), "the old primary's file");
        group.Kill(0);
        group.Start(0);
        group.WaitForRoles(chosen);
        group.WaitForSame(chosen);

        // redis-server starts from the file that RedKite has written, and RedKite from redis-server's.
        if (OracleProgram.Redis8 is null) return;
        group.Kill(0);
        group.Start(0, isRedis: true);
        group.WaitForRoles(chosen);
        group.WaitForSame(chosen);
        using (RespConnection redis = group.Connect(0)) redis.Run("CONFIG REWRITE").IsOk();
        group.Kill(0);
        group.Start(0);
        group.WaitForRoles(chosen);
        group.WaitForSame(chosen);
    }

    private static bool IsComplete(ServerProcess process)
    {
        using RespConnection sentinel = process.Connect();
        RespValue known = sentinel.Run("SENTINEL MASTER m");
        return known["num-slaves"]?.Text == "2" && known["num-other-sentinels"]?.Text == "2"
            && sentinel.Run("SENTINEL REPLICAS m").Items.All(static replica => replica["master-link-status"]?.Text == "ok");
    }

    private static bool Writes(IDatabase database)
    {
        try
        {
            return database.StringSet("library", "after");
        }
        catch (Exception failure) when (failure is RedisException or TimeoutException)
        {
            return false;
        }
    }
}
