using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

public sealed class StringCommandsTests : IAsyncLifetime
{
    private const string NotAnInteger = "ERR value is not an integer or out of range";
    private const string TooLong = "ERR string exceeds maximum allowed size (proto-max-bulk-len)";

    private readonly CommandTranscript _transcript = new();

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Fact]
    public void Keys_of_a_multi_key_command_are_found_individually()
    {
        const int Keys = 300;
        IEnumerable<int> numbers = Enumerable.Range(0, Keys);
        Run("MSET " + string.Join(' ', numbers.Select(i => $"key:{i} value:{i}"))).IsOk();
        Run("MGET nosuch " + string.Join(' ', numbers.Select(i => $"key:{i}")) + " key:0").IsArray([null, .. numbers.Select(i => $"value:{i}"), "value:0"]);
        Run("MSET key:0 a key:1 b key:0 c").IsOk();
        Run("MGET key:1 key:0").IsArray("b", "c");
        Run("EXISTS key:1 key:1 nosuch key:299").IsInteger(3);
        Run("DEL " + string.Join(' ', numbers.Select(i => $"key:{i}")) + " key:0").IsInteger(Keys);
        Run("DBSIZE").IsInteger(0);
    }

    [Fact]
    public void Get_returns_the_value_and_null_for_a_missing_key()
    {
        Run("GET k").IsNull();
        Run("SET k v").IsOk();
        Run("GET k").IsBulk("v");
        Run("SET k ''").IsOk();
        Run("GET k").IsBulk("");
    }

    [Theory]
    [InlineData("GET missing")]
    [InlineData("SET missing v XX")]
    [InlineData("SET missing v GET")]
    [InlineData("GETSET missing v")]
    [InlineData("GETDEL missing")]
    [InlineData("GETEX missing EX 10")]
    public void Missing_value_is_the_resp3_null(string line)
    {
        Run("HELLO 3");
        Run(line).Is(RespValue.Null('_'));
    }

    [Fact]
    public void Set_NX_writes_only_a_missing_and_XX_only_an_existing_key()
    {
        Run("SET k v XX").IsNull();
        Run("SET k v nx").IsOk();
        Run("SET k w NX").IsNull();
        Run("SET k w XX").IsOk();
        Run("SET k x NX XX").IsError("ERR syntax error");
        Run("GET k").IsBulk("w");
    }

    [Fact]
    public void Set_with_GET_always_returns_the_old_value()
    {
        Run("SET k a GET").IsNull();
        Run("SET k b NX GET").IsBulk("a");
        Run("SET k c XX GET").IsBulk("a");
        Run("SET m c XX GET").IsNull();
        Run("GET k").IsBulk("c");
        Run("GET m").IsNull();
    }

    [Theory]
    [InlineData("EX 10", 10_000)]
    [InlineData("PX 10", 10)]
    [InlineData("EX 10 EX 20", 20_000)]
    [InlineData("EXAT 1800000001", 1_000)]
    [InlineData("PXAT 1800000000001", 1)]
    public void Set_applies_the_expiry_of_its_options(string options, long fromNowMs)
    {
        Run($"SET k v {options}").IsOk();
        Assert.Equal(_transcript.NowMs + fromNowMs, _transcript.ExpiryOf("k"));
        _transcript.Advance(fromNowMs - 1);
        Run("GET k").IsBulk("v");
        _transcript.Advance(1);
        Run("GET k").IsNull();
    }

    [Fact]
    public void Set_removes_the_expiry_unless_KEEPTTL_is_given()
    {
        Run("SET k v EX 10").IsOk();
        Run("SET k longer-value-than-it-was KEEPTTL").IsOk();
        Assert.Equal(_transcript.NowMs + 10_000, _transcript.ExpiryOf("k"));
        Run("SET k v").IsOk();
        Assert.Null(_transcript.ExpiryOf("k"));
        Run("SET new v KEEPTTL").IsOk();
        Assert.Null(_transcript.ExpiryOf("new"));
    }

    [Fact]
    public void Set_with_an_absolute_time_in_the_past_leaves_no_key()
    {
        Run("SET k v").IsOk();
        Run("SET k w EXAT 1").IsOk();
        Run("GET k").IsNull();
    }

    [Theory]
    [InlineData("SET k v EX")]
    [InlineData("SET k v EX 10 PX 10")]
    [InlineData("SET k v EX 10 KEEPTTL")]
    [InlineData("SET k v KEEPTTL PXAT 10")]
    [InlineData("SET k v PERSIST")]
    [InlineData("SET k v EX abc NOPE")]
    [InlineData("GETEX k EX 10 PERSIST")]
    [InlineData("GETEX k NX")]
    [InlineData("GETEX k KEEPTTL")]
    public void Invalid_options_are_a_syntax_error(string line) => Run(line).IsError("ERR syntax error");

    [Theory]
    [InlineData("SET k v EX 0", "set")]
    [InlineData("SET k v PX -1", "set")]
    [InlineData("SET k v PXAT 0", "set")]
    [InlineData("SET k v EX 9223372036854775", "set")]
    [InlineData("SET k v EXAT 9223372036854776", "set")]
    [InlineData("SET k v PX 9223372036854775807", "set")]
    [InlineData("SETEX k 0 v", "setex")]
    [InlineData("SETEX k 9223372036854775807 v", "setex")]
    [InlineData("PSETEX k -1 v", "psetex")]
    public void Times_out_of_range_are_refused_with_the_command_name(string line, string name)
    {
        Run(line).IsError($"ERR invalid expire time in '{name}' command");
        Run("GET k").IsNull();
    }

    [Fact]
    public void Setex_and_psetex_set_value_and_expiry()
    {
        Run("SETEX k 10 v").IsOk();
        Assert.Equal(_transcript.NowMs + 10_000, _transcript.ExpiryOf("k"));
        Run("PSETEX k 10 w").IsOk();
        Assert.Equal(_transcript.NowMs + 10, _transcript.ExpiryOf("k"));
        Run("GET k").IsBulk("w");
        Run("SETEX k x v").IsError(NotAnInteger);
    }

    [Fact]
    public void Setnx_writes_only_a_missing_key()
    {
        Run("SETNX k v").IsInteger(1);
        Run("SETNX k w").IsInteger(0);
        Run("GET k").IsBulk("v");
    }

    [Fact]
    public void Getex_sets_changes_and_removes_the_expiry()
    {
        Run("GETEX k EX 10").IsNull();
        Run("SET k v").IsOk();
        Run("GETEX k").IsBulk("v");
        Run("GETEX k EX 10").IsBulk("v");
        Assert.Equal(_transcript.NowMs + 10_000, _transcript.ExpiryOf("k"));
        Run("GETEX k PERSIST").IsBulk("v");
        Assert.Null(_transcript.ExpiryOf("k"));
        Run("GETEX k PXAT 1").IsBulk("v");
        Run("GET k").IsNull();
    }

    [Fact]
    public void Getex_checks_the_time_only_if_the_key_exists()
    {
        Run("GETEX k EX 0").IsNull();
        Run("SET k v").IsOk();
        Run("GETEX k EX 0").IsError("ERR invalid expire time in 'getex' command");
        Run("GETEX k EX abc").IsError(NotAnInteger);
    }

    [Fact]
    public void Getdel_returns_and_deletes()
    {
        Run("SET k v").IsOk();
        Run("GETDEL k").IsBulk("v");
        Run("GETDEL k").IsNull();
    }

    [Fact]
    public void Getset_returns_the_old_value_and_removes_the_expiry()
    {
        Run("GETSET k a").IsNull();
        Run("SET k b EX 10").IsOk();
        Run("GETSET k c").IsBulk("b");
        Assert.Null(_transcript.ExpiryOf("k"));
    }

    [Fact]
    public void Mset_and_mget_use_the_last_value_of_a_repeated_key()
    {
        Run("MSET a 1 b 2 a 3").IsOk();
        Run("MGET a missing b").Is(RespValue.Aggregate('*', [Bulk("3"), RespValue.Null('$'), Bulk("2")]));
        Run("MSET a 1 b").IsError("ERR wrong number of arguments for 'mset' command");
        Run("MSETNX a 1 b").IsError("ERR wrong number of arguments for 'msetnx' command");
    }

    [Fact]
    public void Msetnx_writes_all_keys_or_none()
    {
        Run("MSETNX a 1 b 2").IsInteger(1);
        Run("MSETNX c 3 b 4").IsInteger(0);
        Run("GET c").IsNull();
        Run("GET b").IsBulk("2");
    }

    [Fact]
    public void Append_creates_extends_and_keeps_the_expiry()
    {
        Run("APPEND k 12").IsInteger(2);
        Assert.Equal(ValueEncoding.Integer, _transcript.EncodingOf("k"));
        Run("GETEX k EX 10").IsBulk("12");
        Run("APPEND k 34").IsInteger(4);
        Run("GET k").IsBulk("1234");
        Assert.Equal(ValueEncoding.Raw, _transcript.EncodingOf("k"));
        Assert.Equal(_transcript.NowMs + 10_000, _transcript.ExpiryOf("k"));
    }

    [Fact]
    public void Append_beyond_the_embedded_form_keeps_every_byte()
    {
        var expected = new System.Text.StringBuilder();
        for (int i = 0; i < 700; i++)
        {
            string part = new((char)('a' + (i % 26)), 100);
            expected.Append(part);
            Run($"APPEND k {part}").IsInteger(expected.Length);
        }

        Run("GET k").IsBulk(expected.ToString());
        Run("STRLEN k").IsInteger(70_000);
    }

    [Theory]
    [InlineData("5", nameof(ValueEncoding.Integer))]
    [InlineData("-9223372036854775808", nameof(ValueEncoding.Integer))]
    [InlineData("9223372036854775808", nameof(ValueEncoding.Embedded))]
    [InlineData("05", nameof(ValueEncoding.Embedded))]
    [InlineData("''", nameof(ValueEncoding.Embedded))]
    [InlineData("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", nameof(ValueEncoding.Embedded))]
    [InlineData("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", nameof(ValueEncoding.Raw))]
    public void Set_chooses_the_encoding_as_in_redis(string value, string encoding)
    {
        Run($"SET k {value}").IsOk();
        Assert.Equal(encoding, _transcript.EncodingOf("k").ToString());
    }

    [Fact]
    public void Setrange_overwrites_and_pads_with_zero_bytes()
    {
        Run("SETRANGE k 3 ab").IsInteger(5);
        Run("GET k").IsBulk("\0\0\0ab");
        Assert.Equal(ValueEncoding.Raw, _transcript.EncodingOf("k"));
        Run("SET k 'Hello World'").IsOk();
        Run("SETRANGE k 6 Redis").IsInteger(11);
        Run("SETRANGE k 13 !").IsInteger(14);
        Run("GET k").IsBulk("Hello Redis\0\0!");
    }

    [Fact]
    public void Setrange_of_nothing_changes_nothing()
    {
        Run("SETRANGE k 10 ''").IsInteger(0);
        Run("GET k").IsNull();
        Run("SET k 12").IsOk();
        Run("SETRANGE k 10 ''").IsInteger(2);
        Assert.Equal(ValueEncoding.Integer, _transcript.EncodingOf("k"));
    }

    [Theory]
    [InlineData("APPEND", "")]
    [InlineData("SETRANGE", "1000000")]
    public async Task Value_that_would_exceed_the_maximum_is_unchanged(string command, string offset)
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["proto-max-bulk-len"] = "1mb" } }, TestContext.Current.CancellationToken);
        string value = new('a', 1_000_000), more = new('b', 48_577); // one byte more than a MiB
        server.Execute("SET", "k", value);
        string[] words = [command, "k", .. offset.Length > 0 ? (string[])[offset] : [], more];
        Assert.Equal(TooLong, server.Execute(words).Text);
        Assert.Equal(value, server.Execute("GET", "k").Text);
        words[^1] = more[1..];
        Assert.Equal(1 << 20, server.Execute(words).Integer);
        Assert.Equal(value + more[1..], server.Execute("GET", "k").Text);
    }

    [Theory]
    [InlineData("-1", "ERR offset is out of range")]
    [InlineData("x", NotAnInteger)]
    [InlineData("536870912", TooLong)]
    [InlineData("9223372036854775807", TooLong)]
    public void Setrange_refuses_offsets_beyond_the_maximum(string offset, string error)
    {
        Run($"SETRANGE k {offset} x").IsError(error);
        Run("GET k").IsNull();
    }

    [Theory]
    [InlineData(0, -1, "Hello")]
    [InlineData(1, 3, "ell")]
    [InlineData(-3, -1, "llo")]
    [InlineData(-3, -4, "")]
    [InlineData(0, 100, "Hello")]
    [InlineData(5, 10, "")]
    [InlineData(-100, -50, "H")]
    [InlineData(-50, -100, "")]
    [InlineData(long.MinValue, long.MaxValue, "Hello")]
    public void Getrange_and_substr_count_from_either_end(long start, long end, string part)
    {
        Run("SET k Hello").IsOk();
        Run($"GETRANGE k {start} {end}").IsBulk(part);
        Run($"SUBSTR k {start} {end}").IsBulk(part);
        Run($"GETRANGE missing {start} {end}").IsBulk("");
    }

    private static RespValue Bulk(string text) => RespValue.Scalar('$', System.Text.Encoding.Latin1.GetBytes(text));

    private RespValue Run(string line) => _transcript.Run(line);
}
