using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

/// <summary>Field expiry, in packed hashes and in tables. Features newer than the oracle follow the documentation.</summary>
public abstract class FieldExpiryCommandsTests : IAsyncLifetime
{
    private readonly CommandTranscript _transcript = new();

    protected abstract int EntriesMax { get; }

    public async ValueTask InitializeAsync()
    {
        await _transcript.InitializeAsync();
        Run($"CONFIG SET hash-max-listpack-entries {EntriesMax}").IsOk();
        _transcript.StopSweeping();
        Run("HSET h a 1 b 2 c 3").IsInteger(3);
    }

    public async ValueTask DisposeAsync()
    {
        await _transcript.DisposeAsync();
        GC.SuppressFinalize(this);
    }

    [Fact]
    public void Fields_have_individual_expiries_in_four_units()
    {
        Run("HEXPIRE h 10 FIELDS 2 a nosuch").IsIntegers(1, -2);
        Run("HPEXPIRE h 1500 FIELDS 1 b").IsIntegers(1);
        Run("HTTL h FIELDS 4 a b c nosuch").IsIntegers(10, 2, -1, -2);
        Run("HPTTL h FIELDS 4 a b c nosuch").IsIntegers(10_000, 1_500, -1, -2);
        Run("HPEXPIRETIME h FIELDS 2 a b").IsIntegers(Now + 10_000, Now + 1_500);
        Run("HEXPIRETIME h FIELDS 2 a b").IsIntegers((Now / 1000) + 10, (Now / 1000) + 2);
        Run($"HEXPIREAT h {(Now / 1000) + 20} FIELDS 1 a").IsIntegers(1);
        Run($"HPEXPIREAT h {Now + 30_000} FIELDS 1 c").IsIntegers(1);
        Run("HTTL h FIELDS 3 a b c").IsIntegers(20, 2, 30);
        Run("HEXPIRE nosuch 10 FIELDS 2 a b").IsIntegers(-2, -2);
        Run("HTTL nosuch FIELDS 1 a").IsIntegers(-2);
        Run("HPERSIST nosuch FIELDS 1 a").IsIntegers(-2);
    }

    [Fact]
    public void Expired_fields_are_invisible()
    {
        Run("HPEXPIRE h 100 FIELDS 2 a b").IsIntegers(1, 1);
        _transcript.Advance(99);
        Run("HMGET h a b c").IsArray("1", "2", "3");
        _transcript.Advance(1);
        Run("HGET h a").IsNull();
        Run("HEXISTS h b").IsInteger(0);
        Run("HSTRLEN h b").IsInteger(0);
        Run("HMGET h a b c").IsArray(null, null, "3");
        Run("HTTL h FIELDS 2 a c").IsIntegers(-2, -1);
        Run("HDEL h a").IsInteger(0);
        Run("HSCAN h 0").Items[1].IsArray("c", "3");
        Run("HRANDFIELD h -3").IsArray("c", "c", "c");
        Run("HGETALL h").IsArray("c", "3");
        Run("HKEYS h").IsArray("c");
        Run("HLEN h").IsInteger(1);
        Run("HSETNX h a new").IsInteger(1);
        Run("HINCRBY h b 5").IsInteger(5);
        Run("HTTL h FIELDS 2 a b").IsIntegers(-1, -1);
    }

    [Fact]
    public void Hash_is_removed_with_its_last_field()
    {
        Run("HPEXPIRE h 100 FIELDS 3 a b c").IsIntegers(1, 1, 1);
        _transcript.Advance(100);
        Run("HGETALL h").IsArray();
        Run("EXISTS h").IsInteger(0);
        Run("DBSIZE").IsInteger(0);
    }

    [Fact]
    public void Time_in_the_past_removes_fields_at_once()
    {
        Run("HEXPIRE h 0 FIELDS 2 a a").IsIntegers(2, -2);
        Run("HPEXPIREAT h 1 NX FIELDS 1 b").IsIntegers(2);
        Run("HEXPIREAT h 1 XX FIELDS 1 c").IsIntegers(0);
        Run("HGETALL h").IsArray("c", "3");
        Run($"HPEXPIREAT h {Now} LT FIELDS 1 c").IsIntegers(2);
        Run("EXISTS h").IsInteger(0);
    }

    [Theory]
    [InlineData("NX", 1, 0, 0)]
    [InlineData("XX", 0, 1, 1)]
    [InlineData("GT", 0, 1, 0)]
    [InlineData("LT", 1, 0, 1)]
    public void Conditions_compare_with_the_old_expiry(string condition, long withoutExpiry, long later, long earlier)
    {
        Run("HEXPIRE h 100 FIELDS 2 b c").IsIntegers(1, 1);
        Run($"HEXPIRE h 150 {condition} FIELDS 2 a b").IsIntegers(withoutExpiry, later);
        Run($"HEXPIRE h 50 {condition} FIELDS 1 c").IsIntegers(earlier);
        Run("HTTL h FIELDS 3 a b c").IsIntegers(withoutExpiry == 1 ? 150 : -1, later == 1 ? 150 : 100, earlier == 1 ? 50 : 100);
    }

    [Fact]
    public void Hset_removes_the_field_expiry_and_hincrby_keeps_it()
    {
        Run("HEXPIRE h 100 FIELDS 3 a b c").IsIntegers(1, 1, 1);
        Run("HSET h a other").IsInteger(0);
        Run("HINCRBY h b 40").IsInteger(42);
        Run("HINCRBYFLOAT h c 0.5").IsBulk("3.5");
        Run("HTTL h FIELDS 3 a b c").IsIntegers(-1, 100, 100);
        Run("HPERSIST h FIELDS 4 a b c nosuch").IsIntegers(-1, 1, 1, -2);
        Run("HTTL h FIELDS 3 a b c").IsIntegers(-1, -1, -1);
        _transcript.Advance(200_000);
        Run("HMGET h a b c").IsArray("other", "42", "3.5");
    }

    [Fact]
    public void Field_expiries_survive_copy_and_rename()
    {
        Run("HEXPIRE h 100 FIELDS 1 b").IsIntegers(1);
        Run("COPY h copy").IsInteger(1);
        Run("RENAME h other").IsOk();
        Run("HPERSIST copy FIELDS 1 b").IsIntegers(1);
        Run("HTTL other FIELDS 3 a b c").IsIntegers(-1, 100, -1);
        Run("HTTL copy FIELDS 1 b").IsIntegers(-1);
        Run("EXPIRE other 50").IsInteger(1);
        _transcript.Advance(50_000);
        Run("EXISTS other copy").IsInteger(1);
    }

    [Fact]
    public void Hgetex_returns_values_and_sets_or_removes_expiries()
    {
        Run("HGETEX h FIELDS 2 a nosuch").IsArray("1", null);
        Run("HGETEX h EX 100 FIELDS 2 a b").IsArray("1", "2");
        Run("HGETEX h FIELDS 1 a").IsArray("1");
        Run("HTTL h FIELDS 3 a b c").IsIntegers(100, 100, -1);
        Run("HGETEX h PERSIST FIELDS 2 a c").IsArray("1", "3");
        Run("HTTL h FIELDS 2 a b").IsIntegers(-1, 100);
        Run("HGETEX h PXAT 1 FIELDS 1 a").IsArray("1");
        Run("HGETEX h EX 0 FIELDS 1 b").IsArray("2");
        Run("HGETALL h").IsArray("c", "3");
        Run("HGETEX h EXAT 0 FIELDS 2 c c").IsArray("3", null);
        Run("EXISTS h").IsInteger(0);
        Run("HGETEX h EX 10 FIELDS 1 a").IsArray((string?)null);
    }

    [Fact]
    public void Hsetex_sets_fields_with_an_expiry_under_conditions()
    {
        Run("HSETEX h EX 100 FIELDS 2 a 10 d 4").IsInteger(1);
        Run("HTTL h FIELDS 3 a d b").IsIntegers(100, 100, -1);
        Run("HSETEX h FNX FIELDS 2 e 5 a 11").IsInteger(0);
        Run("HSETEX h FXX FIELDS 2 e 5 a 11").IsInteger(0);
        Run("HSETEX h FXX KEEPTTL FIELDS 2 a 11 b 22").IsInteger(1);
        Run("HTTL h FIELDS 2 a b").IsIntegers(100, -1);
        Run("HSETEX h FIELDS 1 a 12").IsInteger(1);
        Run("HTTL h FIELDS 1 a").IsIntegers(-1);
        Run("HSETEX h PX 500 FNX FIELDS 1 e 5").IsInteger(1);
        Run("HPTTL h FIELDS 1 e").IsIntegers(500);
        Run("HSETEX new FXX FIELDS 1 a 1").IsInteger(0);
        Run("EXISTS new").IsInteger(0);
        Run("HSETEX new PXAT 1 FIELDS 1 a 1").IsInteger(1);
        Run("EXISTS new").IsInteger(0);
        Run("HMGET h a b d e").IsArray("12", "22", "4", "5");
    }

    [Fact]
    public void Options_may_follow_the_fields()
    {
        Run("HEXPIRE h 100 FIELDS 2 a b NX").IsIntegers(1, 1);
        Run("HEXPIRE h 50 LT FIELDS 1 a LT").IsIntegers(1);
        Run("HEXPIRE h 70 FIELDS 3 a NX FIELDS GT").IsIntegers(1, -2, -2); // words among the fields are fields
        Run("HTTL h FIELDS 2 a b").IsIntegers(70, 100);
        Run("HGETEX h FIELDS 1 a PERSIST").IsArray("1");
        Run("HGETEX h FIELDS 1 c EX 30").IsArray("3");
        Run("HTTL h FIELDS 3 a b c").IsIntegers(-1, 100, 30);
        Run("HSETEX h FIELDS 1 a 11 FXX EX 20").IsInteger(1);
        Run("HSETEX h EX 40 FIELDS 2 EX 1 d 4 FNX").IsInteger(1);
        Run("HSETEX h FIELDS 1 b 22 XX KEEPTTL").IsInteger(1);
        Run("HMGET h a b d EX").IsArray("11", "22", "4", "1");
        Run("HTTL h FIELDS 3 a b d").IsIntegers(20, 100, 40);
    }

    [Fact]
    public void Hgetdel_returns_values_and_removes_the_fields()
    {
        Run("HGETDEL h FIELDS 3 a nosuch a").IsArray("1", null, null);
        Run("HLEN h").IsInteger(2);
        Run("HGETDEL h FIELDS 2 b c").IsArray("2", "3");
        Run("EXISTS h").IsInteger(0);
        Run("HGETDEL h FIELDS 2 b c").IsArray(null, null);
    }

    [Theory]
    [InlineData("HEXPIRE h abc FIELDS 1 a", "ERR value is not an integer or out of range")]
    [InlineData("HEXPIRE h -1 FIELDS 1 a", "ERR invalid expire time, must be >= 0")]
    [InlineData("HEXPIRE h 1000000000000 FIELDS 1 a", "ERR invalid expire time in 'hexpire' command")]
    [InlineData("HPEXPIRE h 9223372036854775807 FIELDS 1 a", "ERR invalid expire time in 'hpexpire' command")]
    [InlineData("HEXPIREAT h 70368744178 FIELDS 1 a", "ERR invalid expire time in 'hexpireat' command")]
    [InlineData("HPEXPIREAT h 70368744177664 FIELDS 1 a", "ERR invalid expire time in 'hpexpireat' command")]
    [InlineData("HEXPIRE h 10 NX XX FIELDS 1 a", "ERR Multiple condition flags specified")]
    [InlineData("HEXPIRE h 10 NOPE 1 a x", "ERR unknown argument: NOPE")]
    [InlineData("HEXPIRE h 10 FIELDS 0 a", "ERR Parameter `numFields` should be greater than 0")]
    [InlineData("HEXPIRE h 10 FIELDS x a", "ERR Parameter `numFields` should be greater than 0")]
    [InlineData("HEXPIRE h 10 FIELDS 2 a", "ERR wrong number of arguments")]
    [InlineData("HEXPIRE h 10 FIELDS 1 a b", "ERR unknown argument: b")]
    [InlineData("HEXPIRE h 10 FIELDS 1", "ERR wrong number of arguments for 'hexpire' command")]
    [InlineData("HTTL h FIELDS 1", "ERR wrong number of arguments for 'httl' command")]
    [InlineData("HTTL h NOPE 1 a", "ERR Mandatory argument FIELDS is missing or not at the right position")]
    [InlineData("HPERSIST h FIELDS 0 a", "ERR Number of fields must be a positive integer")]
    [InlineData("HTTL h FIELDS 2 a", "ERR The `numfields` parameter must match the number of arguments")]
    [InlineData("HGETEX h KEEPTTL FIELDS 1 a", "ERR unknown argument")]
    [InlineData("HGETEX h EX 10 PERSIST FIELDS 1 a", "ERR Only one of EX, PX, EXAT, PXAT or PERSIST arguments can be specified")]
    [InlineData("HGETEX h FIELDS 9223372036854775808 a", "ERR invalid number of fields")]
    [InlineData("HGETEX h EX -5 FIELDS 1 a", "ERR invalid expire time, must be >= 0")]
    [InlineData("HGETEX h EXAT 99999999999 FIELDS 1 a", "ERR invalid expire time in 'hgetex' command")]
    [InlineData("HSETEX h FNX FXX FIELDS 1 a 1", "ERR Only one of FXX or FNX arguments can be specified")]
    [InlineData("HSETEX h EX 60 KEEPTTL FIELDS 1 a 1", "ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified")]
    [InlineData("HSETEX h BOGUS FIELDS 1 a 1", "ERR unknown argument: BOGUS")]
    [InlineData("HSETEX h FIELDS x a 1", "ERR invalid number of fields")]
    [InlineData("HSETEX h FIELDS 2 a 1", "ERR wrong number of arguments")]
    [InlineData("HSETEX h FIELDS 1 a 1 b", "ERR unknown argument: b")]
    [InlineData("HSETEX h FNX KEEPTTL EX", "ERR wrong number of arguments for 'hsetex' command")]
    [InlineData("HSETEX h FNX FIELDS", "ERR wrong number of arguments for 'hsetex' command")]
    [InlineData("HEXPIRE h 10 NX NX NX", "ERR missing FIELDS argument")]
    [InlineData("HEXPIRE h 10 NX NX FIELDS 1", "ERR FIELDS requires at least numfields and one field argument")]
    [InlineData("HEXPIRE h 10 FIELDS 1 a FIELDS 1 b", "ERR FIELDS keyword specified multiple times")]
    [InlineData("HEXPIRE h 10 GT LT FIELDS 0 a", "ERR Parameter `numFields` should be greater than 0")]
    [InlineData("HEXPIRE h 10 FIELDS 1 a GT LT FOO", "ERR unknown argument: FOO")]
    [InlineData("HEXPIRE h 10 FIELDS 1 a GT LT", "ERR Multiple condition flags specified")]
    [InlineData("HEXPIRE h 10 FIELDS 2147483647 a", "ERR wrong number of arguments")]
    [InlineData("HGETEX h FIELDS 1 a EX", "ERR missing expire time")]
    [InlineData("HGETEX h FIELDS 1 a FIELDS 1 b", "ERR FIELDS keyword specified multiple times")]
    [InlineData("HGETEX h EX 10 FIELDS", "ERR wrong number of arguments for 'hgetex' command")]
    [InlineData("HGETEX h FIELDS 1 a FNX", "ERR unknown argument")]
    [InlineData("HGETEX h FNX EX x FIELDS 1 a", "ERR value is not an integer or out of range")]
    [InlineData("HGETEX h FNX FXX FIELDS 1 a", "ERR Only one of FXX or FNX arguments can be specified")]
    [InlineData("HGETEX h KEEPTTL PERSIST FIELDS 1 a", "ERR unknown argument")]
    [InlineData("HGETEX h KEEPTTL EX 10 FIELDS 1 a", "ERR Only one of EX, PX, EXAT, PXAT or PERSIST arguments can be specified")]
    [InlineData("HSETEX h PERSIST FOO FIELDS 1 a 2", "ERR unknown argument: FOO")]
    [InlineData("HSETEX h PERSIST EX 10 FIELDS 1 a 2", "ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified")]
    [InlineData("HSETEX h FIELDS 1 a 2 PERSIST", "ERR unknown argument")]
    [InlineData("HSETEX h FIELDS 1 a 2 EX 10 PX 10", "ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified")]
    [InlineData("HSETEX h FIELDS 1 a 2 EX -1", "ERR invalid expire time, must be >= 0")]
    [InlineData("HSETEX h FIELDS 2147483647 a 2", "ERR wrong number of arguments")]
    [InlineData("HGETDEL h FIELD 1 a", "ERR Mandatory argument FIELDS is missing or not at the right position")]
    [InlineData("HGETDEL h FIELDS 2 a", "ERR The `numfields` parameter must match the number of arguments")]
    public void Errors_change_nothing(string line, string error)
    {
        Run(line).IsError(error);
        Assert.Equal(["1", "2", "3"], Run("HMGET h a b c").Items.Select(item => item.Text));
        Run("HTTL h FIELDS 3 a b c").IsIntegers(-1, -1, -1);
    }

    [Fact]
    public void Maximum_field_expiry_has_46_bits()
    {
        Run("HPEXPIREAT h 70368744177663 FIELDS 1 a").IsIntegers(1);
        Run("HPEXPIRETIME h FIELDS 1 a").IsIntegers(70_368_744_177_663);
    }

    [Fact]
    public void Info_counts_hashes_with_expiring_fields_and_expired_fields()
    {
        Run("HPEXPIRE h 100 FIELDS 2 a b").IsIntegers(1, 1);
        Assert.Contains("subexpiry=1", Run("INFO keyspace").Text, StringComparison.Ordinal);
        _transcript.Advance(100);
        Run("HGETALL h").IsArray("c", "3");
        Run("HRANDFIELD h").IsBulk("c"); // removes expired fields first
        Assert.Contains("subexpiry=0", Run("INFO keyspace").Text, StringComparison.Ordinal);
        Assert.Contains("expired_subkeys:2\r\n", Run("INFO stats").Text, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("HDEL h a")]
    [InlineData("HGETDEL h FIELDS 1 a")]
    [InlineData("HPERSIST h FIELDS 1 a")]
    [InlineData("HGETEX h PERSIST FIELDS 1 a")]
    [InlineData("HSET h a x")]
    [InlineData("HSETEX h FIELDS 1 a x")]
    [InlineData("HEXPIRE h 0 FIELDS 1 a")]
    [InlineData("HGETEX h PX 0 FIELDS 1 a")]
    public void Info_counts_a_hash_until_its_last_field_with_an_expiry_has_lost_it(string line)
    {
        Run("HEXPIRE h 100 FIELDS 2 a b").IsIntegers(1, 1);
        Run(line);
        Assert.Contains("subexpiry=1", Run("INFO keyspace").Text, StringComparison.Ordinal);
        Run("HDEL h b").IsInteger(1);
        Assert.Contains("subexpiry=0", Run("INFO keyspace").Text, StringComparison.Ordinal);
        Run("COPY h g").IsInteger(1);
        Run("RENAME g h").IsOk();
        Assert.Contains("subexpiry=0", Run("INFO keyspace").Text, StringComparison.Ordinal);
        Run("HEXPIRE h 200 FIELDS 1 c").IsIntegers(1);
        Assert.Contains("subexpiry=1", Run("INFO keyspace").Text, StringComparison.Ordinal);
        _transcript.Advance(200_000);
        Run("HTTL h FIELDS 1 c").IsIntegers(-2);
    }

    protected RespValue Run(string line) => _transcript.Run(line);

    private protected ValueEncoding? EncodingOf(string key) => _transcript.EncodingOf(key);

    private long Now => _transcript.NowMs;

    public sealed class OfPackedHashes : FieldExpiryCommandsTests
    {
        protected override int EntriesMax => 128;

        [Fact]
        public void Hexpire_changes_the_encoding_whatever_it_finds()
        {
            Run("HPERSIST h FIELDS 1 nosuch").IsIntegers(-2);
            Run("HEXPIRE h 10 FIELDS 0 a").IsError("ERR Parameter `numFields` should be greater than 0");
            Assert.Equal(ValueEncoding.ListPack, EncodingOf("h"));
            Run("HEXPIRE h 10 FIELDS 1 nosuch").IsIntegers(-2);
            Run("OBJECT ENCODING h").IsBulk("listpackex");
            Run("HEXPIRE h 10 FIELDS 1 a").IsIntegers(1);
            Run("OBJECT ENCODING h").IsBulk("listpackex");
            Run("HPERSIST h FIELDS 1 a").IsIntegers(1);
            Run("OBJECT ENCODING h").IsBulk("listpackex");
        }
    }

    public sealed class OfTables : FieldExpiryCommandsTests
    {
        protected override int EntriesMax => 1;

        [Fact]
        public void Table_encoding_stays()
        {
            Run("HEXPIRE h 10 FIELDS 1 a").IsIntegers(1);
            Run("OBJECT ENCODING h").IsBulk("hashtable");
        }
    }
}
