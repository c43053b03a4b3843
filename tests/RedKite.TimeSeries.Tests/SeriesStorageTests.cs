using RedKite.Persistence.Rdb;
using RedKite.TestSupport;
using RedKite.Types.Tests;

namespace RedKite.TimeSeries.Tests;

/// <summary>Series in files, logs and replicas, copied, moved and freed.</summary>
public sealed class SeriesStorageTests
{
    [Fact]
    public async Task Values_are_copied_renamed_moved_and_freed()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        long before = server.UsedBytes;
        Fill(server);
        string digest = server.DigestOf("a");
        server.Run("COPY", "a", "b");
        Assert.Equal(digest, server.DigestOf("b"));
        server.Run("TS.ADD", "b", "5", "1");
        Assert.Equal(digest, server.DigestOf("a"));
        Assert.NotEqual(digest, server.DigestOf("b"));
        server.Run("RENAME", "a", "c");
        server.Run("MOVE", "c", "1");
        server.Run("SELECT", "1");
        Assert.Equal(digest, server.DigestOf("c"));
        server.Run("PEXPIRE", "c", "1");
        server.Run("SELECT", "0");
        server.Run("UNLINK", "b");
        server.Run("FLUSHALL");
        server.WaitForMemory(before);
    }

    [Fact]
    public async Task Values_are_dumped_and_restored()
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: true);
        Fill(server);
        byte[] payload = server.Dump("a");
        Assert.Equal((byte)RdbType.Module, payload[0]);
        Assert.Equal("OK", server.Restore("b", payload));
        Assert.Equal(server.DigestOf("a"), server.DigestOf("b"));
        Assert.Equal(server.Run("TS.RANGE", "a", "-", "+"), server.Run("TS.RANGE", "b", "-", "+"));
    }

    // Damaged payloads are refused, or are other series: nothing is read or written beyond a block.
    [Fact]
    public async Task Damaged_payloads_do_no_harm()
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: true);
        server.Run("TS.CREATE", "a", "CHUNK_SIZE", "128", "LABELS", "l", "v");
        for (int i = 0; i < 200; i++) server.Run("TS.ADD", "a", $"{i * i}", $"{i * 0.3}");
        int restored = server.RestoreDamaged(server.Dump("a"), 2000, new Random(1), damaged =>
        {
            server.Run("TS.RANGE", damaged, "-", "+", "AGGREGATION", "avg", "1000000000");
            server.Run("TS.INFO", damaged, "DEBUG");
            server.Run("TS.ADD", damaged, "77", "7", "ON_DUPLICATE", "LAST");
        });
        Assert.InRange(restored, 1, 2000);
    }

    [Fact]
    public async Task Files_and_logs_have_the_values()
    {
        await using TypeServer server = await TypeServer.StartAsync("appendonly", "yes");
        Fill(server);
        server.Run("TS.ADD", "a", "*", "5");
        server.Run("TS.MADD", "a", "*", "6", "a", "3", "3.5");
        server.Run("TS.INCRBY", "counter", "6");
        string digest = server.Digest;
        Assert.Equal("OK", server.Run("DEBUG", "RELOAD"));
        Assert.Equal(digest, server.Digest);
        await server.RestartAsync();
        Assert.Equal(digest, server.Digest);
        await server.RewriteLogAsync(() => server.Run("TS.ADD", "a", "4", "4.5"));
    }

    [Fact]
    public async Task Replicas_get_the_values()
    {
        await using TypeServer primary = await TypeServer.StartAsync("repl-diskless-sync-delay", "0");
        Fill(primary);
        await using TypeServer replica = await primary.StartReplicaAsync();
        primary.Run("TS.ADD", "new", "*", "1");
        primary.Run("TS.INCRBY", "new2", "1");
        primary.Run("TS.DECRBY", "new3", "1", "TIMESTAMP", "*");
        primary.Run("EVAL", "return redis.call('TS.ADD', KEYS[1], 12, 13)", "1", "a");
        primary.Run("TS.DEL", "a", "100", "200");
        primary.WaitForReplica();
        Assert.Equal(primary.Digest, replica.Digest);
    }

    // Several clients at once, with rules that come and go.
    [Fact]
    public async Task Replica_and_log_have_what_traffic_has_left()
    {
        const int Clients = 3, Requests = 1500;
        await using TypeServer primary = await TypeServer.StartAsync("appendonly", "yes", "repl-diskless-sync-delay", "0", "ts-compaction-policy", "avg:20m:0;twa:50m:1s", "ts-duplicate-policy", "last");
        await using TypeServer replica = await primary.StartReplicaAsync();
        Thread[] threads = [.. Enumerable.Range(0, Clients).Select(i => new Thread(() => Write(new Random(i))))];
        foreach (Thread thread in threads) thread.Start();
        foreach (Thread thread in threads) thread.Join();
        primary.Run("SET", "end", "x"); // WAIT is about what its client has written
        primary.WaitForReplica();
        string digest = primary.Digest;
        Assert.Equal(digest, replica.Digest);
        await primary.RestartAsync();
        Assert.Equal(digest, primary.Digest);

        void Write(Random random)
        {
            using RedKiteSession client = primary.Server.CreateSession();
            for (int i = 0; i < Requests; i++)
            {
                string key = Key(), other = Key(), time = $"{random.Next(i + 1)}";
                string[] request = random.Next(14) switch
                {
                    0 => ["DEL", key],
                    1 => ["TS.DEL", key, time, $"{i}"],
                    2 => ["RENAME", key, other],
                    3 => ["COPY", key, other, "REPLACE"],
                    4 => ["TS.CREATERULE", key, other, "AGGREGATION", "sum", "30"],
                    5 => ["TS.DELETERULE", key, other],
                    6 => ["TS.INCRBY", key, "2", "TIMESTAMP", $"{i}"],
                    7 => ["TS.ALTER", key, "RETENTION", $"{random.Next(1000)}"],
                    8 => ["TS.MADD", key, time, "1", other, "*", "nan", other, $"{i}", "3"],
                    _ => ["TS.ADD", key, random.Next(3) == 0 ? time : $"{i}", $"{i * 0.5}"],
                };
                client.Execute(request);
            }

            string Key() => $"k{random.Next(4)}{(random.Next(4) == 0 ? "_AVG_20" : "")}";
        }
    }

    // Chunks begin and end elsewhere on a replica that has got the data in one piece: what is older than the retention period, but stored still, may be dropped earlier there. It is seen
    // nowhere, whatever becomes of the retention period and of the newest samples.
    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public async Task Replica_by_full_synchronization_sees_what_its_primary_sees(int seed)
    {
        const int PatienceMs = 60_000;
        string[] keys = ["k0", "k1", "k2", "sums", "areas"];
        var random = new Random(seed);
        await using TypeServer primary = await TypeServer.StartAsync("repl-diskless-sync-delay", "0"), replica = await TypeServer.StartAsync();
        foreach ((string key, string policy) in keys.Zip(["LAST", "MAX", "SUM"])) primary.Run("TS.CREATE", key, "CHUNK_SIZE", "64", "RETENTION", "300", "DUPLICATE_POLICY", policy);
        primary.Run("TS.CREATE", "sums", "CHUNK_SIZE", "48", "RETENTION", "400", "ENCODING", "UNCOMPRESSED");
        primary.Run("TS.CREATE", "areas", "RETENTION", "100");
        primary.Run("TS.CREATERULE", "k0", "sums", "AGGREGATION", "sum", "30");
        primary.Run("TS.CREATERULE", "k1", "areas", "AGGREGATION", "twa", "20");
        using RedKiteSession client = primary.Server.CreateSession();
        int time = 0;
        bool ends = false;
        Write(400);
        var writer = new Thread(() =>
        {
            while (!Volatile.Read(ref ends)) Write(1);
        });
        writer.Start();
        replica.Run("REPLICAOF", "127.0.0.1", primary.Port);
        bool isUp = SpinWait.SpinUntil(() => replica.Run("INFO", "replication").Contains("master_link_status:up", StringComparison.Ordinal), PatienceMs);
        Volatile.Write(ref ends, true);
        writer.Join();
        Assert.True(isUp, replica.Log);

        Check();
        for (int round = 0; round < 20; round++)
        {
            Write(20);
            Check();
        }

        foreach (string key in keys) primary.Run("TS.DEL", key, $"{time - 150}", $"{time}");
        Check();
        foreach (string key in keys) primary.Run("TS.ALTER", key, "RETENTION", "0");
        Check();

        void Write(int requests)
        {
            for (int i = 0; i < requests; i++, time++)
            {
                string key = keys[random.Next(3)], late = $"{Math.Max(0, time - random.Next(250))}";
                client.Execute(random.Next(16) switch
                {
                    0 => ["TS.DEL", key, late, $"{time - random.Next(100)}"],
                    1 => ["TS.DEL", random.Next(2) == 0 ? "sums" : "areas", late, $"{time}"],
                    2 => ["TS.ALTER", key, "RETENTION", $"{200 + random.Next(300)}"],
                    3 => ["TS.ALTER", random.Next(2) == 0 ? "sums" : "areas", "RETENTION", $"{100 + random.Next(300)}", "CHUNK_SIZE", $"{64 + (8 * random.Next(8))}"],
                    4 => ["TS.INCRBY", key, "2", "TIMESTAMP", $"{time}"],
                    5 => ["TS.ADD", "sums", $"{time + 40}", "1", "ON_DUPLICATE", "LAST"],
                    6 or 7 or 8 => ["TS.ADD", key, late, $"{time * 0.7}"],
                    _ => ["TS.ADD", key, $"{time}", $"{time * 0.3}", "ON_DUPLICATE", "MIN"],
                });
            }
        }

        void Check()
        {
            primary.Run("SET", "end", $"{time}"); // WAIT is about what its client has written
            primary.WaitForReplica();
            foreach (string key in keys)
            {
                foreach (string request in new[] { $"TS.RANGE {key} - + LATEST", $"TS.RANGE {key} - + AGGREGATION twa 7 EMPTY", $"TS.REVRANGE {key} 0 {time} AGGREGATION last 9 EMPTY", $"TS.GET {key} LATEST", $"DEBUG DIGEST-VALUE {key}" })
                {
                    Assert.Equal((request, Samples(primary, request)), (request, Samples(replica, request)));
                }
            }

            Assert.Equal(primary.Digest, replica.Digest);
        }

        static string Samples(TypeServer server, string request) => Show(server.Client.Run(request));

        static string Show(RespValue reply) => reply.IsAggregate ? $"[{string.Join(' ', reply.Items.Select(Show))}]" : reply.Text;
    }

    [Fact]
    public async Task Files_have_an_open_bucket_that_is_older_than_a_sample_of_its_destination()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        server.Run("TS.CREATE", "a");
        server.Run("TS.CREATE", "sums");
        server.Run("TS.CREATERULE", "a", "sums", "AGGREGATION", "sum", "100");
        server.Run("TS.ADD", "a", "150", "7");
        server.Run("TS.ADD", "sums", "500", "1");
        Assert.Equal("OK", server.Run("DEBUG", "RELOAD"));
        Assert.Equal("500 1", server.Run("TS.GET", "sums", "LATEST"));
        server.Run("TS.DEL", "sums", "500", "500");
        Assert.Equal("100 7", server.Run("TS.GET", "sums", "LATEST"));
    }

    [Fact]
    public async Task Defragmentation_moves_every_block()
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: true, "loops", "1");
        Fill(server);
        server.MoveBlocks(21);
    }

    // What a snapshot has is what there was when it began.
    [Fact]
    public async Task Snapshots_are_isolated()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        Fill(server);
        await server.SaveWhileAsync(() => server.Run("TS.DEL", "a", "-", "+"));
    }

    [Fact]
    public async Task Digest_does_not_depend_on_chunks()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        server.Run("TS.CREATE", "a");
        server.Run("TS.CREATE", "b");
        for (int i = 0; i < 3000; i++)
        {
            server.Run("TS.ADD", "a", $"{i}", $"{i * 0.7}");
            server.Run("TS.ADD", "b", $"{i * 1009 % 3000}", $"{i * 1009 % 3000 * 0.7}");
        }

        Assert.Equal(server.DigestOf("a"), server.DigestOf("b"));
    }

    private static void Fill(TypeServer server)
    {
        server.Run("TS.CREATE", "a", "CHUNK_SIZE", "256", "LABELS", "room", "study", "type", "temperature");
        var words = new List<string> { "TS.MADD" };
        for (int i = 0; i < 2000; i++) words.AddRange(["a", $"{1000 + (i * 10)}", $"{20 + (i % 13 * 0.1)}"]);
        server.Run([.. words]);
    }
}
