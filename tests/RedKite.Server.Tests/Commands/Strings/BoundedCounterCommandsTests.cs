using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

/// <summary>Expected replies are those of https://redis.io/commands/increx; it does not give the texts of errors.</summary>
public sealed class BoundedCounterCommandsTests : IAsyncLifetime
{
    private const long NoExpiry = -1;

    private readonly CommandTranscript _transcript = new();

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    // From a value (empty: none), a request, the value that results, and the increment that was applied.
    [Theory]
    [InlineData("", "INCREX k", 1, 1)]
    [InlineData("1", "INCREX k", 2, 1)]
    [InlineData("100", "INCREX k BYINT 5", 105, 5)]
    [InlineData("105", "INCREX k byint -10", 95, -10)]
    [InlineData("99", "INCREX k BYINT 5 UBOUND 100", 99, 0)]
    [InlineData("99", "INCREX k BYINT 5 UBOUND 100 SATURATE", 100, 1)]
    [InlineData("1", "INCREX k BYINT -5 LBOUND 0", 1, 0)]
    [InlineData("1", "INCREX k BYINT -5 LBOUND 0 SATURATE", 0, -1)]
    [InlineData("200", "INCREX k BYINT -5 UBOUND 100", 200, 0)]
    [InlineData("200", "INCREX k BYINT -5 UBOUND 100 SATURATE", 100, -100)]
    [InlineData("9223372036854775807", "INCREX k", 9223372036854775807, 0)]
    [InlineData("9223372036854775800", "INCREX k BYINT 100 SATURATE", 9223372036854775807, 7)]
    [InlineData("-9223372036854775808", "INCREX k BYINT -1", -9223372036854775808, 0)]
    [InlineData("-9223372036854775808", "INCREX k BYINT 9223372036854775807", -1, 9223372036854775807)]
    [InlineData("", "INCREX k BYINT 5 LBOUND 10 SATURATE", 10, 10)]
    [InlineData("5", "INCREX k BYINT 0 LBOUND 5 UBOUND 5", 5, 0)]
    public void Integers_stay_within_bounds(string value, string line, long result, long applied)
    {
        if (value.Length > 0) Run($"SET k {value}").IsOk();
        Run(line).IsIntegers(result, applied);
        if (value.Length > 0 || applied != 0) Run("GET k").IsBulk($"{result}");
    }

    [Fact]
    public void Increment_that_is_refused_creates_no_key_and_keeps_the_expiry()
    {
        Run("INCREX k UBOUND 0").IsIntegers(0, 0);
        Run("EXISTS k").IsInteger(0);
        Run("SET k 5 EX 10").IsOk();
        Run("INCREX k UBOUND 5 PERSIST").IsIntegers(5, 0);
        Run("INCREX k UBOUND 5 EX 50").IsIntegers(5, 0);
        Assert.Equal(_transcript.NowMs + 10_000, _transcript.ExpiryOf("k"));
    }

    [Theory]
    [InlineData("1.5", "INCREX k BYFLOAT 0.25", "1.75", "0.25")]
    [InlineData("10", "INCREX k BYFLOAT -0.5", "9.5", "-0.5")]
    [InlineData("", "INCREX k BYFLOAT 3e2", "300", "300")]
    [InlineData("1.5", "INCREX k BYFLOAT 5 UBOUND 2.5", "1.5", "0")]
    [InlineData("1.5", "INCREX k BYFLOAT 5 UBOUND 2.5 SATURATE", "2.5", "1")]
    [InlineData("1.5", "INCREX k BYFLOAT -5 LBOUND -1 SATURATE", "-1", "-2.5")]
    [InlineData("1.5", "INCREX k BYFLOAT 1 LBOUND 2.5 UBOUND 2.5", "2.5", "1")]
    public void Floats_are_bulk_strings_in_resp2_and_doubles_in_resp3(string value, string line, string result, string applied)
    {
        foreach (char marker in "$,")
        {
            Run("DEL k");
            if (value.Length > 0) Run($"SET k {value}").IsOk();
            Run($"HELLO {(marker == '$' ? 2 : 3)}");
            RespValue reply = Run(line);
            Assert.Equal([(marker, result), (marker, applied)], reply.Items.Select(item => (item.Marker, item.Text)));
            Assert.Equal(result, Run("GET k").Text);
        }
    }

    [Fact]
    public void Float_beyond_the_range_of_its_type_is_refused_or_becomes_the_largest()
    {
        Run("SET k 1e4932").IsOk();
        Run("INCREX k BYFLOAT 1e4932 UBOUND 2e4931").Items[1].IsBulk("0");
        Run("INCREX k BYFLOAT 1e4932").Items[1].IsBulk("0");
        string largest = Run("INCREX k BYFLOAT 1e4932 SATURATE").Items[0].Text;
        Assert.StartsWith("1189731495357231765", largest, StringComparison.Ordinal);
        Assert.Equal(4933, largest.Length);
        Run("INCREX k BYFLOAT inf").IsError("ERR increment would produce NaN or Infinity");
    }

    [Theory]
    [InlineData("SET k 10", "INCREX k EX 100", 100_000)]
    [InlineData("SET k 10", "INCREX k PX 100", 100)]
    [InlineData("SET k 10", "INCREX k EXAT 1800000010", 10_000)]
    [InlineData("SET k 10", "INCREX k PXAT 1800000000010", 10)]
    [InlineData("SET k 10", "INCREX k EX 100 ENX", 100_000)]
    [InlineData("SET k 10 EX 500", "INCREX k EX 10 ENX", 500_000)]
    [InlineData("SET k 10 EX 500", "INCREX k BYFLOAT 1.5 EX 10", 10_000)]
    [InlineData("SET k 10 EX 500", "INCREX k", 500_000)]
    [InlineData("SET k 10 EX 500", "INCREX k PERSIST", NoExpiry)]
    [InlineData("SET k 10 EX 500", "INCREX k BYINT 5 UBOUND 12 SATURATE EX 7", 7_000)]
    public void Expiry_is_set_kept_or_removed(string before, string line, long expiryInMs)
    {
        Run(before).IsOk();
        Assert.False(Run(line).IsError);
        Assert.Equal(expiryInMs == NoExpiry ? null : _transcript.NowMs + expiryInMs, _transcript.ExpiryOf("k"));
    }

    [Theory]
    [InlineData("INCREX k BYINT", "ERR syntax error")]
    [InlineData("INCREX k BYINT 1 BYFLOAT 1", "ERR syntax error")]
    [InlineData("INCREX k BYINT 1 BYINT 1", "ERR syntax error")]
    [InlineData("INCREX k ENX", "ERR syntax error")]
    [InlineData("INCREX k PERSIST ENX", "ERR syntax error")]
    [InlineData("INCREX k EX 1 PX 1", "ERR syntax error")]
    [InlineData("INCREX k EX 1 PERSIST", "ERR syntax error")]
    [InlineData("INCREX k nosuch", "ERR syntax error")]
    [InlineData("INCREX k EX 0", "ERR invalid expire time in 'increx' command")]
    [InlineData("INCREX k BYINT 1.5", "ERR value is not an integer or out of range")]
    [InlineData("INCREX k UBOUND 1.5", "ERR value is not an integer or out of range")]
    [InlineData("INCREX k BYFLOAT x", "ERR value is not a valid float")]
    [InlineData("INCREX k BYFLOAT 1 LBOUND x", "ERR value is not a valid float")]
    [InlineData("INCREX k LBOUND 2 UBOUND 1", "ERR LBOUND is greater than UBOUND")]
    [InlineData("INCREX k BYFLOAT 1 LBOUND 2 UBOUND 1.5", "ERR LBOUND is greater than UBOUND")]
    [InlineData("INCREX t", "ERR value is not an integer or out of range")]
    [InlineData("INCREX t BYFLOAT 1", "ERR value is not a valid float")]
    [InlineData("INCREX f", "ERR value is not an integer or out of range")]
    [InlineData("INCREX l", "WRONGTYPE Operation against a key holding the wrong kind of value")]
    [InlineData("INCREX l BYFLOAT 1", "WRONGTYPE Operation against a key holding the wrong kind of value")]
    [InlineData("INCREX low BYINT 1 LBOUND 1 UBOUND 9223372036854775807 SATURATE", "ERR increment or decrement would overflow")]
    public void Error_changes_nothing(string line, string error)
    {
        Run("MSET t text f 1.5 low -9223372036854775808").IsOk();
        Run("RPUSH l a").IsInteger(1);
        Run(line).IsError(error);
        Run("EXISTS k").IsInteger(0);
        Run("MGET t f low").IsArray("text", "1.5", "-9223372036854775808");
    }

    private RespValue Run(string line) => _transcript.Run(line);
}
