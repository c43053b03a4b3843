using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>Keys of every type that expire before a command meets them, as the only key of a command or as one of several.</summary>
internal static class ExpiredKeyGenerator
{
    // Longer than the expiry below.
    private const int ExpiryWaitMs = 15;

    private static readonly Argument Key = "expiring";

    // Each creates the key again.
    private static readonly Argument[][] Writes =
    [
        ["SET", Key, "1"], ["RPUSH", Key, "1", "2"], ["SADD", Key, "1", "2"], ["ZADD", Key, "1", "a", "2", "b"], ["HSET", Key, "f", "1"], ["XADD", Key, "1-1", "a", "1"],
        ["GEOADD", Key, "1", "1", "a"], ["PFADD", Key, "a"],
    ];

    // WRONGTYPE is no obstacle: the key has expired.
    private static readonly Argument[][] Accesses =
    [
        ["GET", Key], ["EXISTS", Key], ["EXISTS", "other", Key], ["TTL", Key], ["TYPE", Key], ["OBJECT", "ENCODING", Key], ["TOUCH", Key], ["DUMP", Key],
        ["DEL", Key], ["UNLINK", Key, "other"], ["SET", Key, "2"], ["SET", Key, "2", "XX"], ["SET", Key, "2", "GET"], ["SETNX", Key, "2"], ["GETDEL", Key], ["GETEX", Key, "PERSIST"], ["GETSET", Key, "2"],
        ["APPEND", Key, "2"], ["INCR", Key], ["SETRANGE", Key, 0, "x"], ["SETRANGE", Key, 0, ""], ["SETBIT", Key, 1, 1], ["BITFIELD", Key, "SET", "u8", 0, 1], ["BITOP", "NOT", "other", Key], ["MSETNX", Key, "2", "other", "2"],
        ["RPUSH", Key, "3"], ["RPUSHX", Key, "3"], ["LPOP", Key], ["LRANGE", Key, 0, -1], ["LTRIM", Key, 1, 0], ["LMOVE", Key, "other:list", "LEFT", "RIGHT"], ["LREM", Key, 0, "1"], ["LMPOP", 2, Key, "other:list", "LEFT"],
        ["SADD", Key, "3"], ["SPOP", Key], ["SREM", Key, "1"], ["SMOVE", Key, "other:set", "1"], ["SINTERSTORE", "other:set", Key, Key], ["SUNIONSTORE", Key, Key, "nosuch"],
        ["ZADD", Key, "3", "c"], ["ZADD", Key, "XX", "3", "c"], ["ZPOPMIN", Key], ["ZREM", Key, "a"], ["ZUNIONSTORE", "other:zset", 1, Key], ["ZRANGESTORE", "other:zset", Key, 0, -1], ["ZINCRBY", Key, "1", "a"], ["ZREMRANGEBYRANK", Key, 0, -1],
        ["HSET", Key, "f", "2"], ["HGET", Key, "f"], ["HDEL", Key, "f"], ["HINCRBY", Key, "f", 1], ["HSETNX", Key, "f", "2"], ["HEXPIRE", Key, 100, "FIELDS", 1, "f"],
        ["XADD", Key, "2-1", "a", "1"], ["XADD", Key, "NOMKSTREAM", "2-1", "a", "1"], ["XDEL", Key, "1-1"], ["XTRIM", Key, "MAXLEN", 0], ["XGROUP", "CREATE", Key, "g", "$", "MKSTREAM"], ["XREADGROUP", "GROUP", "g", "c", "STREAMS", Key, ">"],
        ["PFADD", Key, "b"], ["PFCOUNT", Key, "other:hll"], ["PFMERGE", "other:hll", Key], ["GEORADIUS", Key, "1", "1", "100", "km", "STORE", "other:zset"], ["GEOSEARCHSTORE", "other:zset", Key, "FROMLONLAT", 1, 1, "BYRADIUS", 100, "km"],
        ["SORT", Key, "STORE", "other:list"], ["RENAME", Key, "other"], ["RENAME", "other", Key], ["RENAMENX", "other", Key], ["COPY", Key, "other", "REPLACE"], ["COPY", "other", Key], ["MOVE", Key, 1], ["EXPIRE", Key, 100], ["PERSIST", Key], ["PEXPIREAT", Key, 1],
        ["RESTORE", Key, 0, TestSupport.RedisDumps.OfRedis70["integer"]], ["RESTORE", Key, 0, TestSupport.RedisDumps.OfRedis70["list"], "REPLACE"], ["MGET", "other", Key], ["LCS", Key, "other"], ["SUBSTR", Key, 0, 1],
    ];

    public static readonly CommandFamily Family = new("expired-key",
    [
        new("expired key", 1, random => Episode.Of("SET", "other", "1").Then("DEL", Key).Then(random.Pick(Writes)).Then("PEXPIRE", Key, 1 + random.Below(4)).ThenWaitAndRun(ExpiryWaitMs, random.Pick(Accesses))),
    ]);
}
