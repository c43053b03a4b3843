using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>
/// When a key or field expires, to the millisecond, after every command that takes an expiry: at the time that it says, or at the
/// distance that it says from a moment between two readings of the server's clock around it.
/// </summary>
[Collection(TranscriptCollection.Name)]
public sealed class ExpiryTimeTests(TranscriptServers servers) : TranscriptTests(servers)
{
    private const long AtMs = 4_102_444_800_123;
    private const long AtSeconds = 4_102_444_801;

    [Theory]
    [InlineData("SET k v PX 100123", 100_123)]
    [InlineData("SET k v EX 1001", 1_001_000)]
    [InlineData("PSETEX k 100123 v", 100_123)]
    [InlineData("SETEX k 1001 v", 1_001_000)]
    [InlineData("GETEX s PX 100123", 100_123)]
    [InlineData("GETEX s EX 1001", 1_001_000)]
    [InlineData("PEXPIRE s 100123", 100_123)]
    [InlineData("EXPIRE s 1001", 1_001_000)]
    [InlineData("PEXPIRE s 100123 NX", 100_123)]
    [InlineData("EVAL \"return redis.call('SET', 'k', 'v', 'PX', '100123')\" 1 k", 100_123)]
    [InlineData("HPEXPIRE h 100123 FIELDS 1 f", 100_123)]
    [InlineData("HEXPIRE h 1001 FIELDS 1 f", 1_001_000)]
    [InlineData("HGETEX h PX 100123 FIELDS 1 f", 100_123)]
    [InlineData("HGETEX h EX 1001 FIELDS 1 f", 1_001_000)]
    [InlineData("HSETEX h PX 100123 FIELDS 1 f v", 100_123)]
    [InlineData("HSETEX h EX 1001 FIELDS 1 f v", 1_001_000)]
    public void A_distance_counts_from_the_execution(string command, long distanceMs)
    {
        foreach (RespConnection server in (RespConnection[])[Pair.Oracle.Control, Pair.Subject.Control])
        {
            server.Run("SET s v").IsOk();
            server.Run("HSET h f v").IsInteger(1);
            long before = NowMs(server);
            Assert.False(server.Run(command).IsError);
            long after = NowMs(server);
            Assert.InRange(ExpiryMs(server, command), before + distanceMs, after + distanceMs);
        }
    }

    [Fact]
    public void Restored_keys_expire_after_the_time_to_live()
    {
        foreach (RespConnection server in (RespConnection[])[Pair.Oracle.Control, Pair.Subject.Control])
        {
            server.Run("SET s v").IsOk();
            byte[] dump = server.Run("DUMP s").Payload!;
            long before = NowMs(server);
            server.Run("RESTORE"u8.ToArray(), "k"u8.ToArray(), "100123"u8.ToArray(), dump).IsOk();
            Assert.InRange(ExpiryMs(server, "RESTORE k"), before + 100_123, NowMs(server) + 100_123);
            server.Run("RESTORE"u8.ToArray(), "k"u8.ToArray(), "4102444800123"u8.ToArray(), dump, "ABSTTL"u8.ToArray(), "REPLACE"u8.ToArray()).IsOk();
            Assert.Equal(AtMs, ExpiryMs(server, "RESTORE k"));
        }
    }

    [Theory]
    [InlineData("SET k v PXAT 4102444800123", AtMs)]
    [InlineData("SET k v EXAT 4102444801", AtSeconds * 1000)]
    [InlineData("GETEX s PXAT 4102444800123", AtMs)]
    [InlineData("GETEX s EXAT 4102444801", AtSeconds * 1000)]
    [InlineData("PEXPIREAT s 4102444800123", AtMs)]
    [InlineData("EXPIREAT s 4102444801", AtSeconds * 1000)]
    [InlineData("HPEXPIREAT h 4102444800123 FIELDS 1 f", AtMs)]
    [InlineData("HEXPIREAT h 4102444801 FIELDS 1 f", AtSeconds * 1000)]
    [InlineData("HGETEX h PXAT 4102444800123 FIELDS 1 f", AtMs)]
    [InlineData("HSETEX h PXAT 4102444800123 FIELDS 1 f v", AtMs)]
    [InlineData("HSETEX h EXAT 4102444801 FIELDS 1 f v", AtSeconds * 1000)]
    public void A_time_is_kept_to_the_millisecond(string command, long expiryMs)
    {
        foreach (RespConnection server in (RespConnection[])[Pair.Oracle.Control, Pair.Subject.Control])
        {
            server.Run("SET s v").IsOk();
            server.Run("HSET h f v").IsInteger(1);
            Assert.False(server.Run(command).IsError);
            Assert.Equal(expiryMs, ExpiryMs(server, command));
            foreach (string copy in (string[])["COPY s k2", "COPY h h2"]) server.Run(copy);
            string key = KeyOf(command);
            if (key != "k") Assert.Equal(expiryMs, ExpiryMs(server, command, key == "s" ? "k2" : "h2"));
        }
    }

    private static string KeyOf(string command) => command.StartsWith("EVAL", StringComparison.Ordinal) ? "k" : command.Split(' ')[1];

    private static long ExpiryMs(RespConnection server, string command, string? key = null)
    {
        key ??= KeyOf(command);
        return key.StartsWith('h') ? server.Run($"HPEXPIRETIME {key} FIELDS 1 f").Items[0].Number : server.Run($"PEXPIRETIME {key}").Number;
    }

    private static long NowMs(RespConnection server)
    {
        IReadOnlyList<RespValue> now = server.Run("TIME").Items;
        return (long.Parse(now[0].Text, CultureInfo.InvariantCulture) * 1000) + (long.Parse(now[1].Text, CultureInfo.InvariantCulture) / 1000);
    }
}
