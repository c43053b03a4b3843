using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>DEBUG DIGEST and DIGEST-VALUE equal Redis's for equal data.</summary>
[Collection(TranscriptCollection.Name)]
public sealed class DigestTests(TranscriptServers servers) : TranscriptTests(servers)
{
    [Theory]
    [InlineData("SET k hello")]
    [InlineData("SET k 12345")]
    [InlineData("SET k hello EX 1000")]
    [InlineData("SET k \"\\x00\\xff\\r\\n\"")]
    [InlineData("RPUSH k a 1 -7 \"\" b a")]
    [InlineData("SADD k 1 2 3 -4")]
    [InlineData("SADD k a b 3")]
    [InlineData("ZADD k 1 a 0.1 b -0 c inf d -inf e 1e300 f 1e16 g 1e17 h 123456789012345678 i")]
    [InlineData("ZADD k 0.0001 a 0.00001 b 3.14159 c -2.5e-7 d 5e-324 e 1.7976931348623157e308 f 100 g 1234.5 h")]
    [InlineData("HSET k a 1 b two c \"\"")]
    [InlineData("XADD k 1-1 a 1 b 2")]
    [InlineData("PFADD k a b c")]
    public void Value_digest_matches_redis(string command)
    {
        PairedConnection connection = Open();
        connection.Run("DEBUG DIGEST").IsSimple("0000000000000000000000000000000000000000");
        connection.Run(command);
        connection.Run("DEBUG DIGEST-VALUE k missing k");
        connection.Run("DEBUG DIGEST");
    }

    [Fact]
    public void Digest_of_all_types_and_databases_matches_redis()
    {
        PairedConnection connection = Open();
        foreach (int database in (int[])[0, 2, 9])
        {
            connection.Run($"SELECT {database}");
            for (int i = 0; i < 300; i++)
            {
                connection.Run($"SET string:{i} {i * database}");
                connection.Run($"RPUSH list e{i} {i}");
                connection.Run($"SADD set m{i}");
                connection.Run($"ZADD zset {i}.{database} m{i}");
                connection.Run($"HSET hash f{i} {i}");
                connection.Run($"XADD stream {i + 1}-0 name{i % 3} {i} other x");
            }

            connection.Run("XDEL stream 5-0 7-0");
            connection.Run("SADD ints 5 6 7");
            connection.Run("EXPIRE list 1000");
            connection.Run("DEBUG DIGEST");
        }
    }

    // More than a slice of them.
    [Fact]
    public void Digest_of_many_keys_matches_redis()
    {
        PairedConnection connection = Open();
        connection.Run("DEBUG POPULATE 20000").IsOk();
        connection.Run("SELECT 5").IsOk();
        connection.Run("DEBUG POPULATE 1000 other 200").IsOk();
        connection.Run("EVAL \"for i = 1, 2000 do redis.call('hset', 'h', 'f' .. i, i) redis.call('sadd', 's', 'm' .. i) redis.call('zadd', 'z', i, 'm' .. i) redis.call('rpush', 'l', i) redis.call('xadd', 'x', i .. '-1', 'f', i) end\" 0").IsNull();
        connection.Run("DEBUG DIGEST");
        connection.Run("MULTI").IsOk();
        connection.Run("DEBUG DIGEST");
        connection.Run("EXEC");
        connection.Run("FLUSHALL").IsOk();
    }

    [Theory]
    [InlineData("-inf 100 BYSCORE")]
    [InlineData("100 -inf BYSCORE REV")]
    [InlineData("- + BYLEX")]
    [InlineData("0 -1")]
    [InlineData("0 -1 REV")]
    [InlineData("0 3")]
    [InlineData("-inf 100 BYSCORE LIMIT 2 3")]
    public void Stored_range_keeps_the_signs_of_zero_as_in_redis(string range)
    {
        PairedConnection connection = Open();
        foreach (string limit in (string[])["3", "4", "6", "20"])
        {
            connection.Run("DEL source to");
            connection.Run("CONFIG SET zset-max-listpack-entries 1").IsOk();
            connection.Run("ZADD source 1 x 2 z").IsInteger(2);
            connection.Run("ZADD source 0 a -0 b 0 c -0 d -0 e 0 f").IsInteger(6);
            connection.Run($"CONFIG SET zset-max-listpack-entries {limit}").IsOk();
            connection.Run($"ZRANGESTORE to source {range}");
            connection.Run("ZRANGE to 0 -1 WITHSCORES");
            connection.Run("DEBUG DIGEST-VALUE to");
        }

        connection.Run("CONFIG SET zset-max-listpack-entries 128").IsOk();
    }
}
