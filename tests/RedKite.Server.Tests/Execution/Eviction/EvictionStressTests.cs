using System.Globalization;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Execution.Eviction;

/// <summary>Eviction while other threads read, write, walk and block, on the guarded arena, which finds every use of freed memory.</summary>
[Long]
public sealed class EvictionStressTests
{
    private static readonly string[] Policies = ["allkeys-lru", "allkeys-lrm", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl", "noeviction"];

    [Fact]
    public async Task Nothing_is_lost_that_was_not_evicted_and_no_memory_is_damaged()
    {
        const int Threads = 4;
        const int Milliseconds = 6000;
        RedKiteOptions options = new() { Port = 0, GuardsMemory = true, Settings = { ["loops"] = "2", ["stripes"] = "8" } };
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);

        // Keys without an expiry are never evicted under the volatile policies; these have no other.
        server.Set("maxmemory-policy", "volatile-lru");
        for (int i = 0; i < 500; i++) server.Execute("SET", $"stays{i}", i.ToString(CultureInfo.InvariantCulture)).IsOk();
        server.LimitMemory(3_000_000);
        CancellationToken stop = TestContext.Current.CancellationToken;
        long end = Environment.TickCount64 + Milliseconds;
        Task[] tasks =
        [
            .. Enumerable.Range(0, Threads).Select(thread => Task.Run(() => Use(server, thread, end), stop)),
            Task.Run(() => Walk(server, end), stop),
            Task.Run(() => Block(server, end), stop),
        ];
        await Task.WhenAll(tasks);

        Assert.True(server.Info("evicted_keys") > 1000, "keys were evicted");
        for (int i = 0; i < 500; i++) server.Execute("GET", $"stays{i}").IsText(i.ToString(CultureInfo.InvariantCulture));
        using (server.Engine.Keyspace.LockAll()) server.Engine.Keyspace.CheckGuards(); // the loops' timers go on

        // Whatever the policy is changed to meanwhile, counters and tables agree, and all memory comes back.
        foreach (string policy in Policies)
        {
            server.Set("maxmemory-policy", policy);
            for (int i = 0; i < 300; i++) server.Execute("SET", $"k{i}", new string('v', 300), "EX", "100");
        }

        server.Set("maxmemory-policy", "allkeys-random");
        server.Set("maxmemory", "1");
        Assert.True(SpinWait.SpinUntil(() => server.Execute("DBSIZE").Text == "0", 60_000), "all keys may go");
        Assert.True(SpinWait.SpinUntil(() => server.Engine.Keyspace.UsedBytes == server.Engine.Keyspace.TableBytes, 60_000), "and nothing of them is left");
        using LockScope all = server.Engine.Keyspace.LockAll();
        server.Engine.Keyspace.CheckGuards();
    }

    private static void Use(RedKiteServer server, int thread, long end)
    {
        using RedKiteSession client = server.CreateSession();
        var random = new Random(thread);
        var value = new string('v', 3000);
        while (Environment.TickCount64 < end)
        {
            string key = random.Next(6000).ToString(CultureInfo.InvariantCulture);
            RedKiteReply reply = random.Next(12) switch
            {
                0 => client.Execute("HSET", "h" + key, "f" + random.Next(100), value[..random.Next(200)]),
                1 => client.Execute("EXPIRE", "h" + key, "1000"),
                2 => client.Execute(["SADD", "s" + key, .. Enumerable.Range(0, random.Next(1, 600)).Select(i => i + "m")]),
                3 => client.Execute("EXPIRE", "s" + key, "1000"),
                4 => client.Execute("RPUSH", "queue" + random.Next(3), value[..random.Next(100)]),
                5 => client.Execute("EXPIRE", "queue" + random.Next(3), "1000"),
                6 => client.Execute("RENAME", key, random.Next(6000).ToString(CultureInfo.InvariantCulture)),
                7 => client.Execute("GET", key),
                8 => client.Execute("DEL", "s" + key, "h" + key),
                _ => client.Execute("SET", key, value[..random.Next(value.Length)], "EX", random.Next(1, 1000).ToString(CultureInfo.InvariantCulture)),
            };
            Assert.False(reply.IsError && !reply.Text!.StartsWith("OOM ", StringComparison.Ordinal) && reply.Text != "ERR no such key", reply.Text);
        }
    }

    // A key that stays all the time is seen by every walk.
    private static void Walk(RedKiteServer server, long end)
    {
        using RedKiteSession client = server.CreateSession();
        while (Environment.TickCount64 < end)
        {
            var seen = new HashSet<string>();
            string cursor = "0";
            do
            {
                RedKiteReply reply = client.Execute("SCAN", cursor, "MATCH", "stays*", "COUNT", "1000");
                cursor = reply.Items[0].Text!;
                foreach (RedKiteReply key in reply.Items[1].Items) seen.Add(key.Text!);
            }
            while (cursor != "0");
            Assert.Equal(500, seen.Count);
        }
    }

    private static void Block(RedKiteServer server, long end)
    {
        using RedKiteSession client = server.CreateSession();
        while (Environment.TickCount64 < end) client.Execute("BLPOP", "queue0", "queue1", "queue2", "0.2");
    }
}
