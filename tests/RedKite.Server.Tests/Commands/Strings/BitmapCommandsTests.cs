using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

public sealed class BitmapCommandsTests : IAsyncLifetime
{
    private readonly CommandTranscript _transcript = new();

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Fact]
    public void Setbit_and_getbit_grow_the_string()
    {
        Run("SETBIT k 7 1").IsInteger(0);
        Run("SETBIT k 7 1").IsInteger(1);
        Run("GET k").IsBulk("\u0001");
        Run("SETBIT k 23 0").IsInteger(0);
        Run("STRLEN k").IsInteger(3);
        Run("GETBIT k 7").IsInteger(1);
        Run("GETBIT k 6").IsInteger(0);
        Run("GETBIT k 1000").IsInteger(0);
        Run("GETBIT missing 0").IsInteger(0);
        Assert.Equal(ValueEncoding.Raw, _transcript.EncodingOf("k"));
    }

    [Fact]
    public void Setbit_keeps_the_expiry_and_makes_an_embedded_string_raw()
    {
        Run("SET k 12 EX 10").IsOk();
        Run("SETBIT k 3 0").IsInteger(1);
        Run("GET k").IsBulk("!2");
        Assert.Equal(ValueEncoding.Raw, _transcript.EncodingOf("k"));
        Assert.Equal(_transcript.NowMs + 10_000, _transcript.ExpiryOf("k"));
    }

    [Theory]
    [InlineData("-1")]
    [InlineData("abc")]
    [InlineData("#1")]
    [InlineData("4294967296")]
    [InlineData("9223372036854775807")]
    public void Offsets_beyond_the_maximum_length_are_refused(string offset)
    {
        Run($"SETBIT k {offset} 1").IsError("ERR bit offset is not an integer or out of range");
        Run($"GETBIT k {offset}").IsError("ERR bit offset is not an integer or out of range");
        Run("EXISTS k").IsInteger(0);
    }

    [Theory]
    [InlineData("2")]
    [InlineData("-1")]
    [InlineData("x")]
    [InlineData("01")]
    public void Bits_other_than_0_and_1_are_refused(string bit) => Run($"SETBIT k 0 {bit}").IsError("ERR bit is not an integer or out of range");

    [Fact]
    public void String_length_follows_the_setting_up_to_one_gibibyte()
    {
        Run("CONFIG SET proto-max-bulk-len 1048576").IsOk();
        Run("SETBIT k 8388607 1").IsInteger(0);
        Run("SETBIT k 8388608 1").IsError("ERR bit offset is not an integer or out of range");
        Run("CONFIG SET proto-max-bulk-len 1099511627776").IsOk();
        Run("SETBIT k 8589934592 1").IsError("ERR bit offset is not an integer or out of range");
        Run("BITFIELD k SET u8 #1073741824 1").IsError("ERR bit offset is not an integer or out of range");
        Run("STRLEN k").IsInteger(1_048_576);
    }

    [Fact]
    public void Bitcount_counts_by_bytes_and_bits()
    {
        Run("SET k foobar").IsOk();
        Run("BITCOUNT k").IsInteger(26);
        Run("BITCOUNT k 0 0").IsInteger(4);
        Run("BITCOUNT k 1 1 byte").IsInteger(6);
        Run("BITCOUNT k 5 30 BIT").IsInteger(17);
        Run("BITCOUNT k -2 -1").IsInteger(7);
        Run("BITCOUNT k -1 -2").IsInteger(0);
        Run("BITCOUNT k 3 2").IsInteger(0);
        Run("BITCOUNT k 0 100000").IsInteger(26);
        Run("BITCOUNT missing").IsInteger(0);
    }

    [Fact]
    public void Bitcount_arguments_are_checked_before_the_key()
    {
        Run("BITCOUNT missing 1").IsError("ERR syntax error");
        Run("BITCOUNT missing x 1").IsError("ERR value is not an integer or out of range");
        Run("BITCOUNT missing 1 2 foo").IsError("ERR syntax error");
        Run("BITCOUNT missing 1 2 BIT BIT").IsError("ERR syntax error");
    }

    [Fact]
    public void Bitpos_finds_the_first_bit()
    {
        Run("SET k \"\\xff\\xf0\\x00\"").IsOk();
        Run("BITPOS k 0").IsInteger(12);
        Run("BITPOS k 1").IsInteger(0);
        Run("BITPOS k 1 2").IsInteger(-1);
        Run("BITPOS k 0 0 0").IsInteger(-1);
        Run("BITPOS k 0 8 11 BIT").IsInteger(-1);
        Run("BITPOS k 0 8 12 BIT").IsInteger(12);
        Run("BITPOS k 1 -3 -1").IsInteger(0);
        Run("BITPOS k 1 -1 -9").IsInteger(-1);
        Run("BITPOS k 2").IsError("ERR The bit argument must be 1 or 0.");
        Run("BITPOS missing 0").IsInteger(0);
        Run("BITPOS missing 1").IsInteger(-1);
    }

    [Fact]
    public void Bitpos_of_a_clear_bit_continues_past_the_end_unless_an_end_is_given()
    {
        Run("SET k \"\\xff\\xff\"").IsOk();
        Run("BITPOS k 0").IsInteger(16);
        Run("BITPOS k 0 1").IsInteger(16);
        Run("BITPOS k 0 0 -1").IsInteger(-1);
        Run("BITPOS k 0 5").IsInteger(-1);
    }

    [Fact]
    public void Shorter_strings_are_combined_as_if_padded_with_zeros()
    {
        Run("MSET a \"\\xff\\x0f\\x01\" b \"\\x0f\\xff\"").IsOk();
        Run("BITOP AND d a b").IsInteger(3);
        Run("GET d").IsBytes([0x0f, 0x0f, 0x00]);
        Run("BITOP or d a b missing").IsInteger(3);
        Run("GET d").IsBytes([0xff, 0xff, 0x01]);
        Run("BITOP XOR d a b").IsInteger(3);
        Run("GET d").IsBytes([0xf0, 0xf0, 0x01]);
        Run("BITOP NOT d b").IsInteger(2);
        Run("GET d").IsBytes([0xf0, 0x00]);
        Run("BITOP AND d a missing").IsInteger(3);
        Run("GET d").IsBytes([0, 0, 0]);
    }

    [Fact]
    public void Destination_may_be_a_source_even_repeatedly()
    {
        Run("MSET a \"\\xf0\" b \"\\x3c\\x01\"").IsOk();
        Run("EXPIRE a 100").IsInteger(1);
        Run("BITOP XOR a a b").IsInteger(2);
        Run("GET a").IsBytes([0xcc, 0x01]);
        Assert.Null(_transcript.ExpiryOf("a"));
        Run("BITOP XOR a a b a").IsInteger(2);
        Run("GET a").IsBytes([0x3c, 0x01]);
        Run("BITOP NOT a a").IsInteger(2);
        Run("GET a").IsBytes([0xc3, 0xfe]);
        Run("BITOP AND new new b").IsInteger(2);
        Run("GET new").IsBytes([0, 0]);
    }

    [Fact]
    public void Empty_result_removes_the_destination()
    {
        Run("SET d x").IsOk();
        Run("BITOP AND d missing").IsInteger(0);
        Run("EXISTS d").IsInteger(0);
        Run("BITOP NOT d a b").IsError("ERR BITOP NOT must be called with a single source key.");
        Run("BITOP NAND d a b").IsError("ERR syntax error");
    }

    [Fact]
    public void Long_strings_are_combined_and_counted_completely()
    {
        Run("SETBIT a 8000000 1").IsInteger(0);
        Run("SETBIT b 123 1").IsInteger(0);
        Run("BITOP OR d a b").IsInteger(1_000_001);
        Run("BITCOUNT d").IsInteger(2);
        Run("BITPOS d 1").IsInteger(123);
        Run("BITOP NOT d d").IsInteger(1_000_001);
        Run("BITCOUNT d").IsInteger((1_000_001 * 8) - 2);
    }

    private RespValue Run(string line) => _transcript.Run(line);
}
