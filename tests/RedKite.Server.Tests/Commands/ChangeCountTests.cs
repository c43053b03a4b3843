namespace RedKite.Server.Tests.Commands;

/// <summary>How much each command adds to rdb_changes_since_last_save. The numbers are redis-server 8.0.2's.</summary>
public sealed class ChangeCountTests : IAsyncLifetime
{
    private readonly CommandTranscript _transcript = new();

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Fact]
    public void Strings() => Count(
        """
        1 SET k v
        1 SET k v EX 100
        1 SET k v XX GET
        0 SET k v NX GET
        0 SETNX k v
        1 SETNX n v
        1 SETEX k 100 v
        1 GETEX k EX 100
        1 GETEX k PERSIST
        0 GETEX k PERSIST
        1 GETEX k EXAT 1
        0 GETDEL k
        1 GETSET k v
        1 GETDEL k
        2 MSET a 1 b 2
        2 MSETNX c 1 d 2
        0 MSETNX c 1 e 2
        1 APPEND k ''
        1 SETRANGE k 3 x
        0 SETRANGE k 3 ''
        1 INCR i
        1 DECRBY i 5
        1 INCRBYFLOAT f 1.5
        """);

    [Fact]
    public void Bits_and_registers() => Count(
        """
        1 SETBIT s 100 0
        0 SETBIT s 100 0
        1 SETBIT s 200 0
        2 BITFIELD b SET u8 0 1 SET u8 8 3
        0 BITFIELD b SET u8 0 1
        2 BITFIELD b SET u8 100 0 SET u8 16 0
        1 BITFIELD b SET u8 300 0 GET u8 0
        0 BITFIELD refused OVERFLOW FAIL INCRBY u8 0 300
        1 BITFIELD other OVERFLOW FAIL SET u8 0 300 SET u8 8 0
        1 BITOP OR d b
        1 BITOP AND d nosuch
        0 BITOP AND d nosuch
        4 PFADD h a b c
        0 PFADD h a
        1 PFADD e
        1 PFCOUNT h
        0 PFCOUNT h
        0 PFCOUNT h nosuch
        1 PFMERGE m h
        1 PFDEBUG TODENSE e
        0 PFDEBUG TODENSE e
        """);

    [Fact]
    public void Keys() => Count(
        """
        3 MSET k 1 l 2 m 3
        2 DEL l nosuch m
        1 EXPIRE k 100
        0 EXPIRE k 100 NX
        1 PERSIST k
        0 PERSIST k
        1 RENAME k l
        0 RENAME l l
        1 COPY l m
        0 COPY l m
        0 RENAMENX l m
        1 COPY l m DB 1
        0 MOVE m 1
        1 RENAMENX m n
        1 MOVE n 1
        1 EXPIREAT l 1
        1 SWAPDB 0 1
        2 FLUSHDB
        0 FLUSHALL
        3 RPUSH list 3 1 2
        3 SORT list STORE sorted
        6 SORT list GET # GET # STORE sorted
        1 SORT nosuch STORE sorted
        0 SORT nosuch STORE sorted
        """);

    [Fact]
    public void Lists() => Count(
        """
        3 RPUSH l 1 2 3
        0 LPUSHX nosuch 1
        1 LINSERT l BEFORE 2 x
        0 LINSERT l BEFORE nope x
        1 LSET l 0 y
        0 LREM l 0 nope
        1 LREM l 0 x
        0 LTRIM l 0 -1
        1 LTRIM l 0 1
        0 LPOP l 0
        2 LPOP l 10
        3 RPUSH l 1 2 3
        1 LMOVE l m LEFT RIGHT
        1 RPOPLPUSH l m
        1 LMOVE l m LEFT LEFT
        1 LMOVE m m LEFT RIGHT
        1 BLPOP m 0
        2 LMPOP 1 m LEFT COUNT 10
        1 RPUSH l 1
        1 LMOVE l l LEFT RIGHT
        1 BLMOVE l m LEFT RIGHT 0
        1 BLMPOP 0 1 m LEFT
        """);

    [Fact]
    public void Hashes() => Count(
        """
        2 HSET h a 1 b 2
        1 HMSET h a 1
        0 HSETNX h a 1
        1 HINCRBY h n 1
        1 HINCRBYFLOAT h f 1.5
        4 HDEL h a b n f nope
        4 HSET h a 1 b 2 c 3 d 4
        2 HEXPIRE h 100 FIELDS 2 a b
        0 HEXPIRE h 100 NX FIELDS 2 a b
        1 HPERSIST h FIELDS 2 a b
        0 HPERSIST h FIELDS 2 a b
        2 HGETEX h EX 100 FIELDS 2 a b
        2 HGETEX h PERSIST FIELDS 2 a b
        1 HEXPIRE h 0 FIELDS 2 a nope
        2 HGETEX h EXAT 1 FIELDS 2 b c
        1 HGETDEL h FIELDS 2 d nope
        2 HSETEX h EX 100 FIELDS 2 a 1 b 2
        2 HSETEX h KEEPTTL FIELDS 2 a 1 b 2
        0 HSETEX h FNX FIELDS 2 a 1 b 2
        2 HSETEX h EXAT 1 FIELDS 2 a 1 b 1
        """);

    [Fact]
    public void Sets() => Count(
        """
        3 SADD s 1 2 3
        2 SADD s 1 4 5
        0 SREM s 9
        1 SREM s 1 9
        2 SMOVE s t 2
        1 SADD t 3
        1 SMOVE s t 3
        0 SMOVE t t 3
        1 SPOP t
        0 SPOP t 0
        2 SPOP s 10
        1 SUNIONSTORE d t t
        1 SDIFFSTORE d t t
        0 SINTERSTORE d t nosuch
        """);

    [Fact]
    public void Sorted_sets() => Count(
        """
        2 ZADD z 1 a 2 b
        0 ZADD z 1 a
        2 ZADD z 5 a 6 c
        1 ZADD z INCR 5 a
        0 ZINCRBY z 0 a
        1 ZINCRBY z 0 new
        0 ZADD z NX INCR 5 a
        3 ZREM z a b new nope
        3 ZADD z 1 a 2 b 3 d
        0 ZPOPMIN z 0
        2 ZPOPMAX z 2
        1 ZMPOP 1 z MIN
        1 BZPOPMIN z 0
        4 ZADD z 1 a 2 b 3 c 4 d
        1 ZRANGESTORE d z 0 -1
        1 ZUNIONSTORE d 2 z d
        1 ZDIFFSTORE d 2 z z
        0 ZINTERSTORE d 1 nosuch
        1 ZREMRANGEBYRANK z 0 0
        0 ZREMRANGEBYLEX z [x [y
        3 ZREMRANGEBYSCORE z -inf inf
        """);

    [Fact]
    public void Geo() => Count(
        """
        2 GEOADD g 13.361389 38.115556 P 15.087269 37.502669 C
        0 GEOADD g 13.361389 38.115556 P
        0 GEORADIUS g 15 37 200 km
        2 GEORADIUS g 15 37 200 km STORE d
        2 GEORADIUSBYMEMBER g P 200 km STOREDIST d
        1 GEORADIUS g 100 37 2 km STORE d
        0 GEORADIUS g 100 37 2 km STORE d
        2 GEOSEARCHSTORE d g FROMLONLAT 15 37 BYRADIUS 200 km
        1 GEOSEARCHSTORE d nosuch FROMLONLAT 15 37 BYRADIUS 200 km
        """);

    [Fact]
    public void Streams() => Count(
        """
        1 XADD s 1-1 a 1
        1 XADD s 2-1 a 1
        1 XADD s 3-1 a 1
        1 XADD s 4-1 a 1
        1 XADD s 5-1 a 1
        1 XADD s 6-1 a 1
        1 XADD s MAXLEN 4 7-1 a 7
        1 XTRIM s MAXLEN 3
        0 XTRIM s MAXLEN 3
        1 XGROUP CREATE s g $
        1 XGROUP SETID s g 0
        1 XGROUP CREATECONSUMER s g c
        0 XGROUP CREATECONSUMER s g c
        1 XREADGROUP GROUP g c COUNT 2 STREAMS s >
        0 XREADGROUP GROUP g c STREAMS s 0
        2 XREADGROUP GROUP g d NOACK STREAMS s >
        0 XREADGROUP GROUP g d STREAMS s >
        2 XCLAIM s g e 0 5-1
        1 XCLAIM s g e 0 5-1 LASTID 8-1
        1 XCLAIM s g e 100000 5-1 LASTID 9-1
        3 XAUTOCLAIM s g f 0 0
        1 XDEL s 5-1 1-1
        1 XCLAIM s g f 0 5-1
        1 XACK s g 6-1 5-1
        1 XGROUP DELCONSUMER s g f
        0 XGROUP DELCONSUMER s g f
        1 XSETID s 9-9
        1 XGROUP DESTROY s g
        """);

    private void Count(string script)
    {
        foreach (string line in script.Split('\n', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries))
        {
            string command = line[(line.IndexOf(' ', StringComparison.Ordinal) + 1)..];
            Assert.Equal(line, $"{_transcript.ChangesOf(command)} {command}");
        }
    }
}
