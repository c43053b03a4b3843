using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>Transactions of several clients, on both servers.</summary>
[Collection(TranscriptCollection.Name)]
public sealed class TransactionTests(TranscriptServers servers) : TranscriptTests(servers)
{
    // What makes k, and a command of another client. Whether EXEC then refuses is Redis's answer.
    private static readonly string[] Watched =
    [
        "SET k v | SET k v", "SET k v | SETNX k w", "SET k v | GET k", "SET k v | APPEND k ''", "SET k v | SETRANGE k 0 ''", "SET k v | GETEX k EX 100",
        "SET k v EX 100 | GETEX k PERSIST", "SET k v | GETEX k PERSIST", "SET k 1 | INCRBYFLOAT k 0", "SET k v | GETDEL k", "PING | GETDEL k", "SET k v | SETBIT k 1 1",
        "SETBIT k 1 1 | SETBIT k 1 1", "SETBIT k 1 1 | BITFIELD k GET u8 0", "SETBIT k 1 1 | BITFIELD k SET u8 0 64", "PING | BITFIELD k OVERFLOW FAIL SET u8 0 300", "PING | SETBIT k 9 0",
        "PFADD k a | PFADD k a", "PFADD k a | PFCOUNT k", "PFADD k a | PFADD k b", "PING | PFADD k", "PFADD k a | PFMERGE k k", "PFADD k a | PFDEBUG TODENSE k",
        "PING | DEL k", "SET k v | DEL k", "SET k v | UNLINK k", "SET k v | EXPIRE k 100", "PING | EXPIRE k 100", "SET k v | PERSIST k", "SET k v EX 100 | PERSIST k", "SET k v | EXPIRE k 0",
        "SET k v | RENAME k l", "SET l v | RENAME l k", "SET k v | COPY k l", "SET l v | COPY l k", "SET k v | MOVE k 1", "SET k v | TOUCH k", "SET k v | OBJECT ENCODING k", "SET k v | DUMP k",
        "SET k v | FLUSHDB", "PING | FLUSHDB", "SET l v | FLUSHALL", "SET k v | SWAPDB 0 1", "PING | SWAPDB 0 1", "SET k v | SWAPDB 1 2", "SET k v | SWAPDB 0 0",
        "RPUSH k 1 2 3 | RPUSH k 4", "RPUSH k 1 2 3 | LPUSHX l 4", "RPUSH k 1 2 3 | LREM k 0 9", "RPUSH k 1 2 3 | LTRIM k 0 -1", "RPUSH k 1 2 3 | LSET k 0 1", "RPUSH k 1 2 3 | LINSERT k BEFORE 9 1",
        "RPUSH k 1 2 3 | LMOVE k k LEFT LEFT", "RPUSH k 1 | LPOP k", "RPUSH k 1 | LRANGE k 0 -1", "RPUSH k 2 1 | SORT k", "RPUSH l 2 1 | SORT l STORE k", "RPUSH k 1 | BLPOP k 0", "RPUSH l 1 | SORT nosuch STORE k",
        "HSET k a 1 | HSET k a 1", "HSET k a 1 | HDEL k b", "HSET k a 1 | HDEL k a", "HSET k a 1 | HEXPIRE k 100 FIELDS 1 a", "HSET k a 1 | HPERSIST k FIELDS 1 a", "HSET k a 1 | HGETEX k FIELDS 1 a",
        "HSET k a 1 | HGETEX k EX 100 FIELDS 1 a", "HSET k a 1 | HGETDEL k FIELDS 1 b", "HSET k a 1 | HINCRBY k a 0", "HSET k a 1 | HSETNX k a 2", "HSET k a 1 | HSETEX k FNX FIELDS 1 a 2", "HSET k a 1 | HGETALL k",
        "SADD k a | SADD k a", "SADD k a | SREM k b", "SADD k a | SMOVE k k a", "SADD k a | SMOVE k l a", "SADD k a | SINTERSTORE k k k", "PING | SINTERSTORE k nosuch", "SADD k a b | SPOP k", "SADD k a | SMEMBERS k",
        "ZADD k 1 a | ZADD k 1 a", "ZADD k 1 a | ZADD k XX 2 b", "ZADD k 1 a | ZINCRBY k 0 a", "ZADD k 1 a | ZREM k b", "ZADD k 1 a | ZPOPMIN k", "ZADD k 1 a | ZPOPMIN k 0", "ZADD k 1 a | ZREMRANGEBYRANK k 5 6",
        "ZADD k 1 a | ZRANGESTORE l k 0 -1", "ZADD l 1 a | ZRANGESTORE k l 0 -1", "ZADD k 1 a | ZUNIONSTORE k 1 k", "PING | ZUNIONSTORE k 1 nosuch", "ZADD k 1 a | ZSCORE k a", "GEOADD k 1 1 a | GEOADD k 1 1 a",
        "XADD k 1-1 a 1 | XADD k 2-1 a 1", "XADD k 1-1 a 1 | XDEL k 9-9", "XADD k 1-1 a 1 | XTRIM k MAXLEN 5", "XADD k 1-1 a 1 | XTRIM k MAXLEN 0", "XADD k 1-1 a 1 | XSETID k 5-5", "XADD k 1-1 a 1 | XGROUP CREATE k g 0",
        "XGROUP CREATE k g 0 MKSTREAM | XGROUP CREATE k g 0", "XGROUP CREATE k g 0 MKSTREAM | XGROUP CREATECONSUMER k g c", "XGROUP CREATE k g 0 MKSTREAM | XGROUP DELCONSUMER k g c", "XGROUP CREATE k g 0 MKSTREAM | XGROUP SETID k g 5",
        "XGROUP CREATE k g 0 MKSTREAM | XGROUP DESTROY k g", "XGROUP CREATE k g 0 MKSTREAM | XGROUP DESTROY k h", "XGROUP CREATE k g 0 MKSTREAM; XADD k 1-1 a 1 | XREADGROUP GROUP g c STREAMS k >",
        "XGROUP CREATE k g 0 MKSTREAM; XADD k 1-1 a 1; XREADGROUP GROUP g c STREAMS k > | XACK k g 1-1", "XGROUP CREATE k g 0 MKSTREAM; XADD k 1-1 a 1; XREADGROUP GROUP g c STREAMS k > | XCLAIM k g d 0 1-1",
        "XGROUP CREATE k g 0 MKSTREAM; XADD k 1-1 a 1; XREADGROUP GROUP g c STREAMS k > | XAUTOCLAIM k g d 0 0", "XGROUP CREATE k g 0 MKSTREAM; XADD k 1-1 a 1; XREADGROUP GROUP g c STREAMS k > | XGROUP DELCONSUMER k g c",
        "XADD k 1-1 a 1 | XREAD STREAMS k 0", "PING | XGROUP CREATE k g 0 MKSTREAM", "SET k v | RESTORE k 0 x REPLACE",
    ];

    public static TheoryData<string, string> Scripts => new()
    {
        { "commands run together", """
            A: MULTI
            A: SET k 1
            A: INCR k
            B: SET k 100
            A: LPUSH k x
            A: GET k
            A: EXEC
            B: GET k
            """ },
        { "what cannot be queued refuses all", """
            A: MULTI
            A: SET k 1
            A: GET
            A: EXEC
            A: GET k
            A: MULTI
            A: NOSUCH x
            A: SET k 2
            A: EXEC
            A: MULTI
            A: CLIENT NOSUCH
            A: DISCARD
            A: MULTI
            A: SHUTDOWN
            A: EXEC
            A: EXEC x
            A: MULTI
            A: EXEC x
            A: EXEC
            A: MULTI x
            A: DISCARD
            A: UNWATCH x
            A: WATCH
            """ },
        { "nesting and order", """
            A: EXEC
            A: DISCARD
            A: UNWATCH
            A: MULTI
            A: MULTI
            A: WATCH k
            A: SET k 1
            A: UNWATCH
            A: EXEC
            A: MULTI
            A: EXEC
            A: MULTI
            A: RESET
            A: EXEC
            """ },
        // The last EXEC announces four replies and sends two, because replies are off meanwhile: those to PING complete the array.
        { "what the connection is changes inside", """
            A: MULTI
            A: SELECT 20
            A: SELECT 2
            A: SET k 5
            A: CLIENT SETNAME me
            A: CLIENT GETNAME
            A: EXEC
            A: GET k
            A: CLIENT GETNAME
            A: MULTI
            A: HGETALL h
            A: EXEC
            A: WATCH k
            B: SELECT 2
            B: SET k 6
            A: MULTI
            A: EXEC
            A: MULTI
            A: CLIENT REPLY OFF
            A: GET k
            A: CLIENT REPLY ON
            A: GET k
            A pipelines: EXEC ; PING ; PING
            A gets
            A: PING
            """ },
        { "in the third version of the protocol", """
            A: HELLO 3
            A: HSET h f v
            A: MULTI
            A: HGETALL h
            A: GET nosuch
            A: BLPOP nosuch 0
            A: EXEC
            A: WATCH k
            B: SET k 1
            A: MULTI
            A: EXEC
            """ },
        { "nothing blocks inside", """
            A: MULTI
            A: BLPOP nosuch 0
            A: BLMOVE nosuch k LEFT LEFT 0
            A: BLMPOP 0 1 nosuch LEFT
            A: BZPOPMIN nosuch 0
            A: BZMPOP 0 1 nosuch MIN
            A: XREAD BLOCK 0 STREAMS s $
            A: WAIT 1 0
            A: WAITAOF 0 1 0
            A: EXEC
            """ },
        { "clients that wait are served after all of it", """
            B waits: BLPOP k 0
            A: MULTI
            A: RPUSH k a
            A: DEL k
            A: RPUSH k b
            A: LPUSH k c
            A: EXEC
            B gets
            A: LRANGE k 0 -1
            A: DEL k
            B waits: BLPOP k l 0
            A: MULTI
            A: RPUSH m a
            A: RENAME m l
            A: EXEC
            B gets
            """ },
        { "a watched key that changed", """
            A: SET k 1
            A: WATCH k other
            B: SET k 2
            A: MULTI
            A: SET k 3
            A: EXEC
            A: GET k
            A: MULTI
            A: SET k 3
            A: EXEC
            A: WATCH k
            A: SET k 4
            A: MULTI
            A: EXEC
            A: WATCH k
            B: SET k 5
            A: UNWATCH
            A: MULTI
            A: GET k
            A: EXEC
            A: WATCH k
            B: SET k 6
            A: DISCARD
            A: MULTI
            A: DISCARD
            A: MULTI
            A: EXEC
            """ },
        { "a transaction's own changes are those of others", """
            A: WATCH k
            B: MULTI
            B: SET k 1
            A: MULTI
            A: EXEC
            A: WATCH k
            B: EXEC
            A: MULTI
            A: EXEC
            """ },
        { "a watched key that expires", """
            A: SET k 1 PX 1
            A: DEBUG SLEEP 0.005
            A: WATCH k
            A: MULTI
            A: PING
            A: EXEC
            A: SET k 1 PX 20
            A: WATCH k
            B: DEBUG SLEEP 0.03
            A: MULTI
            A: PING
            A: EXEC
            """ },
        { "a watched key that is evicted", """
            B: CONFIG SET maxmemory-eviction-tenacity 100
            B: CONFIG SET maxmemory-policy volatile-ttl
            B: SET k v EX 1000
            B: SET l v
            A: WATCH k
            C: WATCH l nosuch
            B: CONFIG SET maxmemory 1
            B: SET m v
            B: EXISTS k l
            B: CONFIG SET maxmemory 0
            B: CONFIG SET maxmemory-policy noeviction
            B: CONFIG SET maxmemory-eviction-tenacity 10
            A: MULTI
            A: PING
            A: EXEC
            C: MULTI
            C: PING
            C: EXEC
            A: MULTI
            A: PING
            A: EXEC
            """ },
        { "SWAPDB of keys that have expired unnoticed changes nothing", """
            B: DEBUG SET-ACTIVE-EXPIRE 0
            A: SET k 1 PX 1
            A: DEBUG SLEEP 0.005
            A: SELECT 1
            A: WATCH k
            A: SWAPDB 0 1
            A: MULTI
            A: PING
            A: EXEC
            A: FLUSHALL
            A: SET k 1 PX 1
            A: SELECT 0
            A: SET k 2 PX 1
            A: DEBUG SLEEP 0.005
            A: WATCH k
            A: SWAPDB 0 1
            A: MULTI
            A: PING
            A: EXEC
            B: DEBUG SET-ACTIVE-EXPIRE 1
            """ },
        { "time stands still inside", """
            A: MULTI
            A: SET k 1 PX 1
            A: DEBUG SLEEP 0.02
            A: GET k
            A: PTTL k
            A: EXEC
            A: DEBUG SLEEP 0.005
            A: GET k
            A: EVAL "local a = redis.call('TIME') redis.call('SET', KEYS[1], 1, 'PX', 1) for i = 1, 3000000 do end local b = redis.call('TIME') return {a[1] == b[1] and a[2] == b[2], redis.call('GET', KEYS[1])}" 1 k
            """ },
        { "watching in several databases", """
            A: WATCH k
            B: SELECT 1
            B: SET k 1
            A: MULTI
            A: EXEC
            A: WATCH k
            A: SELECT 1
            A: WATCH k
            B: SET k 2
            A: MULTI
            A: EXEC
            A: WATCH k
            B: MOVE k 0
            A: MULTI
            A: EXEC
            A: WATCH k
            B: SWAPDB 0 1
            A: MULTI
            A: EXEC
            """ },
        { "whole databases inside", """
            A: MSET a 1 b 2
            A: MULTI
            A: DBSIZE
            A: SCAN 0 COUNT 100 MATCH nosuch
            A: KEYS nosuch
            A: FLUSHALL
            A: RANDOMKEY
            A: SET k 1
            A: RANDOMKEY
            A: SWAPDB 0 1
            A: DBSIZE
            A: DEBUG DIGEST-VALUE k
            A: CONFIG SET maxmemory-samples 6
            A: MEMORY PURGE
            A: EXEC
            """ },
        { "counters", """
            A: CONFIG RESETSTAT
            A: MULTI
            A: SET k 1
            A: LPUSH k 1
            A: EXEC
            A: MULTI
            A: EXEC x
            A: INFO errorstats
            """ },
    };

    [Theory]
    [MemberData(nameof(Scripts))]
    public void Transactions_are_those_of_Redis(string name, string script)
    {
        Assert.NotEmpty(name);
        ClientScript.Run(Pair, script);
    }

    // On two connections for all of them: a new one takes a moment.
    [Fact]
    public void Exec_refuses_after_the_same_changes_as_in_Redis()
    {
        PairedConnection watching = Open();
        PairedConnection other = Open();
        var different = new List<string>();
        int refused = 0;
        foreach (string change in Watched)
        {
            other.Run("FLUSHALL");
            string[] parts = change.Split(" | ");
            foreach (string command in parts[0].Split("; ")) other.Run(command);
            watching.Run("WATCH k");
            other.Run(parts[1]);
            watching.Run("MULTI");
            watching.Run("PING");
            try
            {
                if (watching.Run("EXEC").IsNull) refused++;
            }
            catch (Xunit.Sdk.FailException failure)
            {
                different.Add($"{change}: {failure.Message}");
            }
        }

        Assert.Empty(different);
        Assert.InRange(refused, 40, Watched.Length - 40);
    }

    [Fact]
    public void Watched_keys_and_queued_commands_are_listed()
    {
        PairedConnection client = Open();
        PairedConnection other = Open();
        client.Run("WATCH a b a");
        client.Run("MULTI");
        client.Run("SET a 1");
        Assert.Contains(" multi=1 watch=2 ", other.Run("CLIENT LIST").Text, StringComparison.Ordinal);
        Assert.Equal((1, 2), Watching());
        other.Run("SET b 1");
        Assert.Contains(" flags=xd ", other.Run("CLIENT LIST").Text, StringComparison.Ordinal);
        client.Run("EXEC");
        Assert.Equal((0, 0), Watching());

        (long Clients, long Keys) Watching()
        {
            Assert.Equal(Info(Pair.Oracle.Control), Info(Pair.Subject.Control));
            return Info(Pair.Subject.Control);
        }

        static (long Clients, long Keys) Info(RespConnection control) =>
            (ServerPair.Info(control, "clients", "watching_clients"), ServerPair.Info(control, "clients", "total_watched_keys"));
    }
}
