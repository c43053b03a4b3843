using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>
/// Requests as raw bytes: complete, truncated and invalid. Compares all bytes that come back, and whether the connection stays open.
/// </summary>
[Collection(TranscriptCollection.Name)]
public sealed class ProtocolTests(TranscriptServers servers) : TranscriptTests(servers)
{
    private const string Ping = "*1\r\n$4\r\nPING\r\n";

    public static TheoryData<string> Requests =>
    [
        // Inline commands.
        "PING\r\n", "PING\n", "  PING  \r\n", "PING hi\r\n", "PING\thi\r\n", "ping 'a b'\r\n", "PING\r\nPING\r\nPING\r\n", "\r\nPING\r\n", "\r\n\r\n\n\nPING\r\n",
        "   \r\nPING\r\n", "PING", "PING\r", "\r", "\n",
        "ECHO \"a\\x41\\n\\r\\t\\b\\a\\\\\\\"\"\r\n", "ECHO \"\\xzz\"\r\n", "ECHO \"\\x4\"\r\n", "ECHO 'it\\'s'\r\n", "ECHO 'a\\nb'\r\n", "ECHO \"\"\r\n", "ECHO ''\r\n",
        "ECHO \"unbalanced\r\n", "ECHO 'unbalanced\r\n", "ECHO \"a\"b\r\n", "ECHO 'a'b\r\n", "ECHO a\"b\"\r\n", "ECHO \"a\" \"b\r\n", "ECHO \"a\\\r\n", "PING\r\nECHO \"x\r\nPING\r\n",
        "SET k v\r\nGET k\r\n", "ECHO \0x\r\n", "ECHO \xff\xfe\r\n", "nosuch a b\r\n", "GET\r\n", "+PING\r\n", "$4\r\nPING\r\n", ":1\r\n", "-ERR x\r\n", "PING\rPING\r\n",
        // Arrays of bulk strings.
        Ping, Ping + Ping, "*1\r\n$4\r\nping\r\n", "*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", "*2\r\n$4\r\nECHO\r\n$2\r\n\r\n\r\n", "*1\r\n$0\r\n\r\n", "*2\r\n$0\r\n\r\n$1\r\nx\r\n",
        "*1\n$4\nPING\n", "*1\r\n$4\r\nPINGxx" + Ping, "*1\r\n$4\r\nPI", "*1\r\n$4", "*1\r\n", "*1", "*",
        // Multibulk lengths.
        "*0\r\n", "*0\r\n" + Ping, "*-1\r\n" + Ping, "*-10\r\n" + Ping, "*\r\n", "*abc\r\n", "*1x\r\n", "* 1\r\n", "*1 \r\n", "*01\r\n", "*+1\r\n", "*-0\r\n",
        "*1048576\r\n", "*1048577\r\n", "*2147483647\r\n", "*2147483648\r\n", "*9223372036854775808\r\n", "*-2147483649\r\n" + Ping, Ping + "*abc\r\n" + Ping,
        // Invalid bulk headers.
        "*1\r\nPING\r\n", "*1\r\n:4\r\n", "*1\r\n+PING\r\n", "*1\r\n*1\r\n$4\r\nPING\r\n", "*1\r\n\r\n", "*2\r\n$4\r\nECHO\r\nhello\r\n", "*1\r\n\xff\r\n", "*1\r\n\0\r\n",
        // Bulk lengths.
        "*1\r\n$\r\n", "*1\r\n$-1\r\n", "*1\r\n$-2\r\n", "*1\r\n$abc\r\n", "*1\r\n$4x\r\n", "*1\r\n$04\r\nPING\r\n", "*1\r\n$+4\r\nPING\r\n", "*1\r\n$ 4\r\nPING\r\n",
        "*1\r\n$536870912\r\n", "*1\r\n$536870913\r\n", "*1\r\n$2147483648\r\n", "*1\r\n$9223372036854775808\r\n", "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$-1\r\n", Ping + "*1\r\n$x\r\n" + Ping,
        // Web browsers' requests are refused without a reply.
        "POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", "post / HTTP/1.1\r\n", "Host: localhost\r\n", "HOST: x\r\nPING\r\n", "PING\r\nHost: x\r\nPING\r\n", "GET / HTTP/1.1\r\n",
        "*1\r\n$4\r\nPOST\r\n", "*2\r\n$5\r\nhost:\r\n$1\r\nx\r\n",
        // The end.
        "QUIT\r\n", "QUIT\r\nPING\r\n", Ping + "*1\r\n$4\r\nQUIT\r\n" + Ping, "QUIT now please\r\n",
    ];

    [Theory]
    [MemberData(nameof(Requests))]
    public void Protocol_replies_match_redis_byte_for_byte(string request) => Open().Raw(request);

    [Fact]
    public void Unterminated_inline_request_is_refused_at_its_limit() => Open().Raw(new string('a', 64 * 1024 + 1));

    [Fact]
    public void Inline_request_below_the_limit_is_accepted() => Open().Raw("ECHO " + new string('a', 60_000) + "\r\n");

    [Fact]
    public void Unterminated_multibulk_length_is_refused_at_its_limit() => Open().Raw("*" + new string('1', 64 * 1024 + 1));

    [Fact]
    public void Unterminated_bulk_length_is_refused_at_its_limit() => Open().Raw("*1\r\n$" + new string('1', 64 * 1024 + 1));

    [Fact]
    public void Bytes_sent_one_by_one_form_the_same_commands()
    {
        PairedConnection connection = Open();
        string request = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\na\r\nb\r\nGET k\r\n\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n";
        string replies = string.Concat(request.Select(c => System.Text.Encoding.Latin1.GetString(SendOne(connection, c))));
        Assert.Equal("+OK\r\n$4\r\na\r\nb\r\n$4\r\na\r\nb\r\n", replies);

        static byte[] SendOne(PairedConnection connection, char c)
        {
            connection.SendBytes(c.ToString());
            return c == '\n' ? connection.Raw("").Bytes : [];
        }
    }

    [Fact]
    public void Argument_above_proto_max_bulk_len_is_refused()
    {
        PairedConnection admin = Open();
        admin.Run("CONFIG SET proto-max-bulk-len 1048576").IsOk();
        try
        {
            PairedConnection connection = Open();
            connection.Raw("*2\r\n$4\r\nECHO\r\n$1048577\r\n");
            admin.Run("SETRANGE k 1048576 x");
            admin.Run("SETRANGE k 1048575 x").IsInteger(1_048_576);
            admin.Run("APPEND k x");
        }
        finally
        {
            admin.Run("CONFIG SET proto-max-bulk-len 536870912").IsOk();
        }
    }
}
