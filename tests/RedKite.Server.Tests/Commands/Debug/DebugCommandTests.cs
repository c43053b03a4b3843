using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

public class DebugCommandTests
{
    [Fact]
    public async Task Debug_is_refused_unless_enabled()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        Assert.StartsWith("ERR DEBUG command not allowed.", server.Run("DEBUG SLEEP 0").Text);
        await using LiveServer local = await LiveServer.StartAsync("enable-debug-command", "local");
        local.Run("DEBUG SLEEP 0").IsOk();
    }

    [Fact]
    public async Task Populate_refuses_a_prefix_that_it_would_cut()
    {
        await using LiveServer server = await LiveServer.StartAsync("enable-debug-command", "yes");
        server.Run($"DEBUG POPULATE 1 {new string('p', (1 << 20) + 1)}").IsError("ERR a prefix has at most 1048576 bytes");
        server.Run($"DEBUG POPULATE 1 {new string('p', 1 << 20)}").IsOk();
        Assert.Equal(1, server.Run("DBSIZE").Number);
    }

    [Fact]
    public async Task Debug_object_shows_the_encoding()
    {
        await using LiveServer server = await LiveServer.StartAsync("enable-debug-command", "yes");
        server.Run("SET short b").IsOk();
        server.Run("SET number 300").IsOk();
        Assert.Matches("^Value at:0x[0-9a-f]+ refcount:1 encoding:embstr serializedlength:2 lru:[0-9]+ lru_seconds_idle:[01]$", server.Run("DEBUG OBJECT short").Text);
        Assert.Contains(" encoding:int serializedlength:3 ", server.Run("DEBUG OBJECT number").Text, StringComparison.Ordinal);
        server.Run("DEBUG OBJECT nope").IsError("ERR no such key");
    }

    // Nothing that is compressed: the two servers compress in their own ways.
    [Theory]
    [InlineData("SET key value")]
    [InlineData("SET key 12345")]
    [InlineData("SET key -129")]
    [InlineData("SET key 12345678901234567890")]
    [InlineData("RPUSH key a b c 1 2 3 some-longer-element")]
    [InlineData("SADD key 1 2 70000")]
    [InlineData("SADD key a b c")]
    [InlineData("HSET key field value number 1")]
    [InlineData("ZADD key 1 a 2.5 b")]
    [InlineData("XADD key 1-1 field value")]
    public async Task Serialized_length_matches_redis(string command)
    {
        using Oracle oracle = new("--save", "", "--enable-debug-command", "yes");
        await using LiveServer server = await LiveServer.StartAsync("enable-debug-command", "yes");
        oracle.Run([.. CommandLine.SplitText(command)]);
        server.Run(command);
        Assert.Equal(LengthIn(oracle.RunText("DEBUG", "OBJECT", "key")), LengthIn(server.Run("DEBUG OBJECT key").Text));

        static string LengthIn(string text) => text.Split(' ').Single(word => word.StartsWith("serializedlength:", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Populate_adds_missing_keys()
    {
        await using LiveServer server = await LiveServer.StartAsync("enable-debug-command", "yes");
        server.Run("SET key:1 mine").IsOk();
        server.Run("DEBUG POPULATE 3").IsOk();
        server.Run("GET key:1").IsBulk("mine");
        server.Run("GET key:2").IsBulk("value:2");
        server.Run("DEBUG POPULATE 2 other 10").IsOk();
        server.Run("GET other:0").IsBulk("value:0\0\0\0");
        server.Run("DBSIZE").IsInteger(5);
        server.Run("DEBUG POPULATE x").IsError("ERR value is out of range, must be positive");
    }

    [Fact]
    public async Task Expired_keys_stay_while_active_expiry_is_off()
    {
        await using LiveServer server = await LiveServer.StartAsync("enable-debug-command", "yes");
        server.Run("DEBUG SET-ACTIVE-EXPIRE 0").IsOk();
        server.Run("SET a 1 PX 1").IsOk();
        await Task.Delay(600, TestContext.Current.CancellationToken);
        server.Run("DBSIZE").IsInteger(1);
        server.Run("DEBUG SET-ACTIVE-EXPIRE 1").IsOk();
        RespValue size = server.Run("DBSIZE");
        for (int i = 0; size.Number > 0 && i < 3_000; i++)
        {
            await Task.Delay(20, TestContext.Current.CancellationToken);
            size = server.Run("DBSIZE");
        }

        size.IsInteger(0);
    }

    [Fact]
    public async Task Debug_protocol_replies_each_type()
    {
        await using LiveServer server = await LiveServer.StartAsync("enable-debug-command", "yes");
        Expect("map", "*6\r\n:0\r\n:0\r\n:1\r\n:1\r\n:2\r\n:0\r\n");
        Expect("double", "$5\r\n3.141\r\n");
        Expect("true", ":1\r\n");
        Expect("bignum", "$37\r\n1234567999999999999999999999999999999\r\n");
        server.Run("DEBUG PROTOCOL push").IsError("ERR RESP2 is not supported by this command");

        server.UseResp3();
        Expect("map", "%3\r\n:0\r\n#f\r\n:1\r\n#t\r\n:2\r\n#f\r\n");
        Expect("double", ",3.141\r\n");
        Expect("set", "~3\r\n:0\r\n:1\r\n:2\r\n");
        Expect("null", "_\r\n");
        Expect("verbatim", "=29\r\ntxt:This is a verbatim\nstring\r\n");
        Expect("bignum", "(1234567999999999999999999999999999999\r\n");
        Expect("attrib", "|1\r\n$14\r\nkey-popularity\r\n*2\r\n$7\r\nkey:123\r\n:90\r\n$39\r\nSome real reply following the attribute\r\n");
        Expect("push", "$40\r\nSome real reply following the push reply\r\n>2\r\n$16\r\nserver-cpu-usage\r\n:42\r\n");

        void Expect(string type, string bytes)
        {
            server.Client.SendCommand("DEBUG PROTOCOL " + type);
            (byte[] received, _) = server.Client.ReadUntilQuiet(quietMs: 20, expectedBytes: bytes.Length);
            Assert.Equal(bytes, System.Text.Encoding.Latin1.GetString(received));
        }
    }

    [Theory]
    [InlineData("DEBUG foo", "ERR unknown subcommand or wrong number of arguments for 'foo'. Try DEBUG HELP.")]
    [InlineData("DEBUG SLEEP", "ERR unknown subcommand or wrong number of arguments for 'SLEEP'. Try DEBUG HELP.")]
    [InlineData("DEBUG ERROR \"OOPS it\\r\\nbroke\"", "OOPS it  broke")]
    [InlineData("DEBUG QUICKLIST-PACKED-THRESHOLD 5gb", "ERR argument must be a memory value bigger than 1 and smaller than 4gb")]
    [InlineData("DEBUG RELOAD foo", "ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.")]
    public async Task Errors_name_the_problem(string line, string error)
    {
        await using LiveServer server = await LiveServer.StartAsync("enable-debug-command", "yes");
        server.Run(line).IsError(error);
    }

    [Fact]
    public async Task Change_repl_id_sets_a_new_id()
    {
        await using LiveServer server = await LiveServer.StartAsync("enable-debug-command", "yes");
        string before = server.Info("replication", "master_replid");
        server.Run("DEBUG CHANGE-REPL-ID").IsOk();
        Assert.NotEqual(before, server.Info("replication", "master_replid"));
    }

    [Fact]
    public async Task Reload_keeps_values_encodings_and_expiries()
    {
        using var folder = new TemporaryFolder();
        await using LiveServer server = await LiveServer.StartAsync("enable-debug-command", "yes", "databases", "3", "dir", folder.Path);
        foreach (int database in (int[])[0, 2])
        {
            server.Run($"SELECT {database}").IsOk();
            server.Run("SET string hello").IsOk();
            server.Run("SET number 42 PXAT 4102444800000").IsOk();
            server.Run("SADD ints 1 2 3").IsInteger(3);
            server.Run("HSET packed a 1 b 2").IsInteger(2);
            server.Run("HSET expiring a 1 b 2").IsInteger(2);
            server.Run("HEXPIREAT expiring 4102444800 FIELDS 1 a");
            for (int i = 0; i < 600; i++)
            {
                server.Run($"RPUSH list element:{i}").IsInteger(i + 1);
                server.Run($"SADD set member:{i}").IsInteger(1);
                server.Run($"ZADD zset {i} member:{i}").IsInteger(1);
                server.Run($"HSET hash field:{i} {i}").IsInteger(1);
                server.Run($"XADD stream {i + 1}-0 f {i}");
            }

            server.Run("XGROUP CREATE stream group 0").IsOk();
            server.Run("XREADGROUP GROUP group consumer COUNT 10 STREAMS stream >");
        }

        string digest = server.Run("DEBUG DIGEST").Text;
        string[] questions = ["OBJECT ENCODING string", "OBJECT ENCODING number", "OBJECT ENCODING ints", "OBJECT ENCODING packed", "OBJECT ENCODING list",
            "OBJECT ENCODING set", "OBJECT ENCODING zset", "OBJECT ENCODING hash", "PEXPIRETIME number", "HPEXPIRETIME expiring FIELDS 2 a b", "XPENDING stream group",
            "XINFO STREAM stream", "DBSIZE"];
        RespValue[] before = [.. questions.Select(server.Run)];
        server.Run("DEBUG RELOAD").IsOk();
        Assert.Equal(digest, server.Run("DEBUG DIGEST").Text);
        Assert.Equal(before, questions.Select(server.Run));
        server.Run("HPEXPIRETIME expiring FIELDS 2 a b").Items[0].IsInteger(4102444800000);

        server.Run("SET string other").IsOk();
        Assert.NotEqual(digest, server.Run("DEBUG DIGEST").Text);
    }

    [Fact]
    public async Task Reload_keeps_negative_zero_in_sorted_set_tables()
    {
        using var folder = new TemporaryFolder();
        await using LiveServer server = await LiveServer.StartAsync("enable-debug-command", "yes", "dir", folder.Path, "zset-max-listpack-entries", "8", "zset-max-listpack-value", "20");
        server.Run("ZADD zset 5 a 1 b 2 c 3 d 4 \"a member of more than twenty bytes\"").IsInteger(5);
        server.Run("ZADD zset -0 a -0 e").IsInteger(1);
        string digest = server.Run("DEBUG DIGEST").Text;
        server.Run("DEBUG RELOAD").IsOk();
        Assert.Equal(digest, server.Run("DEBUG DIGEST").Text);
        server.Run("ZSCORE zset a").IsBulk("-0");
        server.Run("ZSCORE zset e").IsBulk("-0");
    }
}
