using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

public sealed class SortedSetScanCommandsTests : IAsyncLifetime
{
    private const int Members = 30;

    private readonly CommandTranscript _transcript = new();

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Theory]
    [InlineData(128, "1")]
    [InlineData(0, "1")]
    [InlineData(0, "4")]
    [InlineData(128, "12")]
    [InlineData(0, "20")]
    [InlineData(0, "-5")]
    public void Zrandmember_is_uniform(int membersMax, string count)
    {
        Fill(membersMax);
        const int Samples = 3_000;
        var counts = new Dictionary<string, int>();
        int total = 0;
        for (int i = 0; i < Samples; i++)
        {
            RespValue reply = Run($"ZRANDMEMBER z {count}");
            if (count[0] != '-') Assert.Equal(reply.Items.Count, reply.Items.Select(item => item.Text).Distinct().Count());
            foreach (RespValue item in reply.Items)
            {
                counts[item.Text] = counts.GetValueOrDefault(item.Text) + 1;
                total++;
            }
        }

        // Chi-square with 29 degrees of freedom: above 90 once in ten million runs.
        double expected = (double)total / Members;
        Assert.Equal(Members, counts.Count);
        Assert.True(counts.Values.Sum(times => (times - expected) * (times - expected) / expected) < 90);
    }

    [Fact]
    public void Zrandmember_counts_are_limited()
    {
        Fill(128);
        Assert.Equal(Members, Run("ZRANDMEMBER z 100").Items.Count);
        Assert.Equal(2 * Members, Run("ZRANDMEMBER z 100 WITHSCORES").Items.Count);
        Assert.Equal(200, Run("ZRANDMEMBER z -100 WITHSCORES").Items.Count);
        Run("ZRANDMEMBER z 0").IsArray();
        Run("ZRANDMEMBER missing").IsNull();
        Run("ZRANDMEMBER missing 3").IsArray();
        Run("ZRANDMEMBER z -9223372036854775808").IsError("ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807");
        Run("ZRANDMEMBER z 4611686018427387904 WITHSCORES").IsError("ERR value is out of range");
        Run("ZRANDMEMBER z 1 WITHVALUES").IsError("ERR syntax error");
    }

    [Fact]
    public void Zrandmember_pairs_members_with_scores_in_resp3()
    {
        Run("ZADD one 1.5 a").IsInteger(1);
        Run("HELLO 3");
        Run("ZRANDMEMBER one 3 WITHSCORES").Is(RespValue.Aggregate('*', [RespValue.Aggregate('*', [RespValue.Scalar('$', "a"u8.ToArray()), RespValue.Scalar(',', "1.5"u8.ToArray())])]));
    }

    [Fact]
    public void Packed_set_is_scanned_in_one_call()
    {
        Run("ZADD z 1.5 a 2 b 3 ab").IsInteger(3);
        Run("ZSCAN z 0 COUNT 1").Is(RespValue.Aggregate('*', [Bulk("0"), RespValue.Aggregate('*', [Bulk("a"), Bulk("1.5"), Bulk("b"), Bulk("2"), Bulk("ab"), Bulk("3")])]));
        Run("ZSCAN z 0 MATCH a*").Is(RespValue.Aggregate('*', [Bulk("0"), RespValue.Aggregate('*', [Bulk("a"), Bulk("1.5"), Bulk("ab"), Bulk("3")])]));
        Run("ZSCAN missing 0 NOSUCH").Is(RespValue.Aggregate('*', [Bulk("0"), RespValue.Aggregate('*', [])]));
        Run("ZSCAN z x").IsError("ERR invalid cursor");
        Run("ZSCAN z 0 COUNT 0").IsError("ERR syntax error");
        Run("ZSCAN z 0 NOVALUES").IsError("ERR NOVALUES option can only be used in HSCAN");
    }

    [Fact]
    public void Scan_returns_every_member_that_stays()
    {
        Run("CONFIG SET zset-max-listpack-entries 0").IsOk();
        for (int i = 0; i < 500; i++) Run($"ZADD z {i} staying{i}").IsInteger(1);
        var seen = new HashSet<string>();
        string cursor = "0";
        int calls = 0;
        do
        {
            RespValue reply = Run($"ZSCAN z {cursor} COUNT 7");
            cursor = reply.Items[0].Text;
            seen.UnionWith(reply.Items[1].Items.Where((_, i) => i % 2 == 0).Select(item => item.Text));

            // The set grows and shrinks considerably during the scan.
            for (int i = 0; i < 40; i++) Run(calls % 20 < 10 ? $"ZADD z 1 coming{(calls * 40) + i}" : $"ZREM z coming{((calls - 10) * 40) + i}");
            calls++;
        }
        while (cursor != "0");
        for (int i = 0; i < 500; i++) Assert.Contains($"staying{i}", seen);
        Assert.InRange(calls, 20, 2_000);
    }

    private static RespValue Bulk(string text) => RespValue.Scalar('$', System.Text.Encoding.Latin1.GetBytes(text));

    private void Fill(int membersMax)
    {
        Run($"CONFIG SET zset-max-listpack-entries {membersMax}").IsOk();
        Run("ZADD z " + string.Join(' ', Enumerable.Range(0, Members).Select(i => $"{i} m{i}"))).IsInteger(Members);
    }

    private RespValue Run(string line) => _transcript.Run(line);
}
