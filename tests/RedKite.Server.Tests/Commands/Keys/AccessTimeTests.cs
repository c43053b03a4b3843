using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands.Keys;

/// <summary>
/// What a command does to the idle times and access counts of its keys, with and without CLIENT NO-TOUCH, against redis-server: each key is given an idle
/// time or a count before, by RESTORE.
/// </summary>
public sealed class AccessTimeTests
{
    private const int IdleSeconds = 1000, Count = 5; // a count that every access increments

    // What creates keys, the command, and the keys that are looked at.
    private static readonly string[] Rows =
    [
        "SET k v|SET k v|k",
        "SET k v|SET k w KEEPTTL|k",
        "SET k v|SET k w GET|k",
        "SET k v|SET k w NX|k",
        "SET k v|SET k w XX|k",
        "SET k v|SETNX k w|k",
        "SET k v|SETEX k 100 w|k",
        "SET k v|PSETEX k 100000 w|k",
        "SET k v|GETSET k w|k",
        "SET k v|MSET k w|k",
        "SET k v|MSETNX k w k2 v|k k2",
        "SET k v|APPEND k w|k",
        "SET k 10000000|INCR k|k",
        "SET k 10000000|DECRBY k 2|k",
        "SET k 10000000|INCRBYFLOAT k 2|k",
        "SET k v|SETRANGE k 2 abc|k",
        "SET k v|SETBIT k 2 1|k",
        "SET k v|BITFIELD k SET u8 0 1|k",
        "SET k v|BITFIELD_RO k GET u8 0|k",
        "SET k v;SET k2 w|BITOP AND d k k2|k k2 d",
        "SET k v;SET d x|BITOP AND d k k|k d",
        "SET k v|GETEX k|k",
        "SET k v|GETEX k EX 100|k",
        "SET k v EX 100|GETEX k PERSIST|k",
        "SET k v|GETDEL k|k",
        "SET k v|GETRANGE k 0 1|k",
        "SET k v|STRLEN k|k",
        "SET k v|LCS k k|k",
        "SET k v|GET k|k",
        "SET k v|MGET k|k",
        "SET k v|EXISTS k|k",
        "SET k v|TYPE k|k",
        "SET k v|TTL k|k",
        "SET k v|TOUCH k|k",
        "SET k v|EXPIRE k 100|k",
        "SET k v EX 100|PERSIST k|k",
        "SET k v|DUMP k|k",
        "SET k v|OBJECT ENCODING k|k",
        "SET k v|RENAME k n|k n",
        "SET k v;SET n w|RENAME k n|k n",
        "SET k v|RENAMENX k n|k n",
        "SET k v|RENAME k k|k",
        "SET k v|COPY k n|k n",
        "SET k v;SET n w|COPY k n REPLACE|k n",
        "SET k v|COPY k n|n",
        "RPUSH l 3 1 2|SORT l|l",
        "RPUSH l 3 1 2|SORT l STORE d|l d",
        "RPUSH l 3 1 2;SET d x|SORT l STORE d|l d",
        "RPUSH l 3 1 2|SORT_RO l|l",
        "RPUSH l 1|RPUSH l 2|l",
        "RPUSH l 1|LPUSHX l 2|l",
        "RPUSH l 1 2|LPOP l|l",
        "RPUSH l 1 2|LMPOP 1 l LEFT|l",
        "RPUSH l 1 2|LSET l 0 x|l",
        "RPUSH l 1 2|LINSERT l BEFORE 1 x|l",
        "RPUSH l 1 2|LREM l 1 1|l",
        "RPUSH l 1 2|LTRIM l 0 0|l",
        "RPUSH l 1 2|LRANGE l 0 -1|l",
        "RPUSH l 1 2;RPUSH m 1|LMOVE l m LEFT RIGHT|l m",
        "RPUSH l 1 2|RPOPLPUSH l m|l m",
        "RPUSH l 1 2|BLPOP l 0|l",
        "SADD s a b|SADD s c|s",
        "SADD s a b|SREM s a|s",
        "SADD s a b|SPOP s|s",
        "SADD s a b|SMEMBERS s|s",
        "SADD s a b;SADD t c|SMOVE s t a|s t",
        "SADD s a b;SADD t a|SINTERSTORE d s t|s t d",
        "SADD s a b;SADD d z|SUNIONSTORE d s|s d",
        "SADD s a b;SADD d z|SDIFFSTORE d s|s d",
        "HSET h f 1|HSET h g 2|h",
        "HSET h f 1|HINCRBY h f 1|h",
        "HSET h f 1 g 2|HDEL h f|h",
        "HSET h f 1|HGET h f|h",
        "HSET h f 1|HSETEX h FIELDS 1 f 2|h",
        "HSET h f 1|HGETEX h EX 100 FIELDS 1 f|h",
        "HSET h f 1 g 1|HGETDEL h FIELDS 1 f|h",
        "HSET h f 1|HEXPIRE h 100 FIELDS 1 f|h",
        "HSET h f 1|HPERSIST h FIELDS 1 f|h",
        "HSET h f 1|HRANDFIELD h|h",
        "ZADD z 1 a 2 b|ZADD z 3 c|z",
        "ZADD z 1 a 2 b|ZINCRBY z 3 a|z",
        "ZADD z 1 a 2 b|ZREM z a|z",
        "ZADD z 1 a 2 b|ZPOPMIN z|z",
        "ZADD z 1 a 2 b|ZRANGE z 0 -1|z",
        "ZADD z 1 a 2 b|ZRANGESTORE d z 0 -1|z d",
        "ZADD z 1 a 2 b;SET d x|ZUNIONSTORE d 1 z|z d",
        "ZADD z 1 a 2 b;ZADD d 1 x|ZINTERSTORE d 1 z|z d",
        "ZADD z 1 a 2 b|ZREMRANGEBYRANK z 0 0|z",
        "GEOADD g 1 1 a|GEOADD g 2 2 b|g",
        "GEOADD g 1 1 a|GEOSEARCHSTORE d g FROMMEMBER a BYRADIUS 1000 km|g d",
        "GEOADD g 1 1 a|GEORADIUS g 1 1 1000 km STORE d|g d",
        "PFADD p a|PFADD p b|p",
        "PFADD p a|PFCOUNT p|p",
        "PFADD p a;PFADD q b|PFMERGE q p|p q",
        "PFADD p a|PFMERGE r p|p r",
        "XADD x 1-1 f v|XADD x 2-1 f v|x",
        "XADD x 1-1 f v;XADD x 2-1 f v|XDEL x 1-1|x",
        "XADD x 1-1 f v;XADD x 2-1 f v|XTRIM x MAXLEN 1|x",
        "XADD x 1-1 f v|XGROUP CREATE x g 0|x",
        "XADD x 1-1 f v;XGROUP CREATE x g 0|XREADGROUP GROUP g c STREAMS x >|x",
        "XADD x 1-1 f v;XGROUP CREATE x g 0;XREADGROUP GROUP g c STREAMS x >|XACK x g 1-1|x",
        "XADD x 1-1 f v;XGROUP CREATE x g 0;XREADGROUP GROUP g c STREAMS x >|XCLAIM x g d 0 1-1|x",
        "XADD x 1-1 f v|XRANGE x - +|x",
        "XADD x 1-1 f v|XSETID x 5-5|x",
        "SET k v|EVAL \"return redis.call('GET',KEYS[1])\" 1 k|k",
        "SET k v|EVAL \"return redis.call('SET',KEYS[1],'x')\" 1 k|k",
        "SET k v|EVAL \"return redis.call('APPEND',KEYS[1],'x')\" 1 k|k",
        "SET k v|RESTORE n 0 <dump>|n",
        "SET k v;SET n w|RESTORE n 0 <dump> REPLACE|n",
        "SET k v|RESTORE n 0 <dump> IDLETIME 5|n",
        "SET k v|RESTORE n 0 <dump> FREQ 7|n",
        "SET k v|SCAN 0|k",
        "SET k v|KEYS *|k",
        "SET k v|OBJECT FREQ k|k",
        "SET k v|MEMORY USAGE k|k",
        "SET k v|MOVE k 1;SELECT 1|k",
        "SET k v|SWAPDB 0 1;SELECT 1|k",
    ];

    [Theory]
    [InlineData("allkeys-lru", true)]
    [InlineData("allkeys-lru", false)]
    [InlineData("allkeys-lfu", true)]
    [InlineData("allkeys-lfu", false)]
    public async Task Commands_change_idle_times_and_counts_as_in_redis(string policy, bool noTouch)
    {
        using var oracle = new Oracle("--maxmemory-policy", policy);
        await using LiveServer live = await LiveServer.StartAsync("maxmemory-policy", policy);
        using RespConnection redis = RespConnection.Connect(oracle.Port);
        using RespConnection redisUser = RespConnection.Connect(oracle.Port);
        using RespConnection user = RespConnection.Connect(live.Server.Port);
        List<string> different = [];
        foreach (string row in Rows)
        {
            string expected = Run(row, policy, noTouch, redis, redisUser);
            string actual = Run(row, policy, noTouch, live.Client, user);
            if (expected != actual) different.Add($"{row}: {actual} instead of {expected}");
        }

        Assert.Empty(different);
    }

    private static string Run(string row, string policy, bool noTouch, RespConnection setter, RespConnection user)
    {
        string[] parts = row.Split('|');
        setter.Run("FLUSHALL");
        setter.Run("SET source v");
        byte[] dump = setter.Run("DUMP source").Payload!;
        setter.Run("DEL source");
        foreach (string command in parts[0].Split(';')) setter.Run(command);
        string[] value = policy == "allkeys-lru" ? ["IDLETIME", $"{IdleSeconds}"] : ["FREQ", $"{Count}"];
        foreach (RespValue key in setter.Run("KEYS *").Items)
        {
            string ttl = setter.Run($"PTTL {key.Text}").Number is > 0 and var left ? $"{left}" : "0";
            setter.Run(Bytes(["RESTORE", key.Text!, ttl]).Append(setter.Run($"DUMP {key.Text}").Payload!).Concat(Bytes(["REPLACE", .. value])).ToArray());
        }

        user.Run($"CLIENT NO-TOUCH {(noTouch ? "ON" : "OFF")}");
        foreach (string command in parts[1].Split(';'))
        {
            // One word of a command may be the payload.
            if (command.StartsWith("RESTORE", StringComparison.Ordinal)) user.Run([.. command.Split(' ').Select(word => word == "<dump>" ? dump : Bytes([word])[0])]);
            else if (command.StartsWith("SELECT", StringComparison.Ordinal)) setter.Run(command);
            else user.Run(command);
        }

        IEnumerable<string> states = parts[2].Split(' ').Select(key => $"{key} {StateOf(setter, key, policy)}");
        string found = string.Join(", ", states.ToArray());
        setter.Run("SELECT 0");
        return found;
    }

    private static string StateOf(RespConnection client, string key, string policy)
    {
        RespValue value = client.Run($"OBJECT {(policy == "allkeys-lru" ? "IDLETIME" : "FREQ")} {key}");
        if (value.IsNull) return "none";
        if (policy == "allkeys-lfu") return value.Number > Count ? "accessed" : $"{value.Number}"; // a second access counts with some probability
        return value.Number >= IdleSeconds ? "old" : value.Number < IdleSeconds / 2 ? "new" : $"{value.Number}";
    }

    private static byte[][] Bytes(string[] words) => [.. words.Select(System.Text.Encoding.Latin1.GetBytes)];
}
