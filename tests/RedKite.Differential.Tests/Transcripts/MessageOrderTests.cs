namespace RedKite.Differential.Tests.Transcripts;

/// <summary>
/// Where pushes stand between replies, on both servers: in pipelines, in transactions, in scripts, and relative to the reply of the command
/// that caused them.
/// </summary>
[Collection(TranscriptCollection.Name)]
public sealed class MessageOrderTests(TranscriptServers servers) : TranscriptTests(servers)
{
    public static TheoryData<string, string> Subscriptions => new()
    {
        { "the end of all subscriptions over RESP2", """
            A pipelines: SUBSCRIBE a b c d ; PSUBSCRIBE p* q* r* ; SSUBSCRIBE s t u
            A gets all
            A sends: UNSUBSCRIBE
            A gets any order
            A sends: PUNSUBSCRIBE
            A gets any order
            A: GET k
            A sends: SUNSUBSCRIBE
            A gets any order
            A: GET k
            A pipelines: UNSUBSCRIBE ; PUNSUBSCRIBE ; SUNSUBSCRIBE
            A gets all
            B: PUBSUB CHANNELS
            B: PUBSUB SHARDCHANNELS
            B: PUBSUB NUMPAT
            """ },
        { "the end of all subscriptions over RESP3", """
            A: HELLO 3
            A pipelines: SUBSCRIBE a b c d ; PSUBSCRIBE p* q* r* ; SSUBSCRIBE s t u
            A gets all
            A sends: PUNSUBSCRIBE
            A gets any order
            A sends: SUNSUBSCRIBE
            A gets any order
            A sends: UNSUBSCRIBE
            A gets any order
            A pipelines: UNSUBSCRIBE ; PUNSUBSCRIBE ; SUNSUBSCRIBE ; UNSUBSCRIBE x y x ; GET k
            A gets all
            """ },
        { "counts of names that are given twice, or were never subscribed", """
            A pipelines: SUBSCRIBE a b a ; UNSUBSCRIBE b b nosuch a a ; PSUBSCRIBE a a b ; PUNSUBSCRIBE nosuch b a a ; SSUBSCRIBE a a ; SUNSUBSCRIBE a a
            A gets all
            A: GET k
            """ },
        { "subscriptions in a transaction over RESP2", """
            A pipelines: MULTI ; SUBSCRIBE a b ; PSUBSCRIBE p* ; GET k ; SSUBSCRIBE s ; UNSUBSCRIBE a ; PING ; PUBLISH b x ; EXEC
            A gets all
            B: PUBLISH b y
            A gets all
            A: GET k
            A: MULTI
            A pipelines: UNSUBSCRIBE b ; PUNSUBSCRIBE p* ; SUNSUBSCRIBE s
            A gets all
            A pipelines: MULTI ; PING ; EXEC
            A gets all
            """ },
        { "subscriptions in a transaction over RESP3", """
            A: HELLO 3
            A pipelines: MULTI ; SUBSCRIBE a b ; GET k ; PUBLISH a x ; SSUBSCRIBE s ; SPUBLISH s y ; UNSUBSCRIBE b ; EXEC ; GET k
            A gets all
            B: PUBLISH a y
            A gets all
            A pipelines: MULTI ; UNSUBSCRIBE ; PING ; EXEC
            A gets all
            """ },
        { "subscriptions in scripts", """
            A: EVAL "return redis.call('SUBSCRIBE', 'a')" 0
            A: EVAL "return redis.pcall('UNSUBSCRIBE')" 0
            A: EVAL "return redis.pcall('PSUBSCRIBE', 'a')" 0
            A: EVAL "return redis.pcall('SSUBSCRIBE', 'a')" 0
            A: PUBSUB NUMSUB a
            """ },
        { "messages of transactions and scripts", """
            A: HELLO 3
            A pipelines: SUBSCRIBE a ; PSUBSCRIBE a* ; SSUBSCRIBE a
            A gets all
            B: SUBSCRIBE a
            C pipelines: MULTI ; PUBLISH a 1 ; SPUBLISH a 2 ; SET k v ; PUBLISH a 3 ; PUBLISH nosuch 4 ; EXEC ; PUBLISH a 5
            C gets all
            A gets all
            B gets all
            C: EVAL "local r = {} for i = 1, 3 do r[i] = redis.call('PUBLISH', 'a', i) end r[4] = redis.call('SPUBLISH', 'a', 'x') return r" 0
            A gets all
            B gets all
            A pipelines: GET k ; MULTI ; PUBLISH a self ; GET k ; SPUBLISH a self ; EXEC ; GET k ; EVAL "redis.call('PUBLISH', 'a', 'in') return redis.call('SPUBLISH', 'a', 'in')" 0 ; GET k
            A gets all
            B gets all
            """ },
        { "pushes between the replies of a pipeline", """
            A: HELLO 3
            A pipelines: GET k ; SUBSCRIBE a ; SET k 1 ; PUBLISH a x ; GET k ; PUBLISH a y ; PUBLISH a z ; UNSUBSCRIBE a ; GET k ; PUBLISH a w ; HGETALL h
            A gets all
            A pipelines: SUBSCRIBE a ; NOSUCH ; PUBLISH a x ; GET ; PSUBSCRIBE * ; PUBLISH a y ; PING
            A gets all
            """ },
        { "a subscriber over RESP2 in a pipeline", """
            A pipelines: SET k 1 ; SUBSCRIBE a ; GET k ; PUBLISH a x ; PING ; PING hello ; SPUBLISH a x ; MULTI ; EXEC ; UNSUBSCRIBE a ; GET k ; SSUBSCRIBE s ; GET k ; PING ; RESET ; GET k
            A gets all
            """ },
        { "SPUBLISH and its errors", """
            A: SPUBLISH
            A: SPUBLISH a
            A: SPUBLISH a b c
            A: SSUBSCRIBE a
            A: SSUBSCRIBE {x}a
            A sends: SSUBSCRIBE b {y}c
            A gets all
            B: SPUBLISH a 1
            B: SPUBLISH {x}a 2
            B: SPUBLISH nosuch 3
            B: PUBLISH a 4
            A gets all
            A closes
            B: SPUBLISH a 5
            B: PUBSUB SHARDNUMSUB a b {y}c
            """ },
    };

    public static TheoryData<string, string> Invalidations => new()
    {
        { "tracking in transactions", """
            A: HELLO 3
            A: CLIENT TRACKING ON
            A pipelines: MULTI ; GET k ; GET l ; EXEC
            A gets all
            B: SET k 1
            A gets all
            A pipelines: MULTI ; GET k ; SET k 2 ; GET k ; SET l 1 ; EXEC ; GET k
            A gets all
            B: SET k 3
            A gets all
            A pipelines: MULTI ; GET k ; FLUSHALL ; GET k ; EXEC
            A gets all
            B pipelines: MULTI ; SET k 1 ; SET k 2 ; DEL k ; EXEC
            B gets all
            A gets all
            A: GET k
            B pipelines: MULTI ; SET k 1 ; FLUSHDB ; SET l 1 ; EXEC
            B gets all
            A gets all
            """ },
        { "OPTIN and OPTOUT with transactions", """
            A: HELLO 3
            A: CLIENT TRACKING ON OPTIN
            A pipelines: CLIENT CACHING YES ; MULTI ; GET a ; GET b ; EXEC ; GET c
            A gets all
            B: MSET a 1 b 2 c 3
            A gets all
            A pipelines: MULTI ; CLIENT CACHING YES ; GET a ; GET b ; EXEC ; GET c
            A gets all
            B: MSET a 1 b 2 c 3
            A gets all
            A pipelines: CLIENT CACHING YES ; PING ; GET a
            A gets all
            A pipelines: CLIENT CACHING YES ; NOSUCH ; GET b
            A gets all
            B: MSET a 1 b 2 c 3
            A gets all
            A: CLIENT TRACKING OFF
            A: CLIENT TRACKING ON OPTOUT
            A pipelines: CLIENT CACHING NO ; MULTI ; GET a ; GET b ; EXEC ; GET c
            A gets all
            B: MSET a 1 b 2 c 3
            A gets all
            """ },
        { "what a script reads is tracked for its caller", """
            A: HELLO 3
            A: CLIENT TRACKING ON
            A: EVAL "return redis.call('GET', KEYS[1])" 1 k
            B: SET k 1
            A gets all
            A: EVAL_RO "return {redis.call('GET', 'a'), redis.call('STRLEN', 'b')}" 0
            B: MSET a 1 b 2
            A gets all
            A: EVAL "redis.call('SET', KEYS[1], 1) return redis.call('GET', KEYS[1])" 1 k
            B: SET k 2
            A gets all
            A: EVAL "redis.call('GET', KEYS[1]) redis.call('SET', KEYS[1], 1) return redis.call('GET', KEYS[1])" 1 k
            A gets all
            B: EVAL "redis.call('GET', KEYS[1]) redis.call('SET', KEYS[1], 1) redis.call('SET', KEYS[1], 2) return 1" 1 k
            A gets all
            A: EVAL "return redis.pcall('LPUSH', KEYS[1], 1)" 1 k
            A: EVAL "redis.call('GET', KEYS[1]) return redis.call('NOSUCH')" 1 k
            B: DEL k
            A gets all
            A: EVAL "return redis.pcall('CLIENT', 'TRACKING', 'ON')" 0
            A: EVAL "return redis.pcall('CLIENT', 'CACHING', 'YES')" 0
            A: FUNCTION LOAD REPLACE "#!lua name=t\nredis.register_function('reads', function(keys) return redis.call('GET', keys[1]) end)"
            A: FCALL reads 1 k
            B: SET k 3
            A gets all
            B: FUNCTION FLUSH
            """ },
        { "OPTIN, OPTOUT and NOLOOP with scripts", """
            A: HELLO 3
            A: CLIENT TRACKING ON OPTIN NOLOOP
            A: EVAL "return redis.call('GET', KEYS[1])" 1 k
            A pipelines: CLIENT CACHING YES ; EVAL "return {redis.call('GET', KEYS[1]), redis.call('GET', 'l')}" 1 k ; GET m
            A gets all
            B: MSET k 1 l 2 m 3
            A gets all
            A pipelines: CLIENT CACHING YES ; EVAL "redis.call('GET', KEYS[1]) return redis.call('SET', KEYS[1], 1)" 1 k
            A gets all
            B: SET k 1
            A gets all
            A: CLIENT TRACKING OFF
            A: CLIENT TRACKING ON OPTOUT
            A pipelines: CLIENT CACHING NO ; EVAL "return redis.call('GET', KEYS[1])" 1 k ; EVAL "return redis.call('GET', KEYS[1])" 1 l
            A gets all
            B: MSET k 1 l 2
            A gets all
            """ },
        { "one's own writes in a pipeline", """
            A: HELLO 3
            A: CLIENT TRACKING ON
            A pipelines: GET k ; SET k 1 ; GET k ; SET k 2 ; PING ; GET k
            A gets all
            A pipelines: MGET a b c ; MSET a 1 b 2 c 3 ; PING
            A gets all
            A pipelines: GET a ; RENAME a b ; GET b ; COPY b c REPLACE ; DEL b c
            A gets all
            A pipelines: GET a ; FLUSHALL ; GET a
            A gets any order
            """ },
        { "one's own writes with BCAST", """
            A: HELLO 3
            A: CLIENT TRACKING ON BCAST PREFIX a PREFIX b
            A sends: SET a1 1
            A gets push
            A gets push
            A sends: MSET b1 1 a1 1 c1 1 b2 2
            A gets all
            A pipelines: SET a1 1 ; SET a2 1 ; SET a1 2
            A gets all
            A pipelines: MULTI ; SET a1 1 ; SET b1 1 ; SET a1 2 ; EXEC
            A gets all
            A sends: EVAL "redis.call('SET', 'b1', 1) redis.call('SET', 'a2', 1) return redis.call('SET', 'a1', 1)" 0
            A gets all
            A: CLIENT TRACKING ON BCAST NOLOOP PREFIX c
            A sends: MSET a1 1 b1 1 c1 1
            A gets all
            B: MSET a1 1 b1 1 c1 1
            A gets all
            """ },
        { "a transaction that takes a while, with BCAST", """
            A: HELLO 3
            A: CLIENT TRACKING ON BCAST
            B pipelines: MULTI ; SET a 1 ; EVAL "local t = 0 for i = 1, 20000000 do t = t + 1 end return t" 0 ; SET b 1 ; EXEC
            B gets all
            A gets all
            """ },
        { "overlapping prefixes", """
            A: CLIENT TRACKING ON BCAST PREFIX user: PREFIX user:
            A: CLIENT TRACKING ON BCAST PREFIX abc PREFIX b
            A: CLIENT TRACKING ON BCAST PREFIX ab
            A: CLIENT TRACKING ON BCAST PREFIX abcd
            A: CLIENT TRACKING ON BCAST PREFIX abc
            A: CLIENT TRACKING ON BCAST PREFIX ""
            A: CLIENT TRACKING ON BCAST
            A: CLIENT TRACKING ON BCAST PREFIX x PREFIX xy
            A: CLIENT TRACKING OFF
            A: CLIENT TRACKING ON BCAST
            A: CLIENT TRACKING ON BCAST PREFIX a
            A: CLIENT TRACKING ON BCAST PREFIX ""
            """ },
        { "prefixes of several clients", """
            A: HELLO 3
            B: HELLO 3
            A: CLIENT TRACKING ON BCAST PREFIX a PREFIX bc
            B: CLIENT TRACKING ON BCAST PREFIX ab PREFIX b NOLOOP
            C: MSET abc 1 bcd 2 a 3 b 4 c 5
            A gets all
            B gets all
            B: MSET abc 1 bcd 2
            B gets all
            A gets all
            C: EXPIRE abc 0
            C: DEL abc
            C: UNLINK bcd b
            A gets all
            B gets all
            C: FLUSHALL
            A gets all
            B gets all
            """ },
        { "REDIRECT to a subscriber, one's own writes, NOLOOP and BCAST", """
            A: SUBSCRIBE __redis__:invalidate
            B: CLIENT TRACKING ON REDIRECT {A}
            B: MGET k l
            B: SET k 1
            A gets all
            C: MSET k 1 l 1
            A gets all
            B: CLIENT TRACKING OFF
            B: CLIENT TRACKING ON REDIRECT {A} NOLOOP
            B: GET k
            B: SET k 1
            A gets all
            C: SET k 1
            B: GET k
            A gets all
            C: SET k 1
            A gets all
            B: CLIENT TRACKING OFF
            B: CLIENT TRACKING ON REDIRECT {A} BCAST PREFIX k
            B: MSET k1 1 k2 1 l1 1
            A gets all
            C pipelines: MULTI ; SET k1 1 ; FLUSHALL ; SET k2 1 ; EXEC
            C gets all
            A gets any order
            A: UNSUBSCRIBE
            C: SET k1 1
            A gets all
            """ },
        { "REDIRECT to a subscriber over RESP3, and to one that changes its protocol", """
            A: HELLO 3
            A sends: SUBSCRIBE __redis__:invalidate
            A gets all
            B: CLIENT TRACKING ON REDIRECT {A}
            B: GET k
            C: SET k 1
            A gets all
            A: HELLO 2
            B: GET k
            C: SET k 1
            A gets all
            B: GET k
            C: FLUSHALL
            A gets all
            A: PUBLISH __redis__:invalidate x
            C: PUBLISH __redis__:invalidate y
            A gets all
            """ },
        { "two trackers and one receiver", """
            A: SUBSCRIBE __redis__:invalidate
            B: CLIENT TRACKING ON REDIRECT {A}
            C: CLIENT TRACKING ON REDIRECT {A} NOLOOP
            B: GET k
            C: GET k
            C: SET k 1
            A gets all
            B: GET k
            C: GET k
            D: SET k 1
            A gets all
            D: FLUSHDB
            A gets all
            B closes
            C: GET k
            D: SET k 1
            A gets all
            """ },
        { "flushes by transactions and scripts", """
            A: HELLO 3
            A: CLIENT TRACKING ON
            A: GET k
            B: EVAL "redis.call('SET', KEYS[1], 1) redis.call('FLUSHALL') return 1" 1 k
            A gets all
            A: GET k
            A sends: EVAL "redis.call('FLUSHDB') return redis.call('GET', KEYS[1])" 1 k
            A gets any order
            A pipelines: MULTI ; GET k ; FLUSHDB ; EXEC
            A gets any order
            B: SELECT 3
            B: FLUSHDB
            A gets all
            B: FLUSHALL ASYNC
            A gets all
            """ },
        { "keys that expire by themselves", """
            A: HELLO 3
            A: CLIENT TRACKING ON
            B: SET k v PX 20
            A: GET k
            A gets push
            B: CLIENT TRACKING ON BCAST
            C: HELLO 3
            C: CLIENT TRACKING ON BCAST PREFIX l
            B: SET l v PX 20
            C gets push
            C gets push
            B: HSET h f 1
            A: HGETALL h
            B: HPEXPIRE h 20 FIELDS 1 f
            A gets push
            A gets all
            """ },
        { "what a blocked client causes when it is served", """
            A: HELLO 3
            A: CLIENT TRACKING ON
            B: RPUSH list x
            A: LRANGE list 0 -1
            A waits: BLMOVE source list LEFT LEFT 0
            B: RPUSH source y
            A gets
            A gets push
            A: CLIENT TRACKING OFF
            A: CLIENT TRACKING ON BCAST
            A waits: BLMOVE source list LEFT LEFT 0
            B: RPUSH source z
            A gets all
            A: CLIENT TRACKING OFF
            A: LRANGE list 0 -1
            """ },
        { "what a served client is told that subscribes to the events it causes", """
            B: CONFIG SET notify-keyspace-events KEA
            A: HELLO 3
            A sends: PSUBSCRIBE __keyspace*
            A gets all
            A waits: BLPOP list 0
            B: RPUSH list x
            A gets any order
            B: CONFIG SET notify-keyspace-events ""
            """ },
        { "keys that are remembered while nobody tracks", """
            A: HELLO 3
            A: CLIENT TRACKING ON
            A: MGET a b c
            A: CLIENT TRACKING OFF
            B: SET a 1
            A: CLIENT TRACKING ON
            B: MSET a 1 b 1
            A gets all
            A: CLIENT TRACKING OFF
            B: FLUSHALL
            A: CLIENT TRACKING ON
            B: SET c 1
            A gets nothing
            """ },
        { "keys that are evicted", """
            A: HELLO 3
            A: CLIENT TRACKING ON
            B: HELLO 3
            B: CLIENT TRACKING ON BCAST PREFIX k
            C: CONFIG SET maxmemory-eviction-tenacity 100
            C: CONFIG SET maxmemory-policy volatile-ttl
            C: SET k v EX 1000
            C: SET l v
            A: MGET k l
            B gets all
            C: CONFIG SET maxmemory 1
            A gets push
            B gets push
            C: SET m v
            A gets all
            B gets all
            C: CONFIG SET maxmemory 0
            C: CONFIG SET maxmemory-policy noeviction
            C: CONFIG SET maxmemory-eviction-tenacity 10
            C: MGET k l
            """ },
    };

    [Theory]
    [MemberData(nameof(Subscriptions))]
    public void Subscriptions_are_ordered_as_in_redis(string what, string script)
    {
        Assert.NotEmpty(what);
        ClientScript.Run(Pair, script);
    }

    [Theory]
    [MemberData(nameof(Invalidations))]
    public void Invalidations_are_ordered_as_in_redis(string what, string script)
    {
        Assert.NotEmpty(what);
        ClientScript.Run(Pair, script);
    }
}
