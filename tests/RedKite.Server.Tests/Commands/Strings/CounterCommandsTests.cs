using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

public sealed class CounterCommandsTests : IAsyncLifetime
{
    private readonly CommandTranscript _transcript = new();

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Fact]
    public void Counters_start_at_zero_and_count_both_ways()
    {
        Run("INCR k").IsInteger(1);
        Run("INCRBY k 41").IsInteger(42);
        Run("DECR k").IsInteger(41);
        Run("DECRBY k 50").IsInteger(-9);
        Run("GET k").IsBulk("-9");
        Assert.Equal(ValueEncoding.Integer, _transcript.EncodingOf("k"));
    }

    [Fact]
    public void Counters_keep_the_expiry_when_they_gain_a_digit()
    {
        Run("SET k 9 EX 10").IsOk();
        Run("INCR k").IsInteger(10);
        Run("INCR k").IsInteger(11);
        Assert.Equal(_transcript.NowMs + 10_000, _transcript.ExpiryOf("k"));
    }

    [Theory]
    [InlineData("abc")]
    [InlineData("''")]
    [InlineData("' 1'")]
    [InlineData("1.0")]
    [InlineData("+1")]
    [InlineData("9223372036854775808")]
    public void Incr_of_a_non_integer_is_refused(string value)
    {
        Run($"SET k {value}").IsOk();
        Run("INCR k").IsError("ERR value is not an integer or out of range");
        Run($"INCRBY n {value}").IsError("ERR value is not an integer or out of range");
    }

    [Fact]
    public void Overflow_is_refused_and_changes_nothing()
    {
        Run("SET k 9223372036854775807").IsOk();
        Run("INCR k").IsError("ERR increment or decrement would overflow");
        Run("DECRBY k -9223372036854775808").IsError("ERR decrement would overflow");
        Run("SET m -9223372036854775808").IsOk();
        Run("DECR m").IsError("ERR increment or decrement would overflow");
        Run("INCRBY m 9223372036854775807").IsInteger(-1);
        Run("GET k").IsBulk("9223372036854775807");
    }

    [Fact]
    public void Raw_string_of_digits_becomes_an_integer()
    {
        Run("APPEND k 1").IsInteger(1);
        Run("APPEND k 2").IsInteger(2);
        Run("INCR k").IsInteger(13);
        Assert.Equal(ValueEncoding.Integer, _transcript.EncodingOf("k"));
    }

    [Fact]
    public void Incrbyfloat_adds_in_extended_precision()
    {
        Run("INCRBYFLOAT k 10.5").IsBulk("10.5");
        Run("INCRBYFLOAT k 0.1").IsBulk("10.6");
        Run("INCRBYFLOAT k -5").IsBulk("5.6");
        Run("SET k 5.0e3").IsOk();
        Run("INCRBYFLOAT k 2.0e2").IsBulk("5200");
        Assert.Equal(ValueEncoding.Embedded, _transcript.EncodingOf("k"));
        Run("INCRBYFLOAT k 1e60").IsBulk("999999999999999999999373423426722168652130621984886772203520");
        Assert.Equal(ValueEncoding.Raw, _transcript.EncodingOf("k"));
    }

    [Fact]
    public void Incrbyfloat_keeps_the_expiry()
    {
        Run("SET k 1 EX 10").IsOk();
        Run("INCRBYFLOAT k 0.25").IsBulk("1.25");
        Assert.Equal(_transcript.NowMs + 10_000, _transcript.ExpiryOf("k"));
    }

    [Fact]
    public void Incrbyfloat_refuses_non_numbers_and_infinity()
    {
        Run("SET k abc").IsOk();
        Run("INCRBYFLOAT k 1").IsError("ERR value is not a valid float");
        Run("INCRBYFLOAT n abc").IsError("ERR value is not a valid float");
        Run("INCRBYFLOAT n nan").IsError("ERR value is not a valid float");
        Run("INCRBYFLOAT n inf").IsError("ERR increment would produce NaN or Infinity");
        Run("GET n").IsNull();
    }

    private RespValue Run(string line) => _transcript.Run(line);
}
