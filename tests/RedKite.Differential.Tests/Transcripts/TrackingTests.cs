using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>Transcripts of client-side caching, on both servers.</summary>
[Collection(TranscriptCollection.Name)]
public sealed class TrackingTests(TranscriptServers servers) : TranscriptTests(servers)
{
    public static TheoryData<string, string> Scripts => new()
    {
        { "a key that was read is invalidated once", """
            A: HELLO 3
            A: CLIENT TRACKING ON
            A: GET k
            B: SET k 1
            A gets push
            B: SET k 2
            A: GET k
            B: SET l 1
            B: SELECT 3
            B: SET k 1
            A gets push
            A: MGET a b k
            B: MSET a 1 b 2
            A gets push
            A gets push
            A: CLIENT TRACKINGINFO
            A: CLIENT GETREDIR
            A: CLIENT TRACKING OFF
            A: GET a
            B: SET a 2
            A: CLIENT TRACKINGINFO
            A: CLIENT GETREDIR
            """ },
        { "own changes follow the reply, and NOLOOP omits them", """
            A: HELLO 3
            A: CLIENT TRACKING ON
            A: GET k
            A sends: SET k 1
            A gets push
            A gets push
            A: CLIENT TRACKING ON NOLOOP
            A: GET k
            A: SET k 1
            B: SET k 2
            A: GET k
            B: SET k 2
            A gets push
            A: CLIENT TRACKINGINFO
            """ },
        { "every type of change, and none", """
            B: RPUSH l a b
            B: HSET h f 1
            B: ZADD z 1 a
            B: XADD x 1-1 a 1
            A: HELLO 3
            A: CLIENT TRACKING ON
            A: LRANGE l 0 -1
            A: HGETALL h
            A: ZRANGE z 0 -1
            A: XRANGE x - +
            A: STRLEN s
            B: GET l
            B: LPUSH l c
            A gets push
            B: HDEL h f
            A gets push
            B: ZADD z 1 a
            B: ZREM z a
            A gets push
            B: XADD x 2-1 a 1
            A gets push
            B: APPEND s x
            A gets push
            A: EXISTS s
            B: EXPIRE s 100
            A gets push
            A: TTL s
            B: PERSIST s
            A gets push
            A: GET s
            B: RENAME s t
            A gets push
            """ },
        { "flushes invalidate everything", """
            A: HELLO 3
            A: CLIENT TRACKING ON
            A: GET k
            B: FLUSHDB
            A gets push
            B: SET k 1
            B: FLUSHALL
            A gets push
            A: GET k
            B: FLUSHALL
            A gets push
            B: SET k 1
            A: PING
            """ },
        { "expiry invalidates", """
            B: SET k v PX 1
            A: HELLO 3
            A: CLIENT TRACKING ON
            A: GET nosuch
            B: SET k v PX 30
            A: GET k
            B: DEBUG SLEEP 0.05
            B: GET k
            A gets push
            """ },
        { "an access of its own that finds a key expired counts as no client's change for BCAST", """
            B: DEBUG SET-ACTIVE-EXPIRE 0
            A: HELLO 3
            A: CLIENT TRACKING ON BCAST NOLOOP
            A: SET k v PX 1
            A: DEBUG SLEEP 0.005
            A: GET k
            A gets push
            A: SET k v PX 1
            A: DEBUG SLEEP 0.005
            A: SET k w
            A: CLIENT TRACKING OFF
            A: CLIENT TRACKING ON NOLOOP
            A: SET l v PX 200
            A: GET l
            A: DEBUG SLEEP 0.3
            A: GET l
            B: DEBUG SET-ACTIVE-EXPIRE 1
            """ },
        { "a read that changes its key is remembered", """
            B: DEBUG SET-ACTIVE-EXPIRE 0
            B: PFADD p a b c
            B: SET gone v PX 1
            B: RPUSH l v
            B: PEXPIRE l 1
            B: HSET h f 1 g 2
            B: HPEXPIRE h 1 FIELDS 1 f
            B: HSET i f 1
            B: HPEXPIRE i 1 FIELDS 1 f
            B: DEBUG SLEEP 0.005
            A: HELLO 3
            A: CLIENT TRACKING ON
            A: PFCOUNT p
            A: GET gone
            A: LLEN l
            A: HGET h f
            A: HMGET i f
            A: PING
            B: COPY p gone
            A gets push
            B: PFADD p d e f
            A gets push
            B: RPUSH l v
            A gets push
            B: HSET h f 1
            A gets push
            B: HSET i f 1
            A gets push
            B: SET gone v PX 1
            B: DEBUG SLEEP 0.005
            A: MULTI
            A: GET gone
            A: PFCOUNT p
            A: GET gone
            A: EXEC
            B: SET gone v PX 1
            A gets push
            B: DEBUG SLEEP 0.005
            A: EVAL "redis.call('get', 'gone') return redis.call('pfcount', 'p')" 2 gone p
            B: PFADD p g
            A gets push
            B: SET gone v PX 1
            A gets push
            B: DEBUG SLEEP 0.005
            A: CLIENT TRACKING OFF
            A: CLIENT TRACKING ON OPTIN
            A: CLIENT CACHING YES
            A: GET gone
            A: GET l
            B: MSET gone 1 l 2
            A gets push
            B: SET gone v PX 1
            B: DEBUG SLEEP 0.005
            A: CLIENT TRACKING OFF
            A: CLIENT TRACKING ON NOLOOP
            A: GET gone
            A: PFCOUNT p
            B: DEL gone p
            B: SET gone 1
            A gets push
            A gets push
            B: DEBUG SET-ACTIVE-EXPIRE 1
            """ },
        { "over REDIRECT, too", """
            B: DEBUG SET-ACTIVE-EXPIRE 0
            B: PFADD p a b c
            B: SET gone v PX 1
            B: HSET h f 1 g 2
            B: HPEXPIRE h 1 FIELDS 1 f
            B: DEBUG SLEEP 0.005
            C sends: SUBSCRIBE __redis__:invalidate
            C gets push
            A: CLIENT TRACKING ON REDIRECT {C}
            A: PFCOUNT p
            A: GET gone
            A: HGET h f
            B: SET gone 1
            C gets push
            B: PFADD p d e f
            C gets push
            B: HSET h f 1
            C gets push
            B: DEBUG SET-ACTIVE-EXPIRE 1
            """ },
        { "expired fields and what scripts change are no client's change for BCAST", """
            B: DEBUG SET-ACTIVE-EXPIRE 0
            B: HSET h f 1 g 2
            B: HPEXPIRE h 1 FIELDS 1 f
            B: HSET i f 1
            B: HPEXPIRE i 1 FIELDS 1 f
            B: DEBUG SLEEP 0.005
            A: HELLO 3
            A: CLIENT TRACKING ON BCAST NOLOOP
            A: HGET h f
            A gets push
            A: HGET i f
            A gets push
            A: SET k 1
            A: EVAL "return redis.call('set', 'k', 2)" 1 k
            A gets push
            A: MULTI
            A: SET k 1
            A: EXEC
            A: PING
            B: DEBUG SET-ACTIVE-EXPIRE 1
            """ },
        { "a script tracks what its commands read, and none of the keys that it declares", """
            A: HELLO 3
            A: CLIENT TRACKING ON
            A: EVAL "redis.call('set', 'm', 'x')" 2 k l
            B: MSET k 1 l 1
            A: EVAL "redis.call('get', 'k')" 2 k l
            B: MSET k 2 l 2
            A gets push
            A: EVAL_RO "redis.call('ping')" 2 k l
            B: MSET k 3 l 3
            A: EVAL_RO "redis.call('get', 'k')" 2 k l
            B: MSET k 4 l 4
            A gets push
            A: PING
            """ },
        { "OPTIN", """
            A: HELLO 3
            A: CLIENT CACHING YES
            A: CLIENT TRACKING ON OPTIN
            A: GET k
            B: SET k 1
            A: CLIENT CACHING NO
            A: CLIENT CACHING MAYBE
            A: CLIENT CACHING YES
            A: CLIENT TRACKINGINFO
            A: GET k
            A: CLIENT TRACKINGINFO
            A: GET l
            B: SET l 1
            B: SET k 1
            A gets push
            """ },
        { "OPTOUT", """
            A: HELLO 3
            A: CLIENT TRACKING ON OPTOUT
            A: GET k
            B: SET k 1
            A gets push
            A: CLIENT CACHING YES
            A: CLIENT CACHING NO
            A: CLIENT TRACKINGINFO
            A: GET k
            A: GET l
            B: SET k 1
            B: SET l 1
            A gets push
            A: CLIENT TRACKINGINFO
            """ },
        { "BCAST with prefixes", """
            A: HELLO 3
            A: CLIENT TRACKING ON BCAST PREFIX user: PREFIX object:
            B: SET user:1 x
            A gets push
            B: SET other x
            B: MSET object:b 1 object:a 2 object:c 3
            A gets push
            A: CLIENT TRACKINGINFO
            A: CLIENT TRACKING ON BCAST PREFIX user:1
            A: CLIENT TRACKING ON BCAST PREFIX third:
            B: SET third:1 x
            A gets push
            A sends: SET user:2 x
            A gets push
            A gets push
            A: CLIENT TRACKING ON BCAST NOLOOP PREFIX fourth
            A: SET user:2 x
            B: SET user:2 x
            A gets push
            B: FLUSHALL
            A gets push
            A: CLIENT TRACKING OFF
            B: SET user:1 x
            A: PING
            """ },
        { "BCAST with long prefixes", """
            A: HELLO 3
            A: CLIENT TRACKING ON BCAST PREFIX aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb1 PREFIX aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb22 PREFIX aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbcaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbb
            B: MSET aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb1 x aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb2 x aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb22 x aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb x aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbcaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbb x aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbcaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbb x
            A gets push
            A gets push
            A gets push
            B: SET aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb1more x
            A gets push
            A: RESET
            B: SET aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb1more x
            A: PING
            """ },
        { "BCAST without a prefix", """
            A: HELLO 3
            A: CLIENT TRACKING ON BCAST
            B: SET a 1
            A gets push
            B: DEL a nosuch
            A gets push
            A: CLIENT TRACKINGINFO
            """ },
        { "REDIRECT to a subscriber over RESP2", """
            A: SUBSCRIBE __redis__:invalidate
            B: CLIENT TRACKING ON REDIRECT {A}
            B: GET k
            C: SET k 1
            A gets
            B: GET k
            C: FLUSHALL
            A gets
            B: CLIENT TRACKING OFF
            B: CLIENT TRACKING ON REDIRECT {A} BCAST
            C: SET k 1
            A gets
            """ },
        { "REDIRECT to a client over RESP3, and one that is gone", """
            A: HELLO 3
            B: HELLO 3
            A: PING
            B: CLIENT TRACKING ON REDIRECT {A}
            B: GET k
            C: SET k 1
            A gets push
            B: GET k
            """ },
        { "without a receiver", """
            A: CLIENT TRACKING ON
            A: GET k
            B: SET k 1
            A gets nothing
            B: CLIENT TRACKING ON REDIRECT {C}
            C: PING
            B: GET k
            D: SET k 2
            C gets nothing
            """ },
        { "errors", """
            A: CLIENT TRACKING
            A: CLIENT TRACKING MAYBE
            A: CLIENT TRACKING ON NOSUCH
            A: CLIENT TRACKING ON REDIRECT
            A: CLIENT TRACKING ON REDIRECT x
            A: CLIENT TRACKING ON REDIRECT 123456789
            A: CLIENT TRACKING ON PREFIX a
            A: CLIENT TRACKING ON PREFIX
            A: CLIENT TRACKING ON BCAST OPTIN
            A: CLIENT TRACKING ON OPTIN OPTOUT
            A: CLIENT TRACKING ON BCAST PREFIX a PREFIX ab
            A: CLIENT TRACKING ON BCAST PREFIX ab PREFIX a
            A: CLIENT TRACKING ON BCAST PREFIX x PREFIX b PREFIX bc PREFIX xy PREFIX bcd
            A: CLIENT TRACKING ON BCAST PREFIX z PREFIX bcd PREFIX q PREFIX bcde PREFIX b PREFIX zz
            A: CLIENT TRACKING ON BCAST PREFIX b PREFIX ba1 PREFIX bb PREFIX c PREFIX a PREFIX c
            A: CLIENT TRACKING ON BCAST PREFIX a PREFIX b PREFIX ""
            A: CLIENT TRACKING ON OPTIN
            A: CLIENT TRACKING ON OPTOUT
            A: CLIENT TRACKING ON BCAST
            A: CLIENT TRACKING OFF NOSUCH
            A: CLIENT TRACKING OFF
            A: CLIENT TRACKING ON BCAST PREFIX a
            A: CLIENT TRACKING ON
            A: CLIENT TRACKING ON BCAST PREFIX ab
            A: CLIENT TRACKING ON BCAST PREFIX c PREFIX d PREFIX cc
            A: CLIENT TRACKING ON BCAST PREFIX c PREFIX d
            A: CLIENT TRACKING ON BCAST PREFIX e PREFIX dd PREFIX aa PREFIX ee
            A: CLIENT TRACKING ON BCAST PREFIX g2
            A: CLIENT TRACKING ON BCAST PREFIX g1
            A: CLIENT TRACKING ON BCAST PREFIX g3
            A: CLIENT TRACKING ON BCAST PREFIX g
            A: CLIENT TRACKING ON BCAST
            A: CLIENT TRACKING ON BCAST
            A: CLIENT TRACKINGINFO
            A: CLIENT TRACKING OFF
            A: CLIENT CACHING YES
            A: CLIENT CACHING
            A: CLIENT TRACKINGINFO
            A: RESET
            """ },
        { "RESET ends it", """
            A: HELLO 3
            A: CLIENT TRACKING ON
            A: GET k
            A: RESET
            A: HELLO 3
            B: SET k 1
            A: CLIENT TRACKINGINFO
            A: PING
            """ },
    };

    // The message names an id, which differs between the servers.
    [Fact]
    public void A_client_is_notified_when_its_redirection_target_disconnects()
    {
        Assert.Equal(Messages(Pair.Oracle.Port), Messages(Pair.Subject.Port));

        static string Messages(int port)
        {
            using RespConnection client = RespConnection.Connect(port);
            using RespConnection writer = RespConnection.Connect(port);
            client.Run("HELLO 3");
            using (RespConnection receiver = RespConnection.Connect(port))
            {
                client.Run($"CLIENT TRACKING ON REDIRECT {receiver.Run("CLIENT ID").Number}").IsOk();
                client.Run("GET broken");
                receiver.SendCommand("QUIT");
                receiver.Read();
                receiver.Read();
            }

            writer.Run("SET broken 1");
            RespValue push = client.ReadAny();
            string info = client.Run("CLIENT TRACKINGINFO").Items[1].ToString();
            return $"{push.Marker} {push.Items[0]} {push.Items[1].Marker} {info}";
        }
    }

    [Theory]
    [MemberData(nameof(Scripts))]
    public void Same_replies(string what, string script)
    {
        Assert.NotEmpty(what);
        ClientScript.Run(Pair, script);
    }
}
