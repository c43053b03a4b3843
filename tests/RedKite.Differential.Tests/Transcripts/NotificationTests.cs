using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>Keyspace notifications as their subscribers get them, on both servers: every class, alone and together.</summary>
[Collection(TranscriptCollection.Name)]
public sealed class NotificationTests(TranscriptServers servers) : TranscriptTests(servers)
{
    private const string Commands = """
        SET k v
        SET k v EX 100
        GET k
        GET missing
        EXISTS missing k
        MGET k missing other
        TTL missing
        OBJECT ENCODING missing
        INCR n
        INCRBYFLOAT n 0.5
        APPEND k x
        GETDEL k
        GETEX n PERSIST
        SETRANGE r 3 abc
        LPUSH l 1 2 3
        LPOP l 5
        RPUSH l a
        LMOVE l m LEFT RIGHT
        LINSERT m BEFORE a b
        LSET m 0 z
        HSET h f 1
        HINCRBY h f 2
        HDEL h f
        HGET missing f
        SADD s 1 2 3
        SREM s 1
        SPOP s 2
        SADD s 1 2
        SINTERSTORE t s s
        SMOVE s t 2
        ZADD z 1 a
        ZINCRBY z 1 a
        ZADD z XX 5 nosuch
        ZREM z a
        XADD x 1-1 a 1
        XGROUP CREATE x g 0
        XDEL x 1-1
        PEXPIRE x 100000
        PERSIST x
        EXPIRE x -1
        MSET a 1 b 2
        RENAME a c
        COPY b d
        MOVE b 3
        SETBIT bits 7 1
        PFADD p a b
        RESTORE bad 0 nothing
        DEL c d nosuch
        UNLINK n
        SORT l STORE sorted
        SET e v PX 1
        DEBUG SLEEP 0.01
        GET e
        HSET hx f 1 g 2
        HPEXPIRE hx 1 FIELDS 1 f
        DEBUG SLEEP 0.01
        HGET hx f
        CONFIG SET hash-max-listpack-entries 0
        HSET ht a 1 b 2 c 3 d 4 e 5 f 6 g 7 h 8 i 9
        HPEXPIRE ht 1 FIELDS 8 a b c d e f g h
        HSET hu a 1 b 2
        HPEXPIRE hu 1 FIELDS 2 a b
        DEBUG SLEEP 0.01
        HGET ht a
        HMGET ht b c b i
        HEXISTS ht d
        HSTRLEN ht e
        HGETEX ht EX 100 FIELDS 2 f i
        HGETDEL ht FIELDS 2 g i
        HGET ht h
        EXISTS ht
        HMGET hu a b
        CONFIG SET hash-max-listpack-entries 128
        FLUSHDB
        """;

    [Theory]
    [InlineData("KEA")]
    [InlineData("KEAnm")]
    [InlineData("EA")]
    [InlineData("KA")]
    [InlineData("Kg")]
    [InlineData("E$")]
    [InlineData("El")]
    [InlineData("Es")]
    [InlineData("Kh")]
    [InlineData("Ez")]
    [InlineData("Et")]
    [InlineData("KEx")]
    [InlineData("Ee")]
    [InlineData("KEm")]
    [InlineData("KEn")]
    [InlineData("Ed")]
    [InlineData("A")]
    [InlineData("K")]
    [InlineData("g$m")]
    [InlineData("Kgm$x")]
    [InlineData("")]
    public void Same_notifications(string classes)
    {
        string[] oracle = Notifications(Pair.Oracle.Port, classes, protocol: 2);
        Assert.Equal(oracle, Notifications(Pair.Subject.Port, classes, protocol: 2));
        bool none = !classes.ContainsAny('K', 'E') || classes is "K" or "Ed" or "Ee";
        Assert.Equal(none, oracle.Length == 0);
    }

    [Fact]
    public void Same_notifications_over_resp3() =>
        Assert.Equal(Notifications(Pair.Oracle.Port, "KEA", protocol: 3), Notifications(Pair.Subject.Port, "KEA", protocol: 3));

    // What is turned off is not published any more, and what is turned on is at once.
    [Fact]
    public void Selection_takes_effect_with_the_reply()
    {
        ClientScript.Run(Pair, """
            A: PSUBSCRIBE __key*
            B: CONFIG SET notify-keyspace-events Kg$
            B: SET k v
            A gets
            B: CONFIG GET notify-keyspace-events
            B: CONFIG SET notify-keyspace-events ""
            B: SET k v
            A gets nothing
            B: CONFIG SET notify-keyspace-events E$
            B: SET k v
            A gets
            B: CONFIG SET notify-keyspace-events ""
            """);
    }

    // The client that changes the key is a subscriber itself: the reply comes first.
    [Fact]
    public void A_subscriber_is_notified_of_its_own_commands_behind_the_reply()
    {
        ClientScript.Run(Pair, """
            B: CONFIG SET notify-keyspace-events KEA
            A: HELLO 3
            A sends: PSUBSCRIBE *
            A gets push
            A sends: SET k v
            A gets push
            A gets push
            A gets push
            A sends: RPUSH l 1 2
            A sends: LPOP l 2
            A gets push
            A gets push
            A gets push
            A gets push
            A gets push
            A gets push
            A gets push
            A gets push
            A: PING
            B: CONFIG SET notify-keyspace-events ""
            """);
    }

    private static string[] Notifications(int port, string classes, int protocol)
    {
        using RespConnection client = RespConnection.Connect(port);
        using RespConnection subscriber = RespConnection.Connect(port);
        client.Run("FLUSHALL");
        client.Run(["CONFIG"u8.ToArray(), "SET"u8.ToArray(), "notify-keyspace-events"u8.ToArray(), System.Text.Encoding.ASCII.GetBytes(classes)]).IsOk();
        client.Run("DEBUG SET-ACTIVE-EXPIRE 0");
        subscriber.Run($"HELLO {protocol}");
        subscriber.SendCommand("PSUBSCRIBE __key*");
        subscriber.ReadAny();
        foreach (string command in Commands.Split('\n')) client.Run(command);
        client.Run("PUBLISH __key:end x");
        var notifications = new List<string>();
        while (true)
        {
            RespValue message = subscriber.ReadAny();
            if (message.Items[2].Text == "__key:end") break;
            notifications.Add(message.ToString());
        }

        client.Run("DEBUG SET-ACTIVE-EXPIRE 1");
        client.Run(["CONFIG"u8.ToArray(), "SET"u8.ToArray(), "notify-keyspace-events"u8.ToArray(), []]);
        return [.. notifications];
    }
}
