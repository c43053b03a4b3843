using System.Text;
using RedKite.TestSupport;

namespace RedKite.Protocol.Tests;

/// <summary>The ends and contents of replies, wherever the bytes are cut.</summary>
public class ReplyReaderTests
{
    [Theory]
    [InlineData("+OK\r\n", "Value")]
    [InlineData(":12\r\n", "Value")]
    [InlineData("$-1\r\n", "Null")]
    [InlineData("*-1\r\n", "Null")]
    [InlineData("_\r\n", "Null")]
    [InlineData("$0\r\n\r\n", "Value")]
    [InlineData("$4\r\na\r\nb\r\n", "Value")]
    [InlineData("-ERR no\r\n", "Error")]
    [InlineData("!6\r\nERR no\r\n", "Error")]
    [InlineData("*0\r\n", "Value")]
    [InlineData("*3\r\n$-1\r\n:1\r\n$2\r\nab\r\n", "Value")]
    [InlineData("*2\r\n*2\r\n:1\r\n*0\r\n%1\r\n+a\r\n~2\r\n#t\r\n,1.5\r\n", "Value")]
    [InlineData("*1\r\n-ERR inside\r\n", "Value")]
    [InlineData("|1\r\n+ttl\r\n:3\r\n$2\r\nab\r\n", "Value")]
    [InlineData(">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n", "Push")]
    [InlineData("=7\r\ntxt:abc\r\n", "Value")]
    public void Reply_is_scanned_whole_and_in_pieces(string reply, string kind)
    {
        byte[] three = Encoding.UTF8.GetBytes(reply + reply + reply);
        Assert.Equal([kind, kind, kind], Scan(three, three.Length));
        Assert.Equal([kind, kind, kind], Scan(three, 1));
        Assert.Equal([kind, kind, kind], Scan(three, 3));
    }

    [Theory]
    [InlineData("hello\r\n")]
    [InlineData("$x\r\n")]
    [InlineData("+OK\n")]
    [InlineData("*99999999999999999999\r\n")]
    public void Invalid_resp_is_reported(string reply)
    {
        Assert.Equal("Malformed", Scan(Encoding.UTF8.GetBytes(reply), reply.Length).First());
    }

    // Bytes come in pieces; what the reader leaves comes again with the next one, as a connection does it.
    private static List<string> Scan(byte[] bytes, int pieceBytes)
    {
        var reader = new ReplyReader();
        List<string> kinds = [];
        int done = 0;
        for (int end = Math.Min(pieceBytes, bytes.Length); ; end = Math.Min(end + pieceBytes, bytes.Length))
        {
            int at = 0;
            while (reader.TrySkip(bytes.AsSpan(done, end - done), ref at, out ReplyClass kind))
            {
                kinds.Add(kind.ToString());
                if (kind == ReplyClass.Malformed) return kinds;
            }

            done += at;
            if (end == bytes.Length) break;
        }

        Assert.Equal(bytes.Length, done);
        return kinds;
    }

    [Theory]
    [InlineData("+OK\r\n", "+OK")]
    [InlineData(":-12\r\n", ":-12=-12")]
    [InlineData("$-1\r\n*-1\r\n_\r\n", "$null *null _null")]
    [InlineData("$0\r\n\r\n", "$0:")]
    [InlineData("$4\r\na\r\nb\r\n", "$4:a\r\nb")]
    [InlineData("-ERR no\r\n!6\r\nERR no\r\n", "-ERR no !6:ERR no")]
    [InlineData("*3\r\n$-1\r\n:1\r\n$2\r\nab\r\n", "*3 $null :1=1 $2:ab")]
    [InlineData("%2\r\n+a\r\n~1\r\n#t\r\n+b\r\n,1.5\r\n", "%4 +a ~1 #t +b ,1.5")]
    [InlineData("|1\r\n+ttl\r\n:3\r\n=7\r\ntxt:abc\r\n", "|2 +ttl :3=3 =7:txt:abc")]
    [InlineData(">2\r\n+invalidate\r\n(12345678901234567890\r\n", ">2 +invalidate (12345678901234567890")]
    public void Elements_are_read_whole_and_in_pieces(string replies, string elements)
    {
        byte[] bytes = Encoding.UTF8.GetBytes(replies);
        for (int pieceBytes = 1; pieceBytes <= bytes.Length; pieceBytes++) Assert.Equal(elements, ReadElements(bytes, pieceBytes));
    }

    [Theory]
    [InlineData("hello\r\n")]
    [InlineData("$x\r\n")]
    [InlineData("+OK\n")]
    [InlineData("+O\rK\r\n")]
    [InlineData("\r\n")]
    [InlineData("#x\r\n")]
    [InlineData("_x\r\n")]
    [InlineData(":1x\r\n")]
    [InlineData("~-1\r\n")]
    [InlineData("$2\r\nabcd")]
    [InlineData("*99999999999999999999\r\n")]
    public void Input_that_the_protocol_does_not_allow_is_malformed(string reply)
    {
        for (int pieceBytes = 1; pieceBytes <= reply.Length; pieceBytes++)
        {
            Assert.StartsWith("malformed", ReadElements(Encoding.UTF8.GetBytes(reply), pieceBytes), StringComparison.Ordinal);
        }
    }

    [Fact]
    public void Everything_that_a_writer_writes_is_read_back()
    {
        for (int seed = 0; seed < 100; seed++)
        {
            var random = new Random(seed);
            var writer = new ReplyWriter { Resp3 = random.Next(2) == 0 };
            int count = random.Next(1, 200);
            for (int i = 0; i < count; i++) WriteOne(random, writer);
            byte[] bytes = writer.Written.ToArray();
            writer.Clear();
            Assert.Equal(count, Scan(bytes, random.Next(1, 100)).Count);
            Assert.DoesNotContain("malformed", ReadElements(bytes, random.Next(1, 100)), StringComparison.Ordinal);
        }
    }

    [Fact]
    public void Reading_allocates_nothing()
    {
        byte[] bytes = Encoding.ASCII.GetBytes(string.Concat(Enumerable.Repeat("*3\r\n$-1\r\n:1\r\n$2\r\nab\r\n", 1000)));
        int replies = 0, elements = 0;
        long allocated = Allocations.LeastBytes(() =>
        {
            var skipping = new ReplyReader();
            int at = replies = elements = 0;
            while (skipping.TrySkip(bytes, ref at, out _)) replies++;
            var reading = new ReplyReader();
            at = 0;
            while (reading.TryRead(bytes, ref at, out _)) elements++;
        });
        Assert.Equal(0, allocated);
        Assert.Equal((1000, 4000), (replies, elements));
    }

    private static void WriteOne(Random random, ReplyWriter writer)
    {
        switch (random.Next(8))
        {
            case 0:
                writer.Ok();
                break;
            case 1:
                writer.Error("ERR no");
                break;
            case 2:
                writer.Integer(random.NextInt64());
                break;
            case 3:
                writer.Null();
                break;
            case 4:
                writer.Double(random.NextDouble());
                break;
            case 5:
                writer.Boolean(true);
                break;
            case 6:
                writer.Map(1);
                WriteOne(random, writer);
                WriteOne(random, writer);
                break;
            default:
                byte[] value = new byte[random.Next(2000)];
                random.NextBytes(value);
                writer.Bulk(value);
                break;
        }
    }

    private static string ReadElements(byte[] bytes, int pieceBytes)
    {
        var reader = new ReplyReader();
        var text = new StringBuilder();
        bool isWithin = false;
        int done = 0;
        for (int end = Math.Min(pieceBytes, bytes.Length); ; end = Math.Min(end + pieceBytes, bytes.Length))
        {
            int at = 0;
            while (reader.TryRead(bytes.AsSpan(done, end - done), ref at, out ReplyElement element))
            {
                if (element.Problem is not null) return "malformed: " + element.Problem;
                if (!isWithin) Begin(text, element);
                if (element.IsString && element.Number >= 0) text.Append(Encoding.Latin1.GetString(element.Bytes));
                isWithin = !element.IsWhole;
            }

            done += at;
            if (end == bytes.Length) break;
        }

        Assert.Equal(bytes.Length, done);
        return text.ToString();
    }

    private static void Begin(StringBuilder text, ReplyElement element)
    {
        if (text.Length > 0) text.Append(' ');
        text.Append((char)element.Marker);
        if (element.Number < 0 && element.Marker != ':') text.Append("null");
        else if (element.IsAggregate) text.Append(element.Number);
        else if (element.IsString) text.Append(element.Number).Append(':');
        else text.Append(Encoding.Latin1.GetString(element.Bytes));
        if (element.Marker == ':') text.Append('=').Append(element.Number);
    }
}
