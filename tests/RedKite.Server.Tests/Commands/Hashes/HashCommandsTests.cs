using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

public sealed class HashCommandsTests : IAsyncLifetime
{
    private const string WrongType = "WRONGTYPE Operation against a key holding the wrong kind of value";

    private readonly CommandTranscript _transcript = new();

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Fact]
    public void Hset_counts_new_fields_and_hget_returns_them()
    {
        Run("HSET h a 1 b two '' empty").IsInteger(3);
        Run("HSET h a 3 c 4").IsInteger(1);
        Run("HGET h a").IsBulk("3");
        Run("HGET h ''").IsBulk("empty");
        Run("HGET h nosuch").IsNull();
        Run("HGET nosuch a").IsNull();
        Run("HLEN h").IsInteger(4);
        Run("HMGET h b nosuch c").IsArray("two", null, "4");
        Run("HSTRLEN h b").IsInteger(3);
        Run("HEXISTS h b").IsInteger(1);
        Run("HEXISTS h nosuch").IsInteger(0);
        Run("HMSET h b 5").IsOk();
        Run("HGETALL h").IsArray("a", "3", "b", "5", "", "empty", "c", "4");
        Run("HKEYS h").IsArray("a", "b", "", "c");
        Run("HVALS h").IsArray("3", "5", "empty", "4");
    }

    [Fact]
    public void Hset_with_an_odd_argument_is_refused()
    {
        Run("HSET h a 1 b").IsError("ERR wrong number of arguments for 'hset' command");
        Run("HMSET h a 1 b").IsError("ERR wrong number of arguments for 'hmset' command");
        Run("EXISTS h").IsInteger(0);
    }

    [Fact]
    public void Hdel_of_the_last_field_removes_the_key()
    {
        Run("HSET h a 1 b 2").IsInteger(2);
        Run("HDEL h a nosuch a").IsInteger(1);
        Run("HDEL h b a").IsInteger(1);
        Run("EXISTS h").IsInteger(0);
        Run("HDEL h b").IsInteger(0);
    }

    [Fact]
    public void Hsetnx_sets_only_missing_fields()
    {
        Run("HSETNX h a 1").IsInteger(1);
        Run("HSETNX h a 2").IsInteger(0);
        Run("HGET h a").IsBulk("1");
    }

    [Fact]
    public void Hash_becomes_a_table_beyond_its_limits_and_stays_one()
    {
        Run("CONFIG SET hash-max-listpack-entries 3 hash-max-listpack-value 5").IsOk();
        Run("HSET h a 1 b 2 c 12345").IsInteger(3);
        Assert.Equal(ValueEncoding.ListPack, _transcript.EncodingOf("h"));
        Run("HSETNX h a 123456").IsInteger(0);
        Assert.Equal(ValueEncoding.ListPack, _transcript.EncodingOf("h"));
        Run("HSET h d 4").IsInteger(1);
        Assert.Equal(ValueEncoding.HashTable, _transcript.EncodingOf("h"));
        Run("HDEL h d c").IsInteger(2);
        Assert.Equal(ValueEncoding.HashTable, _transcript.EncodingOf("h"));
        Run("OBJECT ENCODING h").IsBulk("hashtable");
        Run("HMGET h a b c").IsArray("1", "2", null);
        Run("HSET long a 123456").IsInteger(1);
        Assert.Equal(ValueEncoding.HashTable, _transcript.EncodingOf("long"));
        Run("HINCRBY count sixlong 1").IsInteger(1);
        Assert.Equal(ValueEncoding.HashTable, _transcript.EncodingOf("count"));
    }

    [Fact]
    public void Large_hash_keeps_every_field_through_growth_scan_and_removal()
    {
        for (int i = 0; i < 5_000; i++) Run($"HSET h field:{i} value:{i}").IsInteger(1);
        Run("HLEN h").IsInteger(5_000);
        Assert.Equal(10_000, Run("HGETALL h").Items.Count);
        var seen = new HashSet<string>();
        string cursor = "0";
        do
        {
            RespValue reply = Run($"HSCAN h {cursor} COUNT 50 NOVALUES");
            cursor = reply.Items[0].Text;
            Assert.InRange(reply.Items[1].Items.Count, 0, 100);
            seen.UnionWith(reply.Items[1].Items.Select(item => item.Text));
        }
        while (cursor != "0");

        Assert.Equal(5_000, seen.Count);
        for (int i = 0; i < 5_000; i++) Run($"HDEL h field:{i}").IsInteger(1);
        Run("EXISTS h").IsInteger(0);
    }

    [Fact]
    public void Hscan_filters_and_supports_NOVALUES()
    {
        Run("HSET h one 1 two 2 three 3").IsInteger(3);
        RespValue reply = Run("HSCAN h 0 MATCH t* COUNT 1");
        reply.Items[0].IsBulk("0");
        reply.Items[1].IsArray("two", "2", "three", "3");
        Run("HSCAN h 17 MATCH t* NOVALUES").Items[1].IsArray("two", "three");
        Run("HSCAN nosuch 0 COUNT x").Items[1].IsArray();
        Run("HSCAN h 0 COUNT 0").IsError("ERR syntax error");
        Run("HSCAN h 0 COUNT x").IsError("ERR value is not an integer or out of range");
        Run("HSCAN h x").IsError("ERR invalid cursor");
    }

    [Fact]
    public void Hincrby_counts_and_refuses_non_integers()
    {
        Run("HINCRBY h n 5").IsInteger(5);
        Run("HINCRBY h n -7").IsInteger(-2);
        Run("HSET h s abc").IsInteger(1);
        Run("HINCRBY h s 1").IsError("ERR hash value is not an integer");
        Run("HINCRBY h n x").IsError("ERR value is not an integer or out of range");
        Run("HSET h m 9223372036854775807").IsInteger(1);
        Run("HINCRBY h m 1").IsError("ERR increment or decrement would overflow");
        Run("HGET h m").IsBulk("9223372036854775807");
    }

    [Fact]
    public void Hincrbyfloat_adds_in_extended_precision()
    {
        Run("HINCRBYFLOAT h n 10.5").IsBulk("10.5");
        Run("HINCRBYFLOAT h n 0.1").IsBulk("10.6");
        Run("HINCRBYFLOAT h n nan").IsError("ERR value is not a valid float");
        Run("HINCRBYFLOAT h n inf").IsError("ERR value is NaN or Infinity");
        Run("HSET h s abc").IsInteger(1);
        Run("HINCRBYFLOAT h s 1").IsError("ERR hash value is not a float");
    }

    [Fact]
    public void Hrandfield_returns_one_several_or_all()
    {
        Run("HSET h a 1 b 2 c 3").IsInteger(3);
        Assert.Contains(Run("HRANDFIELD h").Text, new[] { "a", "b", "c" });
        Run("HRANDFIELD h 5").IsArray("a", "b", "c");
        Assert.Equal(2, Run("HRANDFIELD h 2").Items.Select(item => item.Text).Distinct().Count());
        Assert.Equal(7, Run("HRANDFIELD h -7").Items.Count);
        Assert.Equal(14, Run("HRANDFIELD h -7 WITHVALUES").Items.Count);
        Run("HRANDFIELD h 0").IsArray();
        Run("HRANDFIELD nosuch").IsNull();
        Run("HRANDFIELD nosuch 3").IsArray();
        Run("HRANDFIELD h 1 VALUES").IsError("ERR syntax error");
        Run("HRANDFIELD h x y z").IsError("ERR value is not an integer or out of range");
        Run("HRANDFIELD h -9223372036854775808").IsError("ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807");
        Run("HRANDFIELD h 4611686018427387904 WITHVALUES").IsError("ERR value is out of range");
    }

    [Theory]
    [InlineData("HRANDFIELD h -600", 10)]
    [InlineData("HRANDFIELD h 3", 200)]
    [InlineData("HRANDFIELD h 40", 20)]
    [InlineData("HRANDFIELD big -6000", 10)]
    [InlineData("HRANDFIELD big 30", 200)]
    [InlineData("HRANDFIELD big 400", 20)]
    public void Hrandfield_is_uniform(string line, int repeats)
    {
        Run("CONFIG SET hash-max-listpack-entries 100").IsOk();
        for (int i = 0; i < 60; i++) Run($"HSET h f{i} v{i}");
        for (int i = 0; i < 600; i++) Run($"HSET big f{i} v{i}");
        var counts = new Dictionary<string, int>();
        for (int i = 0; i < repeats; i++)
        {
            foreach (RespValue field in Run(line).Items) counts[field.Text] = counts.GetValueOrDefault(field.Text) + 1;
        }

        // Chi-square, within five standard deviations; sampling without repetition only makes it smaller.
        int fields = line.Contains("big", StringComparison.Ordinal) ? 600 : 60;
        double mean = counts.Values.Sum() / (double)fields;
        double square = counts.Values.Sum(count => Math.Pow(count - mean, 2) / mean) + ((fields - counts.Count) * mean);
        Assert.InRange(square, 0, fields + (5 * Math.Sqrt(2 * fields)));
    }

    [Fact]
    public void Maps_and_pairs_have_their_resp3_types()
    {
        Run("HELLO 3");
        Run("HSET h a 1").IsInteger(1);
        Assert.Equal('%', Run("HGETALL h").Marker);
        Assert.Equal('%', Run("HGETALL nosuch").Marker);
        Assert.Equal('*', Run("HKEYS h").Marker);
        RespValue pairs = Run("HRANDFIELD h 1 WITHVALUES");
        pairs.Items[0].IsArray("a", "1");
        Run("HGET h nosuch").IsNull();
    }

    [Fact]
    public void Wrong_types_are_refused()
    {
        Run("SET s x").IsOk();
        foreach (string line in new[]
        {
            "HSET s a 1", "HMSET s a 1", "HSETNX s a 1", "HGET s a", "HMGET s a", "HDEL s a", "HEXISTS s a", "HLEN s", "HSTRLEN s a", "HINCRBY s a 1", "HINCRBYFLOAT s a 1",
            "HGETALL s", "HKEYS s", "HVALS s", "HRANDFIELD s", "HRANDFIELD s 1", "HSCAN s 0 COUNT x",
            "HEXPIRE s x FIELDS 1 a", "HTTL s FIELDS 1 a", "HPERSIST s FIELDS 1 a", "HGETEX s FIELDS 1 a", "HSETEX s FIELDS 1 a b", "HGETDEL s FIELDS 1 a",
        }) Run(line).IsError(WrongType);
        Run("HSET h a 1").IsInteger(1);
        Run("GET h").IsError(WrongType);
        Run("TYPE h").IsSimple("hash");
    }

    [Fact]
    public void Copied_and_renamed_hashes_are_independent()
    {
        Run("HSET small a 1").IsInteger(1);
        for (int i = 0; i < 600; i++) Run($"HSET big f{i} v{i}");
        Run("COPY small small2").IsInteger(1);
        Run("COPY big big2").IsInteger(1);
        Run("HSET small a 2").IsInteger(0);
        Run("HDEL big f1").IsInteger(1);
        Run("HGET small2 a").IsBulk("1");
        Run("HLEN big2").IsInteger(600);
        Run("RENAME big2 other").IsOk();
        Run("HGET other f1").IsBulk("v1");
        Run("DEL big other").IsInteger(2);
    }

    private RespValue Run(string line) => _transcript.Run(line);
}
