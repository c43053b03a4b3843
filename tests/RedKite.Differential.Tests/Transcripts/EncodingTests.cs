using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>Which encoding hashes, sorted sets and sets get, with small limits: by number of arguments, length, source and expiry.</summary>
[Collection(TranscriptCollection.Name)]
public sealed class EncodingTests(TranscriptServers servers) : TranscriptTests(servers)
{
    private static readonly string[] Limits =
    [
        "hash-max-listpack-entries 6", "hash-max-listpack-value 30", "zset-max-listpack-entries 4", "zset-max-listpack-value 20", "set-max-intset-entries 5",
        "set-max-listpack-entries 8", "set-max-listpack-value 12",
    ];

    private static readonly string[] Defaults =
    [
        "hash-max-listpack-entries 128", "hash-max-listpack-value 64", "zset-max-listpack-entries 128", "zset-max-listpack-value 64", "set-max-intset-entries 512",
        "set-max-listpack-entries 128", "set-max-listpack-value 64",
    ];

    private static readonly string[] Scripts =
    [
        "HSET k f0 v f1 v f2 v f3 v f4 v f5 v",
        "HSET k f0 v f1 v f2 v f3 v f4 v f5 v f6 v",
        "HSET k f v f v f v f v f v f v f v",
        "HSET k f v f v f v f v f v f v",
        "HSET k a 1; HSET k f v f v f v f v f v f v f v",
        "HSET k a 1; HSET k f v f v f v f v f v f v",
        "HMSET k f v f v f v f v f v f v f v",
        "HSET k a xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "HSET k a 1; HSET k b xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "HSET k b xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx b 1",
        "HSET k b 1; HSETNX k b xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "HSET k a 1; HINCRBYFLOAT k a 1e25",
        "HSETEX k FIELDS 6 f0 v f1 v f2 v f3 v f4 v f5 v",
        "HSETEX k FIELDS 7 f v f v f v f v f v f v f v",
        "HSETEX k EX 100 FIELDS 6 f0 v f1 v f2 v f3 v f4 v f5 v",
        "HSETEX k EX 100 FIELDS 1 a b",
        "HSETEX k FIELDS 3 f0 v f1 v f2 v",
        "HSETEX k FIELDS 4 f0 v f1 v f2 v f3 v",
        "HSET k a 1; HSETEX k FIELDS 4 f0 v f1 v f2 v f3 v",
        "HSET k a 1 b 2 c 3; HSETEX k EXAT 1 FIELDS 4 f0 v f1 v f2 v f3 v",
        "HSET k a 1 b 2 c 3; HSETEX k EXAT 1 FIELDS 7 f0 v f1 v f2 v f3 v f4 v f5 v f6 v",
        "HSET k a 1 b 2 c 3 d 4 e 5 f 6; HSETEX k EXAT 1 FIELDS 1 f0 v",
        "HSETEX k EXAT 1 FIELDS 6 f0 v f1 v f2 v f3 v f4 v f5 v",
        "HSET k a 1 b 2; CONFIG SET hash-max-listpack-entries 1; HINCRBY k a 1; CONFIG SET hash-max-listpack-entries 6",
        "HSETEX k EX 100 FIELDS 7 f v f v f v f v f v f v f v",
        "HSETEX k EX 10 FIELDS 1 a xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "HSET k a 1; HSETEX k FXX EX 10 FIELDS 1 b xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "HSET k a 1; HSETEX k FXX EX 10 FIELDS 7 f v f v f v f v f v f v f v",
        "HSET k a 1; HEXPIRE k 100 FIELDS 1 b",
        "HSET k a 1; HEXPIRE k 100 XX FIELDS 1 a",
        "HSET k a 1 b 2; HEXPIRE k 0 FIELDS 1 a",
        "HSET k a 1 b 2; HEXPIRE k 0 FIELDS 1 z",
        "HSET k a 1; HPERSIST k FIELDS 1 a",
        "HSET k a 1; HGETEX k EX 10 FIELDS 1 zz",
        "HSET k a 1 b 1; HGETEX k EXAT 1 FIELDS 1 a",
        "HSET k a 1 b 1; HGETEX k PERSIST FIELDS 1 a",
        "HSET k a 1 b 1; HGETEX k FIELDS 1 a",
        "HSET k a 1 b 1; HGETEX k EX 10 FIELDS 1 a",
        "HSET k a 1 b 1; HSETEX k EXAT 1 FIELDS 1 a 1",
        "HSET k a 1 b 1; HSETEX k KEEPTTL FIELDS 1 a 1",
        "HSET k a 1 b 1; HSETEX k FIELDS 1 a 1",
        "HSET k a 1; HEXPIRE k 100 FIELDS 1 a; HPERSIST k FIELDS 1 a",
        "HSET k f0 v f1 v f2 v f3 v f4 v f5 v f6 v; HEXPIRE k 100 FIELDS 1 f1",
        "HSET k a 1; HEXPIRE k 100 FIELDS 1 a; HPERSIST k FIELDS 1 a; COPY k k2",
        "ZADD k 0 m0 1 m1 2 m2 3 m3",
        "ZADD k 0 m0 1 m1 2 m2 3 m3 4 m4",
        "ZADD k 0 m 1 m 2 m 3 m 4 m",
        "ZADD k 0 m 1 m 2 m 3 m",
        "ZADD k 1 a; ZADD k 0 m 1 m 2 m 3 m 4 m",
        "ZADD k 1 a 2 xxxxxxxxxxxxxxxxxxxxx",
        "ZADD k 1 xxxxxxxxxxxxxxxxxxxxx",
        "ZADD k NX 0 m 1 m 2 m 3 m 4 m",
        "ZADD k 1 a 2 xxxxxxxxxxxxxxxxxxxxx; ZREM k xxxxxxxxxxxxxxxxxxxxx",
        "GEOADD k 1 1 m 1 1 m 1 1 m 1 1 m 1 1 m",
        "GEOADD k 1 1 m 1 1 m 1 1 m 1 1 m",
        "ZINCRBY k 1 xxxxxxxxxxxxxxxxxxxxx",
        "ZADD k 1 a; ZADD k XX 2 xxxxxxxxxxxxxxxxxxxxx",
        "SADD k m0 m1 m2 m3 m4 m5 m6 m7",
        "SADD k m0 m1 m2 m3 m4 m5 m6 m7 m8",
        "SADD k m m m m m m m m m",
        "SADD k 1 2 3 4 5",
        "SADD k 1 2 3 4 5 6",
        "SADD k 1 1 1 1 1 1",
        "SADD k 1 1 1 1 1 1 1 1 1",
        "SADD k 1 2 3 4 5 6 7 8 9",
        "SADD k 1 m m m m m m m m",
        "SADD k 1 xxxxxxxxxxxxx",
        "SADD k a; SADD k m m m m m m m m m",
        "SADD k 1 2 3 4 5; SADD k m",
        "SADD k 1 2 3 4 5; SADD k a b c d e f g",
        "SADD k xxxxxxxxxxxxx a",
        "SADD a 1 2; SADD b 3 4; SUNIONSTORE d a b",
        "SADD a 1 2 3; SADD b 1 2 3; SUNIONSTORE d a b",
        "SADD a 1 2 3; SADD b 4 5 6; SUNIONSTORE d a b",
        "SADD a m0 m1 m2 m3 m4; SADD b m0 m1 m2 m3 m4; SUNIONSTORE d a b",
        "SADD a m0 m1 m2 m3; SADD b m0 m1 m2 m3; SUNIONSTORE d a b",
        "SADD a 1 2 3; SADD b x y; SUNIONSTORE d a b",
        "SADD a m0 m1 m2 m3 m4 m5 m6 m7 m8; SREM a m0 m1 m2 m3 m4 m5 m6; SUNIONSTORE d a nokey",
        "SADD a m0 m1 m2 m3; SUNIONSTORE d a",
        "SADD a 1 2 m; SREM a m; SUNIONSTORE d a",
        "SADD a 1 2 m0 m1 m2 m3 m4 m5 m6 m7 m8; SREM a m0 m1 m2 m3 m4 m5 m6 m7 m8; SUNIONSTORE d a",
        "SADD a xxxxxxxxxxxxx m; SUNIONSTORE d a",
        "SADD a xxxxxxxxxxxxx m; SREM a xxxxxxxxxxxxx; SUNIONSTORE d a",
        "SADD a 1 2 3; SADD b 2 3 4; SINTERSTORE d a b",
        "SADD a 1 2 3 m; SADD b 2 3 4; SINTERSTORE d a b",
        "SADD a 1 2 m; SADD b 1 2 n; SINTERSTORE d a b",
        "SADD a m0 m1 m2 m3 m4 m5 m6 m7 m8 m9 m10 m11; SADD b m1 m2 q0 q1 q2 q3 q4 q5 q6 q7 q8; SINTERSTORE d a b",
        "SADD a m0 m1 m2 m3 m4 m5 m6 m7 m8 m9 m10 m11; SADD b m1 m2; SINTERSTORE d a b",
        "SADD a 1 2 m0 m1 m2 m3 m4 m5 m6 m7 m8; SADD b 1 2 q0 q1 q2 q3 q4 q5 q6 q7 q8; SINTERSTORE d a b",
        "SADD a 1 2; SINTERSTORE d a",
        "SADD a 1 m; SINTERSTORE d a",
        "SADD a m0 m1 m2 m3 m4 m5 m6 m7 m8; SINTERSTORE d a",
        "SADD a m0 m1 m2 m3 m4 m5 m6 m7 m8; SREM a m0 m1 m2 m3 m4 m5 m6; SINTERSTORE d a",
        "SADD a 1 2 3 4 5 6; SADD b 1 2 3 4 5 6 7; SINTERSTORE d a b",
        "SADD a 1 2 3 4 5 6; SADD b 1 2 9 8 7 17 27; SINTERSTORE d a b",
        "SADD a 1 2 3; SADD b 1 2 m0 m1 m2 m3 m4 m5 m6 m7 m8; SINTERSTORE d a b",
        "SADD a 1 2; SADD b 2; SDIFFSTORE d a b",
        "SADD a m0 m1 m2 m3 m4 m5 m6 m7 m8 m9 m10 m11; SADD b m0 m1 m2 m3 m4 m5 m6 m7 m8 m9; SDIFFSTORE d a b",
        "SADD a 1 2 m0 m1 m2 m3 m4 m5 m6 m7 m8 m9 m10 m11; SADD b m0 m1 m2 m3 m4 m5 m6 m7 m8 m9 m10 m11; SDIFFSTORE d a b",
        "SADD a 1 2 m; SADD b m; SDIFFSTORE d a b",
        "SADD a 1 2 m; SDIFFSTORE d a nokey",
        "SADD a 1 2 3 4 5 6; SADD a m0 m1 m2; SREM a m0 m1 m2; CONFIG SET set-max-listpack-value 0; SINTERSTORE d a; CONFIG SET set-max-listpack-value 12",
        "SADD a 1 2 3 m0 m1 m2 m3 m4 m5 m6; SREM a m0 m1 m2 m3 m4 m5 m6; CONFIG SET set-max-listpack-entries 1; SINTERSTORE d a a; CONFIG SET set-max-listpack-entries 8",
        "SADD a 1; SADD k m; SMOVE a k 1",
        "SADD k m0 m1 m2 m3 m4 m5 m6 m7 m8; SREM k m1 m2 m3 m4",
        "SADD k m0 m1 m2 m3 m4 m5 m6 m7 m8 m9 m10; EVAL \"return #redis.call('spop', KEYS[1], 8)\" 1 k; EXPIRETIME k",
        "SADD k m0 m1 m2 m3 m4 m5 m6 m7 m8 m9 m10 m11; EVAL \"return #redis.call('spop', KEYS[1], 10)\" 1 k; EXPIRETIME k",
        "SADD k m0 m1 m2 m3 m4 m5 m6 m7 m8 m9 m10; EVAL \"return #redis.call('spop', KEYS[1], 9)\" 1 k; EXPIRETIME k",
        "SADD k m0 m1 m2 m3 m4 m5 m6 m7 m8 m9 m10 m11; EXPIREAT k 32503680000; EVAL \"return #redis.call('spop', KEYS[1], 11)\" 1 k; EXPIRETIME k",
        "SADD k m0 m1 m2 m3 m4 m5 m6 m7 m8 m9 m10 m11 m12 m13 m14 m15 m16 m17 m18 m19 m20 m21 m22 m23 m24 m25 m26 m27 m28 m29; CONFIG SET set-max-listpack-entries 0; EVAL \"return #redis.call('spop', KEYS[1], 29)\" 1 k; EXPIRETIME k; CONFIG SET set-max-listpack-entries 8",
        "SADD k m0 m1 m2 m3 m4 m5 m6 m7; CONFIG SET set-max-listpack-entries 0; EVAL \"return #redis.call('spop', KEYS[1], 7)\" 1 k; EXPIRETIME k; CONFIG SET set-max-listpack-entries 8",
        "SADD k m0 m1 m2 m3 m4 m5 m6 m7; CONFIG SET set-max-listpack-value 1; EVAL \"return #redis.call('spop', KEYS[1], 7)\" 1 k; EXPIRETIME k; CONFIG SET set-max-listpack-value 12",
        "SADD k m0 m1 m2 m3 m4 m5 m6 m7; CONFIG SET set-max-listpack-value 1; EVAL \"return #redis.call('spop', KEYS[1], 6)\" 1 k; EXPIRETIME k; CONFIG SET set-max-listpack-value 12",
        "SADD k 1 2 3 4 5; CONFIG SET set-max-intset-entries 0; EVAL \"return #redis.call('spop', KEYS[1], 4)\" 1 k; EXPIRETIME k; CONFIG SET set-max-intset-entries 5",
        "SADD k 1 2 3 4 5; EVAL \"return #redis.call('spop', KEYS[1], 4)\" 1 k; EXPIRETIME k",
        "SADD k 0 1 2 3 4 5 6 7 8 9; SREM k 0; EVAL \"return #redis.call('spop', KEYS[1], 8)\" 1 k; EXPIRETIME k",
        "SADD k 0 1 2 3 4 5 6; EVAL \"return #redis.call('spop', KEYS[1], 6)\" 1 k; EXPIRETIME k",
        "SADD k m0 m1 m2 m3 m4 m5 m6 m7 m8 m9 m10 m11 m12 m13 m14 m15 m16 m17 m18 m19 m20 m21 m22 m23 m24 m25 m26 m27 m28 m29 m30 m31 m32 m33 m34 m35 m36 m37 m38 m39 m40 m41 m42 m43 m44 m45 m46 m47 m48 m49 m50 m51 m52 m53 m54 m55 m56 m57 m58 m59; EVAL \"return #redis.call('spop', KEYS[1], 50)\" 1 k; EXPIRETIME k",
        "SADD k m0 m1 m2 m3 m4 m5 m6 m7 m8 m9 m10 m11 m12 m13 m14 m15 m16 m17 m18 m19 m20 m21 m22 m23 m24 m25 m26 m27 m28 m29 m30 m31 m32 m33 m34 m35 m36 m37 m38 m39 m40 m41 m42 m43 m44 m45 m46 m47 m48 m49 m50 m51 m52 m53 m54 m55 m56 m57 m58 m59; CONFIG SET set-max-listpack-value 1; EVAL \"return #redis.call('spop', KEYS[1], 52)\" 1 k; EXPIRETIME k; CONFIG SET set-max-listpack-value 12",
    ];

    [Fact]
    public void Encodings_match_redis()
    {
        PairedConnection client = Open();
        foreach (string limit in Limits) client.Run($"CONFIG SET {limit}").IsOk();
        foreach (string script in Scripts)
        {
            client.Run("FLUSHALL").IsOk();
            foreach (string command in script.Split("; ")) client.Run(command);
            foreach (string key in (string[])["k", "k2", "d"]) client.Run($"OBJECT ENCODING {key}");
        }

        foreach (string limit in Defaults) client.Run($"CONFIG SET {limit}").IsOk();
    }

    // Why the encoding of a stored union may differ between the servers: it does between two sets of the same shape in Redis.
    [Fact]
    public void In_redis_the_encoding_of_a_union_depends_on_the_order_of_a_table()
    {
        RespConnection redis = Pair.Oracle.Control;
        redis.Run("CONFIG SET set-max-intset-entries 5").IsOk();
        redis.Run("CONFIG SET set-max-listpack-entries 8").IsOk();
        HashSet<string> encodings = [];
        for (int i = 0; i < 200 && encodings.Count < 2; i++)
        {
            // A table with six integers and one text: the text comes before the sixth integer, or not.
            redis.Run("FLUSHALL").IsOk();
            redis.Run($"SADD source text:{i} {string.Join(' ', Enumerable.Range(i * 10, 6))} x1 x2 x3").IsInteger(10);
            redis.Run("SREM source x1 x2 x3").IsInteger(3);
            redis.Run("SUNIONSTORE stored source").IsInteger(7);
            encodings.Add(redis.Run("OBJECT ENCODING stored").Text);
        }

        redis.Run("CONFIG SET set-max-intset-entries 512").IsOk();
        redis.Run("CONFIG SET set-max-listpack-entries 128").IsOk();
        Assert.Equal(["hashtable", "listpack"], encodings.Order());
    }
}
