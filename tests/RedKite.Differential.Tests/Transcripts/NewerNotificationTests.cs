using System.Text;
using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>The events overwritten and type_changed, and those of newer commands, compared with Redis 8.6.</summary>
public sealed class NewerNotificationTests(NewerServers servers) : IClassFixture<NewerServers>
{
    private const string Subscription = "PSUBSCRIBE __keyevent@0__:*";

    private static readonly string[] Data =
        ["FLUSHALL", "SET a x", "SET k v", "RPUSH l x", "SADD st a b", "SADD st2 b c", "ZADD z 1 a", "HSET h a b", "XADD x 1-1 f v", "XADD x 2-1 f v", "XGROUP CREATE x g 0", "XREADGROUP GROUP g c STREAMS x >", "GEOADD g 13 38 P"];

    private static readonly string[] Commands =
    [
        "SET a y", "SET l x", "GETSET a z", "SETEX a 10 x", "MSET a 1 b 2 st 1", "MSETEX 3 a 1 z 2 b 3", "MSETEX 2 a 1 b 2 EX 100", "MSETEX 1 a 1 PXAT 5", "MSETNX q 1", "SET a 1 EX 10", "SET a 2 IFEQ x", "SET a 2 IFEQ y", "SET a 2 GET",
        "APPEND a x", "SETRANGE a 0 z", "INCR n", "COPY a l REPLACE", "COPY a k REPLACE", "COPY a new", "RENAME a k", "RENAME a l", "RENAMENX a new", "SINTERSTORE st st st2", "SUNIONSTORE a st st2", "SDIFFSTORE z st st2",
        "SINTERSTORE a st missing", "ZUNIONSTORE z 1 z", "ZUNIONSTORE a 1 z", "ZDIFFSTORE st 1 z", "ZINTERSTORE new 1 z", "ZRANGESTORE z z 0 -1", "ZRANGESTORE a z 0 -1", "GEOSEARCHSTORE a g FROMMEMBER P BYRADIUS 10 km",
        "SORT st ALPHA STORE a", "SORT l ALPHA STORE new", "BITOP OR a a k", "BITOP OR l a k", "BITOP DIFF a a k", "BITOP ONE a k", "PFADD p a", "PFMERGE p2 p", "DELEX a IFEQ x", "DELEX l", "HSETEX h FIELDS 1 a c EX 100", "HEXPIRE h 10 FIELDS 1 a NX",
        "XDELEX x IDS 1 1-1", "XACKDEL x g DELREF IDS 2 1-1 2-1", "XADD x ACKED MAXLEN 0 5-1 f v", "XTRIM x MAXLEN 0 DELREF", "XCFGSET x IDMP-DURATION 5", "XREADGROUP GROUP g c2 CLAIM 0 STREAMS x >", "XGROUP SETID x g 0 ENTRIESREAD 9",
    ];

    [Fact]
    public void Commands_report_the_same_events()
    {
        ServerPair pair = servers.Pair;
        foreach (string command in Commands) Assert.Equal((command, Events(pair.Oracle, command)), (command, Events(pair.Subject, command)));
    }

    [Fact]
    public void Restored_values_report_the_same_events()
    {
        ServerPair pair = servers.Pair;
        foreach (string source in (string[])["k", "l"])
        {
            foreach (string target in (string[])["a", "l", "new"])
            {
                foreach (string options in (string[])["0 REPLACE", "100000 REPLACE", "5 REPLACE ABSTTL", "5 ABSTTL", "0"])
                {
                    string What(ServerPair.Side side) => Events(side, options, payloadOf: source, target);
                    Assert.Equal((source, target, options, What(pair.Oracle)), (source, target, options, What(pair.Subject)));
                }
            }
        }
    }

    private static string Events(ServerPair.Side side, string command, string? payloadOf = null, string target = "")
    {
        RespConnection control = side.Control;
        control.Run("CONFIG SET notify-keyspace-events KEocg$lshzxetd").IsOk();
        foreach (string line in Data) Assert.False(control.Run(line).IsError);
        using RespConnection subscriber = RespConnection.Connect(side.Server.Port);
        subscriber.Send(CommandLine.Encode(CommandLine.Split(Subscription)));
        subscriber.ReadAny();
        string before = ExpiredKeys(control);
        string reply = payloadOf is null ? control.Run(command).ToString() : Restore(control, command.Split(' '), payloadOf, target).ToString();
        control.Run("PUBLISH __keyevent@0__:end x");
        var events = new List<string> { command[0] == 'X' && command.Contains("CLAIM", StringComparison.Ordinal) ? "" : reply };
        while (subscriber.ReadAny() is var message && !message.Items[2].Text.EndsWith(":end", StringComparison.Ordinal)) events.Add($"{message.Items[2].Text[(message.Items[2].Text.IndexOf(':') + 1)..]} {message.Items[3].Text}");
        if (payloadOf is not null && before != ExpiredKeys(control)) events.Add("counted as expired");
        control.Run("CONFIG SET notify-keyspace-events ''").IsOk();
        return string.Join(", ", events);
    }

    private static RespValue Restore(RespConnection control, string[] options, string source, string target)
    {
        byte[] payload = control.Run("DUMP " + source).Payload!;
        return control.Run([Encoding.ASCII.GetBytes("RESTORE"), Encoding.ASCII.GetBytes(target), Encoding.ASCII.GetBytes(options[0]), payload, .. options[1..].Select(Encoding.ASCII.GetBytes)]);
    }

    private static string ExpiredKeys(RespConnection control) => control.Run("INFO stats").Text.Split("\r\n").First(line => line.StartsWith("expired_keys:", StringComparison.Ordinal));
}
