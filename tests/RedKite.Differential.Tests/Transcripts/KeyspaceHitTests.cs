using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>keyspace_hits and keyspace_misses after every command that reads keys, and after those that change them, on both servers.</summary>
[Collection(TranscriptCollection.Name)]
public sealed class KeyspaceHitTests(TranscriptServers servers) : TranscriptTests(servers)
{
    private static readonly string[] Setup = ["SET s v", "HSET h f v g w", "RPUSH l a b c", "SADD t a b", "SADD t2 b c", "ZADD z 1 a 2 b", "ZADD z2 1 b", "XADD x 1-1 f v", "XGROUP create x g 0", "PFADD p a", "GEOADD g 1 1 a", "SETBIT bits 3 1", "SET n 5", "MSET wa x wb 1"];

    private static readonly string[] Commands =
    [
        "GET s", "GET no", "MGET s no s", "STRLEN s", "STRLEN no", "GETRANGE s 0 1", "SUBSTR s 0 1", "GETEX s", "GETEX no", "GETEX s persist", "EXISTS s no", "TYPE s", "TYPE no", "TTL s",
        "TTL no", "PTTL no", "EXPIRETIME s", "OBJECT encoding s", "OBJECT encoding no", "OBJECT freq no", "DUMP s", "DUMP no", "TOUCH s no", "GETBIT bits 1", "GETBIT no 1", "BITCOUNT bits",
        "BITCOUNT no", "BITPOS bits 1", "BITPOS no 1", "BITFIELD bits get u4 0", "BITFIELD no get u4 0", "BITFIELD_RO no get u4 0", "BITFIELD bits set u4 0 1", "LCS s n", "LCS s no",
        "HGET h f", "HGET h no", "HGET no f", "HMGET h f g", "HMGET no f", "HGETALL h", "HGETALL no", "HKEYS h", "HVALS no", "HLEN h", "HLEN no", "HEXISTS h f", "HEXISTS no f",
        "HSTRLEN h f", "HRANDFIELD h", "HRANDFIELD no", "HSCAN h 0", "HSCAN no 0", "HTTL h fields 1 f", "HTTL no fields 1 f", "HEXPIRETIME no fields 1 f", "HGETEX h fields 1 f",
        "HGETEX no fields 1 f", "HGETDEL no fields 1 f", "LLEN l", "LLEN no", "LRANGE l 0 -1", "LRANGE no 0 -1", "LINDEX l 0", "LINDEX no 0", "LPOS l a", "LPOS no a", "SCARD t", "SCARD no",
        "SMEMBERS t", "SMEMBERS no", "SISMEMBER t a", "SISMEMBER no a", "SMISMEMBER t a b", "SMISMEMBER no a", "SRANDMEMBER t", "SRANDMEMBER no", "SSCAN no 0", "SINTER t t2", "SINTER t no",
        "SINTER no t", "SINTERCARD 2 t t2", "SINTERCARD 2 t no", "SUNION t no", "SDIFF t no", "SDIFF no t", "SINTERSTORE d t t2", "SUNIONSTORE d t no", "SDIFFSTORE d no t", "ZCARD z",
        "ZCARD no", "ZSCORE z a", "ZSCORE no a", "ZMSCORE z a b", "ZMSCORE no a", "ZRANK z a", "ZRANK no a", "ZREVRANK no a", "ZRANGE z 0 -1", "ZRANGE no 0 -1", "ZREVRANGE no 0 -1",
        "ZRANGEBYSCORE z 0 5", "ZRANGEBYSCORE no 0 5", "ZRANGEBYLEX no - +", "ZCOUNT z 0 5", "ZCOUNT no 0 5", "ZLEXCOUNT no - +", "ZRANDMEMBER z", "ZRANDMEMBER no", "ZSCAN no 0",
        "ZUNION 2 z no", "ZINTER 2 z no", "ZDIFF 2 no z", "ZINTERCARD 2 z z2", "ZUNIONSTORE d 2 z no", "ZINTERSTORE d 2 z z2", "ZDIFFSTORE d 2 z z2", "ZRANGESTORE d z 0 -1",
        "ZRANGESTORE d no 0 -1", "GEOPOS g a", "GEOPOS no a", "GEODIST g a a", "GEODIST no a b", "GEOHASH no a", "GEOSEARCH g frommember a byradius 1 m",
        "GEOSEARCH no fromlonlat 1 1 byradius 1 m", "GEORADIUS no 1 1 1 m", "GEORADIUS_RO g 1 1 1 m", "GEOSEARCHSTORE d g frommember a byradius 1 m", "XLEN x", "XLEN no", "XRANGE x - +",
        "XRANGE no - +", "XREVRANGE no + -", "XREAD streams x 0", "XREAD streams no 0", "XREAD streams x no 0 0", "XREAD streams x $", "XREADGROUP group g c streams x >",
        "XREADGROUP group g c streams x 0", "XREADGROUP group g c streams no >", "XREADGROUP group no c streams x >", "XPENDING x g", "XPENDING no g", "XINFO stream x", "XINFO stream no",
        "XINFO groups x", "XINFO groups no", "XINFO consumers x g", "XACK x g 9-9", "XACK no g 1-1", "XCLAIM x g c 0 9-9", "XAUTOCLAIM x g c 0 0", "XDEL no 1-1", "XTRIM no maxlen 1",
        "XSETID no 1-1", "XGROUP create no g 0", "XGROUP destroy no g", "XGROUP createconsumer x g c3", "XGROUP delconsumer x g c3", "XGROUP setid x g 0", "PFCOUNT p", "PFCOUNT no",
        "PFCOUNT p no", "PFMERGE d p no", "SORT l alpha", "SORT no", "SORT_RO no", "SORT l by no* get s* alpha", "COPY no d", "RENAME no d", "APPEND no2 x", "INCR n", "INCRBY n 1",
        "INCRBYFLOAT n 1", "SETRANGE n 0 1", "SET n 1 get", "SET n 1 nx", "SETNX n 1", "GETSET n 2", "GETDEL no", "GETDEL no2", "LPUSH l x", "LPOP no", "RPOP l", "LMOVE no l left left",
        "RPOPLPUSH no l", "BLPOP no l 1", "BZPOPMIN z2 1", "ZPOPMIN no", "SPOP no", "SMOVE no t a", "HINCRBY h c 1", "HSETNX h f v", "HDEL no f", "HSET h f v", "SADD t z", "SREM no a",
        "ZADD z 1 a", "ZINCRBY z 1 a", "ZREM no a", "LINSERT no before a b", "LSET l 0 a", "LREM no 1 a", "LTRIM no 0 1", "EXPIRE no 1", "PERSIST no", "DEL no", "UNLINK no",
        "BITOP and d s no", "BITOP not d no", "LMPOP 1 no left", "ZMPOP 1 no min", "LMPOP 2 no l left", "MEMORY usage s", "MEMORY usage no", "RESTORE no3 0 x", "MOVE no 1",
        "OBJECT idletime s", "OBJECT refcount s", "GETRANGE no 0 1", "HRANDFIELD h 2", "SRANDMEMBER t 2", "ZRANDMEMBER z 2", "XREAD streams x +", "XREAD block 1 streams no $",
        "XREAD count 1 streams x 0-0", "HPEXPIRE no 1 fields 1 f", "HPERSIST h fields 1 f", "ZRANGE z 1 0 byscore", "HSETEX h fields 1 f v", "EXPIRE s 100", "EXPIRE s 100 nx",
        "PEXPIREAT s 99999999999999", "MSETNX n 1", "MSET n 1", "PSETEX n 10000 1", "SET n 2 keepttl", "SISMEMBER s a", "GET l", "LLEN s", "HGET s f", "ZSCORE s a", "XLEN s",
        "XREADGROUP group g c block 10 streams x >", "XREADGROUP group g c streams x x > 0", "XREADGROUP group g c noack streams x x > >", "XREADGROUP group g c streams x no > >",
        "XREADGROUP group nosuch c streams x >", "XREADGROUP group g c streams s >", "XREAD block 10 streams x $", "SPOP t 1", "SPOP t 100", "SPOP t 100",
        "SCAN 0 count 1000", "SCAN 0 count 1000 type zset", "SCAN 0 count 1000 match s type zset", "SCAN 0 count 1000 type nosuch", "XAUTOCLAIM x g c 0 2-2 bad", "XAUTOCLAIM no g c abc 0",
        "XAUTOCLAIM z g c 0 3-5 count 0", "XAUTOCLAIM x g c 0 zz", "SORT l by w*", "SORT l by w* get w* get #",
    ];

    // Fields with an expiry that has passed already.
    private static readonly string[] ExpiredAtOnce =
    [
        "HSET h1 a 1 b 2", "HPEXPIREAT h1 2 fields 1 a", "HEXPIRE h1 0 fields 2 a b", "HSET h1 a 1 b 2 c 3 d 4", "HEXPIRE h1 0 xx fields 1 a", "HSETEX h1 exat 1 fields 2 e 1 f 2", "HSETEX h1 exat 1 fields 2 e 1 e 2",
        "HSETEX h2 exat 1 fields 2 a 1 a 2", "HSETEX h1 fxx exat 1 fields 1 a 3", "HGETEX h1 pxat 9 fields 2 b z", "HGETDEL h1 fields 1 c", "HDEL h1 d", "HSET h1 a 1", "HGETEX h1 exat 1 fields 1 a",
    ];

    [Fact]
    public void Fields_that_expire_at_once_are_counted_as_in_redis()
    {
        foreach (string command in ExpiredAtOnce)
        {
            long[] counts = [.. new[] { Pair.Oracle.Control, Pair.Subject.Control }.Select(server =>
            {
                long before = ServerPair.Info(server, "stats", "expired_subkeys");
                server.Run(command);
                return ServerPair.Info(server, "stats", "expired_subkeys") - before;
            })];
            Assert.True(counts[0] == counts[1], $"{command}: {counts[0]} and {counts[1]}");
        }
    }


    [Fact]
    public void Hits_and_misses_are_counted_as_in_redis()
    {
        RespConnection oracle = Pair.Oracle.Control, subject = Pair.Subject.Control;
        foreach (RespConnection server in (RespConnection[])[oracle, subject])
        {
            server.Run("FLUSHALL").IsOk();
            foreach (string command in Setup) server.Run(command);
        }

        List<string> differences = [];
        foreach (string command in Commands)
        {
            (long Hits, long Misses) expected = CountsOf(oracle, command), actual = CountsOf(subject, command);
            if (expected != actual) differences.Add($"{command}: {expected} and {actual}");
        }

        Assert.True(differences.Count == 0, string.Join('\n', differences));
    }

    private static (long Hits, long Misses) CountsOf(RespConnection server, string command)
    {
        (long hits, long misses) = Counts(server);
        server.Run(command);
        (long hitsAfter, long missesAfter) = Counts(server);
        return (hitsAfter - hits, missesAfter - misses);
    }

    private static (long Hits, long Misses) Counts(RespConnection server) =>
        (ServerPair.Info(server, "stats", "keyspace_hits"), ServerPair.Info(server, "stats", "keyspace_misses"));
}
