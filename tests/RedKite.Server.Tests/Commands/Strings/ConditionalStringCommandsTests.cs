using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

/// <summary>
/// Expected replies are those of the pages of https://redis.io/commands (set, delex, digest, msetex) and https://valkey.io/commands/delifeq.
/// MSETEX, DELIFEQ and SET IFEQ were compared with valkey-server 9.1.2, whose errors these are.
/// </summary>
public sealed class ConditionalStringCommandsTests : IAsyncLifetime
{
    private const string WrongType = "WRONGTYPE Operation against a key holding the wrong kind of value";
    private const string SyntaxError = "ERR syntax error";
    private const string BadDigest = "ERR must be exactly 16 hexadecimal characters";

    private readonly CommandTranscript _transcript = new();

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    // The digests of the examples of https://redis.io/commands/digest and of Dragonfly's page, and one with leading zeros of redis issue 14496.
    [Theory]
    [InlineData("Hello world", "b6acb9d84a38ff74")]
    [InlineData("Hello, Dragonfly!", "063b4909128e92b7")]
    [InlineData("test", "9ec9f7918d7dfc40")]
    [InlineData("v8lf0c11xh8ymlqztfd3eeq16kfn4sspw7fqmnuuq3k3t75em5wdizgcdw7uc26nnf961u2jkfzkjytls2kwlj7626sd", "00006c38adf31777")]
    public void Digest_is_xxh3_in_16_hexadecimal_digits(string value, string digest)
    {
        Run($"SET k '{value}'").IsOk();
        Run("DIGEST k").IsBulk(digest);
        Run($"SET k w IFDEQ {digest.ToUpperInvariant()}").IsOk();
        Run("GET k").IsBulk("w");
    }

    [Fact]
    public void Digest_of_a_missing_key_is_null_and_of_another_type_an_error()
    {
        Run("DIGEST k").IsNull();
        Run("RPUSH l a").IsInteger(1);
        Run("DIGEST l").IsError(WrongType);
    }

    [Fact]
    public void Set_if_equal_writes_only_over_the_value()
    {
        Run("SET k b IFEQ a").IsNull();
        Run("EXISTS k").IsInteger(0);
        Run("SET k a").IsOk();
        Run("SET k b ifeq a").IsOk();
        Run("SET k c IFEQ a").IsNull();
        Run("SET k c IFEQ a GET").IsBulk("b");
        Run("SET k c IFEQ b GET").IsBulk("b");
        Run("SET m c IFEQ b GET").IsNull();
        Run("GET k").IsBulk("c");
    }

    [Fact]
    public void Set_if_not_equal_creates_a_missing_key()
    {
        Run("SET k a IFNE b").IsOk();
        Run("SET k b IFNE a").IsNull();
        Run("SET k b IFNE c").IsOk();
        Run("SET m b IFDNE 9ec9f7918d7dfc40").IsOk();
        Run("SET m test").IsOk();
        Run("SET m b IFDNE 9ec9f7918d7dfc40").IsNull();
        Run("SET m b IFDNE 9ec9f7918d7dfc40 GET").IsBulk("test");
        Run("SET m b IFDNE 0000000000000000").IsOk();
    }

    [Fact]
    public void Set_with_a_condition_sets_and_keeps_expiries()
    {
        Run("SET k 10").IsOk();
        Run("SET k 11 IFEQ 10 EX 100").IsOk();
        Run("SET k 12 IFEQ 10 EX 10").IsNull();
        Assert.Equal(_transcript.NowMs + 100_000, _transcript.ExpiryOf("k"));
        Run("SET k 12 IFEQ 11 KEEPTTL").IsOk();
        Assert.Equal(_transcript.NowMs + 100_000, _transcript.ExpiryOf("k"));
        Run("SET k 13 IFEQ 12").IsOk();
        Assert.Null(_transcript.ExpiryOf("k"));
    }

    [Fact]
    public void Set_with_several_conditions_needs_all_of_them()
    {
        Run("SET k a").IsOk();
        Run("SET k b IFEQ a NX").IsNull();
        Run("SET k b IFNE x NX GET").IsBulk("a");
        Run("SET new b IFNE a XX").IsNull();
        Run("SET new b IFNE a NX").IsOk();
        Run("SET k b IFEQ x IFEQ a").IsOk();
        Run("SET k c IFEQ b IFEQ x").IsNull();
        Run("SET k c IFDEQ short IFDEQ 0000000000000000").IsNull();
        Run("LPUSH l x").IsInteger(1);
        Run("SET l c IFEQ b NX").IsNull();
        Run("GET k").IsBulk("b");
        Run("SET k c IFEQ b XX").IsOk();
    }

    [Theory]
    [InlineData("SET k b IFEQ")]
    [InlineData("SET k b NX IFEQ a")]
    [InlineData("SET k b XX IFEQ a")]
    [InlineData("SET k b IFNE a IFDEQ b")]
    [InlineData("MSETEX 2 a 1 b 2 EX 100 KEEPTTL")]
    [InlineData("MSETEX 2 a 1 b 2 EX 100 PX 50")]
    [InlineData("MSETEX 2 a 1 b 2 NX XX")]
    [InlineData("MSETEX 1 a 1 b 2")]
    public void Options_that_contradict_each_other_are_refused(string line) => Run(line).IsError(SyntaxError);

    [Theory]
    [InlineData("SET k b IFDEQ 9ec9f7918d7dfc4")]
    [InlineData("SET k b IFDNE 9ec9f7918d7dfc400")]
    [InlineData("DELEX k IFDEQ 0x9ec9f7918d7df")]
    [InlineData("DELEX k IFDNE ''")]
    [InlineData("SET k b IFDEQ 9ec9f7918d7dfc4 GET")]
    public void Digest_of_another_length_is_refused(string line)
    {
        Run("SET k a").IsOk();
        Run(line).IsError(BadDigest);
        Run("GET k").IsBulk("a");
    }

    // Nothing is compared with a missing key.
    [Theory]
    [InlineData("SET {0} b IFDEQ 9ec9f7918d7dfc4g", null, null)]
    [InlineData("SET {0} b IFDNE 9ec9f7918d7dfc4g", "OK", "OK")]
    [InlineData("SET {0} b IFDEQ x", null, BadDigest)]
    [InlineData("SET {0} b IFDNE x", "OK", BadDigest)]
    [InlineData("SET {0} b IFDEQ x EX 0", "ERR invalid expire time in 'set' command", "ERR invalid expire time in 'set' command")]
    [InlineData("DELEX {0} IFDEQ zzzzzzzzzzzzzzzz", "0", "0")]
    [InlineData("DELEX {0} IFDNE x", "0", BadDigest)]
    [InlineData("DELEX {0} NX a", "0", "ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE")]
    public void Missing_and_present_keys_reply_as_in_Redis_8_6(string line, string? missing, string? present)
    {
        Run("SET k a").IsOk();
        Assert.Equal(missing, TextOf(string.Format(System.Globalization.CultureInfo.InvariantCulture, line, "m")));
        Assert.Equal(present, TextOf(string.Format(System.Globalization.CultureInfo.InvariantCulture, line, "k")));
    }

    [Theory]
    [InlineData("SET l b IFEQ a")]
    [InlineData("SET l b IFNE a GET")]
    [InlineData("SET l b IFDNE 0000000000000000")]
    [InlineData("SET l b IFDEQ x")]
    [InlineData("DELIFEQ l a")]
    [InlineData("DELEX l IFEQ a", "ERR Key should be of string type if conditions are specified")]
    [InlineData("DELEX l IFDNE x", "ERR Key should be of string type if conditions are specified")]
    [InlineData("DELEX l NX a", "ERR Key should be of string type if conditions are specified")]
    public void Condition_on_another_type_is_an_error(string line, string error = WrongType)
    {
        Run("RPUSH l a").IsInteger(1);
        Run(line).IsError(error);
        Run("TYPE l").IsSimple("list");
    }

    [Fact]
    public void Delex_deletes_if_its_condition_is_met()
    {
        Run("DELEX k").IsInteger(0);
        Run("DELEX k IFNE a").IsInteger(0);
        Run("SET k test").IsOk();
        Run("DELEX k IFEQ a").IsInteger(0);
        Run("DELEX k IFNE test").IsInteger(0);
        Run("DELEX k IFDEQ 0000000000000000").IsInteger(0);
        Run("DELEX k IFDNE 9ec9f7918d7dfc40").IsInteger(0);
        Run("DELEX k IFDEQ 9ec9f7918d7dfc40").IsInteger(1);
        Run("SET k test").IsOk();
        Run("DELEX k IFNE a").IsInteger(1);
        Run("RPUSH k a").IsInteger(1);
        Run("DELEX k").IsInteger(1);
        Run("DELEX k IFEQ").IsError("ERR wrong number of arguments for 'delex' command");
        Run("DELEX k IFEQ a IFEQ a").IsError("ERR wrong number of arguments for 'delex' command");
    }

    [Fact]
    public void Delifeq_deletes_the_value_that_it_names()
    {
        Run("SET k abc").IsOk();
        Run("DELIFEQ k xyz").IsInteger(0);
        Run("DELIFEQ k abc").IsInteger(1);
        Run("DELIFEQ k abc").IsInteger(0);
    }

    [Fact]
    public void Msetex_sets_all_keys_or_none()
    {
        Run("MSETEX 2 a 1 b 2").IsInteger(1);
        Run("MGET a b").IsArray("1", "2");
        Run("MSETEX 2 c 3 b 3 NX").IsInteger(0);
        Run("MSETEX 2 a 3 c 3 XX").IsInteger(0);
        Run("MGET a b c").IsArray("1", "2", null);
        Run("MSETEX 2 b 4 a 3 XX EX 100").IsInteger(1);
        Assert.Equal(_transcript.NowMs + 100_000, _transcript.ExpiryOf("a"));
        Run("MSETEX 2 a 5 c 6 KEEPTTL").IsInteger(1);
        Assert.Equal(_transcript.NowMs + 100_000, _transcript.ExpiryOf("a"));
        Assert.Null(_transcript.ExpiryOf("c"));
        Run("MSETEX 2 d 1 d 2 NX").IsInteger(1);
        Run("MGET a b c d").IsArray("5", "4", "6", "2");
        Run("RPUSH l a").IsInteger(1);
        Run("MSETEX 1 l 1 PXAT 1800000000500").IsInteger(1);
        Assert.Equal(1_800_000_000_500, _transcript.ExpiryOf("l"));
        Run("MSETEX 2 a 1 b 2 EXAT 1").IsInteger(1);
        Run("EXISTS a b").IsInteger(0);
        Run("COMMAND GETKEYS MSETEX 2 a 1 b 2 EX 5").IsArray("a", "b");
    }

    [Theory]
    [InlineData("MSETEX 0 a 1", "ERR invalid numkeys value")]
    [InlineData("MSETEX -1 a 1", "ERR invalid numkeys value")]
    [InlineData("MSETEX x a 1", "ERR invalid numkeys value")]
    [InlineData("MSETEX 2147483648 a 1", "ERR invalid numkeys value")]
    [InlineData("MSETEX 9223372036854775807 a 1", "ERR invalid numkeys value")]
    [InlineData("MSETEX 3 a 1 b 2", "ERR wrong number of key-value pairs")]
    [InlineData("MSETEX 1073741824 a 1", "ERR wrong number of key-value pairs")]
    [InlineData("MSETEX 1 a 1 EX 0", "ERR invalid expire time in 'msetex' command")]
    [InlineData("MSETEX 1 a 1 EX -1", "ERR invalid expire time in 'msetex' command")]
    [InlineData("MSETEX 1 a 1 EX 9223372036854775807", "ERR invalid expire time in 'msetex' command")]
    [InlineData("MSETEX 1 a 1 EX x", "ERR value is not an integer or out of range")]
    [InlineData("MSETEX 1 a", "ERR wrong number of arguments for 'msetex' command")]
    public void Msetex_reports_errors(string line, string error)
    {
        Run(line).IsError(error);
        Run("EXISTS a").IsInteger(0);
    }

    private string? TextOf(string line)
    {
        RespValue reply = Run(line);
        return reply.IsNull ? null : reply.Text;
    }

    private RespValue Run(string line) => _transcript.Run(line);
}
