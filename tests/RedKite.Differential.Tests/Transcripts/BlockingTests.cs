using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>Transcripts with blocked clients, on both servers.</summary>
[Collection(TranscriptCollection.Name)]
public sealed class BlockingTests(TranscriptServers servers) : TranscriptTests(servers)
{
    public static TheoryData<string, string> Scripts => new()
    {
        { "a push serves who waits", """
            A waits: BLPOP k 0
            B: RPUSH k x y
            A gets
            B: LRANGE k 0 -1
            A: PING
            """ },
        { "elements that are there are taken at once", """
            B: RPUSH k a b c
            B: RPUSH l z
            A: BLPOP nosuch k l 0
            A: BRPOP k 0
            A: BLMOVE k l LEFT RIGHT 0
            A: BRPOPLPUSH l k 0
            A: BLMPOP 0 2 nosuch l RIGHT COUNT 5
            B: LRANGE k 0 -1
            """ },
        { "first come first served", """
            A waits: BLPOP k 0
            B waits: BRPOP k 0
            C waits: BLPOP k 0
            D: RPUSH k 1 2
            A gets
            B gets
            C gets nothing
            D: LPUSH k 3
            C gets
            D: EXISTS k
            """ },
        { "a key that is overwritten, and pushes to it, serve no one", """
            D: RPUSH source 1 2
            D: ZADD scores 1 a
            A waits: BLPOP k 0
            B waits: BZPOPMIN z 0
            D: SADD k a
            D: SADD z a
            D: SORT source ALPHA STORE k
            D: RPUSH k 3
            D: ZUNIONSTORE z 1 scores
            D: ZADD z 2 b
            A gets nothing
            B gets nothing
            D: RENAME k elsewhere
            D: RENAME elsewhere k
            D: COPY scores z REPLACE
            A gets
            B gets
            """ },
        { "the last entry is that of when the client is served", """
            D: XADD source 1-1 a 1
            D: XADD source 2-1 a 2
            A waits: XREAD BLOCK 0 STREAMS s +
            D: COPY source s
            A gets
            """ },
        { "several keys, and one of them twice", """
            A waits: BLPOP k l k m 0
            B: RPUSH m 1
            A gets
            B: RPUSH k 2
            A waits: BLPOP l l l 0
            B: LPUSH l 3 4 5
            A gets
            B: LRANGE l 0 -1
            """ },
        { "one push serves several and leaves the rest", """
            A waits: BLPOP k 0
            B waits: BLMPOP 0 1 k LEFT COUNT 2
            C waits: BRPOP k 0
            D: RPUSH k 1 2 3 4 5 6
            A gets
            B gets
            C gets
            D: LRANGE k 0 -1
            """ },
        { "who is moved to wakes others in turn", """
            A waits: BLMOVE a b LEFT RIGHT 0
            B waits: BLMOVE b c LEFT RIGHT 0
            C waits: BRPOPLPUSH c d 0
            E waits: BLPOP d 0
            D: RPUSH a x
            A gets
            B gets
            C gets
            E gets
            D: EXISTS a b c d
            """ },
        { "a list is moved to itself", """
            A waits: BLMOVE k k LEFT RIGHT 0
            D: RPUSH k 1 2 3
            A gets
            D: LRANGE k 0 -1
            """ },
        { "a destination of another type is an error and takes nothing", """
            D: SET s x
            A waits: BLMOVE k s LEFT RIGHT 0
            B waits: BLPOP k 0
            D: RPUSH k 1
            A gets
            B gets
            D: EXISTS k
            """ },
        { "a command executes anew, with all its keys", """
            A waits: BLPOP k l 0
            D: SET k x
            A gets nothing
            D: RPUSH l 1
            A gets
            A waits: BLPOP m 0
            D: SET m x
            D: DEL m
            D: RPUSH m 2
            A gets
            A: BLPOP k 0
            A: BLMPOP 0 2 m k LEFT
            """ },
        { "a key that is renamed, copied or moved there wakes", """
            A waits: BLPOP k 0
            D: RPUSH l 1
            D: RENAME l k
            A gets
            A waits: BLPOP k 0
            D: RPUSH l 2
            D: COPY l k
            A gets
            A waits: BLPOP k 0
            D: SET k x
            D: RPUSH m 3
            D: RENAME m k
            A gets
            A: SELECT 1
            A waits: BLPOP n 0
            D: RPUSH n 4
            D: MOVE n 1
            A gets
            """ },
        { "swapped databases wake", """
            A waits: BLPOP k 0
            D: SELECT 1
            D: RPUSH k 1 2
            A gets nothing
            D: SWAPDB 0 1
            A gets
            D: FLUSHALL
            """ },
        { "moves and pushes of every kind wake", """
            A waits: BLPOP k 0
            D: RPUSH l 1 2 3
            D: LMOVE l k LEFT LEFT
            A gets
            A waits: BLPOP k 0
            D: RPOPLPUSH l k
            A gets
            A waits: BLPOP k 0
            D: LPUSHX k 1
            D: LINSERT k BEFORE a b
            D: LPUSH k 4
            A gets
            """ },
        { "time runs out", """
            A: BLPOP k 0.01
            A: BRPOP k l 0.02
            A: BLMOVE k l LEFT LEFT 0.01
            A: BRPOPLPUSH k l 0.01
            A: BLMPOP 0.01 2 k l LEFT
            A: HELLO 3
            A sends: BLPOP k 0.01
            A gets
            A waits: BLPOP k 0
            D: RPUSH k 1
            A gets
            """ },
        { "what is no timeout", """
            A: BLPOP k x
            A: BLPOP k -1
            A: BLPOP k nan
            A: BLPOP k ''
            A: BLPOP k ' 1'
            A: BLPOP k -inf
            A: BLMOVE k l LEFT LEFT -0.5
            A: BLMOVE k l LEFT UP x
            A: BRPOPLPUSH k l x
            A: BLMPOP x 1 k LEFT
            A: BLMPOP x 0 k LEFT
            A: BLMPOP -1 1 k LEFT
            A: BLMPOP -1 1 k UP
            A: BLMPOP 0 1 k LEFT COUNT 0
            A: BLPOP k 0x1p-6
            A: BLPOP k 1e-3
            """ },
        { "what is sent behind waits too", """
            A waits: BLPOP k 0
            A sends: INCR n
            A sends: BLPOP k 0
            A sends: INCR n
            A gets nothing
            D: GET n
            D: RPUSH k 1
            A gets
            A gets
            D: GET n
            D: RPUSH k 2
            A gets
            A gets
            """ },
        { "who is gone waits no more", """
            A waits: BLPOP k 0
            B waits: BLPOP k 0
            A closes
            D: RPUSH k 1 2
            B gets
            D: LRANGE k 0 -1
            """ },
        { "replies that are not wanted", """
            A sends: CLIENT REPLY SKIP
            A waits: BLPOP k 0
            D: RPUSH k 1
            A: PING
            A sends: CLIENT REPLY OFF
            A waits: BLPOP k 0
            D: RPUSH k 2
            A: CLIENT REPLY ON
            D: EXISTS k
            """ },
        { "sorted sets", """
            D: ZADD z 1 a 2 b 3 c 4 d
            A: BZPOPMIN nosuch z 0
            A: BZPOPMAX z 0
            A: BZMPOP 0 2 nosuch z MAX COUNT 5
            A waits: BZPOPMIN z y 0
            B waits: BZPOPMAX z 0
            C waits: BZMPOP 0 1 z MIN COUNT 2
            E waits: BLPOP z 0
            D: ZADD z 1 a 2.5 b 3 c 4 d 5 e
            A gets
            B gets
            C gets
            D: ZRANGE z 0 -1 WITHSCORES
            D: DEL z
            D: RPUSH z x
            E gets
            A: HELLO 3
            A waits: BZPOPMAX z 0
            D: SET z x
            A gets nothing
            D: ZUNIONSTORE z 1 nosuch
            D: ZADD y 7 x
            D: ZUNIONSTORE z 1 y
            A gets
            A: BZPOPMIN z y 0.01
            A: BZPOPMIN z 0.01
            A: BZMPOP 0.01 1 z MIN
            A: BZMPOP x 1 z MIN
            A: BZMPOP x 0 z MIN
            A: BZMPOP -1 1 z FOO
            A: BZPOPMIN z x
            A: BZPOPMAX z -1
            D: SET s x
            A: BZPOPMIN s z 0
            A: BZMPOP 0 2 z s MIN
            """ },
        { "streams", """
            D: XADD s 1-1 a 1
            A waits: XREAD BLOCK 0 STREAMS s nosuch $ 0
            B waits: XREAD COUNT 1 BLOCK 0 STREAMS s 1-1
            D: XADD s 1-2 a 2
            A gets
            B gets
            A: XREAD BLOCK 10 STREAMS s $
            A: XREAD BLOCK 0 STREAMS s 0
            A: HELLO 3
            A waits: XREAD BLOCK 0 STREAMS t s $ $
            D: XADD t 5-5 b 1
            A gets
            A: XREAD BLOCK -1 STREAMS s $
            A: XREAD BLOCK x STREAMS s $
            """ },
        { "groups of streams", """
            D: XGROUP CREATE s g $ MKSTREAM
            A waits: XREADGROUP GROUP g a BLOCK 0 STREAMS s >
            B waits: XREADGROUP GROUP g b BLOCK 0 STREAMS s >
            D: XADD s 1-1 a 1
            A gets
            B gets nothing
            D: XADD s 1-2 a 2
            B gets
            A: XREADGROUP GROUP g a BLOCK 0 STREAMS s 0
            A: XREADGROUP GROUP g a BLOCK 10 STREAMS s >
            D: XLEN s
            """ },
        { "conditions of a push", """
            A waits: BLPOP k 0
            D: LPUSHX k 1
            D: RPOPLPUSH nosuch k
            D: LPUSH k
            A gets nothing
            D: RPUSH k 1
            A gets
            D: LPOP k
            """ },
    };

    [Theory(Timeout = 300_000)]
    [MemberData(nameof(Scripts))]
    public async Task Blocked_clients_receive_the_same_as_in_redis(string name, string script)
    {
        Assert.NotEmpty(name);
        await Task.Run(() => ClientScript.Run(Pair, script), TestContext.Current.CancellationToken);
    }

    [Theory]
    [InlineData("XREADGROUP GROUP g a BLOCK 0 STREAMS s >", "XGROUP DESTROY s g")]
    [InlineData("XREADGROUP GROUP g a BLOCK 0 STREAMS s >", "SET s 1")]
    [InlineData("XREADGROUP GROUP g a BLOCK 0 STREAMS s >", "FLUSHALL")]
    [InlineData("BRPOPLPUSH k string 0", "RPUSH k 1")]
    [InlineData("BLPOP k 0", "RPUSH k 1")]
    [InlineData("BLPOP k 0", "ACL SETUSER waiting -@blocking", "RPUSH k 1")]
    [InlineData("BLPOP k 0.5", "PING")]
    [InlineData("BZPOPMIN k 0", "ZADD k 1 a")]
    [InlineData("XREAD BLOCK 0 STREAMS s $", "XADD s 1-1 a b")]
    [InlineData("BLPOP k 0", "CLIENT UNBLOCK <id>")]
    [InlineData("BLPOP k 0", "CLIENT UNBLOCK <id> ERROR")]
    public void Waits_are_counted_at_their_ends(string command, params string[] ends)
    {
        PairedConnection waiting = Open();
        PairedConnection other = Open();
        other.Run("ACL SETUSER waiting reset on nopass ~* +@all").IsOk();
        waiting.Run("AUTH waiting x").IsOk();
        other.Run("SET string 1").IsOk();
        other.Run("XGROUP CREATE s g $ MKSTREAM").IsOk();
        waiting.NoteFacts();
        other.Run("CONFIG RESETSTAT").IsOk();
        waiting.Send(command);
        Pair.WaitForBlocked(1);
        Assert.Equal(Counts(Pair.Oracle), Counts(Pair.Subject));
        foreach (string end in ends) other.Run(waiting, facts => end.Replace("<id>", $"{facts.Id}", StringComparison.Ordinal), isWaiting: true);
        waiting.Read();
        other.Run("INFO errorstats");
        Assert.Equal(Counts(Pair.Oracle), Counts(Pair.Subject));
        waiting.Run("AUTH default x").IsOk();
        other.Run("ACL DELUSER waiting").IsInteger(1);

        (long, string) Counts(ServerPair.Side side)
        {
            string name = command.Split(' ')[0].ToLowerInvariant();
            string line = side.Control.Run("INFO commandstats").Text.Split("\r\n").FirstOrDefault(line => line.StartsWith($"cmdstat_{name}:", StringComparison.Ordinal), "none");
            return (ServerPair.Info(side.Control, "stats", "total_error_replies"), string.Join(',', line.Split(',').Where(field => !field.StartsWith("usec", StringComparison.Ordinal))));
        }
    }

    [Fact]
    public void Client_unblock_ends_a_wait_with_timeout_or_error()
    {
        PairedConnection waiting = Open();
        PairedConnection other = Open();
        other.Run(waiting, facts => $"CLIENT UNBLOCK {facts.Id}");
        foreach (string reason in (string[])["", " TIMEOUT", " ERROR", " error"])
        {
            waiting.Send("BLPOP k 0");
            Pair.WaitForBlocked(1);
            other.Run(waiting, facts => $"CLIENT UNBLOCK {facts.Id}{reason}", isWaiting: true).IsInteger(1);
            waiting.Read();
            other.Run(waiting, facts => $"CLIENT UNBLOCK {facts.Id}{reason}", isWaiting: true).IsInteger(0);
        }

        other.Run("CLIENT UNBLOCK 0 NOSUCH");
        other.Run("CLIENT UNBLOCK x");
    }

    [Fact]
    public void Blocked_client_is_listed_as_blocked_and_can_be_killed()
    {
        PairedConnection waiting = Open();
        PairedConnection other = Open();
        waiting.Run("CLIENT SETNAME waiting");
        other.Run(waiting, facts => $"CLIENT UNBLOCK {facts.Id}");
        waiting.Send("BLPOP k 0");
        Pair.WaitForBlocked(1);
        Assert.Contains("name=waiting", other.Run("CLIENT LIST TYPE normal").Text, StringComparison.Ordinal);
        other.Run(waiting, facts => $"CLIENT KILL ID {facts.Id}", isWaiting: true).IsInteger(1);
        other.Run("RPUSH k 1");
        other.Run("LLEN k").IsInteger(1);
        Assert.True(waiting.Raw("").Closed);
    }
}
