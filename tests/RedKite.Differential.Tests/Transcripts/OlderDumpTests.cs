using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>
/// Values are exchanged with Redis 7.0 too. RedKite restores its dumps. It refuses RedKite's, as it
/// refuses those of Redis 8, because of their version; what they contain it reads, except packed sets, streams with active
/// times, and hashes whose fields expire, which came later.
/// </summary>
public sealed class OlderDumpTests
{
    private const int StepCount = 2_500;
    private const int Version = 10;

    // Types of values that are newer than version 10: packed sets, streams with active times, hashes with expiries.
    private static readonly byte[] LaterTypes = [20, 21, 24, 25];

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public void Dumps_of_Redis_7_0_are_restored_and_its_forms_are_written(int seed)
    {
        using ServerProcess older = StartOlder("--hash-max-listpack-entries", "6", "--zset-max-listpack-entries", "8", "--set-max-intset-entries", "16", "--list-max-listpack-size", "12", "--stream-node-max-entries", "5");
        using ServerProcess redkite = ServerProcess.Start(ServerProgram.UnderTest, "--enable-debug-command", "yes");
        using RespConnection old = older.Connect();
        using RespConnection mine = redkite.Connect();
        string[] families = ["string", "bitmap", "hyperloglog", "set", "sorted-set", "geo", "list", "stream", "hash", "dump"];
        foreach (Step step in StreamGenerator.Generate(seed, StepCount, [.. CommandTable.Families.Where(family => families.Contains(family.Name))]))
        {
            foreach (byte[][] command in step.Episode.Commands) old.Run(command);
        }

        old.Run("HELLO 2");
        int values = 0;
        int returned = 0;
        for (int database = 0; database < ServerPair.Databases; database++)
        {
            old.Run($"SELECT {database}").IsOk();
            mine.Run($"SELECT {database}").IsOk();
            foreach (RespValue key in old.Run("KEYS *").Items)
            {
                values++;
                byte[] dump = old.Run("DUMP"u8.ToArray(), key.Payload!).Payload!;
                Restore(mine, key.Payload!, dump);
                Assert.Equal(Content(old, key.Payload!), Content(mine, key.Payload!));

                byte[] back = mine.Run("DUMP"u8.ToArray(), key.Payload!).Payload!;
                old.Run("RESTORE"u8.ToArray(), key.Payload!, "0"u8.ToArray(), back, "REPLACE"u8.ToArray()).IsError("ERR DUMP payload version or checksum are wrong");
                if (LaterTypes.Contains(back[0])) continue;
                string content = Content(old, key.Payload!);
                Restore(old, key.Payload!, RedisDumps.Seal(RedisDumps.ValueOf(back), Version));
                Assert.Equal(content, Content(old, key.Payload!));
                returned++;
            }
        }

        Assert.True(values > 10 && returned > 8, $"{values} values, {returned} returned");
    }

    private static ServerProcess StartOlder(params string[] options)
    {
        ServerProcess server;
        try
        {
            server = ServerProcess.Start(OracleProgram.Redis7, options);
        }
        catch (System.ComponentModel.Win32Exception)
        {
            Assert.Skip("not exchanged with Redis 7.0: there is no redis-server");
            throw;
        }

        using RespConnection connection = server.Connect();
        string version = connection.Run("INFO server").Text.Split("\r\n").First(line => line.StartsWith("redis_version:", StringComparison.Ordinal))["redis_version:".Length..];
        if (version.StartsWith("7.0.", StringComparison.Ordinal)) return server;
        server.Dispose();
        Assert.Skip($"not exchanged with Redis 7.0: this system's redis-server is {version}");
        return server;
    }

    private static void Restore(RespConnection server, byte[] key, byte[] dump)
    {
        RespValue reply = server.Run("RESTORE"u8.ToArray(), key, "0"u8.ToArray(), dump, "REPLACE"u8.ToArray());
        Assert.True(reply.Text == "OK", $"{reply} to RESTORE of {Convert.ToHexString(dump)}");
    }

    // The value in an order and with numbers that do not depend on the version.
    private static string Content(RespConnection server, byte[] key)
    {
        string type = server.Run("TYPE"u8.ToArray(), key).Text;
        string[] query = type switch
        {
            "string" => ["GET", "KEY"],
            "list" => ["LRANGE", "KEY", "0", "-1"],
            "set" => ["SMEMBERS", "KEY"],
            "zset" => ["ZRANGE", "KEY", "0", "-1"],
            "hash" => ["HGETALL", "KEY"],
            _ => ["XRANGE", "KEY", "-", "+"],
        };
        RespValue reply = server.Run([.. query.Select(word => word == "KEY" ? key : System.Text.Encoding.ASCII.GetBytes(word))]);
        if (type == "set") return "set " + string.Join(' ', reply.Items.Select(item => item.ToString()).Order(StringComparer.Ordinal));
        if (type == "hash") return "hash " + string.Join(' ', reply.Items.Chunk(2).Select(pair => $"{pair[0]}={pair[1]}").Order(StringComparer.Ordinal));
        return $"{type} {reply}";
    }
}
