using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

/// <summary>DEBUG DIGEST while expired fields are still stored, in packed hashes and in tables.</summary>
public sealed class DatasetDigestTests : IAsyncLifetime
{
    private const string Nothing = "0000000000000000000000000000000000000000";

    private readonly CommandTranscript _transcript = new();

    [Theory]
    [InlineData("")]
    [InlineData("x 1234567890123456789012345678901234567890123456789012345678901234567890")] // Such a value makes a hash a table.
    public void Digest_is_the_same_before_and_after_expired_fields_are_removed(string more)
    {
        Run($"HSET h a 1 b 2 c 3 {more}");
        Run($"HSET expected b 2 c 3 {more}");
        Run("HPEXPIRE h 100 FIELDS 1 a").IsIntegers(1);
        Run($"HSET gone a 1 {more}");
        Run("HPEXPIRE gone 100 FIELDS 2 a x");
        Run("HSET short f g").IsInteger(1);
        _transcript.Advance(100);

        string digest = Run("DEBUG DIGEST").Text;
        Assert.Equal(digest, Run("DEBUG DIGEST").Text);
        RespValue values = Run("DEBUG DIGEST-VALUE h expected gone");
        Assert.Equal(values.Items[1].Text, values.Items[0].Text);
        Assert.Equal(Nothing, values.Items[2].Text);

        Run("HRANDFIELD h 10"); // removes the expired fields
        Run("HRANDFIELD gone 10");
        Run("EXISTS gone").IsInteger(0);
        Assert.Equal(digest, Run("DEBUG DIGEST").Text);
    }

    [Fact]
    public void Hash_with_expired_fields_only_leaves_no_trace_in_the_digest()
    {
        Run("HSET gone a 1").IsInteger(1);
        Run("HPEXPIRE gone 100 FIELDS 1 a").IsIntegers(1);
        _transcript.Advance(100);
        Assert.Equal(Nothing, Run("DEBUG DIGEST").Text);
    }

    [Theory]
    [InlineData("SCAN 0")]
    [InlineData("KEYS *")]
    [InlineData("RANDOMKEY")]
    [InlineData("HSCAN h 0")]
    [InlineData("MEMORY USAGE h")]
    [InlineData("OBJECT ENCODING h")]
    [InlineData("TYPE h")]
    [InlineData("DUMP h")]
    [InlineData("COPY h copy")]
    [InlineData("RENAME h copy")]
    [InlineData("SORT ids BY h->a GET h->b")]
    [InlineData("DEBUG RELOAD")]
    public void Walkers_accept_expired_packed_fields(string command)
    {
        Run("HSET h a 1 b 2 c 3").IsInteger(3);
        Run("HPEXPIRE h 100 FIELDS 2 a b").IsIntegers(1, 1);
        Run("RPUSH ids 1 2").IsInteger(2);
        _transcript.Advance(100);
        Run(command);
        string key = Run("EXISTS h").Number == 1 ? "h" : "copy";
        Run($"HGETALL {key}").IsArray("c", "3");
        Run($"HLEN {key}").IsInteger(1);
        if (Run("EXISTS copy").Number == 1) Run("HGETALL copy").IsArray("c", "3");
    }

    [Fact]
    public void Sampling_that_may_not_modify_finds_the_one_live_field_among_many_expired_ones()
    {
        const int Expired = 200_000;
        Run("HSET h living 1");
        for (int i = 0; i < Expired; i += 1000)
        {
            Run($"HSETEX h PX 100 FIELDS 1000 {string.Join(" v ", Enumerable.Range(i, 1000))} v").IsInteger(1);
        }

        _transcript.StopSweeping();
        _transcript.Advance(100);
        _transcript.Client.Expiry = ExpiryPolicy.Hide;
        Run("HRANDFIELD h").IsBulk("living");
        RespValue sample = Run("HRANDFIELD h -200000 WITHVALUES"); // as many searches for it took minutes
        Assert.Equal(400_000, sample.Items.Count);
        Assert.Equal(["living", "1"], sample.Items.Select(item => item.Text).Distinct());
    }

    [Fact]
    public void Reads_that_may_not_modify_skip_expired_fields()
    {
        Run("HSET h a 1 b 2 c 3").IsInteger(3);
        Run("HPEXPIRE h 100 FIELDS 2 a b").IsIntegers(1, 1);
        _transcript.Advance(100);
        _transcript.Client.Expiry = ExpiryPolicy.Hide;
        long used = _transcript.UsedBytes;
        Run("HLEN h").IsInteger(1);
        Run("HGETALL h").IsArray("c", "3");
        Run("HGET h a").IsNull();
        Run("HMGET h a b c");
        Run("HEXISTS h b").IsInteger(0);
        Run("HPTTL h FIELDS 3 a b c").IsIntegers(-2, -2, -1);
        Run("HRANDFIELD h").IsBulk("c");
        Run("HRANDFIELD h 5").IsArray("c");
        Run("HRANDFIELD h -2").IsArray("c", "c");
        Run("HSCAN h 0");
        Assert.Equal(used, _transcript.UsedBytes);
        Run("HSET h a 9").IsInteger(1); // A write removes them.
        Run("HGETALL h");
        Run("HLEN h").IsInteger(2);
    }

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    private RespValue Run(string line) => _transcript.Run(line);
}
