using System.Globalization;
using System.Text;
using RedKite.Store.Keyspace;
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
            byte[] payload = server.Client.Run(Words("DUMP", key)).Payload!;
            Assert.Equal("OK", server.Client.Run([.. Words("RESTORE", "restored", "0"), payload]).Text);
            Assert.Equal((key, digest), (key, server.DigestOf("restored")));
            byte[] cut = [.. payload[..^30], .. payload[^10..]];
            Assert.StartsWith("ERR", server.Client.Run([.. Words("RESTORE", "damaged", "0"), cut]).Text, StringComparison.Ordinal);
            Assert.Equal("raw", server.Run("OBJECT", "ENCODING", key));
            Assert.Equal("2", server.Run("DEL", "renamed", "restored"));
        }

        server.Run("FLUSHALL");
        Assert.True(SpinWait.SpinUntil(() => server.UsedBytes <= usedBefore, PatienceMs), $"{server.UsedBytes} bytes are used, {usedBefore} were");
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
        server.Run("BGREWRITEAOF");
        foreach (string key in Keys) Change(server, key, key); // while it is written
        server.WaitForInfo("aof_rewrite_in_progress:0");
        Assert.Contains("aof_last_bgrewrite_status:ok", server.Run("INFO", "persistence"), StringComparison.Ordinal);
        digest = server.Digest;
        await server.RestartAsync();
        Assert.Equal(digest, server.Digest);
        Assert.Equal("OK", server.Run("DEBUG", "RELOAD"));
        Assert.Equal(digest, server.Digest);
    }

    [Fact]
    public async Task Snapshots_have_what_was_there_when_they_began()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        Fill(server);
        string digest = server.Digest;
        long cuts = server.Server.Parts.Durability.SnapshotPoints;
        server.Run("BGSAVE");
        Assert.True(SpinWait.SpinUntil(() => server.Server.Parts.Durability.SnapshotPoints > cuts, PatienceMs), "the data is noted");
        foreach (string key in Keys) Change(server, key, key);
        server.WaitForInfo("rdb_bgsave_in_progress:0");
        await server.RestartAsync(); // without a save at the end
        Assert.Equal(digest, server.Digest);
    }

    // Also with other settings, and with values that the replica's own commands would create otherwise.
    [Fact]
    public async Task Replicas_have_the_values()
    {
        await using TypeServer primary = await TypeServer.StartAsync("repl-diskless-sync-delay", "0");
        Fill(primary);
        await using TypeServer replica = await TypeServer.StartAsync("bf-error-rate", "0.3", "bf-initial-size", "5", "cf-initial-size", "64", "cf-bucket-size", "4", "cf-max-expansions", "1");
        replica.Run("REPLICAOF", "127.0.0.1", primary.Port);
        WaitForReplica(primary);
        Assert.Equal(primary.Digest, replica.Digest);
        foreach (string key in Keys) Change(primary, key, key);
        foreach (string request in (string[])["BF.ADD new1 a", "BF.MADD new2 a b", "BF.INSERT new3 CAPACITY 7 ITEMS a b", "CF.ADD new4 a", "CF.INSERT new5 CAPACITY 9 ITEMS a b c", "CF.ADDNX new6 a", "BF.RESERVE new7 0.1 9", "TDIGEST.MERGE new8 2 digest sharp", "TOPK.RESERVE new9 2 3 2 0.9"])
        {
            Assert.False(primary.Client.Run(request).IsError, request);
        }

        for (int i = 0; i < 300; i++) primary.Run("TOPK.INCRBY", "new9", (i % 50).ToString(CultureInfo.InvariantCulture), "7");
        WaitForReplica(primary);
        foreach (string key in (string[])[.. Keys, "new1", "new2", "new3", "new4", "new5", "new6", "new7", "new8", "new9"]) Assert.Equal((key, primary.DigestOf(key)), (key, replica.DigestOf(key)));
    }

    [Fact]
    public async Task Defragmentation_moves_every_block_and_keeps_the_values()
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: true, "loops", "1");
        Fill(server);
        string digest = server.Digest;
        var moves = new Defragmentation(server.Server.Engine.Keyspace, 0, 1);
        for (int i = 0; i < 2; i++)
        {
            moves.MoveAll();
            Assert.True(moves.TakeCounts().Hits > 50, "the blocks have moved");
            using (LockScope locked = server.Server.Engine.Keyspace.LockAll()) server.Server.Engine.Keyspace.CheckGuards();
            Assert.Equal(digest, server.Digest);
        }

        foreach (string key in Keys) Change(server, key, key);
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
        int loaded = 0, refused = 0;
        foreach ((string key, string[] requests) in ((string, string[])[])
        [
            ("bloom", ["BF.ADD k x", "BF.MEXISTS k a y", "BF.INFO k"]), ("cuckoo", ["CF.ADD k x", "CF.DEL k a", "CF.COUNT k b"]), ("counts", ["CMS.INCRBY k a 3", "CMS.QUERY k a b"]),
            ("top", ["TOPK.INCRBY k a 9 z 4", "TOPK.LIST k WITHCOUNT"]), ("digest", ["TDIGEST.ADD k 7 8 9", "TDIGEST.QUANTILE k 0 0.3 1", "TDIGEST.MERGE k 1 k"]),
        ])
        {
            byte[] payload = server.Client.Run(Words("DUMP", key)).Payload!;
            for (int i = 0; i < 400; i++)
            {
                byte[] damaged = [.. payload];
                for (int changes = random.Next(1, 4); changes > 0; changes--) damaged[random.Next(9, damaged.Length - 10)] = (byte)random.Next(256);
                System.Buffers.Binary.BinaryPrimitives.WriteUInt64LittleEndian(damaged.AsSpan(^8..), RedKite.Persistence.Rdb.Crc64.Append(0, damaged.AsSpan(..^8)));
                bool isLoaded = server.Client.Run([.. Words("RESTORE", "k", "0"), damaged, .. Words("REPLACE")]).Text == "OK";
                if (isLoaded) loaded++;
                else refused++;
                foreach (string request in requests) Assert.False(server.Client.Run(request).IsClosed);
                server.Run("DEL", "k");
            }
        }

        Assert.True(loaded > 50 && refused > 200, $"{loaded} loaded, {refused} refused");
        using LockScope locked = server.Server.Engine.Keyspace.LockAll();
        server.Server.Engine.Keyspace.CheckGuards();
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

    internal static void WaitForReplica(TypeServer primary)
    {
        primary.Client.SetTimeout(PatienceMs);
        Assert.True(primary.Run("WAIT", "1", "55000") == "1", primary.Log);
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

    private static byte[][] Words(params string[] words) => [.. words.Select(Encoding.Latin1.GetBytes)];
}
