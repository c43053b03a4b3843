using System.Buffers.Binary;
using System.Text;
using RedKite.Persistence.Rdb;
using RedKite.Persistence.Types;
using RedKite.Store.Keyspace;

namespace RedKite.Types.Tests;

/// <summary>What the tests of every type do with payloads, files, replicas and memory.</summary>
internal static class TypeStorage
{
    private const int PatienceMs = 60_000;

    // The format's version and the checksum at a payload's end.
    private const int FooterBytes = sizeof(ushort) + sizeof(ulong);

    internal static byte[][] Words(params string[] words) => [.. words.Select(Encoding.Latin1.GetBytes)];

    internal static byte[] Dump(this TypeServer server, string key) => server.Client.Run(Words("DUMP", key)).Payload!;

    /// <summary>Restores a payload, also over a key that is there.</summary>
    internal static string Restore(this TypeServer server, string key, byte[] payload) => server.Client.Run([.. Words("RESTORE", key, "0"), payload, .. Words("REPLACE")]).Text;

    /// <summary>
    /// Restores payloads of a key that are damaged at random: bytes are others, or the end is missing. None does harm, and what one of them has become, after
    /// it was used, is a value that can be dumped and restored.
    /// </summary>
    /// <param name="server">The server, with guarded memory.</param>
    /// <param name="payload">The payload.</param>
    /// <param name="count">How many are damaged.</param>
    /// <param name="random">Draws the damage.</param>
    /// <param name="use">Uses the key that was restored.</param>
    /// <returns>How many were restored. The others were refused.</returns>
    internal static int RestoreDamaged(this TypeServer server, byte[] payload, int count, Random random, Action<string> use)
    {
        const string Key = "damaged";
        int restored = 0;
        for (int i = 0; i < count; i++)
        {
            byte[] damaged = Damaged(payload, random);
            string reply = server.Restore(Key, damaged);
            Assert.True(reply == "OK" || reply.StartsWith("ERR", StringComparison.Ordinal), $"{reply}: {Convert.ToHexString(damaged)}");
            if (reply != "OK") continue;
            restored++;
            use(Key);
            if (server.Run("EXISTS", Key) == "0") continue;
            string again = server.Restore("again", server.Dump(Key));
            Assert.True(again == "OK", $"what was restored is not restored again: {Convert.ToHexString(damaged)}");
        }

        server.Run("DEL", Key, "again");
        server.CheckGuards();
        return restored;
    }

    internal static void WaitForReplica(this TypeServer primary)
    {
        primary.Client.SetTimeout(PatienceMs);
        Assert.True(primary.Run("WAIT", "1", "55000") == "1", primary.Log);
    }

    /// <summary>Starts a replica, which has the primary's data then.</summary>
    internal static async Task<TypeServer> StartReplicaAsync(this TypeServer primary, params string[] settings)
    {
        TypeServer replica = await TypeServer.StartAsync(settings);
        replica.Run("REPLICAOF", "127.0.0.1", primary.Port);
        primary.WaitForReplica();
        Assert.Equal(primary.Digest, replica.Digest);
        return replica;
    }

    /// <summary>Changes values while a snapshot is written, and starts again from it: it has what was there when it began.</summary>
    internal static async Task SaveWhileAsync(this TypeServer server, Action change)
    {
        string digest = server.Digest;
        long points = server.Server.Parts.Durability.SnapshotPoints;
        server.Run("BGSAVE");
        Assert.True(SpinWait.SpinUntil(() => server.Server.Parts.Durability.SnapshotPoints > points, PatienceMs), "the data is noted");
        change();
        Assert.NotEqual(digest, server.Digest);
        server.WaitForInfo("rdb_bgsave_in_progress:0");
        Assert.Contains("rdb_last_bgsave_status:ok", server.Run("INFO", "persistence"), StringComparison.Ordinal);
        await server.RestartAsync(); // without a save at the end
        Assert.Equal(digest, server.Digest);
    }

    /// <summary>Rewrites the log, in which values may change meanwhile, and starts again from it.</summary>
    internal static async Task RewriteLogAsync(this TypeServer server, Action? change = null)
    {
        server.Run("BGREWRITEAOF");
        change?.Invoke();
        server.WaitForInfo("aof_rewrite_in_progress:0");
        Assert.Contains("aof_last_bgrewrite_status:ok", server.Run("INFO", "persistence"), StringComparison.Ordinal);
        string digest = server.Digest;
        await server.RestartAsync();
        Assert.Equal(digest, server.Digest);
    }

    /// <summary>Moves every block of the first stripe, as defragmentation does.</summary>
    /// <param name="server">The server, with guarded memory.</param>
    /// <param name="movesMin">The moves that there are at least.</param>
    internal static void MoveBlocks(this TypeServer server, int movesMin)
    {
        string digest = server.Digest;
        var moves = new Defragmentation(server.Server.Engine.Keyspace, 0, 1);
        moves.MoveAll();
        Assert.InRange(moves.TakeCounts().Hits, movesMin, int.MaxValue);
        server.CheckGuards();
        Assert.Equal(digest, server.Digest);
    }

    /// <summary>Checks that the digest of a value in parts is that of the whole.</summary>
    /// <returns>The number of parts.</returns>
    internal static int CheckDigestOfParts(this TypeServer server, string key)
    {
        Keyspace keyspace = server.Server.Engine.Keyspace;
        byte[] whole = new byte[DatasetDigest.Bytes], parts = new byte[DatasetDigest.Bytes];
        using LockScope locked = keyspace.LockAll();
        Entry entry = keyspace.Databases[0].FindByHash(keyspace.Hash(Encoding.Latin1.GetBytes(key)));
        new DatasetDigest(whole).MixValue(keyspace.Databases[0], entry, ExpiryClock.Never);
        var position = default(DatasetDigest.ValuePosition);
        int count = 1;
        while (!new DatasetDigest(parts).MixValue(keyspace.Databases[0], entry, ExpiryClock.Never, ref position, new DatasetDigest.WorkLeft(5_000))) count++;
        Assert.Equal(whole, parts);
        return count;
    }

    /// <summary>Checks that nothing was written beyond a block.</summary>
    internal static void CheckGuards(this TypeServer server)
    {
        using LockScope locked = server.Server.Engine.Keyspace.LockAll();
        server.Server.Engine.Keyspace.CheckGuards();
    }

    /// <summary>Checks that all memory that was taken since is free again.</summary>
    internal static void WaitForMemory(this TypeServer server, long usedBefore) =>
        Assert.True(SpinWait.SpinUntil(() => server.UsedBytes <= usedBefore, PatienceMs), $"{server.UsedBytes} bytes are used, {usedBefore} were");

    private static byte[] Damaged(byte[] payload, Random random)
    {
        byte[] body = payload[..^FooterBytes];
        for (int changes = random.Next(1, 4); changes > 0; changes--) body[random.Next(1, body.Length)] = (byte)random.Next(256);
        if (random.Next(4) == 0) body = body[..random.Next(1, body.Length)];
        byte[] damaged = [.. body, .. payload.AsSpan(^FooterBytes..)];
        BinaryPrimitives.WriteUInt64LittleEndian(damaged.AsSpan(^sizeof(ulong)..), Crc64.Append(0, damaged.AsSpan(..^sizeof(ulong))));
        return damaged;
    }
}
