namespace RedKite.Server.Tests.Commands;

public class ExpiryCommandsTests : TranscriptTests
{
    private const string InvalidIn = "ERR invalid expire time in ";

    [Fact]
    public void Every_form_of_expire_reads_back_in_every_form()
    {
        long now = Clock.NowMs;
        Run("SET a 1").IsOk();
        Run("EXPIRE a 100").IsInteger(1);
        Run("PTTL a").IsInteger(100_000);
        Run("PEXPIRE a 1500").IsInteger(1);
        Run("TTL a").IsInteger(2);
        Run("PTTL a").IsInteger(1500);
        Run($"EXPIREAT a {(now / 1000) + 7}").IsInteger(1);
        Run("EXPIRETIME a").IsInteger((now / 1000) + 7);
        Run($"PEXPIREAT a {now + 499}").IsInteger(1);
        Run("PEXPIRETIME a").IsInteger(now + 499);
        Run("EXPIRETIME a").IsInteger(now / 1000);
        Run("TTL a").IsInteger(0);
    }

    [Theory]
    [InlineData("TTL")]
    [InlineData("PTTL")]
    [InlineData("EXPIRETIME")]
    [InlineData("PEXPIRETIME")]
    public void Ttl_of_a_missing_key_is_minus_two_and_without_expiry_minus_one(string command)
    {
        Run("SET a 1").IsOk();
        Run($"{command} a").IsInteger(-1);
        Run($"{command} nope").IsInteger(-2);
    }

    [Fact]
    public void Key_expires_in_the_exact_millisecond()
    {
        Run("SET a 1").IsOk();
        Run("PEXPIRE a 10").IsInteger(1);
        Clock.Advance(9);
        Run("GET a").IsText("1");
        Run("PTTL a").IsInteger(1);
        Clock.Advance(1);
        Run("EXISTS a").IsInteger(0);
        Run("TTL a").IsInteger(-2);
        Assert.Equal(1, Server.Engine.Keyspace.ExpiredKeys);
    }

    [Theory]
    [InlineData("EXPIRE a -1")]
    [InlineData("EXPIRE a 0")]
    [InlineData("PEXPIRE a -9223372036854775808")]
    [InlineData("EXPIREAT a 1")]
    [InlineData("PEXPIREAT a -1")]
    [InlineData("PEXPIREAT a -9223372036854775808")]
    [InlineData("EXPIRE a -5 LT")]
    public void Expiry_in_the_past_deletes_the_key_and_counts_as_set(string command)
    {
        Run("SET a 1").IsOk();
        Run(command).IsInteger(1);
        Run("EXISTS a").IsInteger(0);
        Run(command).IsInteger(0);
    }

    [Theory]
    [InlineData("EXPIRE a 9223372036854775807", "'expire' command")]
    [InlineData("EXPIRE a 9223372036854775", "'expire' command")]
    [InlineData("EXPIRE a -9223372036854775807", "'expire' command")]
    [InlineData("PEXPIRE a 9223372036854775807", "'pexpire' command")]
    [InlineData("EXPIREAT a 9223372036854776", "'expireat' command")]
    [InlineData("EXPIREAT nope 9223372036854776", "'expireat' command")]
    public void Overflowing_time_is_refused_with_the_command_name(string command, string error)
    {
        Run("SET a 1").IsOk();
        Run(command).IsError(InvalidIn + error);
        Run("TTL a").IsInteger(-1);
    }

    [Fact]
    public void Maximum_expiry_can_be_set()
    {
        Run("SET a 1").IsOk();
        Run("PEXPIREAT a 9223372036854775807").IsInteger(1);
        Run("PEXPIRETIME a").IsInteger(long.MaxValue);
        Run("EXPIRETIME a").IsInteger(9223372036854776);
        Run("EXPIREAT a 9223372036854775").IsInteger(1);
        Run("EXPIRETIME a").IsInteger(9223372036854775);
    }

    [Fact]
    public void Conditions_compare_with_the_current_expiry()
    {
        Run("EXPIRE nope 10 XX").IsInteger(0);
        Run("SET a 1").IsOk();
        Run("EXPIRE a 10 XX").IsInteger(0);
        Run("EXPIRE a 10 GT").IsInteger(0);
        Run("EXPIRE a 10 XX LT").IsInteger(0);
        Run("TTL a").IsInteger(-1);
        Run("EXPIRE a 100 LT").IsInteger(1);
        Run("EXPIRE a 200 NX").IsInteger(0);
        Run("EXPIRE a 100 GT").IsInteger(0);
        Run("EXPIRE a 100 LT").IsInteger(0);
        Run("EXPIRE a 101 gt").IsInteger(1);
        Run("EXPIRE a 100 xx lt").IsInteger(1);
        Run("EXPIRE a -5 NX").IsInteger(0);
        Run("EXPIRE a -5 GT").IsInteger(0);
        Run("EXPIRE a 50 XX").IsInteger(1);
        Run("TTL a").IsInteger(50);
        Run("PERSIST a").IsInteger(1);
        Run("EXPIRE a 10 NX NX").IsInteger(1);
    }

    [Theory]
    [InlineData("NX XX", "ERR NX and XX, GT or LT options at the same time are not compatible")]
    [InlineData("NX GT", "ERR NX and XX, GT or LT options at the same time are not compatible")]
    [InlineData("NX GT LT", "ERR NX and XX, GT or LT options at the same time are not compatible")]
    [InlineData("GT LT", "ERR GT and LT options at the same time are not compatible")]
    [InlineData("XX GT LT", "ERR GT and LT options at the same time are not compatible")]
    [InlineData("Foo", "ERR Unsupported option Foo")]
    public void Conflicting_options_are_refused_before_the_time_is_parsed(string options, string error)
    {
        Run("SET a 1").IsOk();
        Run("EXPIRE a 10 " + options).IsError(error);
        Run("EXPIRE a x " + options).IsError(error);
        Run("TTL a").IsInteger(-1);
    }

    [Fact]
    public void Persist_removes_an_expiry_once()
    {
        Run("SET a 1").IsOk();
        Run("PERSIST a").IsInteger(0);
        Run("EXPIRE a 10").IsInteger(1);
        Run("PERSIST a").IsInteger(1);
        Run("PERSIST a").IsInteger(0);
        Run("PERSIST nope").IsInteger(0);
        Clock.Advance(20_000);
        Run("GET a").IsText("1");
    }
}
