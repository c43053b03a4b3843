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

    private void Count(string script)
    {
        foreach (string line in script.Split('\n', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries))
        {
            string command = line[(line.IndexOf(' ', StringComparison.Ordinal) + 1)..];
            Assert.Equal(line, $"{_transcript.ChangesOf(command)} {command}");
        }
    }
}
