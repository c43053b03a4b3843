using System.Text;

namespace RedKite.Bench.Tests;

/// <summary>Reply boundaries, at every split of the input.</summary>
public class ReplyScannerTests
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

    // Feeds the bytes in pieces; as in a connection, unconsumed bytes precede the next piece.
    private static List<string> Scan(byte[] bytes, int pieceBytes)
    {
        var scanner = new ReplyScanner();
        List<string> kinds = [];
        int done = 0;
        for (int end = Math.Min(pieceBytes, bytes.Length); ; end = Math.Min(end + pieceBytes, bytes.Length))
        {
            int at = 0;
            while (scanner.TryFinish(bytes.AsSpan(done, end - done), ref at, out ReplyKind kind))
            {
                kinds.Add(kind.ToString());
                if (kind == ReplyKind.Malformed) return kinds;
            }

            done += at;
            if (end == bytes.Length) break;
        }

        Assert.Equal(bytes.Length, done);
        return kinds;
    }
}
