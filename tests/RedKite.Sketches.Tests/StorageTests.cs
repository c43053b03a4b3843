using System.Globalization;
using RedKite.TestSupport;
using RedKite.Types.Tests;

namespace RedKite.Sketches.Tests;

/// <summary>What holds for values of any type holds for each sketch: small ones, and ones of many pages and parts.</summary>
public sealed class StorageTests
{
    private const int PatienceMs = 60_000;

    private static readonly string[] Keys = ["bloom", "layers", "sparse", "cuckoo", "grown", "counts", "wide", "top", "digest", "sharp"];

    [Fact]
    public async Task Values_are_copied_renamed_dumped_and_freed()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        long usedBefore = server.UsedBytes;
        Fill(server);
        foreach (string key in Keys)
        {
            string digest = server.DigestOf(key);
            Assert.Equal("1", server.Run("COPY", key, "copy"));
            Assert.Equal(digest, server.DigestOf("copy"));
            Assert.Equal(server.Run("MEMORY", "USAGE", "copy"), server.Run("MEMORY", "USAGE", "copy"));
            Change(server, key, "copy");
            Assert.Equal(digest, server.DigestOf(key));
            Assert.NotEqual((key, digest), (key, server.DigestOf("copy")));
            Assert.Equal("OK", server.Run("RENAME", "copy", "renamed"));
            byte[] payload = server.Dump(key);
            Assert.Equal("OK", server.Restore("restored", payload));
            Assert.Equal((key, digest), (key, server.DigestOf("restored")));
            byte[] cut = [.. payload[..^30], .. payload[^10..]];
            Assert.StartsWith("ERR", server.Restore("damaged", cut), StringComparison.Ordinal);
            Assert.Equal("raw", server.Run("OBJECT", "ENCODING", key));
            Assert.Equal("2", server.Run("DEL", "renamed", "restored"));
        }

        server.Run("FLUSHALL");
        server.WaitForMemory(usedBefore);
    }

    [Theory]
    [InlineData("yes")]
    [InlineData("no")]
    public async Task Files_and_logs_have_the_values(string preamble)
    {
        await using TypeServer server = await TypeServer.StartAsync("appendonly", "yes", "aof-use-rdb-preamble", preamble);
        Fill(server);
        string digest = server.Digest;
        await server.RestartAsync(); // commands
        Assert.Equal(digest, server.Digest);
        await server.RewriteLogAsync(() => ChangeAll(server));
        digest = server.Digest;
        Assert.Equal("OK", server.Run("DEBUG", "RELOAD"));
        Assert.Equal(digest, server.Digest);
    }

    // Filters grow, shrink, are loaded and created anew while the snapshot is written.
    [Fact]
    public async Task Snapshots_have_what_was_there_when_they_began()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        Fill(server);
        await server.SaveWhileAsync(() =>
        {
            ChangeAll(server);
            for (int i = 0; i < 2000; i += 100)
            {
                server.Run(["BF.MADD", "layers", .. Items(i)]);
                server.Run(["BF.MADD", "sparse", .. Items(i)]);
                server.Run(["CF.INSERT", "cuckoo", "ITEMS", .. Items(i)]);
                server.Run(["CF.INSERT", "grown", "ITEMS", .. Items(i)]);
                server.Run(["TDIGEST.ADD", "sharp", .. Items(i)]);
            }

            foreach (string item in Items(0)) server.Run("CF.DEL", "grown", item);
            foreach (string request in (string[])["CF.COMPACT grown", "CMS.MERGE wide 1 wide WEIGHTS 3", "TDIGEST.MERGE digest 1 sharp COMPRESSION 30", "DEL top", "TOPK.RESERVE top 3", "BF.LOADCHUNK sparse 2 x"]) server.Client.Run(request);
        });
    }

    // Two clients send commands of all types while a replica synchronizes and follows.
    [Fact]
    public async Task Replicas_follow_traffic_of_sketches()
    {
        await using TypeServer primary = await TypeServer.StartAsync("repl-diskless-sync-delay", "0");
        Fill(primary);
        Task[] traffic = [.. Enumerable.Range(1, 2).Select(seed => Task.Run(() => Traffic(primary, new Random(seed), 4000)))];
        await using TypeServer replica = await TypeServer.StartAsync();
        replica.Run("REPLICAOF", "127.0.0.1", primary.Port);
        await Task.WhenAll(traffic);
        primary.Run("SET", "last", "x"); // WAIT waits for what its own client has written
        primary.WaitForReplica();
        foreach (string key in Keys) Assert.Equal((key, primary.DigestOf(key)), (key, replica.DigestOf(key)));
        Assert.Equal(primary.Digest, replica.Digest);
    }

    [Fact]
    public async Task Eviction_frees_all_memory_of_sketches()
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: true, "maxmemory-policy", "allkeys-lru");
        long usedBefore = server.UsedBytes;
        server.Run("CONFIG", "SET", "maxmemory", (usedBefore + (8L << 20)).ToString(CultureInfo.InvariantCulture));
        for (int i = 0; i < 40; i++)
        {
            string[] requests = [$"BF.RESERVE b{i} 0.001 1000000", $"CF.RESERVE c{i} 1000000", $"CMS.INITBYDIM m{i} 100000 4", $"TOPK.RESERVE t{i} 1000 5000 4 0.9", $"TDIGEST.CREATE d{i} COMPRESSION 3000"];
            foreach (string request in requests) Assert.Equal("OK", server.Client.Run(request).Text);
            string[] items = Items(i);
            server.Run([$"BF.MADD", $"b{i}", .. items]);
            server.Run([$"CF.INSERT", $"c{i}", "ITEMS", .. items]);
            server.Run([$"CMS.INCRBY", $"m{i}", .. items.SelectMany(item => new[] { item, "1" })]);
            server.Run([$"TOPK.ADD", $"t{i}", .. items]);
            server.Run([$"TDIGEST.ADD", $"d{i}", .. items]);
        }

        Assert.True(server.Client.Run("INFO stats").Text.Split("evicted_keys:")[1].Split('\r')[0] is var evicted && long.Parse(evicted, CultureInfo.InvariantCulture) > 50, evicted);
        Assert.InRange(server.Client.Run("DBSIZE").Number, 1, 150); // how many are left depends on which sizes they have
        server.CheckGuards();
        server.Run("FLUSHALL");
        server.WaitForMemory(usedBefore);
    }

    // Also with other settings, and with values that the replica's own commands would create otherwise.
    [Fact]
    public async Task Replicas_have_the_values()
    {
        await using TypeServer primary = await TypeServer.StartAsync("repl-diskless-sync-delay", "0");
        Fill(primary);
        await using TypeServer replica = await primary.StartReplicaAsync("bf-error-rate", "0.3", "bf-initial-size", "5", "cf-initial-size", "64", "cf-bucket-size", "4", "cf-max-expansions", "1");
        ChangeAll(primary);
        foreach (string request in (string[])["BF.ADD new1 a", "BF.MADD new2 a b", "BF.INSERT new3 CAPACITY 7 ITEMS a b", "CF.ADD new4 a", "CF.INSERT new5 CAPACITY 9 ITEMS a b c", "CF.ADDNX new6 a", "CF.DEL grown 1", "CF.DEL grown 2", "CF.DEL grown 3", "CF.COMPACT grown", "CF.ADD grown 1", "BF.RESERVE new7 0.1 9", "TDIGEST.MERGE new8 2 digest sharp", "TOPK.RESERVE new9 2 3 2 0.9"])
        {
            Assert.False(primary.Client.Run(request).IsError, request);
        }

        for (int i = 0; i < 300; i++) primary.Run("TOPK.INCRBY", "new9", (i % 50).ToString(CultureInfo.InvariantCulture), "7");
        primary.WaitForReplica();
        foreach (string key in (string[])[.. Keys, "new1", "new2", "new3", "new4", "new5", "new6", "new7", "new8", "new9"]) Assert.Equal((key, primary.DigestOf(key)), (key, replica.DigestOf(key)));
    }

    [Fact]
    public async Task Defragmentation_moves_every_block_and_keeps_the_values()
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: true, "loops", "1");
        Fill(server);
        for (int i = 0; i < 2; i++) server.MoveBlocks(51);
        ChangeAll(server);
        server.Run("FLUSHALL");
    }

    [Fact]
    public async Task Damaged_payloads_are_refused_or_loaded_and_nothing_else()
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: true);
        server.Run("BF.RESERVE", "bloom", "0.01", "5");
        server.Run("BF.MADD", "bloom", "a", "b", "c", "d", "e", "f");
        server.Run("CF.RESERVE", "cuckoo", "8");
        server.Run("CF.INSERT", "cuckoo", "ITEMS", "a", "b", "c");
        server.Run("CMS.INITBYDIM", "counts", "7", "3");
        server.Run("CMS.INCRBY", "counts", "a", "5");
        server.Run("TOPK.RESERVE", "top", "3", "4", "2", "0.9");
        server.Run("TOPK.ADD", "top", "a", "b", "c", "d", "e", "a");
        server.Run("TDIGEST.CREATE", "digest", "COMPRESSION", "3");
        server.Run("TDIGEST.ADD", "digest", "1", "2", "3", "4.5");
        var random = new Random(20261129);
        foreach ((string key, string[] requests) in ((string, string[])[])
        [
            ("bloom", ["BF.ADD {0} x", "BF.MADD {0} y z q w r t", "BF.MEXISTS {0} a y", "BF.INFO {0}"]), ("cuckoo", ["CF.ADD {0} x", "CF.DEL {0} a", "CF.DEL {0} b", "CF.COUNT {0} b", "CF.COMPACT {0}"]),
            ("counts", ["CMS.INCRBY {0} a 3", "CMS.QUERY {0} a b", "CMS.MERGE {0} 2 {0} {0}"]), ("top", ["TOPK.INCRBY {0} a 9 z 4", "TOPK.LIST {0} WITHCOUNT"]),
            ("digest", ["TDIGEST.ADD {0} 7 8 9", "TDIGEST.QUANTILE {0} 0 0.3 1", "TDIGEST.MERGE {0} 1 {0}"]),
        ])
        {
            int restored = server.RestoreDamaged(server.Dump(key), 2000, random, damaged =>
            {
                foreach (string request in requests) Assert.False(server.Client.Run(request.Replace("{0}", damaged, StringComparison.Ordinal)).IsClosed);
            });
            Assert.True(restored is > 20 and < 1800, $"{key}: {restored} were restored");
        }
    }

    [Fact]
    public async Task Transactions_scripts_and_expiry_work_with_sketches()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        server.Run("MULTI");
        server.Run("BF.ADD", "f", "a");
        server.Run("CMS.INITBYDIM", "m", "10", "2");
        server.Run("CMS.INCRBY", "m", "a", "4");
        Assert.Equal("1 OK ", server.Run("EXEC"));
        Assert.Equal("4", server.Run("EVAL", "return redis.call('CMS.QUERY', KEYS[1], 'a')[1]", "1", "m"));
        Assert.Equal("1", server.Run("EVAL", "return redis.call('TDIGEST.CREATE', KEYS[1])['ok'] == 'OK'", "1", "d"));
        server.Run("PEXPIRE", "f", "1");
        Assert.True(SpinWait.SpinUntil(() => server.Run("EXISTS", "f") == "0", PatienceMs));
        Assert.Equal("0", server.Run("BF.CARD", "f"));
        Assert.Equal("m", server.Client.Run("SCAN 0 COUNT 1000 TYPE CMSk-TYPE").Items[1].Items.Single().Text);
    }

    private static string[] Items(int start) => [.. Enumerable.Range(start, 100).Select(i => i.ToString(CultureInfo.InvariantCulture))];

    private static void Traffic(TypeServer server, Random random, int count)
    {
        using RespConnection client = RespConnection.Connect(server.Server.Port);
        for (int i = 0; i < count; i++)
        {
            int n = random.Next(500);
            string key = Keys[random.Next(Keys.Length)], request = key switch
            {
                "bloom" or "layers" or "sparse" => random.Next(50) == 0 ? $"DEL {key}" : $"BF.MADD {key} {n} {n + 1} {n + 2}",
                "cuckoo" or "grown" => random.Next(4) switch { 0 => $"CF.ADD {key} {n}", 1 => $"CF.INSERTNX {key} ITEMS {n} {n + 1}", 2 => $"CF.COMPACT {key}", _ => $"CF.DEL {key} {n}" },
                "counts" or "wide" => random.Next(20) == 0 ? $"CMS.MERGE {key} 1 {key} WEIGHTS 2" : $"CMS.INCRBY {key} {n} 1 {n + 1} 2",
                "top" => $"TOPK.INCRBY {key} {n} {n} {n + 1} 1",
                _ => random.Next(20) == 0 ? $"TDIGEST.MERGE {key} 2 digest sharp" : $"TDIGEST.ADD {key} {n} {n * 0.3:R}",
            };
            client.Run(request);
        }
    }

    private static void ChangeAll(TypeServer server)
    {
        foreach (string key in Keys) Change(server, key, key);
    }

    private static void Change(TypeServer server, string kind, string key) => Assert.False(server.Client.Run((kind switch
    {
        "bloom" or "layers" or "sparse" => "BF.ADD {0} another",
        "cuckoo" or "grown" => "CF.ADD {0} another",
        "counts" or "wide" => "CMS.INCRBY {0} another 3",
        "top" => "TOPK.INCRBY {0} another 900",
        _ => "TDIGEST.ADD {0} 5.5 -3",
    }).Replace("{0}", key, StringComparison.Ordinal)).IsError);

    private static void Fill(TypeServer server)
    {
        server.Run("BF.ADD", "bloom", "a");
        server.Run("BF.RESERVE", "layers", "0.01", "20");
        server.Run("BF.RESERVE", "sparse", "0.0001", "10000000"); // 25 MB, of which few pages are there
        server.Run("CF.RESERVE", "cuckoo", "400000");
        server.Run("CF.RESERVE", "grown", "16", "BUCKETSIZE", "3");
        server.Run("CMS.INITBYDIM", "counts", "20", "4");
        server.Run("CMS.INITBYDIM", "wide", "100000", "3");
        server.Run("TOPK.RESERVE", "top", "30", "20", "3", "0.9");
        server.Run("TDIGEST.CREATE", "digest");
        server.Run("TDIGEST.CREATE", "sharp", "COMPRESSION", "2000");
        string[] items = [.. Enumerable.Range(0, 200).Select(i => i.ToString(CultureInfo.InvariantCulture))];
        foreach (string key in (string[])["layers", "sparse"]) server.Run(["BF.MADD", key, .. items]);
        foreach (string key in (string[])["cuckoo", "grown"]) server.Run(["CF.INSERT", key, "ITEMS", .. items]);
        foreach (string key in (string[])["counts", "wide"]) server.Run(["CMS.INCRBY", key, .. items.SelectMany(item => new[] { item, item })]);
        server.Run(["TOPK.INCRBY", "top", .. items.SelectMany(item => new[] { item, item })]);
        for (int i = 0; i < 5; i++)
        {
            server.Run(["TDIGEST.ADD", "digest", .. items]);
            server.Run(["TDIGEST.ADD", "sharp", .. items]);
        }
    }
}
