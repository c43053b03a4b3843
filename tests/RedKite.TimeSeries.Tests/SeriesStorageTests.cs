using System.Text;
using RedKite.Persistence.Rdb;
using RedKite.Store.Keyspace;
using RedKite.Types.Tests;

namespace RedKite.TimeSeries.Tests;

/// <summary>Series in files, logs and replicas, copied, moved and freed.</summary>
public sealed class SeriesStorageTests
{
    private const int PatienceMs = 60_000;

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
        Assert.True(SpinWait.SpinUntil(() => server.UsedBytes <= before, PatienceMs), $"{server.UsedBytes} bytes are used, {before} were");
    }

    [Fact]
    public async Task Values_are_dumped_and_restored()
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: true);
        Fill(server);
        byte[] payload = server.Client.Run("DUMP a").Payload!;
        Assert.Equal((byte)RdbType.Module, payload[0]);
        Assert.Equal("OK", server.Client.Run([.. Words("RESTORE", "b", "0"), payload]).Text);
        Assert.Equal(server.DigestOf("a"), server.DigestOf("b"));
        Assert.Equal(server.Run("TS.RANGE", "a", "-", "+"), server.Run("TS.RANGE", "b", "-", "+"));
    }

    // Damaged payloads are refused, or are other series: nothing is read or written beyond a block.
    [Fact]
    public async Task Damaged_payloads_do_no_harm()
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: true, "sanitize-dump-payload", "yes");
        server.Run("TS.CREATE", "a", "CHUNK_SIZE", "128", "LABELS", "l", "v");
        for (int i = 0; i < 200; i++) server.Run("TS.ADD", "a", $"{i * i}", $"{i * 0.3}");
        byte[] payload = server.Client.Run("DUMP a").Payload!;
        var random = new Random(1);
        int restored = 0;
        for (int i = 0; i < 2000; i++)
        {
            byte[] damaged = [.. payload];
            for (int n = random.Next(1, 4); n > 0; n--) damaged[random.Next(10, damaged.Length - 10)] = (byte)random.Next(256);
            SetChecksum(damaged);
            if (server.Client.Run([.. Words("RESTORE", "b", "0"), damaged, .. Words("REPLACE")]).Text != "OK") continue;
            restored++;
            server.Run("TS.RANGE", "b", "-", "+", "AGGREGATION", "avg", "1000000000");
            server.Run("TS.INFO", "b", "DEBUG");
            server.Run("TS.ADD", "b", "77", "7", "ON_DUPLICATE", "LAST");
        }

        Assert.InRange(restored, 1, 2000);
        using LockScope locked = server.Server.Engine.Keyspace.LockAll();
        server.Server.Engine.Keyspace.CheckGuards();
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
        server.Run("BGREWRITEAOF");
        server.WaitForInfo("aof_rewrite_in_progress:0");
        server.Run("TS.ADD", "a", "4", "4.5");
        digest = server.Digest;
        await server.RestartAsync();
        Assert.Equal(digest, server.Digest);
    }

    [Fact]
    public async Task Replicas_get_the_values()
    {
        await using TypeServer primary = await TypeServer.StartAsync("repl-diskless-sync-delay", "0");
        Fill(primary);
        await using TypeServer replica = await TypeServer.StartAsync();
        replica.Run("REPLICAOF", "127.0.0.1", primary.Port);
        primary.Client.SetTimeout(PatienceMs);
        Assert.Equal("1", primary.Run("WAIT", "1", "55000"));
        Assert.Equal(primary.Digest, replica.Digest);
        primary.Run("TS.ADD", "new", "*", "1");
        primary.Run("TS.INCRBY", "new2", "1");
        primary.Run("TS.DECRBY", "new3", "1", "TIMESTAMP", "*");
        primary.Run("EVAL", "return redis.call('TS.ADD', KEYS[1], 12, 13)", "1", "a");
        primary.Run("TS.DEL", "a", "100", "200");
        Assert.Equal("1", primary.Run("WAIT", "1", "55000"));
        Assert.Equal(primary.Digest, replica.Digest);
    }

    [Fact]
    public async Task Defragmentation_moves_every_block()
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: true, "loops", "1");
        Fill(server);
        string digest = server.Digest;
        var moves = new Defragmentation(server.Server.Engine.Keyspace, 0, 1);
        moves.MoveAll();
        Assert.True(moves.TakeCounts().Hits > 20, "the blocks have moved");
        Assert.Equal(digest, server.Digest);
        using LockScope locked = server.Server.Engine.Keyspace.LockAll();
        server.Server.Engine.Keyspace.CheckGuards();
    }

    // What a snapshot has is what there was when it began.
    [Fact]
    public async Task Snapshots_are_isolated()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        Fill(server);
        string digest = server.Digest;
        long points = server.Server.Parts.Durability.SnapshotPoints;
        server.Run("BGSAVE");
        Assert.True(SpinWait.SpinUntil(() => server.Server.Parts.Durability.SnapshotPoints > points, PatienceMs), "the data is noted");
        server.Run("TS.DEL", "a", "-", "+");
        server.WaitForInfo("rdb_bgsave_in_progress:0");
        await server.RestartAsync();
        Assert.Equal(digest, server.Digest);
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

    private static byte[][] Words(params string[] words) => [.. words.Select(Encoding.Latin1.GetBytes)];

    private static void SetChecksum(byte[] payload) => System.Buffers.Binary.BinaryPrimitives.WriteUInt64LittleEndian(payload.AsSpan(^8..), Crc64.Append(0, payload.AsSpan(..^8)));
}
