using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>Transcripts of subscribers and publishers, on both servers.</summary>
[Collection(TranscriptCollection.Name)]
public sealed class PubSubTests(TranscriptServers servers) : TranscriptTests(servers)
{
    public static TheoryData<string, string> Scripts => new()
    {
        { "a message reaches the subscribers of its channel", """
            A: SUBSCRIBE a b
            A gets
            B: SUBSCRIBE a
            C: PUBLISH a hello
            A gets
            B gets
            C: PUBLISH b 1
            A gets
            C: PUBLISH c nobody
            C: PUBLISH a ""
            A gets
            B gets
            B gets nothing
            """ },
        { "a subscription twice counts once", """
            A: SUBSCRIBE a a
            A gets
            A: SUBSCRIBE a
            C: PUBLISH a x
            A gets
            A gets nothing
            C: PUBSUB NUMSUB a
            """ },
        { "patterns, and channels that match them", """
            A: PSUBSCRIBE news.*
            B: SUBSCRIBE news.art
            B: PSUBSCRIBE n?ws.[ab]rt
            C: PUBLISH news.art x
            A gets
            B gets
            B gets
            C: PUBLISH nxws.brt y
            B gets
            C: PUBLISH new y
            A gets nothing
            C: PUBSUB NUMPAT
            A: PUNSUBSCRIBE news.*
            C: PUBSUB NUMPAT
            C: PUBLISH news.art z
            B gets
            B gets
            A gets nothing
            """ },
        { "the end of subscriptions", """
            A: UNSUBSCRIBE
            A: PUNSUBSCRIBE
            A: SUNSUBSCRIBE
            A: UNSUBSCRIBE never
            A: SUBSCRIBE a
            A: PSUBSCRIBE p*
            A: UNSUBSCRIBE a
            A: GET k
            A: PUNSUBSCRIBE
            A: GET k
            A: SUBSCRIBE a b
            A gets
            A: UNSUBSCRIBE x y a
            A gets
            A gets
            A: UNSUBSCRIBE b
            A: PING
            C: PUBSUB CHANNELS
            """ },
        { "what a subscriber over RESP2 may do", """
            A: SUBSCRIBE a
            A: PING
            A: PING hello
            A: PING a b
            A: GET k
            A: get k
            A: NOSUCH
            A: HELLO 3
            A: CLIENT ID
            A: CONFIG GET port
            A: PUBLISH a x
            A: SUBSCRIBE
            A: PSUBSCRIBE b
            A: SSUBSCRIBE c
            A: ECHO x
            A: RESET
            A: PING
            A: GET k
            A: SSUBSCRIBE c
            A: GET k
            A: SUNSUBSCRIBE
            A: GET k
            A: SUBSCRIBE a
            A: QUIT
            A gets
            """ },
        { "what a subscriber over RESP3 may do", """
            A: HELLO 3
            A sends: SUBSCRIBE a b
            A gets push
            A gets push
            A: PING
            A: PING x
            A: SET k v
            A: GET k
            A: PUBSUB CHANNELS nosuch*
            A sends: PUBLISH a self
            A gets push
            A gets push
            B: PUBLISH b other
            A gets push
            A sends: PSUBSCRIBE *
            A gets push
            B: PUBLISH b other
            A gets push
            A gets push
            A sends: UNSUBSCRIBE b
            A gets push
            A sends: UNSUBSCRIBE
            A gets push
            A sends: UNSUBSCRIBE
            A gets push
            A sends: PUNSUBSCRIBE *
            A gets push
            A: PING
            A: RESET
            A: GET k
            """ },
        { "from one protocol to the other", """
            A: HELLO 3
            A sends: SUBSCRIBE a
            A gets push
            B: SUBSCRIBE a
            C: PUBLISH a 1
            A gets push
            B gets
            A: HELLO 2
            C: PUBLISH a 2
            A gets
            B gets
            A: GET k
            A: PING
            """ },
        { "sharded channels", """
            A: SSUBSCRIBE a b
            A gets
            A: SUBSCRIBE a
            A: SUBSCRIBE c
            B: PUBLISH a plain
            A gets
            B: SPUBLISH a sharded
            A gets
            B: PSUBSCRIBE *
            C: SPUBLISH b x
            A gets
            B gets nothing
            C: PUBSUB SHARDNUMSUB a b c
            C: PUBSUB NUMSUB a b c
            C: PUBSUB SHARDCHANNELS a*
            C: PUBSUB CHANNELS c
            A: SUNSUBSCRIBE a x
            A gets
            C: SPUBLISH a y
            A gets nothing
            C: PUBSUB SHARDCHANNELS
            """ },
        { "introspection and its errors", """
            A: PUBSUB
            A: PUBSUB NOSUCH
            A: PUBSUB CHANNELS
            A: PUBSUB CHANNELS a b
            A: PUBSUB NUMSUB
            A: PUBSUB NUMSUB a a
            A: PUBSUB NUMPAT
            A: PUBSUB NUMPAT x
            A: PUBSUB SHARDCHANNELS a b
            A: PUBSUB SHARDNUMSUB
            A: SUBSCRIBE
            A: PSUBSCRIBE
            A: SSUBSCRIBE
            A: PUBLISH a
            A: PUBLISH a b c
            A: SPUBLISH a
            B: SUBSCRIBE a1
            C: SUBSCRIBE a1
            C: PSUBSCRIBE a*
            A: PUBSUB CHANNELS
            A: PUBSUB CHANNELS a?
            A: PUBSUB CHANNELS b*
            A: PUBSUB NUMSUB a1 b
            A: PUBSUB NUMPAT
            B closes
            A: PUBSUB NUMSUB a1
            C closes
            A: PUBSUB NUMSUB a1
            A: PUBSUB NUMPAT
            A: PUBLISH a1 x
            """ },
        { "without replies, confirmations and messages come nevertheless", """
            A: CLIENT REPLY ON
            A sends: CLIENT REPLY OFF
            A sends: SUBSCRIBE a
            A gets
            A sends: PING
            A gets nothing
            B: PUBLISH a x
            A gets
            A sends: UNSUBSCRIBE a
            A gets
            A: CLIENT REPLY ON
            A sends: CLIENT REPLY SKIP
            A sends: SUBSCRIBE b
            A gets
            A: PING
            """ },
        { "a message to oneself follows the reply, within a pipeline too", """
            A: HELLO 3
            A sends: SUBSCRIBE a
            A gets push
            A sends: PUBLISH a 1
            A sends: PUBLISH a 2
            A gets push
            A gets push
            A gets push
            A gets push
            """ },
        { "bytes of any value", """
            A: SUBSCRIBE "a\\x00\\r\\n\\xff"
            B: PUBLISH "a\\x00\\r\\n\\xff" "\\x00\\x01\\r\\n"
            A gets
            A: PSUBSCRIBE "[\\x00-\\x05]*"
            B: PUBLISH "\\x03z" v
            A gets
            B: PUBLISH "" v
            A: PSUBSCRIBE ""
            B: PUBLISH "" v
            A gets
            """ },
        { "other clients are ended by type", """
            A: SUBSCRIBE a
            B: PSUBSCRIBE p
            C: CLIENT KILL TYPE pubsub
            A gets
            B gets
            C: PUBSUB CHANNELS
            C: PUBSUB NUMPAT
            C: PUBLISH a x
            C: CLIENT KILL TYPE pubsub
            """ },
        { "a pause of writes", """
            A: SUBSCRIBE a
            C: CLIENT PAUSE 60000 WRITE
            B sends: PUBLISH a x
            A gets nothing
            B gets nothing
            C: CLIENT UNPAUSE
            B gets
            A gets
            """ },
    };

    [Theory]
    [MemberData(nameof(Scripts))]
    public void Same_replies(string what, string script)
    {
        Assert.NotEmpty(what);
        ClientScript.Run(Pair, script);
    }

    // The fields of CLIENT LIST that depend on subscriptions.
    [Theory]
    [InlineData(2)]
    [InlineData(3)]
    public void Clients_are_listed_as_subscribers(int protocol)
    {
        string[] oracle = Lines(Pair.Oracle.Port), subject = Lines(Pair.Subject.Port);
        Assert.Equal(oracle, subject);

        string[] Lines(int port)
        {
            using RespConnection subscriber = RespConnection.Connect(port);
            using RespConnection control = RespConnection.Connect(port);
            subscriber.Run($"HELLO {protocol}");
            long id = subscriber.Run("CLIENT ID").Number;
            var lines = new List<string>();
            Note();
            foreach (string command in (string[])["SUBSCRIBE a b", "PSUBSCRIBE c", "SSUBSCRIBE d", "UNSUBSCRIBE a", "SUNSUBSCRIBE", "RESET"])
            {
                subscriber.SendCommand(command);
                subscriber.ReadAny();
                if (command == "SUBSCRIBE a b") subscriber.ReadAny();
                Note();
            }

            return [.. lines];

            void Note()
            {
                string line = control.Run($"CLIENT LIST ID {id}").Text;
                lines.Add(string.Join(' ', line.Split(' ').Where(field => field.Split('=')[0] is "flags" or "sub" or "psub" or "ssub" or "resp")));
                lines.Add(control.Run("CLIENT LIST TYPE pubsub").Text.Split('\n').Count(text => text.Contains($"id={id} ", StringComparison.Ordinal)).ToString(System.Globalization.CultureInfo.InvariantCulture));
                lines.Add(string.Join(' ', control.Run("INFO clients").Text.Split("\r\n").Where(text => text.StartsWith("pubsub_", StringComparison.Ordinal))));
                lines.Add(string.Join(' ', control.Run("INFO stats").Text.Split("\r\n").Where(text => text.StartsWith("pubsub", StringComparison.Ordinal))));
            }
        }
    }
}
